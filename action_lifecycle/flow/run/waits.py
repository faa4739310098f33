# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What actions wait for, locked resources or people's orders: logged, and journaled."""

from __future__ import annotations

from collections.abc import Mapping
import logging

from .flow_run import FlowRun
from .recorder import JournalRecorder
from ..scheduling.scheduler import Scheduler
from ...journal.action_rows import BLOCKED, waits_entry
from ...journal.row import Row
from ...lifecycle.action import Action

AT_ONCE = 100
"""Maximum number of notes written before other callbacks run."""


class Waits:
    """
    Journals when an action begins and ceases to wait for locked resources, or for people.

    People's orders are a pause and a breakpoint. An action whose state changes gets no further
    note, its change says enough. The notes are written in later callbacks, from what is the case
    then, so they delay no stop.
    """

    def __init__(
        self, runs: Mapping[str, FlowRun], scheduler: Scheduler, recorder: JournalRecorder
    ) -> None:
        self._runs = runs
        self._scheduler = scheduler
        self._recorder = recorder
        recorder.action_changed = self.changed
        self._log = logging.getLogger('action_lifecycle')
        self._noted: dict[tuple[str, str], str] = {}  #: by flow and action: cause of the last note
        self._due: dict[tuple[str, str], None] = {}  #: to be compared with the last note

    def reason(self, run: FlowRun, name: str) -> str:
        """Return what an action waits for, as the cause of a note; see `blocked_text`."""
        if locked := self._scheduler.locked_for(run.flow_id, name):
            return locked
        ordered = run.blocked_by(name)
        return f'approval_required: {ordered}' if ordered else ''

    def claimed(self, run: FlowRun, name: str) -> None:
        """Log that an action waits, if one of its resources is locked; then like `compare`."""
        locked = self._scheduler.locked_for(run.flow_id, name)
        if locked:
            self._log.warning('%s/%s waits: %s; check the robot, then call ~/clear_stop',
                              run.flow_id, name, locked)
        self.compare(run, name)

    def compare(self, run: FlowRun, name: str) -> None:
        """Journal what an action waits for, if this has changed."""
        key = run.flow_id, name
        if self.reason(run, name) != self._noted.get(key, '') and key not in self._due:
            if not self._due:
                self._recorder.call_soon(self._write)
            self._due[key] = None

    def compare_all(self, run: FlowRun) -> None:
        """Like `compare` for each action of a flow that waits or works."""
        noted = [name for flow_id, name in self._noted if flow_id == run.flow_id]
        for name in dict.fromkeys([*run.dependencies.ready(), *run.at_work, *noted]):
            self.compare(run, name)

    def changed(self, action: Action) -> None:
        """Handle a change of the state of an action, which says more than the last note."""
        self._noted.pop((action.flow_id, action.action_id), None)

    def read_back(self, row: Row) -> None:
        """Apply a note from the journal after a restart."""
        self._note((row.flow_id, row.action_id), row.cause if row.event == BLOCKED else '')

    def _note(self, key: tuple[str, str], reason: str) -> None:
        if reason:
            self._noted[key] = reason
        else:
            self._noted.pop(key, None)

    def _write(self) -> None:
        if self._recorder.until_recorded(
                'what actions wait for', self._write_some, self._write) and self._due:
            self._recorder.call_soon(self._write)

    def _write_some(self) -> None:
        keys = list(self._due)[:AT_ONCE]
        now = self._recorder.clock.now()
        changes: dict[tuple[str, str], str] = {}
        entries = []
        for key in keys:
            run = self._runs.get(key[0])
            if run is None or run.ended or run.progress(key[1]) == 'ended':
                continue
            reason = self.reason(run, key[1])
            if reason != self._noted.get(key, ''):
                changes[key] = reason
                runner = run.runners.one_made(key[1])
                entries.append(waits_entry(
                    *key, reason, now, None if runner is None else runner.action))
        if entries:
            self._recorder.append(*entries)
        for key in keys:
            del self._due[key]
        for key, reason in changes.items():
            self._note(key, reason)
