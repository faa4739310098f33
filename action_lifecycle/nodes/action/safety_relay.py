# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The action node's topic ~/safety and its service ~/clear_stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from action_lifecycle_msgs import msg
from action_lifecycle_msgs.srv import ClearStop
from builtin_interfaces.msg import Time

from .bridge_client import BridgeClient
from .health import safety_health
from ..shared.latched_publisher import Latched
from ...documents.errors import LifecycleError
from ...documents.suggestions import nearest
from ...flow.orchestrator import Orchestrator
from ...flow.run.recorder import CLEAR_STOP, JournalRecorder
from ...journal.row import Row
from ...lifecycle.states import ErrorCode
from ...ros.calls.service_call import NoAnswer, NoServer, RetryPolicy, ServiceCall
from ...ros.interfaces.qos import state_qos
from ...ros.node.diagnostics import Health
from ...ros.node.lifecycle_node import ManagedNode

CLEAR_WAIT, CLEAR_ANSWER = 1.0, 2.0
"""Time (s) for the bridge to be there, and to respond, when a stop is cleared."""


class SafetyRelay:
    """
    Offers `~/safety` and `~/clear_stop`; to be created in `configure`.

    The bridge's state is published together with the resources that `locked()` returns.
    `running()` returns the orchestrator, or raises `LifecycleError`.
    """

    def __init__(
        self, node: ManagedNode, world: BridgeClient, recorder: JournalRecorder,
        running: Callable[[], Orchestrator], locked: Callable[[], list[str]],
    ) -> None:
        bridge = node.parameter('bridge')
        self._node = node
        self._world = world
        self._recorder = recorder
        self._running = running
        self._locked = locked
        self._state = msg.SafetyState(reason='no message from the bridge yet')
        self._received = 0  #: number of messages from the bridge
        self._open: list[Row] = []  #: orders without the bridge's response
        self._source = f'{bridge}/safety'
        self._clear_bridge = node.add_client(ClearStop, f'{bridge}/clear_stop')
        self.topic = Latched(node, msg.SafetyState, '~/safety', self._message)
        node.add_subscription(msg.SafetyState, self._source, self._take, state_qos())
        node.add_service(ClearStop, '~/clear_stop', self._clear_stop)
        node.add_diagnostics('safety', self._health)

    def _take(self, state: msg.SafetyState) -> None:
        self._state = state
        self._received += 1
        self._take_up_orders()
        self._world.safety_known = state.state != msg.SafetyState.NOT_READY
        self.topic.publish_soon()

    def _message(self) -> msg.SafetyState:
        self._state.locked_resources = self._locked()
        return self._state

    def publish_locks(self) -> None:
        """Publish soon if the locked resources have changed."""
        if list(self._state.locked_resources) != self._locked():
            self.topic.publish_soon()

    def _health(self) -> Health:
        return safety_health(self._state, self._node.count_publishers(self._source) > 0)

    def activate(self) -> None:
        """Resume the orders to clear a stop that were open when the process ended."""
        self._open = [row for row, fault in
                      self._recorder.journal.checked_open_rows(CLEAR_STOP) if not fault]
        self._take_up_orders()

    def _take_up_orders(self) -> None:
        """
        Complete the open orders if the bridge is not stopped; refuse them if it is.

        If the bridge is stopped, it did not get the request, or was stopped again since.
        """
        if not self._received:
            return
        orders, self._open = self._open, []
        stopped = self._state.state == msg.SafetyState.STOPPED
        for row in orders:
            if stopped:
                self._recorder.clear_stop_refused(
                    row.action_id, row.actor, 'a node ended before the stop was cleared')
            else:
                self._running().clear_locks(
                    row.data['resources'], row.actor, row.cause, row.action_id)

    async def _clear_stop(self, request: Any, response: Any) -> Any:
        locked = list(self._running().resources.locked)
        if not request.actor:
            raise LifecycleError('actor: expected the name of the person who checked the robot')
        for name in request.resources:
            if name not in locked:
                raise LifecycleError(f"resources: '{name}' is not locked (locked: "
                                     f"{', '.join(locked) or 'none'}){nearest(name, locked)}")
        for row in self._open:
            self._recorder.clear_stop_refused(row.action_id, row.actor, 'it was ordered again')
        self._open.clear()
        names = list(request.resources)
        if not names and request.seen == Time():
            names = locked
        order = self._recorder.clear_stop_ordered(names, request.actor, request.reason)
        received = self._received
        try:
            answer = await ServiceCall(
                self._node, self._clear_bridge, lambda: request,
                RetryPolicy(CLEAR_WAIT, CLEAR_ANSWER)).done
        except NoAnswer as error:
            response.error_code = int(ErrorCode.NOT_READY)
            response.error_msg = f'the world model bridge: {error}'
            answer = response
            if not isinstance(error, NoServer):
                response.error_msg += '; when its next safety state arrives, the order is ' \
                    'completed or refused'
                self._open.append(order)
                if self._received > received:
                    self._take_up_orders()
                return answer
        if answer.accepted:
            self._running().clear_locks(names, request.actor, request.reason, order.action_id)
            self.topic.publish_soon()
        else:
            self._recorder.clear_stop_refused(order.action_id, request.actor, answer.error_msg)
        return answer
