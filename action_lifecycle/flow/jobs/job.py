# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""One scheduled job: its due times, and the runs to start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
import math
from typing import Any, Optional

from pydantic import Field

from ...documents.errors import LifecycleError
from ...documents.models import as_written, read_back, StrictModel
from ...lifecycle.schedule.schedule import LATEST, Schedule, schedule_faults, ScheduleSpec

GRACE = 5.0
"""Delay (s) after which a due time counts as missed."""
MAX_OWED = 1000
"""Maximum number of due runs that wait to start; if there are more, the earliest are dropped."""


def valid_time(reading: float) -> float:
    """Return a clock reading (s); 0 (not known yet) if it is out of range."""
    return reading if abs(reading) <= LATEST else 0.0


@dataclass
class ScheduledJob:
    """
    A scheduled flow, or a scheduled action of a running flow.

    Times are in s of the job's clock. `taken`: the last time of the schedule that was processed;
    `owed`: due times whose runs have not started yet (of an action: have not ended).
    """

    job_id: str
    name: str
    spec: ScheduleSpec
    created: float
    flow_id: str = ''
    action_id: str = ''
    shift: float = 0.0
    seen: float = 0.0
    taken: float | None = None
    count: int = 0
    owed: list[float] = field(default_factory=list)
    runs: int = 0
    missed: int = 0
    last: float | None = None
    running: list[str] = field(default_factory=list)
    last_flow_id: str = ''
    last_result: str = ''
    ended_seq: int = 0
    waiting: bool = False  #: whether an action waits only for its time
    closed: bool = False  #: whether it has ended; its end may not be journaled yet

    def __post_init__(self) -> None:
        self._schedule: Schedule | None = None
        self._next: tuple[tuple[float | None, float], float | None] | None = None

    @property
    def schedule(self) -> Schedule:
        """Return the times of the job."""
        if self._schedule is None:
            self._schedule = Schedule(self.spec, self.created, self.shift)
        return self._schedule

    def data(self) -> dict[str, Any]:
        """Return the data of the job for the journal."""
        return {**{name: getattr(self, name) for name in STORED}, 'spec': as_written(self.spec)}

    def restore(self, data: Mapping[str, Any]) -> None:
        """Restore the fields from `data`, a value returned by `data()`."""
        self.__dict__.update({name: data[name] for name in STORED})

    @property
    def next(self) -> float | None:  # noqa: A003
        """Return the next time of the schedule (s); None if there is none."""
        if self.spec.times and self.count >= self.spec.times:
            return None
        state = self.taken, self.shift
        if self._next is None or self._next[0] != state:
            self._next = state, self.schedule.after(self.taken)
        return self._next[1]

    def try_schedule(self) -> None:
        """Compute the next time; raises `LifecycleError` if the schedule is not valid."""
        faults = [f'schedule.{name}: {message}' for name, message in schedule_faults(
            self.spec, of_action=self.action_id != '')]
        if faults:
            raise LifecycleError('; '.join(faults))
        found = self.next
        if found is not None and self.taken is not None and not found > self.taken:
            raise LifecycleError(f'schedule: {found} does not come after {self.taken}')

    @property
    def over(self) -> bool:
        """Return whether no run is active, due or scheduled."""
        return self.next is None and not self.owed and not self.running

    def moved(self, now: float) -> bool:
        """Process a clock reading (s); returns whether a clock jump has shifted the schedule."""
        back = self.seen - now
        begins = self.seen == 0.0 < now  # the first known ROS time
        self.seen = now
        if not self.schedule.shifts or not (back > 0 or begins):
            return False
        self.shift -= back
        self.schedule.shift = self.shift
        if self.taken is not None:
            self.taken -= back
        return True

    def start_run(self) -> None:
        """Mark the run of the earliest due time as active; sets `last_flow_id`."""
        self.last, *self.owed = self.owed
        self.runs += 1
        self.last_flow_id, self.last_result = f'{self.job_id}.{self.runs}', ''
        self.running = [*self.running, self.last_flow_id]

    def take(self, now: float) -> None:
        """Process all due times until `now` (s); there must be at least one."""
        left = self.spec.times - self.count if self.spec.times else math.inf
        number, last = self.schedule.came(self.taken, now, left, MAX_OWED + 1)
        self.taken = last[-1]
        self.count += number
        on_time = last[-1] >= now - GRACE
        late = last[:-1] if on_time else last
        made_up: list[float] = []
        if self.spec.missed == 'all':
            made_up = late[-MAX_OWED:]
        elif self.spec.missed == 'once' and late and not on_time:
            made_up = late[-1:]
        if on_time and not (self.spec.overlap == 'skip' and (self.running or self.owed)):
            made_up = [*made_up, last[-1]]
        owed = [*self.owed, *made_up]
        self.owed = owed[-MAX_OWED:]
        self.missed += number - len(made_up) + len(owed) - len(self.owed)


STORED = tuple(one.name for one in fields(ScheduledJob)
               if one.name not in ('spec', 'waiting', 'closed'))
"""Fields stored in the journal, in addition to `spec`."""


class _StoredJob(StrictModel):
    """A job as a journal row stores it."""

    job_id: str
    name: str
    spec: ScheduleSpec
    created: float
    flow_id: str = ''
    action_id: str = ''
    shift: float = 0.0
    seen: float = 0.0
    taken: Optional[float] = None
    count: int = Field(default=0, ge=0)
    owed: list[float] = []
    runs: int = Field(default=0, ge=0)
    missed: int = Field(default=0, ge=0)
    last: Optional[float] = None
    running: list[str] = []
    last_flow_id: str = ''
    last_result: str = ''
    ended_seq: int = Field(default=0, ge=0)


def read_job(data: Mapping[str, Any]) -> ScheduledJob:
    """Return a job from a journal row; raises `LifecycleError` if it is not valid."""
    stored = read_back(_StoredJob, data)
    values = {name: getattr(stored, name) for name in STORED}
    for name in ('created', 'shift', 'seen', 'taken', 'last', 'owed'):
        value = values[name]
        for moment in value if isinstance(value, list) else [value]:
            if moment is not None and not abs(moment) <= 2 * LATEST:
                raise LifecycleError(f"field '{name}': {moment} is no time of a clock")
    job = ScheduledJob(spec=stored.spec, **values)
    job.try_schedule()
    return job
