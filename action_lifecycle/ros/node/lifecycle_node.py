# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The base class of the managed nodes.

It adds what rclpy leaves to every node: entities are created in `configure` and destroyed in
`cleanup`; services and action servers answer NOT_READY while the node is not active; exceptions of
callbacks are logged and do not end the process; a node stops its work before it ends.

Example of a node:

    class LedgerNode(ManagedNode):
        def __init__(self, **kwargs):
            super().__init__('ledger', **kwargs)
            self.declare('journal', '', 'Path of the journal.')          # read-only, described
            self.declare('rate', 2.0, 'In Hz.', limits=(0.1, 50.0), dynamic=True)

        def configure(self):         # create entities; LifecycleError: stays unconfigured
            self.sync = self.add_publisher(LedgerSync, '~/sync', state_qos())
            self.add_service(GetAction, '~/get_action', self.get_action)
            self.add_timer(0.5, self.tick)                               # steady time
            self.add_diagnostics('sync', self.health)                    # -> Health

        def activate(self): ...      # start to work
        def halt(self): ...          # begin to stop the work; called before each deactivation
        def busy(self): ...          # True until the work has stopped
        def deactivate(self): ...    # called after `halt`
        def cleanup(self): ...       # afterwards the entities of add_* are destroyed and
                                     # `defer` callbacks called

    def main(args=None):
        return run(LedgerNode, args=args)      # in ros/node/process.py

`cleanup` is refused while `busy()`. At a signal, `run` calls `halt` and spins until the node is no
longer busy (or its time is up), then deactivates and cleans up.
"""

from __future__ import annotations

from collections.abc import Callable
import inspect
import time
from typing import Any

from rclpy.action import CancelResponse, GoalResponse

from .diagnostics import Diagnostics, Health, PERIOD, USE_FQN
from .executor import CHOICES
from .goal_server import GoalServer
from .guarded_node import GuardedNode
from .name_claim import claim_name
from .parameters import NodeParameters
from .rclpy_internals import drop_late_responses
from .timers import Timeout, TimerQueue
from .watchdog import LIMIT
from ..interfaces.limits import message_fault
from ...documents.errors import LifecycleError
from ...lifecycle.states import ErrorCode


class ManagedNode(GuardedNode):
    """
    The base class of the managed nodes of this package.

    Its parameters:

    | name | type, default | meaning |
    |---|---|---|
    | autostart | bool, false | configure and activate at start |
    | executor | string, auto | auto, events, single_threaded: see ros/node/executor.py |
    | slow_callback | double, 0.02, dynamic | s; callbacks that take longer are logged |
    | diagnostic_updater.period | double, 1.0 | s between two messages on /diagnostics |
    | diagnostic_updater.use_fqn | bool, true | whether names there include the namespace |
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self.goal_servers: dict[str, GoalServer] = {}  #: by name of the feedback topic
        super().__init__(name, **kwargs)
        self._note_clock()
        self.timer_queue = TimerQueue(self, self.steady_clock, self.steady, jumps=False)
        self.ros_timer_queue = TimerQueue(self, self.get_clock(), self.now, jumps=True)
        self.ros_timer_queue.on_jump[id(self)] = self._note_clock
        self._diagnostics: Diagnostics | None = None
        self.parameters = NodeParameters(self)
        self.declare('autostart', False, 'Configure and activate at start.')
        self.declare('executor', 'auto', 'The executor of the process; for composed nodes, the '
                     'value of the first one counts.', choices=CHOICES)
        self.declare('slow_callback', LIMIT, 'Callbacks that take longer (s) are logged for '
                     'debugging, from ten times this limit on as a warning.',
                     dynamic=True, limits=(0.001, 10.0), changed=self._set_slow_callback)
        self.watchdog.limit = self.parameter('slow_callback')
        self.declare(PERIOD, 1.0, 'Seconds between two messages on /diagnostics.',
                     limits=(0.1, 60.0))
        self.declare(USE_FQN, True, "Whether names on /diagnostics include the node's namespace.")

    # -- parameters, now, services, actions

    def declare(self, name: str, default: Any, description: str, **rules: Any) -> None:
        """Declare a parameter; read-only unless `dynamic`. See parameters.py."""
        self.parameters.declare(name, default, description, **rules)

    def parameter(self, name: str) -> Any:
        """Return the value of a parameter."""
        return self.get_parameter(name).value

    def now(self) -> float:
        """Return ROS time in s."""
        if self._system_time:  # ROS time is system time: the same at a tenth of the cost
            return time.time()
        seconds: float = self.get_clock().now().nanoseconds * 1e-9
        return seconds

    def timed(self) -> bool:
        """Return whether ROS time is known; simulated time is 0 before the first /clock."""
        return self.now() > 0.0

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timeout:
        """Call back once after `delay` s of steady time, in the executor's thread."""
        return Timeout(self, delay, callback)

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call back in the executor's thread; may be called from any thread."""
        self.spawn(self.guarded(callback))

    def _set_slow_callback(self, seconds: float) -> None:
        self.watchdog.limit = seconds

    def claim_name(self) -> None:
        """Raise LifecycleError if another node of this name is configured on this machine."""
        self._entities.callback(claim_name(self).close)

    def add_diagnostics(self, name: str, ask: Callable[[], Health]) -> None:
        """Publish the result of `ask` on /diagnostics periodically; call it in `configure`."""
        assert self._diagnostics is not None
        self._diagnostics.add(name, ask)

    def update_diagnostics(self) -> None:
        """Publish on /diagnostics now."""
        if self._diagnostics is not None:
            self._diagnostics.update()

    def add_service(
        self, service: type, name: str, callback: Callable[[Any, Any], Any], *,
        inactive: bool = False
    ) -> Any:
        """
        Create a service; `callback(request, response)` may be a coroutine function.

        If the node is not active or the callback raises, `error_code` and `error_msg` of the
        response are set. `inactive`: call the callback also while the node is inactive.
        """
        where = f'service {name}'

        async def answer_to(request: Any, response: Any) -> Any:
            if not (self.active or inactive):
                return _fill(response, ErrorCode.NOT_READY, f'{self.get_name()} is not active')
            fault = message_fault(request)
            if fault:
                return _fill(response, ErrorCode.INVALID_REQUEST, fault)
            try:
                answer = callback(request, response)
                return await answer if inspect.isawaitable(answer) else answer
            except LifecycleError as error:
                return _fill(response, ErrorCode.INVALID_REQUEST, str(error))
            except RecursionError:
                return _fill(response, ErrorCode.INVALID_REQUEST, 'nested too deeply')
            except Exception as error:  # no exception of a callback may end the process
                self.log_exception(where)
                return _fill(type(response)(), ErrorCode.INTERNAL, repr(error))

        async def serve(request: Any, response: Any) -> Any:
            return await self.watchdog.steps(where, answer_to(request, response))

        entity = self.create_service(service, name, serve)
        drop_late_responses(entity)
        self._entities.callback(self.destroy_service, entity)
        return entity

    def add_action_server(
        self, action: type, name: str, execute: Callable[[Any], Any], *,
        accept: Callable[[Any], bool] = lambda goal: True,
        cancel: Callable[[Any], None] = lambda handle: None,
    ) -> GoalServer:
        """
        Create an action server that accepts goals only while the node is active, and all cancels.

        `execute(goal_handle)` is a coroutine function that returns the result and must not block;
        `cancel(goal_handle)` is called for each accepted cancel.
        """
        where = f'action {name}'

        async def run(handle: Any) -> Any:
            fault = message_fault(handle.request)
            if fault:
                handle.abort()
                return _fill(action.Result(), ErrorCode.INVALID_REQUEST, fault)
            try:
                return await self.watchdog.steps(where, execute(handle))
            except Exception as error:  # see add_service
                if handle.is_active:
                    handle.abort()
                if isinstance(error, RecursionError):
                    return _fill(action.Result(), ErrorCode.INVALID_REQUEST, 'nested too deeply')
                self.log_exception(where)
                return _fill(action.Result(), ErrorCode.INTERNAL, repr(error))

        def on_goal(goal: Any) -> GoalResponse:
            accepted = self.active and not self._halted and accept(goal)
            return GoalResponse.ACCEPT if accepted else GoalResponse.REJECT

        def on_cancel(handle: Any) -> CancelResponse:
            cancel(handle)
            return CancelResponse.ACCEPT

        server = GoalServer(
            self, action, name, run, self.guarded(on_goal, GoalResponse.REJECT, where),
            self.guarded(on_cancel, CancelResponse.ACCEPT, where))
        self.goal_servers[server.topic] = server
        self._entities.callback(server.destroy)
        self._entities.callback(self.goal_servers.pop, server.topic)
        return server

    def _open(self) -> None:
        self._diagnostics = Diagnostics(self)

    def _opened(self) -> None:
        for sentence in self.parameters.unknown(qos=True):
            self.get_logger().warning(sentence)

    def _close(self) -> None:
        self._diagnostics = None
        self._entities.close()

    def _note_clock(self) -> None:
        self._system_time = not self.get_clock().ros_time_is_active


def _fill(response: Any, code: ErrorCode, message: str) -> Any:
    """Set error_code and error_msg of a response or result, if it has these fields."""
    if hasattr(response, 'error_code'):
        response.error_code = int(code)
        response.error_msg = message
    return response
