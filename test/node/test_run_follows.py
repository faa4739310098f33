# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""`run` gets the result of its flow although a response is lost or the goal is forgotten."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import threading
from typing import Any

from action_lifecycle.cli.client import connect, NODE
from action_lifecycle.cli.running import following
from action_lifecycle.cli.table import console
from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle_msgs.action import ExecuteFlow
from isolation import domain_id
from lifecycle_msgs.srv import GetState
import pytest
import rclpy
from rclpy.action import ActionServer
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from unique_identifier_msgs.msg import UUID


class FlowDouble:
    """A double of the action node: each flow fails with REFUTED."""

    def __init__(self, domain: int) -> None:
        self.goals: list[str] = []
        context = Context()
        rclpy.init(context=context, domain_id=domain)
        self.node = rclpy.create_node(NODE, context=context)
        self.node.create_service(
            GetState, f'{NODE}/get_state', lambda request, response: response)
        self.server = ActionServer(
            self.node, ExecuteFlow, f'{NODE}/execute_flow', self._execute)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self.executor.spin)
        self.thread.start()

    def _execute(self, handle: Any) -> ExecuteFlow.Result:
        self.goals.append(handle.request.flow_id)
        handle.succeed()
        return ExecuteFlow.Result(flow_id='f', error_code=ErrorCode.REFUTED)

    def close(self) -> None:
        self.executor.shutdown()
        self.thread.join()
        self.server.destroy()
        self.node.destroy_node()
        rclpy.shutdown(context=self.node.context)


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Iterator[FlowDouble]:
    domain = domain_id()
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
    monkeypatch.setattr(following, 'ANSWER', 0.5)
    double = FlowDouble(domain)
    yield double
    double.close()


def follow() -> ExecuteFlow.Result:
    options = argparse.Namespace(plain=True, verbose=False, flow_id='f')
    with connect('', 10.0) as client:
        return following._Following(client, console(), options).follow(
            ExecuteFlow.Goal(flow_id='f'), {})


def test_a_lost_result_is_requested_again(
    double: FlowDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[Any] = []
    send = double.server._send_result_response

    def lose(*answer: Any) -> None:
        answers.append(answer)
        if len(answers) > 1:
            send(*answer)

    monkeypatch.setattr(double.server, '_send_result_response', lose)
    assert follow().error_code == ErrorCode.REFUTED
    assert len(answers) == 2 and double.goals == ['f']


def test_a_node_that_does_not_know_the_goal_is_asked_for_the_flow(
    double: FlowDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was started after the goal was accepted; that is no success."""
    answer = double.server._execute_get_result_request
    forgotten: list[Any] = []

    async def forget(taken: Any) -> None:
        if not forgotten:
            forgotten.append(taken[1].goal_id)
            taken[1].goal_id = UUID()
        await answer(taken)

    monkeypatch.setattr(double.server, '_execute_get_result_request', forget)
    monkeypatch.setattr(following._Following, 'fetch', lambda self: [])
    assert follow().error_code == ErrorCode.REFUTED
    assert forgotten and double.goals == ['f', 'f']
