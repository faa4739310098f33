# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Parses edits of running flows; an edit is applied or refused as a whole.

An edit is a list of steps, each with one of `VERBS`; `edit_validation` checks it against the flow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .edit_provenance import ActionSource
from .flow import LoadedFlow
from ..scheduling.scheduler import After
from ...documents.errors import DocumentError, Fault
from ...documents.suggestions import nearest
from ...documents.yaml_document import Document, parse_document

MAX_EDIT_BYTES = 512 * 1024
VERBS = {
    'add': 'a mapping of new actions', 'remove': 'a name or a list of names',
    'update': 'a mapping of actions with the fields that change',
    'depend': 'a mapping of actions with what they wait for, too',
    'independ': 'a mapping of actions with the names that they no longer wait for',
    'clear': 'true', 'build': 'a mapping of all actions that are still to run',
    'finish': 'a reason, of at most 1000 characters',
    'fail': 'a reason, of at most 1000 characters',
}
"""The verbs of edit steps, each with a description of its value."""
ENDS = ('finish', 'fail')
"""The verbs that end the flow; at most one, as the last step."""
MAX_REASON = 1000
_ACTIONS = ('add', 'update', 'build')


class EditRefused(DocumentError):
    """An edit can't be applied; the flow is unchanged."""

    @classmethod
    def because(cls, edit: FlowEdit, message: str) -> EditRefused:
        """Return the error for an edit as a whole."""
        return cls([edit.document.fault((), message)])


class EditStep(NamedTuple):
    """One step of an edit; short forms of `value` are expanded."""

    number: int
    verb: str
    value: Any


class FlowEnd(NamedTuple):
    """The end of a flow by an edit; `verb` is one of `ENDS`."""

    verb: str
    reason: str


class FlowEdit:
    """A parsed edit; `rebuilds`: whether it replaces all actions that have not started."""

    def __init__(self, document: Document, text: str, steps: list[EditStep]) -> None:
        self.document = document
        self.text = text
        self.steps = steps
        self.rebuilds = any(step.verb == 'build' for step in steps)


class EditResult(NamedTuple):
    """The result of an edit: its journal row, and the steps that were left out."""

    seq: int
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class StagedEdit:
    """
    The checked result of an edit, not applied yet.

    `changes`: the source of each new or changed action, None for removed ones. `after`: the
    dependencies of these actions, and of others that lose one. `flow`: a flow with the changed
    actions only, for further checks. `left_out`: the steps on actions that have started since
    `base_seq`. `end`: how the edit ends the flow; None if it does not.
    """

    changes: Mapping[str, ActionSource | None]
    after: Mapping[str, After | None]
    flow: LoadedFlow
    left_out: tuple[str, ...]
    end: FlowEnd | None = None


def parse_edit(text: str, name: str = 'edit') -> FlowEdit:
    """Parse an edit from YAML; `name`: file name for messages; raises `DocumentError`."""
    document = parse_document(text, name, max_bytes=MAX_EDIT_BYTES)
    data = document.data
    faults: list[Fault] = []
    if not isinstance(data, list):
        raise DocumentError([document.fault((), 'expected a list of edits, each with one of '
                                            + ', '.join(VERBS))])
    steps = [step for index, item in enumerate(data)
             for step in _steps(document, index, item, faults)]
    faults += [document.fault((step.number, step.verb), f"'{step.verb}' must be the last step")
               for step in steps[:-1] if step.verb in ENDS]
    if faults:
        raise DocumentError(faults)
    return FlowEdit(document, text, steps)


def _steps(document: Document, index: int, item: Any, faults: list[Fault]) -> Iterator[EditStep]:
    if not isinstance(item, dict) or len(item) != 1:
        faults.append(document.fault((index,), 'expected one of ' + ', '.join(VERBS)))
        return
    (verb, value), = item.items()
    if verb not in VERBS:
        faults.append(document.fault(
            (index, verb), f"unknown edit '{verb}'" + nearest(verb, VERBS)
            + f" (known: {', '.join(VERBS)})"))
    elif (full := _in_full(verb, value)) is None:
        faults.append(document.fault((index, verb), f"'{verb}' takes {VERBS[verb]}"))
    else:
        yield EditStep(index, verb, full)


def _in_full(verb: str, value: Any) -> Any:
    """Return the value of a verb with short forms expanded; None if it is not valid."""
    if verb == 'clear':
        return value if value is True else None
    if verb in ENDS:
        reason = value.strip() if isinstance(value, str) else ''
        return reason if 0 < len(reason) <= MAX_REASON else None
    if verb == 'remove':
        return _names(value)
    if not isinstance(value, dict):
        return None
    if verb == 'independ':
        value = {name: _names(names) for name, names in value.items()}
        return None if None in value.values() else value
    return value if verb not in _ACTIONS or all(
        isinstance(item, dict) for item in value.values()) else None


def _names(value: Any) -> list[str] | None:
    """Return a name or a list of names as a list; None for other values."""
    names = [value] if isinstance(value, str) else value
    return names if isinstance(names, list) and all(
        isinstance(name, str) for name in names) else None
