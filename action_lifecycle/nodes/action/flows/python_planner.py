# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A planner in Python behind the interface of a service client."""

from __future__ import annotations

import queue
import threading
from typing import Any

from action_lifecycle_msgs.srv import Plan
from rclpy.task import Future

from ....documents.errors import LifecycleError
from ....flow.planning.planners import ask_planner, find_planner, PlanFunction, PREFIX
from ....ros.conversions.plain_data import plan_request_from
from ....ros.node.lifecycle_node import ManagedNode


class PythonPlanner:
    """
    Calls a registered planner, one call after the other, in a thread of its own.

    It has the methods of a service client that `ServiceCall` needs. A call that takes too long
    can't be interrupted: the next ones wait for its end, within their time limits.
    """

    def __init__(self, node: ManagedNode, name: str) -> None:
        self.srv_name = PREFIX + name
        self._node = node
        self._plan: PlanFunction = find_planner(name)
        self._calls: queue.SimpleQueue[tuple[Plan.Request, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, name=self.srv_name, daemon=True).start()

    def close(self) -> None:
        """End the thread after the current call."""
        self._calls.put(None)

    def service_is_ready(self) -> bool:
        """Return whether a request may be sent, which is always so."""
        return True

    def call_async(self, request: Plan.Request) -> Any:
        """Return a future of the response."""
        future: Any = Future()
        self._calls.put((request, future))
        return future

    def remove_pending_request(self, future: Any) -> None:
        """Drop a call: it is not begun any more, or its response is ignored."""
        future.cancel()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            request, future = call
            if not future.cancelled():
                response = self._response(request)
                self._node.call_soon(lambda future=future, response=response: (
                    None if future.cancelled() else future.set_result(response)))

    def _response(self, request: Plan.Request) -> Plan.Response:
        try:
            answer = ask_planner(self._plan, plan_request_from(request))
            return Plan.Response(
                accepted=bool(request.flow_yaml or answer.flow_yaml), flow_yaml=answer.flow_yaml,
                edit_yaml=answer.edit_yaml, message=answer.message)
        except LifecycleError as error:
            return Plan.Response(message=str(error))
        except Exception as error:  # fields of the answer with wrong types
            return Plan.Response(message=f'{type(error).__name__}: {error}')
