# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Scheduled jobs: flows that start at scheduled times, and actions that wait for them.

A job and each of its steps are journaled before they take effect, as rows of kind 'job' with the
job's id; each row has the full state. The order of a flow, the data passed to each run, is
journaled once, in a row of kind 'job_order'. Each time of a schedule is processed once, even if
the clock is set back, because only times after the last processed one are considered.

A job that can't be restored, or whose step fails, is set aside: it stays open in the journal but
starts nothing until it is canceled or restored again. Other jobs are not affected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
import logging
from typing import Any

from .job import read_job, ScheduledJob, valid_time
from .jobs_aside import id_of, JobsAside, record_end
from ..orchestrator import Orchestrator
from ..run.flow_hooks import Extension
from ..run.flow_run import FlowRun
from ...documents.errors import LifecycleError
from ...documents.suggestions import nearest
from ...journal.row import Entry, Row
from ...lifecycle.journal_retry import RETRY_PERIOD
from ...lifecycle.ports import Handle
from ...lifecycle.running.runner import ActionRunner
from ...lifecycle.schedule.schedule import ScheduleSpec
from ...lifecycle.states import ActionOutcome

JOB_ACTOR = 'job'
"""The actor of what a job does to an action."""
POLL_PERIOD = {'wall': 1.0, 'ros': 0.2}
"""Maximum polling period (s) by clock; shorter for ROS time, which may run faster."""
SOON = 0.02
"""Minimum polling period (s)."""
MAX_RUNNING = 100
"""Maximum number of concurrent runs of one job; further runs wait."""


@dataclass(frozen=True)
class JobRun:
    """One run of a scheduled flow, to be started now."""

    job_id: str
    flow_id: str
    due: float  #: s of the job's clock
    order: Mapping[str, Any]  #: the `order` passed to `create`
    is_open: Callable[[], bool]  #: whether its job still waits for it: it was not canceled


class Jobs(Extension):
    """
    All scheduled jobs of a robot.

    `start(run, refused)` starts one run of a flow as `run.flow_id`, or calls `refused(why)`.
    `wall_time()` is in s since 1970; ROS time is the orchestrator's clock.
    """

    def __init__(
        self, orchestrator: Orchestrator, wall_time: Callable[[], float],
        start: Callable[[JobRun, Callable[[str], None]], None],
    ) -> None:
        self.jobs: dict[str, ScheduledJob] = {}
        self.aside = JobsAside(orchestrator)
        self._orchestrator = orchestrator
        self._recorder = orchestrator.recorder
        self._wall_time = wall_time
        self._start = start
        self._orders: dict[str, Mapping[str, Any]] = {}
        self._timer: Handle | None = None
        self._log = logging.getLogger('action_lifecycle')
        orchestrator.extensions.append(self)

    # Public interface

    def create(self, job_id: str, name: str, spec: ScheduleSpec, order: Mapping[str, Any],
               actor: str = '') -> ScheduledJob:
        """Schedule a flow; `order`: JSON data that is passed to each run."""
        if job_id in self.jobs or job_id in self.aside:
            raise LifecycleError(f"there is a job '{job_id}' already")
        now = self._now(spec)
        job = ScheduledJob(job_id, name, spec, now, seen=now)
        job.try_schedule()
        if job.next is None:
            raise LifecycleError(f'the schedule ({spec.in_words()}) never comes')
        ros = self._recorder.clock.now()
        self._recorder.journal.append_many([
            Entry(kind='job_order', action_id=job_id, event='created', data=order, actor=actor,
                  ros_time=ros),
            Entry(kind='job', action_id=job_id, event='created', data=job.data(), actor=actor,
                  ros_time=ros)])
        self.jobs[job_id] = job
        self._orders[job_id] = order
        self._poll()
        return job

    def cancel(self, job_id: str, actor: str, reason: str) -> None:
        """
        Cancel a job and its waiting action; its running flows continue.

        A run whose flow is still being checked does not start.
        """
        if job_id in self.aside:
            self.aside.cancel(job_id, actor, reason)
            self._orders.pop(job_id, None)
            return
        job = self.jobs.get(job_id)
        if job is None:
            raise LifecycleError(self.unknown(job_id))
        if job.action_id and not self._orchestrator.runs[job.flow_id].is_over(job.action_id):
            self._orchestrator.fire(
                job.flow_id, job.action_id, 'cancel', actor=actor, cause=reason)
        self._record_end(job, 'canceled', actor, reason)

    def unknown(self, job_id: str) -> str:
        """Return the message for an unknown job, with the nearest known id."""
        return f"no scheduled job '{job_id}'" + nearest(job_id, [*self.jobs, *self.aside.reasons])

    def restore(self) -> None:
        """Restore the open jobs; the flows must have been restored before."""
        for row in self._open_rows('job_order'):
            try:
                self._orders[row.action_id] = row.data
            except Exception as error:
                self._set_aside(row.action_id, f'its order can not be read: {error}')
        for row in self._open_rows('job'):
            if row.action_id in self.jobs or row.action_id in self.aside:
                continue  # restored with its action
            job = self._read(row)
            if job is not None:
                self.jobs[job.job_id] = job
                self._guarded(job, self._resume)
        self._poll()

    def _open_rows(self, kind: str) -> list[Row]:
        """Return the intact open rows of this kind; sets the jobs of damaged rows aside."""
        intact: list[Row] = []
        for row, fault in self._recorder.journal.checked_open_rows(kind):
            if fault:
                self._set_aside(str(row.action_id), f'row {row.seq} of the journal {fault}')
            else:
                intact.append(row)
        return intact

    def _read(self, row: Row) -> ScheduledJob | None:
        """Return the job of a row; None if the row is not valid and its job is set aside."""
        try:
            job = read_job(row.data)
            if job.job_id != row.action_id or job.action_id and (
                    id_of(job.flow_id, job.action_id) != job.job_id):
                raise LifecycleError(f"job_id '{job.job_id}', flow_id '{job.flow_id}', action_id "
                                     f"'{job.action_id}': expected the job id of the row")
            if not job.action_id and job.job_id not in self._orders:
                raise LifecycleError("the journal has no row of kind 'job_order' for it")
        except Exception as error:
            said = error if isinstance(error, LifecycleError) else repr(error)
            self._set_aside(row.action_id, f'row {row.seq} of the journal: {said}')
            return None
        return job

    def _resume(self, job: ScheduledJob) -> None:
        """Resume a job after a restart."""
        run = self._orchestrator.runs.get(job.flow_id)
        if job.action_id and (run is None or run.ended):
            self._close(job, 'left over', 'its flow has ended')
            return
        for flow_id in list(job.running):
            self._find(job, flow_id)

    def _guarded(self, job: ScheduledJob, step: Callable[[ScheduledJob], None]) -> None:
        """Run a step of a job; sets the job aside if the step raises."""
        try:
            step(job)
        except Exception as error:
            self._set_aside(job.job_id, error)

    def _set_aside(self, job_id: str, error: Exception | str) -> None:
        self.jobs.pop(job_id, None)
        self.aside.add(job_id, error)

    def halt(self) -> None:
        """Stop starting runs; the jobs stay open in the journal."""
        if self._timer is not None:
            self._timer.cancel()
        self.jobs = {}
        self.aside.clear()

    # Called by the orchestrator

    def may_start(self, run: FlowRun, action_id: str) -> bool:
        """Return whether the time of an action is due."""
        spec = run.flow.actions[action_id].schedule
        if spec is None or action_id in run.control.again:  # a person's retry runs now
            return True
        job = self._of_action(run, action_id)
        if job is None and id_of(run.flow_id, action_id) in self.aside:
            return False
        job = job or self._new(run, action_id, spec)
        if job.owed:
            return True
        job.waiting = True
        self._recorder.clock.call_later(0.0, self._poll)
        return False

    def assign_again(self, run: FlowRun, runner: ActionRunner) -> bool:
        """Return whether an ended action runs again at another time of its schedule."""
        action = runner.action
        job = None if action.spec.schedule is None else self._of_action(run, action.action_id)
        if job is None:
            return False
        if job.ended_seq != action.seq:  # if equal, the process ended before `reassign`
            job.ended_seq = action.seq
            job.runs += 1
            job.last = job.owed[0] if job.owed else job.taken
            job.last_result = action.outcome.value if action.outcome else ''
            job.owed = job.owed[1:]
        if action.outcome is not ActionOutcome.SUCCEEDED or job.over:
            self._close(job, 'done')
            return False
        self._recorder.until_recorded(
            f'the next run of {job.job_id}', partial(self._reassign, job, runner))
        return True

    def _reassign(self, job: ScheduledJob, runner: ActionRunner) -> None:
        """Assign an ended action again, to wait for the next time of its schedule."""
        if self.jobs.get(job.job_id) is job:
            self._append(job, 'ended')
            runner.fire('reassign', actor=JOB_ACTOR, cause=job.spec.in_words())
            self._orchestrator.assigned(
                self._orchestrator.runs[job.flow_id], runner.action.action_id)
        elif job.flow_id in self._orchestrator.runs:  # canceled before this was recorded
            run = self._orchestrator.runs[job.flow_id]
            run.completions.append(runner)
            self._orchestrator.advance_soon(run)

    def flow_ended(self, run: FlowRun) -> None:
        """Handle the end of a run, or of a flow with scheduled actions."""
        self.aside.flow_ended(run.flow_id)
        for job in list(self.jobs.values()):
            if job.action_id and job.flow_id == run.flow_id:
                self._close(job, 'left over', 'its flow has ended')
            elif run.flow_id in job.running:
                self._ended(job, run.flow_id, run.constellation_state())

    # Steps

    def _poll(self) -> None:
        """Process due times, start due runs, and set the timer for the next call."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for job in list(self.jobs.values()):
            if not job.closed:
                self._guarded(job, self._poll_job)
        delays = [self._delay(job) for job in self.jobs.values()]
        if delays:
            self._timer = self._recorder.clock.call_later(min(delays), self._poll)

    def _poll_job(self, job: ScheduledJob) -> None:
        now = self._now(job.spec)
        if job.moved(now):
            self._note(job, 'clock went back')
        if job.next is not None and job.next <= now and not self._change(
                job, 'due', lambda: job.take(now)):
            return
        self._start_owed(job)
        if job.over and not job.action_id:
            self._close(job, 'done')

    def _delay(self, job: ScheduledJob) -> float:
        """Return the time (s) until the next check of a job."""
        longest = POLL_PERIOD[job.spec.clock]
        if job.next is None:
            return longest
        if job.next <= job.seen:  # the write to the journal has failed
            return RETRY_PERIOD
        return min(longest, max(SOON, job.next - job.seen))

    def _start_owed(self, job: ScheduledJob) -> None:
        if job.action_id:
            self._start_action(job)
            return
        while job.owed and (not job.running or (
                job.spec.overlap == 'allow' and len(job.running) < MAX_RUNNING)):
            if not self._change(job, 'started', job.start_run):
                return
            self._begin(job, job.last_flow_id)

    def _start_action(self, job: ScheduledJob) -> None:
        if not job.waiting:
            return
        if job.owed:
            job.waiting = False
            self._orchestrator.due(job.flow_id, job.action_id)
        elif job.next is None:  # its time was missed and is not made up
            job.waiting = False
            run = self._orchestrator.runs[job.flow_id]
            run.runners[job.action_id].skip(JOB_ACTOR, f'{job.spec.in_words()} has passed')

    def _begin(self, job: ScheduledJob, flow_id: str) -> None:
        self._start(
            JobRun(job.job_id, flow_id, job.last or 0.0, self._orders[job.job_id],
                   lambda: self.jobs.get(job.job_id) is job and flow_id in job.running),
            lambda why: self._refused(job, flow_id, why))

    def _refused(self, job: ScheduledJob, flow_id: str, why: str) -> None:
        self._log.error("job '%s': run %s does not start: %s", job.job_id, flow_id, why)
        self._ended(job, flow_id, 'failed', why)

    def _ended(self, job: ScheduledJob, flow_id: str, result: str, cause: str = '') -> None:
        job.running = [other for other in job.running if other != flow_id]
        if flow_id == job.last_flow_id:
            job.last_result = result
        if self.jobs.get(job.job_id) is job and self._note(job, 'ended', cause=cause):
            self._recorder.clock.call_later(0.0, self._poll)

    def _find(self, job: ScheduledJob, flow_id: str) -> None:
        """After a restart, follow a run, process its end, or start it if it has not started."""
        run = self._orchestrator.runs.get(flow_id)
        if run is not None and not run.ended:
            return
        rows = list(self._recorder.journal.rows(flow_id=flow_id, kind='flow'))
        if not rows:
            self._begin(job, flow_id)
        else:
            self._ended(job, flow_id, 'completed' if rows[-1].to_state == 'FINISH' else 'failed')

    def _of_action(self, run: FlowRun, action_id: str) -> ScheduledJob | None:
        """Return the job of an action, from memory or from the journal."""
        job_id = id_of(run.flow_id, action_id)
        if job_id not in self.jobs and job_id not in self.aside:
            for row in self._open_rows('job'):
                found = self._read(row) if row.action_id == job_id else None
                if found is not None:
                    self.jobs[job_id] = found
        job = self.jobs.get(job_id)
        return None if job is None or job.closed else job

    def _new(self, run: FlowRun, action_id: str, spec: ScheduleSpec) -> ScheduledJob:
        now = self._now(spec)
        job = ScheduledJob(id_of(run.flow_id, action_id), run.flow.name, spec, now, run.flow_id,
                           action_id, seen=now)
        self.jobs[job.job_id] = job
        self._note(job, 'created')
        return job

    def _close(self, job: ScheduledJob, event: str, cause: str = '') -> None:
        """Journal the end of a job, again until it is recorded, and drop it."""
        if not job.closed:
            job.closed = True
            self._recorder.until_recorded(
                f"the end of job '{job.job_id}'", partial(self._record_end, job, event, '', cause))

    def _record_end(self, job: ScheduledJob, event: str, actor: str, cause: str) -> None:
        if self.jobs.get(job.job_id) is job:
            record_end(self._recorder, job.job_id, event, actor, cause, job.data())
            del self.jobs[job.job_id]
            self._orders.pop(job.job_id, None)

    def _change(self, job: ScheduledJob, event: str, change: Callable[[], None]) -> bool:
        """Change a job and journal it; if that fails, undoes the change and returns False."""
        before = job.data()
        change()
        recorded = self._note(job, event)
        if not recorded:
            job.restore(before)
        return recorded

    def _note(self, job: ScheduledJob, event: str, cause: str = '') -> bool:
        """Journal a step; returns False if that fails."""
        try:
            self._append(job, event, cause)
        except LifecycleError as error:
            self._log.error("job '%s': %s is not recorded: %s", job.job_id, event, error)
            return False
        return True

    def _append(self, job: ScheduledJob, event: str, cause: str = '') -> None:
        self._recorder.journal.append(Entry(
            kind='job', action_id=job.job_id, event=event, data=job.data(), cause=cause,
            ros_time=self._recorder.clock.now()))

    def _now(self, spec: ScheduleSpec) -> float:
        clock = self._wall_time if spec.clock == 'wall' else self._recorder.clock.now
        return valid_time(clock())
