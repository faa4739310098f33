# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A managed node with one of each entity, and another node that uses it, in one executor."""

from __future__ import annotations

from collections.abc import Iterator
import time
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.ros.interfaces.qos import state_qos
from action_lifecycle.ros.node.executor import make_executor
from action_lifecycle.ros.node.lifecycle_node import ManagedNode
from action_lifecycle_msgs.action import ConfirmOutcome
from action_lifecycle_msgs.msg import SafetyState
from action_lifecycle_msgs.srv import ClearStop
from isolation import domain_id
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
import pytest
import rclpy
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.parameter import Parameter

from .ending import destroy


class Example(ManagedNode):
    """A node with one of each; what goes wrong is set by the test."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('example', **kwargs)
        self.fault: Exception | None = None
        self.still_busy = False
        self.calls: list[str] = []

    def configure(self) -> None:
        self.claim_name()
        self.publisher = self.add_publisher(SafetyState, '~/state', state_qos())
        self.add_service(ClearStop, '~/serve', self.serve)
        self.add_action_server(ConfirmOutcome, '~/act', self.act)
        self.add_timer(0.01, lambda: None)
        if self.fault is not None:
            raise self.fault

    def activate(self) -> None:
        self.calls.append('activate')

    def halt(self) -> None:
        self.calls.append('halt')

    def busy(self) -> bool:
        return self.still_busy

    def deactivate(self) -> None:
        self.calls.append('deactivate')

    def cleanup(self) -> None:
        self.calls.append('cleanup')

    def serve(self, request: Any, response: Any) -> Any:
        if request.actor == 'nobody':
            raise LifecycleError('nobody is not known')
        if request.actor == 'bug':
            raise ZeroDivisionError
        response.accepted = True
        return response

    async def act(self, handle: Any) -> Any:
        if self.fault is not None:
            raise self.fault
        handle.succeed()
        return ConfirmOutcome.Result(verdict=1)


class Spun:
    """Nodes of a context of their own, spun by the test."""

    def __init__(self) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain_id())
        self.executor = make_executor(context=self.context)

    def until(self, condition: Any, timeout: float = 10.0) -> None:
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end, 'did not happen in time'
            self.executor.spin_once(timeout_sec=0.05)

    def wait(self, future: Any) -> Any:
        self.until(future.done)
        return future.result()

    def end(self, *nodes: Any) -> None:
        self.executor.shutdown()
        destroy(*nodes)
        rclpy.try_shutdown(context=self.context)


class Rig(Spun):

    def __init__(self, **parameters: Any) -> None:
        super().__init__()
        self.node = Example(context=self.context, parameter_overrides=[
            Parameter(name, value=value) for name, value in parameters.items()])
        self.other = rclpy.create_node('other', context=self.context)
        self.executor.add_node(self.node)
        self.executor.add_node(self.other)
        self.change = self.other.create_client(ChangeState, 'example/change_state')
        self.get = self.other.create_client(GetState, 'example/get_state')
        self.served = self.other.create_client(ClearStop, 'example/serve')
        self.action = ActionClient(self.other, ConfirmOutcome, 'example/act')

    def call(self, client: Any, request: Any) -> Any:
        self.until(client.service_is_ready)
        return self.wait(client.call_async(request))

    def transition(self, number: int) -> bool:
        request = ChangeState.Request(transition=Transition(id=number))
        return bool(self.call(self.change, request).success)

    @property
    def state(self) -> int:
        return int(self.call(self.get, GetState.Request()).current_state.id)

    def close(self) -> None:
        self.end(self.node, self.other)


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.close()
