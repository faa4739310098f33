# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The services ~/list_jobs and ~/cancel_job."""

from __future__ import annotations

from typing import Any

from action_lifecycle_msgs import msg
from action_lifecycle_msgs.srv import CancelJob, ListJobs

from .flow_server import FlowServer
from ....documents.errors import LifecycleError
from ....flow.jobs.job import ScheduledJob
from ....lifecycle.states import ErrorCode
from ....ros.conversions.basic import to_time
from ....ros.node.lifecycle_node import ManagedNode

MOST = 2**32 - 1
"""The largest value of a uint32 field."""


class JobServices:
    """Offers `~/list_jobs` and `~/cancel_job`."""

    def __init__(self, node: ManagedNode, flows: FlowServer) -> None:
        self._flows = flows
        node.add_service(ListJobs, '~/list_jobs', self._list)
        node.add_service(CancelJob, '~/cancel_job', self._cancel)

    def _list(self, request: Any, response: Any) -> Any:
        jobs = self._flows.jobs
        response.jobs = [_job_to(job) for job in sorted(
            jobs.jobs.values(),
            key=lambda job: (job.next is None, job.next or 0.0, job.job_id))]
        response.jobs += [_aside_to(job_id, reason)
                          for job_id, reason in sorted(jobs.aside.reasons.items())]
        return response

    def _cancel(self, request: Any, response: Any) -> Any:
        if not request.actor:
            raise LifecycleError('actor: must say who cancels it')
        jobs = self._flows.jobs
        if request.id not in jobs.jobs and request.id not in jobs.aside:
            response.error_code = int(ErrorCode.NOT_FOUND)
            response.error_msg = jobs.unknown(request.id)
            return response
        jobs.cancel(request.id, request.actor, request.reason)
        response.accepted = True
        return response


def _job_to(job: ScheduledJob) -> msg.Job:
    return msg.Job(
        id=job.job_id, flow_id=job.flow_id, action_id=job.action_id, flow=job.name,
        schedule=job.spec.in_words(), clock=job.spec.clock, missed=job.spec.missed,
        next=to_time(job.next or 0.0), last=to_time(job.last or 0.0),
        runs=min(job.runs, MOST), missed_runs=min(job.missed, MOST),
        last_flow_id=job.last_flow_id, last_result=job.last_result)


def _aside_to(job_id: str, reason: str) -> msg.Job:
    """Return a job that is set aside; `schedule` gives the reason."""
    flow_id, _, action_id = job_id.rpartition('/')
    return msg.Job(
        id=job_id, flow_id=flow_id if action_id else '', action_id=action_id,
        schedule=f'set aside: {reason}')
