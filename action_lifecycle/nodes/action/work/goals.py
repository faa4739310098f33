# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Calls and publications that move nothing: the action node makes them itself."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

from ....documents.errors import DocumentError, LifecycleError
from ....documents.json_text import json_or_text
from ....lifecycle.ports import Condition, Confirmation, ConfirmRequest, Handle, World
from ....lifecycle.work import Ended, WorkRequest
from ....ros.calls.call_goal import CallGoal
from ....ros.calls.goal_end import GoalEnd
from ....ros.calls.publish_goal import PublishGoal
from ....ros.conversions.basic import to_json
from ....ros.interfaces.control_names import control_fault
from ....ros.interfaces.message_fields import fill
from ....ros.interfaces.types import message_class, sent_class
from ....ros.node.lifecycle_node import ManagedNode
from ....ros.node.timers import Throttle
from ....work.bridge_work import BridgeWork
from ....work.call import CallSpec
from ....work.publish import PublishSpec

REMEMBERED = 100  #: number of ended goals whose end a later `resume` still gets
REPORT_PERIOD = 0.5  #: minimum period (s) of progress reports


class _Open:
    """A goal that is under way or has ended; `ended` is called once, unless it is replaced."""

    def __init__(self, node: ManagedNode, goal: Any, work: BridgeWork, ended: Ended) -> None:
        self.goal = goal
        self._node = node
        self._work = work
        self._ended: Ended | None = ended
        self._last: GoalEnd | None = None
        self._at_once = False  #: the end may be reported in the call that sets it
        goal.done.add_done_callback(node.guarded(self._done, what=work.name))

    def begin(self, send: Callable[[], None]) -> None:
        """Call `send`; if it ends at once, the end is reported later."""
        send()
        self._at_once = True

    def attach(self, ended: Ended) -> None:
        """Report the end to another caller."""
        self._ended = ended
        if self._last is not None:
            end = self._last
            self._node.call_soon(lambda: self._take(end))

    def cancel(self) -> None:
        """Stop it; its end is still reported, but not before this returns."""
        self._at_once = False
        self.goal.cancel()
        if isinstance(self._work, CallSpec):
            self.goal.give_up()  # nothing moves, so nobody has to wait for the response

    def _done(self, done: Any) -> None:
        if self._at_once:
            self._take(done.result())
        else:
            self._node.call_soon(partial(self._take, done.result()))

    def _take(self, end: GoalEnd) -> None:
        self._last = end
        ended, self._ended = self._ended, None
        if ended is not None:
            ended(end.work_result(
                None if end.result is None else json_or_text(to_json(end.result))))


class GoalWorker:
    """Does the kinds `call` and `publish`; `world` evaluates conditions over facts."""

    def __init__(self, node: ManagedNode, world: World) -> None:
        self._node = node
        self._world = world
        self._goals: OrderedDict[str, _Open] = OrderedDict()

    def faults(
        self, spec: BridgeWork, parameters: Collection[str]
    ) -> Iterator[tuple[str, str]]:
        """Yield nothing: the bridge checks these kinds."""
        yield from ()

    def start(self, spec: BridgeWork, request: WorkRequest, ended: Ended) -> Handle:
        """Send the request or the message; see `lifecycle.work.Worker`."""
        name = self._node.resolve_service_name(spec.name)
        if fault := control_fault(name, spec.type):
            raise LifecycleError(fault)
        message = _filled(sent_class(spec.kind, spec.type)(), spec.data, spec.data_field)
        goal = self._goal(spec, request)
        if isinstance(goal, PublishGoal):
            last = _last(spec)
            return self._open(goal, spec, request, ended, lambda: goal.send(message, last))
        return self._open(goal, spec, request, ended, lambda: goal.send(message))

    def resume(self, spec: BridgeWork, request: WorkRequest, ended: Ended) -> Handle:
        """Follow it if it is under way here; else end a publication, and report not_running."""
        known = self._goals.get(request.id)
        if known is not None:
            known.attach(ended)
            return known
        goal = self._goal(spec, request)
        if isinstance(goal, PublishGoal):
            last = _last(spec)
            return self._open(goal, spec, request, ended, lambda: goal.follow(last))
        return self._open(goal, spec, request, ended, goal.follow)

    def halt(self) -> None:
        """End all publications by `finally`, as the node is deactivated; they are not resumed."""
        for key, entry in list(self._goals.items()):
            if isinstance(entry.goal, PublishGoal):
                entry.goal.cancel()
                if entry.goal.done.done():
                    del self._goals[key]

    def busy(self) -> bool:
        """Whether a publication that was halted still waits for its end."""
        return any(isinstance(entry.goal, PublishGoal) and not entry.goal.done.done()
                   for entry in self._goals.values())

    def _open(
        self, goal: Any, spec: BridgeWork, request: WorkRequest, ended: Ended,
        send: Callable[[], None],
    ) -> _Open:
        entry = self._goals[request.id] = _Open(self._node, goal, spec, ended)
        while len(self._goals) > REMEMBERED:
            oldest, other = next(iter(self._goals.items()))
            if not other.goal.done.done():
                break
            del self._goals[oldest]
        entry.begin(send)
        return entry

    def _goal(self, spec: BridgeWork, request: WorkRequest) -> Any:
        """Return the goal of a step; raises `LifecycleError` if its condition is not valid."""
        if isinstance(spec, CallSpec):
            try:
                return CallGoal(
                    self._node, spec, request.parameters,
                    on_state=lambda state: None if state == 'sent' else request.told(-1.0, state))
            except DocumentError as error:
                raise LifecycleError('success: ' + '; '.join(
                    f'column {fault.column}: {fault.message}' for fault in error.faults
                )) from error
        if not isinstance(spec, PublishSpec):
            raise LifecycleError(f"'{spec.kind}' is neither a call nor a publication")
        told = [-1.0, '']

        def report() -> None:
            request.told(-1.0, str(told[1]))

        throttle = Throttle(self._node, REPORT_PERIOD, report)

        def counted(feedback: Any) -> None:
            told[1] = f"publishing: {feedback['messages']} messages"
            throttle.call_soon()

        def watch(condition: Condition, judged: Callable[[Confirmation], None]) -> Handle:
            return self._world.confirm(ConfirmRequest(
                request.flow_id, request.action_id, request.attempt, [condition],
                parameters=request.parameters), judged)

        goal = PublishGoal(
            self._node, spec, watch, on_state=lambda state: request.told(-1.0, state),
            on_feedback=counted)
        goal.done.add_done_callback(lambda done: throttle.cancel())
        return goal


def _filled(message: Any, data: Any, label: str) -> Any:
    faults = list(fill(message, data, label))
    if faults:
        raise LifecycleError('; '.join(map(str, faults)))
    return message


def _last(spec: PublishSpec) -> Any:
    """Return the message of `finally`, None if there is none."""
    return None if spec.last is None else _filled(
        message_class(spec.type)(), spec.last, 'finally')
