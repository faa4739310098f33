# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Calls a service from a coroutine: waits for the server, with a timeout and retries."""

from __future__ import annotations

from typing import Any

from rclpy.task import Future

from .lifecycle_node import ManagedNode
from .limits import message_fault
from .timers import sleep, Timeout
from ..engine.errors import LifecycleError

LOOK = 0.1  #: polling period (s) for the server to appear
TRIES = 3


class NoAnswer(LifecycleError):
    """A service is not there or does not respond."""


class NoServer(NoAnswer):
    """A service is not there, so the request was not sent."""


async def call_service(
    node: ManagedNode, client: Any, request: Any, *, wait: float, timeout: float
) -> Any:
    """
    Return the response of a service; `client` and `request` are those of rclpy.

    The request is sent up to `TRIES` times with `timeout` s each, since a response may be lost
    during discovery; so it must be idempotent. Raises `NoServer` if the server does not appear
    within `wait` s, `NoAnswer` if it does not respond.
    """
    limit = node.steady() + wait
    while not client.service_is_ready():
        if node.steady() >= limit:
            raise NoServer(f"service '{client.srv_name}' is not there after {wait:g} s")
        await sleep(node, LOOK)
    for _ in range(TRIES):
        call = client.call_async(request)
        over: Any = Future()
        call.add_done_callback(lambda _, over=over: _once(over))
        timer = Timeout(node, timeout, lambda over=over: _once(over))
        await over
        timer.cancel()
        if call.done():
            fault = message_fault(call.result())
            if fault:
                raise NoAnswer(f"service '{client.srv_name}': invalid response: {fault}")
            return call.result()
        client.remove_pending_request(call)
    raise NoAnswer(f"service '{client.srv_name}' does not answer")


def _once(future: Any) -> None:
    if not future.done():
        future.set_result(None)
