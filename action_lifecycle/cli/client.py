# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The ROS node of a command: service calls and latched topics, with one time limit for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import math
import os
import sys
import time
from typing import Any

from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import ErrorCode
from action_lifecycle_msgs.srv import GetHistory, GetRows
from lifecycle_msgs.srv import GetState
import rclpy
from rclpy.action import ActionClient
from rclpy.exceptions import InvalidNamespaceException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from .exits import NotThere
from ..documents.errors import LifecycleError
from ..ros.calls.order_call import Given, OrderCall, SETTLED
from ..ros.calls.service_call import NoAnswer
from ..ros.interfaces.qos import state_qos
from ..ros.node.call_host import CallHost

NODE = 'action_lifecycle'
"""Name of the action node."""
NOTICE_DELAY = 3.0
"""Wait (s) after which a message says what the command waits for."""
FIRST_REPEAT, LONGEST_REPEAT = 0.1, 1.0
"""First and longest delay (s) before an unanswered request is repeated; it doubles each time."""
ABSENT = (ErrorCode.NOT_FOUND, ErrorCode.NOT_READY, ErrorCode.LEDGER_UNAVAILABLE)
"""Error codes of responses for which the command exits with `NOT_THERE`."""
PAGE = 1000
"""Maximum number of changes per call of get_history."""
LAST_DOMAIN = 232
"""The highest valid ROS_DOMAIN_ID."""


class Client:
    """
    A node with an executor that spins only while the command waits.

    `wait`: seconds that it waits for each answer, message or server.
    """

    def __init__(self, node: Node, wait: float) -> None:
        self.node = node
        self.wait = wait
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(node)
        self._host = CallHost(node)
        self._clients: dict[str, Any] = {}

    def spin(self, seconds: float, done: Callable[[], Any] = lambda: False) -> bool:
        """Run callbacks for `seconds` or until `done()`; returns whether it was done."""
        end = time.monotonic() + seconds
        while not (found := done()) and (left := end - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=min(left, 0.05))
        return bool(found)

    def until(self, done: Callable[[], Any], what: str, name: str = '') -> None:
        """
        Run callbacks until `done()`; raises `NotThere` with the message `what` after `wait` s.

        `name`: the awaited service, topic or action with its namespace. If given, the error lists
        the namespaces that offer it.
        """
        if self.spin(min(NOTICE_DELAY, self.wait), done):
            return
        if self.wait > NOTICE_DELAY:
            print(f'waiting for up to {self.wait:g} s: {what} yet', file=sys.stderr)
        if not self.spin(self.wait - NOTICE_DELAY, done):
            raise NotThere(f'{what} after {self.wait:g} s' + self._elsewhere(name))

    def _elsewhere(self, name: str) -> str:
        """
        Describe which other namespaces of this domain offer the same local name.

        Only servers and publishers count, not clients and subscribers.
        """
        if not name:
            return ''
        local = name.removeprefix(self.node.get_namespace().rstrip('/'))
        offered = [other for other, _ in self.node.get_service_names_and_types()
                   if self.node.count_services(other)]
        offered += [other for other, _ in self.node.get_topic_names_and_types()
                    if self.node.count_publishers(other)]
        seen = {other.removesuffix('/_action/send_goal') for other in offered}
        found = [f"'{other}': --namespace {other.removesuffix(local).strip('/') or '/'}"
                 for other in sorted(seen) if other.endswith(local) and other != name]
        return f' on the ROS domain {self.node.context.get_domain_id()}; there is ' + (
            ', '.join(found) or 'no such thing in any namespace')

    def service(self, kind: type, name: str) -> Any:
        """Return the client of a service."""
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
        return self._clients[name]

    def until_there(self, kind: type, name: str) -> Any:
        """Wait for a service and return its client."""
        client = self.service(kind, name)
        full = self.node.resolve_service_name(name)
        self.until(client.service_is_ready, f"service '{full}' is not there", full)
        return client

    def call(self, service: type, name: str, request: Any, *, again: bool = True) -> Any:
        """
        Call a service and return its response.

        `again`: the request may be repeated, since a server's response is lost if it has not
        discovered this client yet.
        """
        client = self.until_there(service, name)
        asked: list[Any] = []
        interval, ask_at = FIRST_REPEAT if again else math.inf, time.monotonic()

        def answered() -> bool:
            nonlocal interval, ask_at
            if time.monotonic() >= ask_at:
                ask_at += interval
                interval = min(2.0 * interval, LONGEST_REPEAT)
                asked.append(client.call_async(request))
            return any(future.done() for future in asked)

        self.until(answered, f"service '{self.node.resolve_service_name(name)}' does not answer")
        return next(future.result() for future in asked if future.done())

    def order(
        self, service: type, name: str, request: Any, *, limit: float = SETTLED,
    ) -> Given:
        """
        Give an order to the action node; returns its response and its row.

        `limit`: time (s) to find out what became of it, see `OrderCall`.
        """
        name = f'{NODE}/{name}'
        client = self.until_there(service, name)
        return self.give(client, self.until_there(GetRows, f'{NODE}/get_rows'), request, limit)

    def give(self, client: Any, rows: Any, request: Any, limit: float = SETTLED) -> Given:
        """Give an order to a service; `rows`: see `OrderCall`."""
        done = OrderCall(self._host, client, rows, appear=self.wait, limit=limit).start(request)
        if not self.spin(NOTICE_DELAY, done.done):
            print(f'waiting for up to {self.wait + limit:g} s: what became of the order is not '
                  'known yet', file=sys.stderr)
        while not done.done():
            self.spin(NOTICE_DELAY, done.done)
        try:
            given: Given = done.result()
        except NoAnswer as error:
            raise NotThere(str(error)) from error
        return given

    def flow_action(self) -> ActionClient:
        """Return a client of the action node's `execute_flow` once both are discovered."""
        action = ActionClient(self.node, ExecuteFlow, f'{NODE}/execute_flow')
        name = self.node.resolve_service_name(f'{NODE}/execute_flow')
        self.until(action.server_is_ready, f"the action '{name}' is not there", name)
        self.until_heard(NODE)
        return action

    def send(self, action: ActionClient, goal: Any, *feedback: Any) -> Any:
        """Send a goal and return its handle, which may be that of a rejected goal."""
        sent = action.send_goal_async(goal, *feedback)
        self.until(sent.done, 'the goal was not answered')
        return sent.result()

    def history(self, node: str, flow_id: str, action_id: str = '') -> Iterator[Any]:
        """
        Yield the changes in a node's journal, oldest first; an empty id matches all.

        They are ActionStateChange and, without `action_id`, FlowChange.
        """
        after = 0
        while True:
            page = accepted(self.call(GetHistory, f'{node}/get_history', GetHistory.Request(
                flow_id=flow_id, action_id=action_id, after_seq=after, limit=PAGE)))
            changes = sorted([*page.changes, *page.flow_changes], key=lambda change: change.seq)
            yield from changes
            if not page.more:
                return
            after = changes[-1].seq

    def latched(self, message: type, name: str) -> Any:
        """Return the current message of a latched topic."""
        told: list[Any] = []
        full = self.node.resolve_topic_name(name)
        subscription = self.node.create_subscription(message, name, told.append, state_qos())
        self.until(lambda: told or self.node.count_publishers(name),
                   f"nobody publishes '{full}'", full)
        self.until(lambda: told, f"'{full}' tells nothing, its node is not active")
        self.node.destroy_subscription(subscription)
        return told[-1]

    def until_heard(self, node: str) -> None:
        """
        Wait until a managed node has discovered this node's service clients.

        A node discovers endpoints in the order of their creation, so a response to the newest
        client shows that the earlier ones are known, too.
        """
        self.call(GetState, f'{node}/get_state', GetState.Request())


def publishers(node: Node, topic: str) -> set[str]:
    """Return the DDS ids of a topic's publishers; each start of a node has others."""
    return {str(list(endpoint.endpoint_gid))
            for endpoint in node.get_publishers_info_by_topic(topic)}


def accepted(answer: Any) -> Any:
    """Return a response that has no error code; else raise its message as an error."""
    if answer.error_code == ErrorCode.NONE:
        return answer
    message = answer.error_msg or f'refused (error code {answer.error_code})'
    if answer.error_code in ABSENT:
        raise NotThere(message)
    raise LifecycleError(message)


@contextlib.contextmanager
def connect(namespace: str, wait: float) -> Iterator[Client]:
    """
    Create a node for one command; `wait`: see `Client`.

    rclpy does not handle SIGINT, the command does.
    """
    domain = os.environ.get('ROS_DOMAIN_ID', '')
    if domain and not (domain.isascii() and domain.isdecimal() and int(domain) <= LAST_DOMAIN):
        raise LifecycleError(
            f"ROS_DOMAIN_ID '{domain}': expected a number from 0 to {LAST_DOMAIN}")
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        try:
            node = rclpy.create_node(
                f'_action_lifecycle_cli_{os.getpid()}', namespace=namespace or None,
                start_parameter_services=False, enable_rosout=False)
        except InvalidNamespaceException as error:
            raise LifecycleError(f"--namespace '{namespace}': expected names of letters, digits "
                                 "and _, with '/' between them") from error
        try:
            yield Client(node, wait)
        finally:
            node.destroy_node()
    finally:
        rclpy.try_shutdown()
