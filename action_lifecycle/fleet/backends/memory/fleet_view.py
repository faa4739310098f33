# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What people see of a fleet whose ledger is in memory."""

from __future__ import annotations

from itertools import islice
import time

from .storage import KeptRobot, Storage, Stream
from ...robot_status import activity, MAX_ACTIVITIES, RobotReport, RobotStatus, SHOWN_KINDS
from ...work_status import (
    dead_letter,
    DeadLetter,
    LISTED,
    missing_letter,
    new_request,
    Request,
    Resent,
    StreamWork,
)


class MemoryFleetView:
    """The fleet in the storage of a ledger; see `FleetView`."""

    def __init__(self, storage: Storage, robot: str) -> None:
        self._storage = storage
        self._robot = robot

    async def report(self, report: RobotReport) -> None:
        self._storage.reports[self._robot] = report, time.monotonic()

    async def robots(self) -> list[RobotStatus]:
        with self._storage.lock:
            return [self._status(name) for name in sorted(
                {*self._storage.reports, *self._storage.robots})]

    def _status(self, name: str) -> RobotStatus:
        report, since = self._storage.reports.get(name, (None, 0.0))
        age = None if report is None else time.monotonic() - since
        kept = self._storage.robots.get(name) or KeptRobot()
        shown = sorted((opened, subject) for subject, opened in kept.opened.items())
        rows = [(kept.last[subject], kept.records.get(subject, {}))
                for _, subject in reversed(shown[-MAX_ACTIVITIES:])]
        return RobotStatus(name, report, age, kept.cursor.seq, tuple(
            activity({**record, **row._asdict()}, report, age)
            for row, record in rows if row.kind in SHOWN_KINDS))

    async def work(self, stream: str, group: str) -> StreamWork:
        with self._storage.lock:
            kept = self._storage.streams.get(stream) or Stream()
            taken = kept.groups.get(group, {})
            waits = [Request(one, fields) for one, fields in kept.entries.items()
                     if one not in taken]
            runs = [Request(one, kept.entries.get(one, {}), held.worker,
                            time.monotonic() - held.since, held.tries)
                    for one, held in taken.items() if held is not None]
            return StreamWork(stream, group, len(waits), len(runs), len(kept.dead),
                              tuple(waits[:LISTED]), tuple(runs[:LISTED]))

    async def dead_letters(self, stream: str, limit: int = LISTED) -> list[DeadLetter]:
        with self._storage.lock:
            kept = self._storage.streams.get(stream) or Stream()
            return [dead_letter(stream, letter_id, fields)
                    for letter_id, fields in islice(reversed(kept.dead.items()), limit)]

    async def resend(self, stream: str, letter_id: str, actor: str) -> Resent:
        with self._storage.lock:
            kept = self._storage.streams.get(stream) or Stream()
            if letter_id in kept.resent:
                return kept.resent[letter_id]._replace(again=True)
            if letter_id not in kept.dead:
                raise missing_letter(stream, letter_id)
            fields = new_request(dead_letter(stream, letter_id, kept.dead[letter_id]), actor)
            del kept.dead[letter_id]
            done = Resent(letter_id, kept.add(fields), fields['trace_id'], actor, time.time())
            kept.resent[letter_id] = done
            return done
