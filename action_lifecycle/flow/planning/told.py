# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Compares what a planner's answer uses with what the planner was told of.

Every answer is compared, a new flow or an edit: the servers, services, topics, tools and other
things that its actions, fallbacks, verifiers and nested flows use, and the facts that they read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Optional

from ..files.alternatives import no_recipes, Recipes
from ..files.edit import FlowEdit
from ..files.edit_provenance import Path
from ..files.flow import LoadedFlow
from ..files.shorthand import merged
from ..files.uses import (
    FACT,
    mapping_of,
    PERMISSION,
    PlacedUse,
    UNCLEAR,
    Use,
    uses_as_written,
    uses_of,
)
from ...documents.errors import DocumentError, Fault
from ...documents.models import StrictModel
from ...documents.suggestions import nearest
from ...documents.yaml_document import Document, parse_document
from ...lifecycle.spec import ActionSpec

SHOWN = 10
"""Maximum number of names that a fault shows."""
_WORDS = {'action': 'action server', 'srv': 'service', 'msg': 'topic'}


class Told(StrictModel):
    """
    What a planner was told of; None: of this kind nothing is compared but permissions.

    `things`: what actions may use, each as `NAME TYPE`, further words are ignored; `facts`: names;
    `namespace`: the one in which relative names of servers, services and topics are meant.
    """

    things: Optional[list[str]] = None
    facts: Optional[list[str]] = None
    namespace: str = '/'

    def faults(self, uses: Iterable[PlacedUse], known: Iterable[PlacedUse] = ()) -> list[Fault]:
        """
        Return the faults of the uses that the planner was not told of.

        `known`: what it was told of besides, such as the running flow that it edits; it is only
        read if there are faults without it.
        """
        things = None if self.things is None else {
            (self._full(*words), words[1]): words[0]
            for words in (line.split()[:2] for line in self.things) if len(words) == 2}
        facts = None if self.facts is None else dict.fromkeys(self.facts)
        found = [one for one in uses if not self._is_told(one.use, things, facts)]
        if found:
            more = {(self._full(use.name, use.type), use.type) for *_, use in known}
            found = [one for one in found
                     if (self._full(one.use.name, one.use.type), one.use.type) not in more]
        return [_fault(*one, things or {}, facts or {}) for one in found]

    def _is_told(
        self, use: Use, things: Collection[tuple[str, str]] | None, facts: Collection[str] | None
    ) -> bool:
        if use.type in (FACT, UNCLEAR):
            return facts is None or (use.type == FACT and use.name in facts)
        if things is None:
            return use.type != PERMISSION  # which nobody else compares
        return (self._full(use.name, use.type), use.type) in things

    def _full(self, name: str, kind: str) -> str:
        if '/' not in kind or name.startswith('/'):
            return name
        return f"{self.namespace.rstrip('/')}/{name}"


def check_flow(
    flow: LoadedFlow, told: Told, recipes: Recipes = no_recipes, known: LoadedFlow | None = None
) -> None:
    """
    Raise `DocumentError` if the flow of an answer uses what the planner was not told of.

    `known`: the running flow, if the answer was an edit of it and `flow` has its changes.
    """
    def of_known() -> Iterator[PlacedUse]:
        if known is not None:
            try:
                yield from uses_of(known, recipes)
            except DocumentError:  # a recipe that is not there any more: not a fault of the answer
                return

    if faults := told.faults(uses_of(flow, recipes), of_known()):
        raise DocumentError(dict.fromkeys(faults))


def check_edit_text(edit: FlowEdit, flow_yaml: str, told: Told) -> None:
    """
    Raise `DocumentError` if an edit uses what the planner was not told of; see `check_flow`.

    For a process that has only the text of the running flow.
    """
    data = parse_document(flow_yaml, 'flow_yaml').data
    flow = data if isinstance(data, dict) else {}
    written, defaults = mapping_of(flow.get('actions')), mapping_of(flow.get('defaults'))
    names = set(mapping_of(flow.get('parameters')))

    def of_edit() -> Iterator[PlacedUse]:
        for step in edit.steps:
            for name, raw in step.value.items() if step.verb in ('add', 'update', 'build') else ():
                earlier = mapping_of(written.get(name)) if step.verb == 'update' else {}
                yield from uses_as_written(
                    edit.document, (step.number, step.verb, name),
                    merged(defaults, earlier, raw), names)

    def of_flow() -> Iterator[PlacedUse]:
        for name, raw in written.items():
            yield from uses_as_written(
                edit.document, ('actions', name), merged(defaults, mapping_of(raw)), names)

    if faults := told.faults(of_edit(), (one for one in of_flow() if one.use.type != UNCLEAR)):
        raise DocumentError(dict.fromkeys(faults))


def _fault(
    document: Document, path: Path, action: ActionSpec, use: Use,
    things: Mapping[tuple[str, str], str], facts: Collection[str],
) -> Fault:
    """Return the fault of a use: field, what is used, and what the planner was told of."""
    field = '.'.join(map(str, use.path))
    said = f"action '{path[2] if path[0] != 'actions' else path[1]}'{field and ', '}{field}: "
    if use.type == UNCLEAR:
        return document.fault(
            (*path, *use.path), f'{said}{use.name:.200}: it can not be compared with what the '
            'planner was told of before the action starts')
    if use.type == FACT:
        what, known = f"there is no fact '{use.name}'", list(facts)
    else:
        what = f"there is no {_word(use.type)} '{use.name:.200}'" + (
            f" of type '{use.type}'" if '/' in use.type else '')
        known = [f'{name} {kind}' if name == use.name else name
                 for (_, kind), name in things.items() if _word(kind) == _word(use.type)]
    return document.fault(
        (*path, *use.path), f'{said}{what} among those that the planner was told of: '
        + _listed(known) + nearest(use.name, known))


def _word(kind: str) -> str:
    parts = kind.split('/')
    return _WORDS.get(parts[1], kind) if len(parts) == 3 else kind


def _listed(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return (', '.join(names[:SHOWN]) or 'none') + (f' and {more} more' if more > 0 else '')
