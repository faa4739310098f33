# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The conditions of a flow file with their places, and the file with other numbers as a diff."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
import difflib
import re
from typing import Any

from .terms import number_spans, Term
from ..documents.errors import LifecycleError
from ..documents.input_file import open_input
from ..documents.yaml_document import Document, Key, parse_document, Position, read_document
from ..flow.files.flow import LoadedFlow
from ..flow.files.loader import load_document

_HEADER = re.compile(r'\s*(?:[&!]\S*\s+)*(?:[|>][^\n]*\n)?')  # anchor, tag, block indicator


class FitError(LifecycleError):
    """Nothing can be fitted; the message says why."""


@dataclass(frozen=True)
class Place:
    """
    A condition of `confirm` as the file has it; several actions share it by an anchor.

    `at`: line and column. `index`: its index in `confirm`. `hold_path`: path of a number that can
    be changed, None if the file gives none.
    """

    at: Position
    path: tuple[Key, ...]
    text: str
    index: int
    hold_path: tuple[Key, ...] | None
    actions: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Change:
    """A number to write: the nth one of the entry at `path`, in place of `old`."""

    path: tuple[Key, ...]
    nth: int
    new: str
    negative: bool = False  #: the old number has a sign


class FlowText:
    """A flow file: its text, its checked flow, and where its confirmations are."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.document = read_document(path)
        with open_input(path) as file:
            self.text = file.read().decode('utf-8-sig')
        self.flow: LoadedFlow = load_document(self.document, self.text, {})
        self.places = list(self._places())

    def confirm_of(self, action: str) -> list[Place]:
        """Return the conditions of an action's `confirm`, each with the place it shares."""
        return sorted((place for place in self.places if action in place.actions),
                      key=lambda place: place.index)

    def _places(self) -> Iterator[Place]:
        found: dict[tuple[Position, int], Place] = {}
        data = self.document.data
        for action in self.flow.actions:
            base: tuple[Key, ...] = ('actions', action, 'confirm')
            if 'confirm' not in data['actions'][action]:
                base = ('defaults', 'confirm')
            given = (data.get(base[0]) or {}).get('confirm') if len(base) == 2 \
                else data['actions'][action]['confirm']
            if given is None:
                continue
            for index, item in enumerate(given if isinstance(given, list) else [given]):
                path = (*base, index) if isinstance(given, list) else base
                hold: tuple[Key, ...] | None = None
                if isinstance(item, dict):
                    if type(item.get('hold')) in (int, float):
                        hold = (*path, 'hold')
                    path, item = (*path, 'condition'), item.get('condition')
                at = self.document.mark(path)
                place = found.setdefault((at, index), Place(at, path, str(item), index, hold))
                place.actions.append(action)
        yield from found.values()

    def change_of(self, place: Place, term: Term, new: str) -> Change:
        """Return the change of a term's number; raises FitError if it has no place of its own."""
        for nth, (start, end) in enumerate(number_spans(place.text)):
            if term.start <= start and end <= term.end:
                return Change(place.path, nth, new, term.number < 0)
        raise FitError(f'{self.path}:{place.at[0]}: a number of the condition was not found')

    def with_changes(self, changes: Sequence[Change]) -> str:
        """Return the text with other numbers, all else as it is; may raise FitError."""
        spans = sorted(((*self._span(change), change.new) for change in changes), reverse=True)
        text = self.text
        for start, end, new in spans:
            text = text[:start] + new + text[end:]
        changed = parse_document(text, self.path)
        if _skeleton(changed.data) != _skeleton(self.document.data):
            raise FitError(f'{self.path}: the numbers can not be changed without changing more')
        load_document(changed, text, {})
        return text

    def _span(self, change: Change) -> tuple[int, int]:
        """Return start and end of a number in the text of the file."""
        line, column = self.document.mark(change.path)
        lines = self.text.splitlines(keepends=True)
        start = sum(map(len, lines[:line - 1])) + column - 1
        if not isinstance(change.path[-1], int):  # the position is that of the key
            start = self.text.index(':', start + len(str(change.path[-1]))) + 1
        header = _HEADER.match(self.text, start)
        start = header.end() if header else start
        if self.text.startswith('*', start):
            raise self._elsewhere(change, line)
        value = str(_at(self.document, change.path))
        if _is_number(value):
            found = re.compile(r'[^\s,}\]#]+').match(self.text, start)
            if found is None or float(found[0]) != float(value):
                raise self._elsewhere(change, line)
            return found.span()
        wanted = [value[slice(*span)] for span in number_spans(value)]
        following = self.text[start:start + 4 * len(value) + 400]
        spans = [(start + low, start + high) for (low, high), _ in zip(
            number_spans(following), wanted)]
        if [self.text[low:high] for low, high in spans] != wanted:
            raise self._elsewhere(change, line)
        low, high = spans[change.nth]
        sign = re.search(r'-\s*\Z', self.text[start:low])
        return (start + sign.start(), high) if change.negative and sign else (low, high)

    def _elsewhere(self, change: Change, line: int) -> FitError:
        return FitError(f"{self.path}:{line}: '{change.path[-1]}' is an alias or is written with "
                        'escapes; write it out, so that its numbers can be changed')

    def diff(self, changed: str) -> str:
        """Return the unified diff from the file to a changed text, for `patch -p0`."""
        return ''.join(_lines_of_diff(self.text, changed, self.path))


def _lines_of_diff(old: str, new: str, name: str) -> Iterator[str]:
    for line in difflib.unified_diff(
            old.splitlines(keepends=True), new.splitlines(keepends=True), name, name):
        yield line if line.endswith('\n') else line + '\n\\ No newline at end of file\n'


def _at(document: Document, path: Sequence[Key]) -> Any:
    here = document.data
    for key in path:
        here = here[key]
    return here


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _skeleton(data: Any, key: str = '') -> Any:
    """Return data without numbers, to compare what else there is."""
    if isinstance(data, Mapping):
        return {name: _skeleton(value, str(name)) for name, value in data.items()}
    if isinstance(data, list):
        return [_skeleton(item, key) for item in data]
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        return 0
    if isinstance(data, str):
        return re.sub(r'-?\s*' + r'\d+\.?\d*(?:[eE][-+]?\d+)?|-?\s*\.\d+', '#', data)
    return data
