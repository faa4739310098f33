# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""One scheduled job: which times of its schedule have come, and what is owed for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import math
from typing import Any, Optional

from pydantic import Field

from ..engine.errors import LifecycleError
from ..engine.models import as_written, read_back, StrictModel
from ..lifecycle.schedule import LATEST, Schedule, schedule_faults, ScheduleSpec

GRACE = 5.0
"""A time that has passed by more than this (s) was missed."""
MAX_OWED = 1000
"""Runs that are owed at a time; those of earlier times are left out."""


def told(reading: float) -> float:
    """Return the reading of a clock; one that is no time counts as 0, which is not told yet."""
    return reading if abs(reading) <= LATEST else 0.0


@dataclass
class Job:
    """
    A scheduled flow, or an action of a running flow that waits for its time.

    Times are in s of the job's clock. `taken`: the last time of the schedule that was looked at;
    `owed`: times that have come and whose runs have not started (of an action: not ended).
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
    waiting: bool = False  #: an action that is ready but for its time

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
        """Return it as the journal has it."""
        return {**{name: getattr(self, name) for name in STORED}, 'spec': as_written(self.spec)}

    @property
    def next(self) -> float | None:  # noqa: A003
        """Return when it comes next; None: never more."""
        if self.spec.times and self.count >= self.spec.times:
            return None
        state = self.taken, self.shift
        if self._next is None or self._next[0] != state:
            self._next = state, self.schedule.after(self.taken)
        return self._next[1]

    def try_schedule(self) -> None:
        """Find the next time; `LifecycleError` if the schedule has faults or can't be used."""
        faults = [f'schedule.{name}: {message}' for name, message in schedule_faults(
            self.spec, of_action=self.action_id != '')]
        if faults:
            raise LifecycleError('; '.join(faults))
        found = self.next
        if found is not None and self.taken is not None and not found > self.taken:
            raise LifecycleError(f'schedule: {found} does not come after {self.taken}')

    @property
    def over(self) -> bool:
        """Return whether nothing of it runs or will run."""
        return self.next is None and not self.owed and not self.running

    def moved(self, now: float) -> bool:
        """Take in what the clock says; return whether it jumped and took intervals along."""
        back = self.seen - now
        begins = self.seen == 0.0 < now  # ROS time that nobody had told yet
        self.seen = now
        if not self.schedule.shifts or not (back > 0 or begins):
            return False
        self.shift -= back
        self.schedule.shift = self.shift
        if self.taken is not None:
            self.taken -= back
        return True

    def take(self, now: float) -> None:
        """Take all times that have come, of which there is at least one."""
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


STORED = ('job_id', 'name', 'created', 'flow_id', 'action_id', 'shift', 'seen', 'taken', 'count',
          'owed', 'runs', 'missed', 'last', 'running', 'last_flow_id', 'last_result', 'ended_seq')
"""Fields that the journal has, beside `spec`."""


class _StoredJob(StrictModel):
    """A job as a row of the journal has it."""

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


def read_job(data: Mapping[str, Any]) -> Job:
    """Return a job as the journal has it; `LifecycleError` if it is not one that can run."""
    stored = read_back(_StoredJob, data)
    fields = {name: getattr(stored, name) for name in STORED}
    for name in ('created', 'shift', 'seen', 'taken', 'last', 'owed'):
        value = fields[name]
        for moment in value if isinstance(value, list) else [value]:
            if moment is not None and not abs(moment) <= 2 * LATEST:
                raise LifecycleError(f"field '{name}': {moment} is no time of a clock")
    job = Job(spec=stored.spec, **fields)
    job.try_schedule()
    return job
