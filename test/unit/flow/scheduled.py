# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Processes with scheduled jobs."""

from __future__ import annotations

from collections.abc import Callable
import datetime
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow import parse_flow
from action_lifecycle.flow.jobs.jobs import JobRun, Jobs
from action_lifecycle.lifecycle.schedule.schedule import ScheduleSpec

from .robot import Clock, one, Start

FLOW = one()


class Scheduled:
    """A process with jobs; its wall clock is that of the rig, set forward or back by `wall`."""

    def __init__(self, start: Start, clock: Clock, wall: list[float]) -> None:
        self.process = start()
        self.orchestrator = self.process.orchestrator
        self.clock = clock
        self.started: list[str] = []
        self.jobs = Jobs(self.orchestrator, lambda: clock.time + wall[0], self.begin)
        self.orchestrator.restore()
        self.jobs.restore()

    def begin(self, run: JobRun, refused: Callable[[str], None]) -> None:
        self.started.append(run.flow_id)
        try:
            self.orchestrator.submit(
                parse_flow(run.order['text'], 'f.yaml'), run.flow_id,
                origin={'kind': 'job', 'job': run.job_id})
        except LifecycleError as error:
            refused(str(error))

    def create(self, text: str = FLOW, job_id: str = 'j', **schedule: Any) -> Any:
        return self.jobs.create(
            job_id, 'one', ScheduleSpec(**{'clock': 'wall', **schedule}), {'text': text})

    def flows(self) -> list[str]:
        """Return the flows that the journal has, in order."""
        return [row.flow_id for row in self.process.journal.rows(kind='flow')
                if row.event == 'accepted']


Life = Callable[[], Scheduled]


def iso(moment: float) -> str:
    """Return a wall clock's time (s since 1970) as schedules have it."""
    return datetime.datetime.fromtimestamp(moment, datetime.timezone.utc).isoformat()
