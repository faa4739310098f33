# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The flow that the journal has: its text, from the rows 'accepted' and 'text', and the flow."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
import json
from typing import Any

from .flow import LoadedFlow
from .loader import parse_flow, parse_loop
from .sources import from_rows, Reference, Source, Sources
from ...journal.row import Row

CACHED = 128
"""Number of flows that are kept parsed: nested flows and runs of a flow have the same text."""
_HEAD = ('length', 'nested', 'origin', 'file', 'parameters')
"""The data of the row 'accepted' that a flow depends on"""
_cache: OrderedDict[str, LoadedFlow] = OrderedDict()


class JournaledText:
    """The text of a flow as its rows are read, in order; `head`: data of its row 'accepted'."""

    def __init__(self) -> None:
        self.head: Mapping[str, Any] = {}
        self._parts: list[str] = []
        self._ends: list[int] = []  #: the row of each part
        self._key = ''

    def take(self, row: Row) -> bool:
        """
        Take a row 'accepted' or 'text'; returns whether it completes the text.

        Raises JournalError for a row with damaged data.
        """
        if row.event == 'accepted' and not self.head:
            self.head = row.data
        if not self.head or self.is_complete:
            return False
        self._parts.append(str(row.data.get('text', '')))
        self._ends.append(row.seq)
        return self.is_complete

    def copy(self) -> JournaledText:
        """Return a copy that takes rows of its own."""
        found = JournaledText()
        found.head, found._parts, found._ends = self.head, [*self._parts], [*self._ends]
        return found

    @property
    def is_complete(self) -> bool:
        """Return whether all rows of the text were taken."""
        return bool(self._parts) and len(self._parts) >= self.head.get('parts', 1)

    def until(self, seq: int) -> str:
        """Return the text as far as the rows up to `seq` have it."""
        return ''.join(part for part, end in zip(self._parts, self._ends) if end <= seq)

    def read(self, folders: Sequence[str] | None = None) -> LoadedFlow:
        """
        Return the flow as it was accepted; raises `DocumentError` if it can't be read.

        `folders`: where flows that edits add are searched.
        """
        return journaled_flow(self.head, ''.join(self._parts), folders)

    @property
    def key(self) -> str:
        """Return what the flow depends on; equal for equal flows."""
        if not self._key:
            self._key = json.dumps([''.join(self._parts), {
                name: value for name, value in self.head.items() if name in _HEAD}],
                sort_keys=True)
        return self._key

    def cached(self) -> LoadedFlow:
        """
        Return the flow as `read([])` does, which must not be changed, from a cache.

        A large flow takes long to read: call it in a thread before, then it is found here.
        """
        flow = _cache.get(self.key)
        if flow is None:
            flow = _cache[self.key] = self.read([])
            if len(_cache) > CACHED:
                _cache.popitem(last=False)
        return flow


def journaled_flow(
    head: Mapping[str, Any], text: str, folders: Sequence[str] | None = None
) -> LoadedFlow:
    """
    Return the flow as it was accepted; raises `DocumentError` if it can't be read.

    `head`: data of the row 'accepted'. `text`: of this row and of the rows 'text' after it.
    `folders`: where flows that edits add are searched.
    """
    text, known = _split(text, head)
    sources = Sources(folders, known)
    if (head.get('origin') or {}).get('loop'):
        return parse_loop(text, head['file'], sources)
    return parse_flow(text, head['file'], head['parameters'], sources)


def _split(text: str, head: Mapping[str, Any]) -> tuple[str, dict[Reference, Source]]:
    """Return the text of a flow, and those of its nested flows, which follow it."""
    end = start = int(head.get('length', len(text)))
    rows: list[list[str]] = []
    for beside, name, file, length in head.get('nested', []):
        rows.append([beside, name, file, text[end:end + length]])
        end += length
    return text[:start], from_rows(rows)
