# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Scheduled jobs that are set aside: open in the journal, but not started."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
import logging
from typing import Any

from ..orchestrator import Orchestrator
from ..run.recorder import JournalRecorder
from ...documents.errors import LifecycleError
from ...journal.row import Entry

MAX_REASON = 1000
"""Maximum length of a reason, in characters."""


def id_of(flow_id: str, action_id: str) -> str:
    """Return the job id of an action; the job id of a flow has no slash."""
    return f'{flow_id}/{action_id}'


def record_end(
    recorder: JournalRecorder, job_id: str, event: str, actor: str, cause: str,
    data: Mapping[str, Any],
) -> None:
    """Journal the end of a job, and of the order of a flow's job."""
    entries = [Entry(kind='job', action_id=job_id, event=event, data=data, actor=actor,
                     cause=cause, final=True, ros_time=recorder.clock.now())]
    if '/' not in job_id:
        entries.append(Entry(kind='job_order', action_id=job_id, event=event, final=True))
    recorder.journal.append_many(entries)


class JobsAside:
    """The jobs that are set aside; `reasons` by job id."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self.reasons: dict[str, str] = {}
        self._orchestrator = orchestrator
        self._log = logging.getLogger('action_lifecycle')

    def __contains__(self, job_id: object) -> bool:
        return job_id in self.reasons

    def add(self, job_id: str, error: Exception | str) -> None:
        """Set a job aside; logs the reason and what to do."""
        reason = str(error) if isinstance(error, (str, LifecycleError)) else repr(error)
        reason = reason[:MAX_REASON]
        if job_id in self.reasons:
            return
        self.reasons[job_id] = reason
        self._log.error(
            "job '%s' is set aside: %s. It starts nothing and stays open in the journal; the "
            'other jobs go on. Cancel it with cancel_job%s', job_id, reason,
            ', which cancels its action' if '/' in job_id else ', then schedule its flow again')

    def cancel(self, job_id: str, actor: str, reason: str) -> None:
        """Cancel a job and the action that waits for it."""
        flow_id, _, action_id = job_id.rpartition('/')
        run = self._orchestrator.runs.get(flow_id)
        if run is not None and not run.ended and action_id in run.runners \
                and not run.is_over(action_id):
            self._orchestrator.fire(flow_id, action_id, 'cancel', actor=actor, cause=reason)
        self._close(job_id, 'canceled', actor, reason)

    def flow_ended(self, flow_id: str) -> None:
        """Close the jobs of the actions of a flow that has ended."""
        for job_id in [job_id for job_id in self.reasons if job_id.startswith(f'{flow_id}/')]:
            self._orchestrator.recorder.until_recorded(
                f"the end of job '{job_id}'",
                partial(self._close, job_id, 'left over', '', 'its flow has ended'))

    def clear(self) -> None:
        """Forget all jobs that are set aside; they stay open in the journal."""
        self.reasons = {}

    def _close(self, job_id: str, event: str, actor: str, cause: str) -> None:
        if job_id in self.reasons:  # if not, closed with its flow
            record_end(self._orchestrator.recorder, job_id, event, actor, cause,
                       {'set_aside': self.reasons[job_id]})
            del self.reasons[job_id]
