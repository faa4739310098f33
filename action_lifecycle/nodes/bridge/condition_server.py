# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Evaluates conditions: the action ~/confirm_outcome, the services ~/evaluate and ~/check."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from action_lifecycle_msgs import msg
from action_lifecycle_msgs.action import ConfirmOutcome
from action_lifecycle_msgs.srv import Check, Evaluate
from rclpy.task import Future

from .black_box import BlackBox
from .check import missing_servers, step_faults, TopicCheck, wrong_conditions
from .facts import Facts
from .traces import Traces
from ..shared.heartbeat import GoalFeedback
from ...documents.errors import LifecycleError
from ...documents.stamps import to_seconds
from ...lifecycle.futures import settle
from ...lifecycle.ports import Condition
from ...lifecycle.states import ErrorCode
from ...ros.conversions.evidence import evidence_to
from ...ros.conversions.motion import (
    condition_from,
    confirm_request_from,
    confirmation_event,
    confirmation_to,
    parameters_from,
    steps_from,
)
from ...ros.interfaces.qos import event_qos
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.timers import sleep
from ...world.condition import WatchResult
from ...world.evidence import Evidence
from ...world.unmet_conditions import confirmation
from ...world.watches import combined, Watch

LONGEST_EVALUATE = 10.0  #: s
LONGEST_CHECK = 60.0  #: s
POLL_PERIOD = 0.1  #: polling period (s) for servers and publishers to appear
DISCOVERY = 1.5  #: s after configure in which a publisher may not have been discovered yet


class ConditionServer:
    """Serves requests that evaluate conditions or check motions."""

    def __init__(
        self, node: ManagedNode, facts: Facts, traces: Traces, box: BlackBox
    ) -> None:
        self._node = node
        self._box = box
        self._facts = facts
        self._traces = traces
        self._discovered = node.steady() + DISCOVERY
        self._unpublished: set[str] = set()  #: unpublished topics that were logged
        self._open: dict[bytes, Any] = {}
        node.add_action_server(
            ConfirmOutcome, '~/confirm_outcome', self._confirm,
            accept=lambda goal: node.timed(), cancel=self._cancel)
        self._ended = node.add_publisher(msg.Confirmation, '~/confirmations', event_qos())
        node.add_service(Evaluate, '~/evaluate', self._evaluate)
        node.add_service(Check, '~/check', self._check)

    def cancel_all(self) -> None:
        """Interrupt all open confirmations."""
        for answered in list(self._open.values()):
            settle(answered)

    async def _confirm(self, handle: Any) -> ConfirmOutcome.Result:
        answered: Any = Future()
        key = bytes(handle.goal_id.uuid)
        self._open[key] = answered
        release = feedback = traced = None
        started = self._node.now()
        unneeded = self._box.keep(started, to_seconds(handle.request.after))
        try:
            request = confirm_request_from(handle.request)
            release = self._facts.hold(
                self._facts.model.topics(request.conditions, request.parameters))
            noted = self._traces.confirm_begins(request)
            traced = request

            def updated(watch: Watch) -> None:
                if feedback is not None:
                    feedback.changed()
                if noted is not None:
                    noted(watch)

            watch = self._facts.model.confirm(
                request.conditions, self._node.now(), lambda result: settle(answered, result),
                after=request.after or -1.0, names=request.parameters, on_update=updated)
            self._facts.changed()
            feedback = GoalFeedback(
                self._node, handle, self._open, lambda: self._feedback_of(watch))
            if handle.is_cancel_requested:
                settle(answered)
            result: WatchResult | None = await answered
            watch.cancel()
        except LifecycleError as error:
            if traced is not None:
                self._traces.confirm_ended(traced, 'confirm_refused', str(error))
            handle.abort()
            return ConfirmOutcome.Result(
                error_code=int(ErrorCode.INVALID_REQUEST), error_msg=str(error))
        finally:
            del self._open[key]
            unneeded()
            if release is not None:
                release()
            if feedback is not None:
                feedback.close()
        if result is None:
            self._traces.confirm_ended(request)
            if handle.is_cancel_requested:
                handle.canceled()
                return ConfirmOutcome.Result(
                    error_code=int(ErrorCode.CANCELED), error_msg='canceled')
            handle.abort()
            return ConfirmOutcome.Result(
                error_code=int(ErrorCode.INTERRUPTED),
                error_msg='the world model bridge is ending')
        self._traces.confirmed(request, watch, result)
        handle.succeed()
        judged = self._box.judged(request, started, confirmation(result, self._facts.names))
        answer = confirmation_to(judged, self._facts.names)
        if self._node.active:
            self._ended.publish(
                confirmation_event(handle.request, answer, watch.start, result.stamp))
        return answer

    def _feedback_of(self, watch: Watch) -> ConfirmOutcome.Feedback:
        return ConfirmOutcome.Feedback(
            verdict=int(watch.verdict()),
            evidence=self._evidence(watch.evidence(self._facts.model.now)))

    def _evidence(self, evidence: Iterable[Evidence]) -> list[msg.Evidence]:
        return [evidence_to(entry.as_dict(), self._facts.names) for entry in evidence]

    def _cancel(self, handle: Any) -> None:
        answered = self._open.get(bytes(handle.goal_id.uuid))
        if answered is not None:
            settle(answered)

    async def _evaluate(
        self, request: Evaluate.Request, response: Evaluate.Response
    ) -> Evaluate.Response:
        if not self._node.timed():
            response.error_code = int(ErrorCode.NOT_READY)
            response.error_msg = 'ROS time is not known: no message received on /clock'
            return response
        parameters = parameters_from(request.parameters_json)
        if not 0 <= request.wait <= LONGEST_EVALUATE:
            raise LifecycleError(f'wait {request.wait}: expected 0 to {LONGEST_EVALUATE:g} s')
        if not request.conditions:
            raise LifecycleError('conditions: expected at least one')
        conditions = [
            Condition(condition.name or 'condition', condition.expression, 0.0, request.wait,
                      condition.max_age) for condition in request.conditions]
        model = self._facts.model
        release = self._facts.hold(model.topics(conditions, parameters))
        answered: Any = Future()
        try:
            model.until_known(
                conditions, self._node.now(), answered.set_result, names=parameters)
            self._facts.changed()
            result: WatchResult = await answered
        finally:
            release()
        response.verdict = int(combined(entry.verdict for entry in result.evidence))
        response.evidence = self._evidence(result.evidence)
        response.error_msg = result.note
        return response

    async def _check(self, request: Check.Request, response: Check.Response) -> Check.Response:
        parameters = parameters_from(request.parameters_json)
        if not 0 <= request.wait <= LONGEST_CHECK:
            raise LifecycleError(f'wait {request.wait}: expected 0 to {LONGEST_CHECK:g} s')
        steps = steps_from(request.steps)
        conditions = [condition_from(condition) for condition in request.conditions]
        limit = self._node.steady() + request.wait
        while missing_servers(self._node, steps) and self._node.steady() < limit:
            await sleep(self._node, POLL_PERIOD)
        while True:
            topics = TopicCheck(self._facts)
            response.faults = [
                *(fault for index, step in enumerate(steps)
                  for fault in step_faults(self._node, topics, index, step, parameters)),
                *wrong_conditions(topics, conditions, parameters)]
            if not topics.unpublished or self._node.steady() >= self._discovered:
                break
            await sleep(self._node, POLL_PERIOD)
        for topic in sorted(topics.unpublished - self._unpublished):
            self._node.get_logger().warning(
                f"a flow needs topic '{topic}', and nobody publishes it yet")
        self._unpublished |= topics.unpublished
        return response
