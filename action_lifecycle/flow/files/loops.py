# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Actions with `for_each`: the work is a flow with one action for each element of a list.

The fields of the action, except those in `OUTER`, belong to the actions of the elements. They are
kept once, not copied for each element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .edit_provenance import Path
from .names import IDENTIFIER, NAME
from ...documents.errors import Fault
from ...documents.templates.template import has_template, names_read, parts_read, texts
from ...documents.yaml_document import Document, Key, Position
from ...lifecycle.work import NestingSpec

FOR_EACH = 'for_each'
OUTER = frozenset({FOR_EACH, 'in_order', 'repeat', 'after', 'schedule', 'deadline', 'replaces'})
"""Fields that belong to the action with the loop; all others to the actions of its elements."""


class LoopSpec(NestingSpec):
    """The work of an action with `for_each`; `elements`: a list, or a template that reads one."""

    kind = FOR_EACH
    late = ('action',)

    name: str
    elements: Any
    in_order: bool = False
    action: dict[str, Any] = {}  #: the fields of each element's action, templates not filled in

    def action_fields(self) -> dict[str, Any]:
        """Return the fields of the elements' actions; `for_each` is a field of the spec."""
        return dict(self.action)


def loop_body(written: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any] | None:
    """
    Remove the fields of the elements' actions from those of an action, and return them.

    `own`: the action's own parameters. Returns None if the action has no `for_each`.
    """
    if written.get(FOR_EACH) is None:
        return None
    body = {key: written.pop(key) for key in list(written) if key not in OUTER}
    for key in ('description', 'priority'):
        if key in body and not has_template(body[key]):
            written[key] = body[key]
    return {**body, 'parameters': dict(own)} if own else body


def loop_texts(body: Mapping[str, Any]) -> list[tuple[Path, str]]:
    """Return the templates that read results, with their paths; others are filled in later."""
    return [(path, text) for path, text in texts(dict(body)) if 'results' in names_read(text)]


def loop_fault(given: Any) -> tuple[Path, str] | None:
    """Return the fault of the value of `for_each`, with its path below; None if it is valid."""
    if not isinstance(given, dict) or len(given) != 1:
        return (), "expected one name with a list, such as 'for_each: {part: [a, b]}'; " \
            'for pairs, use a list of mappings'
    (name, elements), = given.items()
    if not IDENTIFIER.match(name) or name in ('facts', 'results', 'action'):
        return (name,), f'{name!r} is not an identifier, or has a meaning of its own in templates'
    if not isinstance(elements, list) and not (
            isinstance(elements, str) and has_template(elements)):
        return (name,), f'expected a list, or a template that reads one, got {_kind(elements)}'
    return None


def lists_of_facts(written: Any, filled: Any) -> Any:
    """Return the value of `for_each`; a number that is read from a fact is a list of one."""
    if not isinstance(written, dict) or not isinstance(filled, dict):
        return filled
    return {
        name: [value] if isinstance(value, (int, float)) and not isinstance(value, bool)
        and isinstance(written[name], str) and parts_read(written[name], 'facts') else value
        for name, value in filled.items()}


def element_names(elements: Sequence[Any]) -> list[str]:
    """Return the names of the elements' actions: the elements, if all are names; else 1, 2, …."""
    if all(isinstance(one, str) and NAME.match(one) for one in elements) \
            and len(set(elements)) == len(elements):
        return list(elements)
    return [str(number) for number in range(1, len(elements) + 1)]


class LoopDocument(Document):
    """The document of a loop's flow; positions are those of the action with the loop."""

    def __init__(
        self, base: Document, path: Path, name: str, data: Any, numbers: Mapping[str, int]
    ) -> None:
        super().__init__(base.name, data, base.mark(path), {})
        self._base = base
        self._path = path
        self._name = name
        self._numbers = numbers

    def mark(self, path: Sequence[Key] = ()) -> Position:
        """Return line and column of the value at `path`."""
        return self._base.mark(self._where(path))

    def fault(self, path: Sequence[Key], message: str) -> Fault:
        """Return a fault with its position in the outer flow."""
        return self._base.fault(self._where(path), message)

    def _where(self, path: Sequence[Key]) -> Path:
        if len(path) < 2 or path[0] != 'actions':
            return self._path
        if tuple(path[2:4]) == ('parameters', self._name):
            return (*self._path, FOR_EACH, self._name, self._numbers.get(str(path[1]), 0),
                    *path[4:])
        return (*self._path, *path[2:])


def _kind(value: Any) -> str:
    return 'a mapping' if isinstance(value, dict) else f'{value!r}'[:60]
