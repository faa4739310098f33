# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What people see of a fleet whose ledger is in memory."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
import time

from .storage import KeptRobot, Storage, Stream
from ...robot_status import activity, MAX_ACTIVITIES, RobotReport, RobotStatus, SHOWN_KINDS
from ...stream_names import checked_stream
from ...work_status import (
    COUNTED,
    dead_letter,
    DeadLetter,
    LISTED,
    missing_letter,
    new_request,
    Request,
    Resent,
    stream_work,
    StreamWork,
)
from ....journal.clock import boot_time


class MemoryFleetView:
    """The fleet in the storage of a ledger; see `FleetView`."""

    def __init__(self, storage: Storage, robot: str) -> None:
        self._storage = storage
        self._robot = robot

    async def report(self, report: RobotReport) -> None:
        self._storage.reports[self._robot] = report, boot_time()

    async def robots(self) -> list[RobotStatus]:
        with self._storage.lock:
            return [self._status(name) for name in sorted(
                {*self._storage.reports, *self._storage.robots})]

    def _status(self, name: str) -> RobotStatus:
        report, since = self._storage.reports.get(name, (None, 0.0))
        age = None if report is None else boot_time() - since
        kept = self._storage.robots.get(name) or KeptRobot()
        shown = sorted((opened, subject) for subject, opened in kept.opened.items())
        rows = [(kept.last[subject], kept.records.get(subject, {}))
                for _, subject in reversed(shown[-MAX_ACTIVITIES:])]
        return RobotStatus(name, report, age, kept.cursor.seq, tuple(
            activity({**record, **row._asdict()}, report, age)
            for row, record in rows if row.kind in SHOWN_KINDS))

    def _stream(self, name: str) -> Stream:
        return self._storage.streams.get(checked_stream(name)) or Stream()

    async def work(self, stream: str, group: str) -> StreamWork:
        with self._storage.lock:
            kept = self._stream(stream)
            taken = kept.groups.get(group, {})
            waits = [Request(one, fields) for one, fields in kept.entries.items()
                     if one not in taken]
            runs = [Request(one, kept.entries.get(one, {}), held.worker,
                            boot_time() - held.since, held.tries)
                    for one, held in taken.items() if held is not None]
            return stream_work(
                stream, group, len(waits), len(runs), len(kept.dead), waits,
                ((one, self._trace(one.trace_id)) for one in runs[:COUNTED]))

    def _trace(self, trace_id: str) -> Mapping[str, str]:
        found = self._storage.traces.get(trace_id)
        return {} if found is None else found.fields

    async def dead_letters(self, stream: str, limit: int = LISTED) -> list[DeadLetter]:
        with self._storage.lock:
            kept = self._stream(stream)
            return [dead_letter(stream, letter_id, fields)
                    for letter_id, fields in islice(reversed(kept.dead.items()), limit)]

    async def resend(self, stream: str, letter_id: str, actor: str) -> Resent:
        with self._storage.lock:
            kept = self._stream(stream)
            if letter_id in kept.resent:
                return kept.resent[letter_id]._replace(again=True)
            if letter_id not in kept.dead:
                raise missing_letter(stream, letter_id)
            fields = new_request(dead_letter(stream, letter_id, kept.dead[letter_id]), actor)
            del kept.dead[letter_id]
            done = Resent(letter_id, kept.add(fields), fields['trace_id'], actor, time.time())
            kept.resent[letter_id] = done
            return done
