# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which ready actions wait for locked resources: logged, and journaled for the ledger."""

from __future__ import annotations

from collections.abc import Mapping
import logging

from .flow_run import FlowRun
from .recorder import JournalRecorder
from ..scheduling.scheduler import Scheduler
from ...journal.action_rows import BLOCKED, waits_entry
from ...journal.row import Row

AT_ONCE = 100
"""Maximum number of notes written before other callbacks run."""


class LockWaits:
    """
    Journals when a ready action begins and ceases to wait for locked resources.

    An action that starts or ends while it waits gets no further note, its change says enough. The
    notes are written in later callbacks, from what is the case then, so they delay no stop.
    """

    def __init__(
        self, runs: Mapping[str, FlowRun], scheduler: Scheduler, recorder: JournalRecorder
    ) -> None:
        self._runs = runs
        self._scheduler = scheduler
        self._recorder = recorder
        self._log = logging.getLogger('action_lifecycle')
        self._noted: set[tuple[str, str]] = set()  #: flow and action, by the last note
        self._due: dict[tuple[str, str], None] = {}  #: to be compared with the last note

    def claimed(self, flow_id: str, name: str) -> None:
        """Log and journal that an action waits, if one of its resources is locked."""
        locked = self._scheduler.locked_for(flow_id, name)
        if locked:
            self._log.warning(
                '%s/%s waits: %s; check the robot, then call ~/clear_stop', flow_id, name, locked)
        self._compare((flow_id, name), bool(locked))

    def withdrawn(self, flow_id: str, name: str) -> None:
        """Journal that an action waits no longer, unless it has started or ended."""
        self._compare((flow_id, name), False)

    def unlocked(self) -> None:
        """Journal which actions wait no longer after resources were unlocked."""
        for key in self._noted:
            self._compare(key, self._scheduler.locked_for(*key) != '')

    def started(self, flow_id: str, name: str) -> None:
        """Forget an action that has started."""
        self._noted.discard((flow_id, name))

    def read_back(self, row: Row) -> None:
        """Apply a note from the journal after a restart."""
        key = row.flow_id, row.action_id
        if row.event == BLOCKED:
            self._noted.add(key)
        else:
            self._noted.discard(key)

    def _compare(self, key: tuple[str, str], waits: bool) -> None:
        if waits != (key in self._noted):
            if not self._due:
                self._recorder.call_soon(self._write)
            self._due[key] = None

    def _write(self) -> None:
        if self._recorder.until_recorded(
                'what waits for locked resources', self._write_some, self._write) and self._due:
            self._recorder.call_soon(self._write)

    def _write_some(self) -> None:
        keys = list(self._due)[:AT_ONCE]
        changes = {}
        ended = []
        for key in keys:
            run = self._runs.get(key[0])
            locked = self._scheduler.locked_for(*key)
            if run is None or run.ended or run.progress(key[1]) != 'waiting':
                ended.append(key)
            elif bool(locked) != (key in self._noted):
                changes[key] = locked
        if changes:
            now = self._recorder.clock.now()
            self._recorder.append(*(
                waits_entry(*key, locked, now) for key, locked in changes.items()))
        for key in keys:
            del self._due[key]
        self._noted.difference_update(ended, (key for key in changes if not changes[key]))
        self._noted.update(key for key, locked in changes.items() if locked)
