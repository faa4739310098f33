# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A flow as the journal has it: its text, and its edits up to any row."""

from __future__ import annotations

import bisect
from collections import OrderedDict
from collections.abc import Iterable, Mapping
import itertools
from typing import Any, NamedTuple

from ...documents.errors import LifecycleError
from ...flow.edits.edit_validation import idle_run, replay_edit
from ...flow.files.edit import StagedEdit
from ...flow.files.flow import LoadedFlow
from ...flow.files.journaled import JournaledText
from ...flow.run.flow_run import FlowRun
from ...journal.row import JournalError, Row


class Version(NamedTuple):
    """
    A flow between two edits; it must not be changed.

    `names`: the actions that are known from rows only, if the text or an edit can't be read.
    """

    flow: LoadedFlow | None
    names: tuple[str, ...]

    @property
    def actions(self) -> list[str]:
        """Return the names of all actions."""
        known = () if self.flow is None else self.flow.actions
        return [*known, *(name for name in self.names if name not in known)]


class _Edit(NamedTuple):
    """A journaled edit; `staged`: None if it can't be read."""

    seq: int
    staged: StagedEdit | None
    added: tuple[str, ...]
    removed: tuple[str, ...]


class FlowVersions:
    """The versions of one flow; `fault`: why its text or an edit can't be read, or ''."""

    def __init__(self, flow_id: str) -> None:
        self.flow_id = flow_id
        self.fault = 'the journal does not have its text'
        self._text = JournaledText()
        self._base: LoadedFlow | None = None
        self._since = 0  #: the row that completes the text
        self._run: FlowRun | None = None
        self._edits: list[_Edit] = []
        self._named: dict[str, int] = {}  #: actions that rows name, and the first row of each
        self._built: OrderedDict[tuple[int, int], Version] = OrderedDict()

    @property
    def head(self) -> Mapping[str, Any]:
        """Return the data of the row 'accepted'; empty if it is not in the journal."""
        return self._text.head

    def text(self, seq: int) -> str:
        """Return the text as far as the rows up to `seq` have it, without edits."""
        return self._text.until(seq)

    def take_text(self, row: Row) -> bool:
        """Take a row 'accepted' or 'text'; returns whether the text is complete."""
        try:
            if not self._text.take(row):
                if self.head and not self._text.is_complete:
                    self.fault = 'the journal does not have all of its text yet'
                return False
            self._base = self._text.cached()
            self._since = row.seq
            self._run, self.fault = idle_run(self._base.copy()), ''
        except Exception as error:  # a row may have any content
            self.fault = said(error)
        self.name(self.head.get('action_names') or (), row.seq)
        self._built.clear()
        return True

    def completed_by(self, row: Row) -> JournaledText | None:
        """Return the text of the flow if a row completes it."""
        if row.kind != 'flow' or row.event not in ('accepted', 'text'):
            return None
        text = self._text.copy()
        try:
            return text if text.take(row) else None
        except (JournalError, LookupError, TypeError):
            return None

    def take_edit(self, row: Row) -> None:
        """Take a row 'edited'."""
        added: tuple[str, ...] = ()
        removed: tuple[str, ...] = ()
        staged: StagedEdit | None = None
        try:
            data = row.data
            added, removed = _names(data.get('added')), _names(data.get('removed'))
            if self._run is not None:
                staged = replay_edit(self._run, row)
                removed = tuple(name for name, source in staged.changes.items() if source is None)
        except Exception as error:  # a row may have any content
            staged, self.fault = None, f'its edit in row {row.seq} can not be read: {said(error)}'
        self._edits.append(_Edit(row.seq, staged, added, removed))

    def name(self, names: Iterable[str], seq: int) -> bool:
        """Take names of actions from row `seq`; returns whether this shows an action more."""
        new = [name for name in names if name not in self._named]
        self._named.update(dict.fromkeys(new, seq))
        return bool(new and self.fault)

    def at(self, seq: int) -> Version:
        """Return the flow after the rows up to `seq`."""
        if seq < self._since:
            return Version(None, ())
        key = (sum(edit.seq <= seq for edit in self._edits),
               bisect.bisect_right([*self._named.values()], seq) if self.fault else 0)
        version = self._built.get(key)
        if version is None:
            version = self._built[key] = self._build(*key)
            if len(self._built) > 3:
                self._built.popitem(last=False)
        return version

    def removed(self, seq: int) -> tuple[str, ...]:
        """Return the actions that the edit in row `seq` has removed."""
        return next((edit.removed for edit in self._edits if edit.seq == seq), ())

    def _build(self, edits: int, named: int) -> Version:
        flow = None if self._base is None else self._base.copy()
        names = dict(itertools.islice(self._named.items(), named))
        for edit in self._edits[:edits]:
            if edit.staged is not None and flow is not None:
                flow.apply(edit.staged.flow, edit.staged.changes)
            for name in edit.removed:
                names.pop(name, None)
                if edit.staged is None and flow is not None and name in flow.actions:
                    flow.apply(flow.with_changes({name: None}), {name: None})
            names.update(dict.fromkeys(edit.added, edit.seq))
        if flow is not None and not self.fault:
            names = {}
        return Version(flow, tuple(names))


def said(error: Exception) -> str:
    """Return an error for people; errors of unexpected content with their type."""
    return str(error) if isinstance(error, LifecycleError) else f'{type(error).__name__}: {error}'


def _names(value: Any) -> tuple[str, ...]:
    return tuple(name for name in value if isinstance(name, str)) \
        if isinstance(value, list) else ()
