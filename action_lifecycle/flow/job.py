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
from typing import Any

from ..engine.models import as_written
from ..lifecycle.schedule import Schedule, ScheduleSpec

GRACE = 5.0
"""A time that has passed by more than this (s) was missed."""
MAX_OWED = 1000
"""Missed runs that are made up for; those before are left out."""


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
        self.schedule = Schedule(self.spec, self.created, self.shift)
        self._next: tuple[tuple[float | None, float], float | None] | None = None

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
        came: list[float] = []
        self._pass_over(now)
        while (moment := self.next) is not None and moment <= now:
            self.taken = moment
            self.count += 1
            came.append(moment)
        on_time = came[-1] >= now - GRACE
        late = came[:-1] if on_time else came
        made_up: list[float] = []
        if self.spec.missed == 'all':
            made_up = late[-MAX_OWED:]
        elif self.spec.missed == 'once' and late and not on_time:
            made_up = late[-1:]
        busy = bool(self.running or self.owed)
        self.missed += len(late) - len(made_up)
        if on_time and busy and self.spec.overlap == 'skip':
            self.missed += 1
        elif on_time:
            made_up = [*made_up, came[-1]]
        self.owed = [*self.owed, *made_up]

    def _pass_over(self, now: float) -> None:
        """Leave out what is too much to be made up for, without going through it."""
        moment, period = self.next, self.spec.every
        if moment is None or not isinstance(period, float):
            return
        many = int((now - moment) // period) - MAX_OWED
        if self.spec.times:
            many = min(many, self.spec.times - self.count - 1)
        if many > 0:
            self.taken = moment + (many - 1) * period
            self.count += many
            self.missed += many


STORED = ('job_id', 'name', 'created', 'flow_id', 'action_id', 'shift', 'seen', 'taken', 'count',
          'owed', 'runs', 'missed', 'last', 'running', 'last_flow_id', 'last_result', 'ended_seq')
"""Fields that the journal has, beside `spec`."""


def read_job(data: Mapping[str, Any]) -> Job:
    """Return a job as the journal has it."""
    return Job(**{**data, 'spec': ScheduleSpec(**data['spec'])})
