# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The action `~/execute_flow`: turns goals into checked flows, and their ends into results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
import json
import time
from typing import Any, Union

from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import FlowStatus
from rclpy.task import Future

from .flow_check import FlowRefused
from .flow_sources import CheckedFlow, FlowOrder, FlowSources, order_from
from .plan_client import PlanClient
from .planned_requests import PlannedRequests
from ....documents.errors import DocumentError, LifecycleError
from ....flow.files.loader import CyclicFlow
from ....flow.jobs.job import ScheduledJob
from ....flow.jobs.jobs import JobRun, Jobs
from ....flow.orchestrator import FlowKnown, Orchestrator
from ....flow.planning.planning import Planned, Planner, PlanOrder
from ....flow.recipes.recipe_file import recipe_path
from ....flow.run.flow_run import FlowRun
from ....journal.row import JournalError
from ....lifecycle.futures import settle
from ....lifecycle.states import ErrorCode
from ....ros.conversions.basic import to_time
from ....ros.conversions.status import flow_to
from ....ros.node.lifecycle_node import ManagedNode
from ....ros.node.timers import sleep, Throttle

CHECK_PERIOD = 0.1
"""Polling period (s) of a goal that follows a flow which is still checked."""
FEEDBACK_PERIOD = 0.2
"""Minimum time (s) between two feedback messages of one flow."""

Outcome = Union[FlowRun, ScheduledJob, Planned, None]


@dataclass
class _WaitingGoals:
    """The goals that wait for one flow; `outcome` is None if the node stops before its end."""

    ended: Any
    handles: list[Any] = field(default_factory=list)
    outcome: Outcome = None
    progress: float = 0.0
    feedback: Throttle | None = None


class FlowServer:
    """
    Starts flows and publishes their progress.

    A goal without a flow follows the running flow with its id; canceling the goal cancels the
    flow. `attach`: a goal with a flow also follows a running flow of the same id; otherwise it is
    refused.
    """

    def __init__(
        self, node: ManagedNode, sources: FlowSources, planners: PlanClient,
        planning: Callable[[], None] = lambda: None, *, attach: bool,
    ) -> None:
        self.node = node
        self.sources = sources
        self.orchestrator: Orchestrator | None = None
        self.requests = PlannedRequests(node.now, planning)
        self._planners = planners
        self._attach = attach
        self._waiting: dict[str, _WaitingGoals] = {}
        self._checking: dict[str, list[Any]] = {}  #: goals whose flow is checked, by flow id
        node.add_action_server(ExecuteFlow, '~/execute_flow', self._execute, cancel=self._cancel)

    def activate(self, orchestrator: Orchestrator, apart: Any) -> None:
        """Accept flows for this orchestrator; resume open flows, requests and jobs."""
        self.orchestrator = orchestrator
        self.planner = Planner(
            self._planners, partial(self.node.spawn, self._check), apart, orchestrator.recorder,
            partial(self.node.spawn, self._begin_planned), self._planning)
        self.planner.recipes = orchestrator.recipes
        self.requests.planner = self.planner
        self.jobs = Jobs(orchestrator, time.time, partial(self.node.spawn, self._begin_job))
        for restored in orchestrator.restore():
            self.node.get_logger().info(f'goes on with flow {restored.flow_id}')
        self.jobs.restore()
        self.planner.restore()

    def interrupt(self) -> None:
        """End all goals, as the node stops; the flows resume when it is active again."""
        self.orchestrator = None
        self.planner.halt()
        self.jobs.halt()
        for waiting in self._waiting.values():
            settle(waiting.ended)

    # Callbacks of the orchestrator and the planner

    def changed(self, run: FlowRun) -> None:
        """Send feedback to the goals of this flow; end them if it has ended."""
        waiting = self._waiting.get(run.flow_id)
        if waiting is None:
            return
        waiting.outcome = run if run.ended else None
        waiting.progress = max(waiting.progress, run.done / max(1, len(run.runners)))
        if waiting.feedback is None:
            waiting.feedback = Throttle(
                self.node, FEEDBACK_PERIOD, lambda: self._publish_feedback(waiting, run))
        if run.ended:
            waiting.feedback.call()
            settle(waiting.ended)
        else:
            waiting.feedback.call_soon()

    def _publish_feedback(self, waiting: _WaitingGoals, run: FlowRun) -> None:
        if self.orchestrator is not None and not waiting.ended.done():
            self._feed_back(waiting, flow_to(run, self.node.now(), self.orchestrator.blocked_for))

    def _planning(self, order: PlanOrder, text: str) -> None:
        """Publish the planning of a request, also as feedback to its goals."""
        self.node.get_logger().info(f'{order.flow_id}: {text}')
        self.requests.progressed(order.flow_id)
        waiting = self._waiting.get(order.flow_id)
        if waiting is not None:
            self._feed_back(waiting, self.requests.status(order.flow_id, text))

    def _status(
        self, flow_id: str, state: str = FlowStatus.START,
        constellation_state: str = FlowStatus.CREATED, code: ErrorCode = ErrorCode.NONE,
        message: str = '', stage: str = '',
    ) -> FlowStatus:
        """Return the status of a flow without a run in this process."""
        return FlowStatus(
            stamp=to_time(self.node.now()), flow_id=flow_id, state=state, stage=stage,
            constellation_state=constellation_state, error_code=int(code), error_msg=message)

    def _feed_back(self, waiting: _WaitingGoals, status: FlowStatus) -> None:
        for handle in waiting.handles:
            handle.publish_feedback(
                ExecuteFlow.Feedback(status=status, progress=waiting.progress))

    async def _check(self, flow: Any, done: Any) -> None:
        try:
            await self.sources.check(flow)
        except Exception as error:
            done(self._code(error), str(error).splitlines())
        else:
            done(ErrorCode.NONE, [])

    async def _begin_planned(self, planned: Planned) -> None:
        """Run the flow that a planner has made, or report why there is none."""
        asked = planned.order
        try:
            begun: FlowRun | ScheduledJob | None = None
            if planned.flow is not None:
                begun = self.jobs.jobs.get(asked.flow_id)  # begun before a restart
            if planned.flow is not None and begun is None:
                order = FlowOrder(
                    'yaml', planned.flow.text, f'{asked.flow_id}.yaml', asked.parameters,
                    asked.priority, asked.requester, asked.lease, asked.recipe)
                checked = await self.sources.noted(planned.flow, order, {
                    'kind': 'request', 'request': asked.request, 'file': '',
                    'planning_s': planned.took})
                if not self.planner.is_open(asked):  # canceled or deactivated meanwhile
                    return
                begun = self._begin(checked, order, asked.flow_id)
            if begun is not None:
                self.planner.submitted(asked.flow_id)
        except Exception as error:
            if self.planner.is_open(asked):
                self.planner.failed(asked.flow_id, self._code(error), str(error))
            return
        if planned.flow is None:
            self.node.get_logger().error(f'{asked.flow_id}: {planned.error_msg}')
            self.requests.given_up(planned)
        waiting = self._waiting.get(asked.flow_id)
        if waiting is not None and not isinstance(begun, FlowRun):
            waiting.outcome = begun or planned
            settle(waiting.ended)

    async def _begin_job(self, run: JobRun, refused: Any) -> None:
        """Check a scheduled flow again and run it once."""
        try:
            order = FlowOrder(**run.order)
            checked = await self.sources.load(order)
            checked.origin.update(kind='job', job=run.job_id)
            if run.is_open():
                self._submit(checked, order, run.flow_id)
        except Exception as error:
            self._code(error)
            if run.is_open():
                refused(str(error))

    # Goals

    def _cancel(self, handle: Any) -> None:
        flow_id = next((flow_id for flow_id, waiting in self._waiting.items()
                        if any(other.goal_id == handle.goal_id for other in waiting.handles)), '')
        if not flow_id and self._attach and handle.request.flow_id:
            # The flow is still being checked: its other goals are canceled, too.
            flow_id = handle.request.flow_id
            self._checking.pop(flow_id, None)
        if not flow_id or self.orchestrator is None:
            return
        actor = handle.request.requester or 'client'
        if flow_id in self.orchestrator.runs:
            self.orchestrator.cancel(flow_id, actor, 'the goal was canceled')
        else:
            self.planner.cancel(flow_id, actor)

    async def _execute(self, handle: Any) -> ExecuteFlow.Result:
        try:
            begun = await self._take(handle.request, handle)
        except LifecycleError as error:
            return self._refuse(handle, self._code(error), str(error))
        if isinstance(begun, ScheduledJob):
            return self._result(handle, begun.job_id, begun)
        flow_id = begun if isinstance(begun, str) else begun.flow_id
        waiting = self._waiting.get(flow_id)
        if waiting is None:
            waiting = self._waiting[flow_id] = _WaitingGoals(Future(executor=self.node.executor))
        if handle not in waiting.handles:
            waiting.handles.append(handle)
        if isinstance(begun, FlowRun):
            self.changed(begun)
        if handle.is_cancel_requested:
            self._cancel(handle)
        if not waiting.ended.done():
            await waiting.ended
        waiting.handles.remove(handle)
        if not waiting.handles and self._waiting.get(flow_id) is waiting:
            del self._waiting[flow_id]
        return self._result(handle, flow_id, waiting.outcome)

    async def _take(self, goal: Any, handle: Any) -> FlowRun | ScheduledJob | str:
        """Start the flow, job or planning of a goal; returns the run, the job, or the flow id."""
        if not goal.flow:
            await self._after_check(goal.flow_id, handle)
        orchestrator = self._active()
        order = order_from(goal)
        if order.recipe:
            recipe_path(self.sources.recipes, order.recipe)  # raises if the name is not valid
        wanted = goal.flow_id
        run = orchestrator.runs.get(wanted)
        if wanted and not goal.flow:
            if run is None and wanted not in self.planner.open:
                raise FlowRefused(ErrorCode.NOT_FOUND,
                                  f"flow: expected one, for there is no flow '{wanted}' to follow")
            return wanted if run is None else run
        if run is not None or wanted in self.planner.open:
            if self._attach and (run is None or not run.ended):
                return wanted if run is None else run
            raise FlowRefused(ErrorCode.FLOW_RUNNING,
                              f"a flow with the id '{wanted}' is there already")
        orchestrator.recorder.journal.check_room()  # before anybody is asked about the flow
        if order.kind == 'request':
            flow_id = orchestrator.new_id('request', wanted)
            self._waiting[flow_id] = _WaitingGoals(Future(executor=self.node.executor), [handle])
            try:
                self.planner.begin(PlanOrder(
                    flow_id=flow_id, request=order.flow, parameters=order.parameters,
                    priority=order.priority, requester=order.requester, lease=order.lease,
                    recipe=order.recipe))
            except LifecycleError:
                del self._waiting[flow_id]
                raise
            return flow_id
        self._checking.setdefault(wanted, []).append(handle)
        try:
            waiting = _WaitingGoals(None, [handle])
            checked = await self.sources.load(order, lambda text: self._feed_back(
                waiting, self._status(wanted, message=text, stage='dependency_analysis')))
        finally:
            canceled = not self._leave_check(wanted, handle)
        if self.orchestrator is not None:  # another one if the node was activated again
            run = self.orchestrator.runs.get(wanted)
        if run is not None and self._attach and not run.ended:
            return run  # another goal has started the flow meanwhile
        if canceled:  # else the journal would show a start without the cancel
            raise FlowRefused(ErrorCode.CANCELED, 'canceled before it began')
        return self._begin(checked, order, wanted)

    async def _after_check(self, wanted: str, handle: Any) -> None:
        """Wait until a flow that is checked has begun or is refused; a cancel withdraws it."""
        while wanted and wanted in self._checking:
            if handle.is_cancel_requested:
                del self._checking[wanted]
                raise FlowRefused(ErrorCode.CANCELED, 'canceled before it began')
            await sleep(self.node, CHECK_PERIOD)

    def _leave_check(self, wanted: str, handle: Any) -> bool:
        """Remove a goal whose flow was checked; returns whether it is not canceled."""
        goals = self._checking.get(wanted, [])
        kept = handle in goals and not handle.is_cancel_requested
        if handle in goals:
            goals.remove(handle)
        if not goals:
            self._checking.pop(wanted, None)
        return kept

    def _begin(
        self, checked: CheckedFlow, order: FlowOrder, wanted: str,
    ) -> FlowRun | ScheduledJob:
        flow = checked.flow
        if flow.steering and not self._planners.name:
            raise FlowRefused(ErrorCode.FLOW_INVALID, "the flow says 'steering', but the node's "
                              "parameter 'planner' names no planner")
        if flow.schedule is None:
            return self._submit(checked, order, wanted)
        job_id = self._active().new_id(flow.name, wanted)
        written = replace(order, kind='yaml', flow=flow.text,
                          source=checked.origin.get('file') or flow.document.name)
        return self.jobs.create(
            job_id, flow.name, flow.schedule, written.data(), order.requester)

    def _submit(self, checked: CheckedFlow, order: FlowOrder, wanted: str) -> FlowRun:
        orchestrator = self._active()
        if wanted in orchestrator.runs:
            raise FlowRefused(ErrorCode.FLOW_RUNNING,
                              f"a flow with the id '{wanted}' is there already")
        return orchestrator.submit(
            checked.flow, orchestrator.new_id(checked.flow.name, wanted), priority=order.priority,
            actor=order.requester, recipe=order.recipe, origin=checked.origin)

    def _active(self) -> Orchestrator:
        if self.orchestrator is None:
            raise FlowRefused(ErrorCode.NOT_READY, 'the node is not active')
        return self.orchestrator

    def _code(self, error: Exception) -> ErrorCode:
        """Return the code of an error; an unexpected one is logged and is INTERNAL."""
        if isinstance(error, FlowRefused):
            return error.code
        if isinstance(error, FlowKnown):
            return ErrorCode.FLOW_RUNNING  # a client that follows it gets its end
        if isinstance(error, CyclicFlow):
            return ErrorCode.FLOW_CYCLE
        if isinstance(error, DocumentError):
            return ErrorCode.FLOW_INVALID
        if isinstance(error, JournalError):
            return ErrorCode.JOURNAL_FAILED
        if isinstance(error, LifecycleError):
            return ErrorCode.INVALID_REQUEST
        self.node.log_exception('execute_flow')
        return ErrorCode.INTERNAL

    def _result(self, handle: Any, flow_id: str, outcome: Outcome) -> ExecuteFlow.Result:
        if outcome is None:
            handle.abort()
            return _without_run(self._status(
                flow_id, FlowStatus.CONTINUE, FlowStatus.EXECUTING, ErrorCode.INTERRUPTED,
                'the node stops; the flow goes on when it is active again'), flow_id)
        if isinstance(outcome, ScheduledJob):
            handle.succeed()
            return _without_run(self._status(flow_id), flow_id, {'job': {
                'id': outcome.job_id, 'schedule': outcome.spec.in_words(),
                'clock': outcome.spec.clock, 'next': outcome.next}})
        if isinstance(outcome, Planned):
            return self._refuse(handle, outcome.error_code, outcome.error_msg)
        if outcome.state == 'FINISH':
            handle.succeed()
        elif outcome.canceled_by is not None and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return ExecuteFlow.Result(
            flow_id=flow_id, state=outcome.state,
            constellation_state=outcome.constellation_state(),
            summary_json=json.dumps(outcome.summary, sort_keys=True),
            status=flow_to(outcome, self.node.now()), error_code=int(outcome.error_code),
            error_msg=outcome.error_msg)

    def _refuse(self, handle: Any, code: ErrorCode, message: str) -> ExecuteFlow.Result:
        if code is ErrorCode.CANCELED and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return _without_run(self._status(
            handle.request.flow_id, FlowStatus.FAIL, FlowStatus.FAILED, code, message))


def _without_run(
    status: FlowStatus, flow_id: str = '', summary: dict[str, Any] | None = None
) -> ExecuteFlow.Result:
    """Return the result of a flow without a run; `flow_id`: its id, if it has one."""
    return ExecuteFlow.Result(
        flow_id=flow_id, state=status.state, constellation_state=status.constellation_state,
        summary_json=json.dumps(summary or {}), status=status, error_code=status.error_code,
        error_msg=status.error_msg)
