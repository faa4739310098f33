# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A motion that is canceled before the bridge gets its goal ends at once and is never sent."""

from __future__ import annotations

from collections.abc import Iterator
import time
from typing import Any
import uuid

from action_lifecycle.lifecycle.ports import MotionRequest, MotionStep, WorkResult
from action_lifecycle.nodes.action.bridge_client import BridgeClient
from action_lifecycle.ros.node.executor import make_executor
from action_lifecycle.ros.node.lifecycle_node import ManagedNode
from action_lifecycle_msgs.action import ExecuteMotion
from isolation import domain_id
import pytest
import rclpy
from rclpy.action import ActionServer
from rclpy.context import Context

from .bridge_rig import action_qos
from .ending import destroy


class Rig:
    """A client of a bridge that is not there, unless `serve` is called."""

    def __init__(self) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain_id())
        self.executor = make_executor(context=self.context)
        self.node = ManagedNode('client', context=self.context)
        self.other = rclpy.create_node('bridge', context=self.context)
        self.executor.add_node(self.node)
        self.executor.add_node(self.other)
        self.client = BridgeClient(self.node, 'bridge', 30.0)
        self.goals: list[Any] = []
        self.results: list[WorkResult] = []

    def serve(self) -> None:
        def execute(handle: Any) -> Any:
            self.goals.append(handle.request)
            handle.succeed()
            return ExecuteMotion.Result(outcome='executed', stopped=True)
        ActionServer(
            self.other, ExecuteMotion, 'bridge/execute_motion', execute, **action_qos())

    def execute(self, *, resume: bool = False) -> Any:
        return self.client.execute(MotionRequest(
            'f', 'a', 1, uuid.uuid4().hex, [MotionStep('arm', 'a/action/B', {}, 5.0, 5.0)], {},
            [], [], None, 3.0, resume), self.results.append)

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.02)

    def close(self) -> None:
        self.client.destroy()
        self.executor.shutdown()
        destroy(self.node, self.other)
        rclpy.try_shutdown(context=self.context)


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.close()


@pytest.mark.parametrize('there', [False, True])
def test_a_motion_that_is_canceled_before_it_is_sent_ends_at_once(rig: Rig, there: bool) -> None:
    if there:
        rig.serve()  # and has not received its safety topics
    handle = rig.execute()
    rig.spin(0.5)
    handle.cancel()
    assert not rig.results  # the owner gets it when `cancel` has returned
    rig.spin(0.3)
    (result,) = rig.results
    assert (result.outcome, result.stopped, result.sent) == ('canceled', True, False)
    if not there:
        rig.serve()
    rig.client.safety_known = True
    handle.cancel()
    rig.spin(1.0)
    assert (len(rig.results), rig.goals) == (1, [])


def test_a_motion_that_may_run_already_is_not_said_to_be_canceled(rig: Rig) -> None:
    handle = rig.execute(resume=True)
    handle.cancel()
    rig.spin(0.5)
    assert not rig.results
    rig.serve()
    rig.spin(2.0)
    assert rig.goals and rig.goals[0].resume and len(rig.results) == 1
