# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sees which nodes of a robot are there, by requests for their lifecycle state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
import time
from typing import Any

from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState

from ...ros.calls.service_call import NoServer, RetryPolicy, ServiceCall, WentAway
from ...ros.node.lifecycle_node import ManagedNode
from ...viewer.robots import NodeSeen

PERIOD = 1.0
"""Polling period (s) of the states."""
POLICY = RetryPolicy(appear=0.0, answer=3.0, repeat=1.0)
"""DDS reports a killed process only after up to 20 s; without a response it counts as gone."""
OFFSET = 0.1
"""Change (s) of the difference between ROS time and wall time that is told."""


class NodeWatch:
    """
    Polls the nodes of one robot; `told(states, offset)` is called after a change.

    `offset`: ROS time minus wall time (s). `left(node)` is called when the service of a node has
    ended. Nodes that are not `needed` are listed once they have been seen. Create it after all
    other clients of these nodes: the first response of a node shows that it has discovered them.
    """

    def __init__(
        self, node: ManagedNode, name_of: Callable[[str], str], names: Iterable[str],
        needed: Iterable[str],
        told: Callable[[Mapping[str, NodeSeen], float], None], left: Callable[[str], None],
    ) -> None:
        self._node = node
        self._told = told
        self._left = left
        self._clients = {name: node.add_client(GetState, name_of(f'{name}/get_state'))
                         for name in names}
        self._calls: dict[str, ServiceCall] = {}
        self._offset = self._offset_now()
        now = time.time()
        self.seen = {name: NodeSeen('never seen', now) for name in needed}
        node.add_timer(PERIOD, self.poll)
        node.defer(self._close)

    def poll(self) -> None:
        """Ask each node that is not being asked."""
        offset = self._offset_now()
        if abs(offset - self._offset) > OFFSET:
            self._offset = offset
            self.tell()
        for name, client in self._clients.items():
            if name not in self._calls and (name in self.seen or client.service_is_ready()):
                call = ServiceCall(self._node, client, GetState.Request, POLICY)
                self._calls[name] = call
                call.on_done(lambda done, name=name: self._answered(name, done))

    def is_there(self) -> bool:
        """Whether a node of the robot answers."""
        return any(seen.state in ('active', 'inactive') for seen in self.seen.values())

    def tell(self) -> None:
        """Tell what is known."""
        self._told(dict(self.seen), self._offset)

    def _answered(self, name: str, done: Any) -> None:
        self._calls.pop(name, None)
        error = done.exception()
        if error is None:
            active = done.result().current_state.id == State.PRIMARY_STATE_ACTIVE
            self._set(name, 'active' if active else 'inactive')
        elif name in self.seen and self.seen[name].state != 'never seen':
            if isinstance(error, (NoServer, WentAway)):
                self._left(name)
            self._set(name, 'gone')

    def _set(self, name: str, state: str) -> None:
        before = self.seen.get(name)
        if before is None or before.state != state:
            self.seen[name] = NodeSeen(state, time.time())
            self.tell()

    def _offset_now(self) -> float:
        return self._node.now() - time.time() if self._node.timed() else 0.0

    def _close(self) -> None:
        for call in self._calls.values():
            call.cancel()
        self._calls.clear()
