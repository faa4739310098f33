# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the middleware has lost is asked for, or sent, again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import threading
from typing import Any

from action_lifecycle.cli import client as cli_client
from action_lifecycle.cli.client import connect
from action_lifecycle.cli.exits import NotThere
from action_lifecycle.flow.files.loader import parse_flow
from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.nodes.action.flows import flow_check
from action_lifecycle.nodes.action.flows.flow_check import FlowCheck
from action_lifecycle.ros.calls import goal_client, motion_client
from action_lifecycle.ros.node.lifecycle_node import ManagedNode
from action_lifecycle.ros.node.transitions import SUCCESS
from action_lifecycle_msgs.msg import Condition
from action_lifecycle_msgs.srv import Check
from isolation import domain_id
from lifecycle_msgs.srv import GetState
import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.task import Future

from .bridge_rig import Rig
from .ending import destroy


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setattr(motion_client, 'ASK_AGAIN', 0.3)
    rig = Rig(tmp_path)
    rig.gap = 0.02
    rig.start()
    yield rig
    rig.close()


def test_a_motion_whose_acceptance_is_lost_is_canceled_at_once(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = motion_client.MotionClient.send

    def deaf(*arguments: Any) -> Future:
        send(*arguments)
        return Future()

    monkeypatch.setattr(motion_client.MotionClient, 'send', deaf)
    rig.gripper.behaviour = 'wait'
    handle = rig.send(rig.order({'command': {'position': 0.05, 'max_effort': 10.0}}))
    rig.until(lambda: rig.gripper.goals)
    rig.wait(handle.cancel_goal_async())
    result = rig.result(handle)
    assert (result.outcome, result.stopped) == ('canceled', True)


def test_a_cancel_that_is_lost_is_sent_again(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    server = rig.gripper.server
    cancel = server._execute_cancel_request

    async def lose(taken: Any) -> None:
        asked.append(taken)
        if len(asked) > 2:
            await cancel(taken)

    monkeypatch.setattr(server, '_execute_cancel_request', lose)
    rig.gripper.behaviour = 'wait'
    handle = rig.send(rig.order({'command': {'position': 0.05, 'max_effort': 10.0}}))
    rig.until(lambda: rig.gripper.goals)
    rig.wait(handle.cancel_goal_async())
    result = rig.result(handle)
    assert (result.outcome, result.stopped, rig.gripper.canceled) == ('canceled', True, 1)
    rig.spin(1.5)
    assert len(asked) == 3


@pytest.mark.parametrize('lost', [0, 1, 2])
def test_a_motion_ends_although_answers_to_its_result_are_lost(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    answers: list[Any] = []
    send = rig.gripper.server._send_result_response

    def lose(*answer: Any) -> None:
        answers.append(answer)
        if len(answers) > lost:
            send(*answer)

    monkeypatch.setattr(rig.gripper.server, '_send_result_response', lose)
    result = rig.execute({'command': {'position': 0.01}})
    assert (result.outcome, result.error_msg) == ('executed', '')
    assert len(answers) == lost + 1 and len(rig.gripper.goals) == 1


class Forgetful:
    """A gripper whose server drops each result at once, as with result_timeout 0."""

    def __init__(self, rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answered = 0
        self.server = rig.gripper.server
        self._answer = self.server._execute_get_result_request
        monkeypatch.setattr(self.server, '_execute_get_result_request', self._unknown)

    async def _unknown(self, taken: Any) -> None:
        known, self.server._goal_handles = self.server._goal_handles, {}
        await self._answer(taken)
        self.server._goal_handles = known
        self.answered += 1


def close(rig: Rig, **fields: Any) -> Any:
    return rig.execute({'command': {'position': 0.01}}, **fields)


@pytest.mark.parametrize(('behaviour', 'outcome', 'code', 'said'), [
    ('succeed', 'executed', ErrorCode.NONE, 'succeeded'),
    ('abort', 'failed', ErrorCode.MOTION_ABORTED, 'aborted')])
def test_the_status_of_a_goal_is_the_word_of_a_server_that_keeps_no_result(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, behaviour: str, outcome: str, code: ErrorCode,
    said: str,
) -> None:
    Forgetful(rig, monkeypatch)
    rig.gripper.behaviour = behaviour
    result = close(rig)
    assert (result.outcome, result.error_code, result.stopped) == (outcome, code, True)
    assert result.controller_said == f'{said} (no result: the server keeps none)'


@pytest.mark.parametrize(('moving', 'outcome', 'stopped'), [
    (0.0, 'not_running', True), (0.2, 'not_running', False)])
def test_a_server_that_keeps_no_result_is_not_gone_and_the_sensors_decide(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, moving: float, outcome: str, stopped: bool
) -> None:
    Forgetful(rig, monkeypatch)
    monkeypatch.setattr(motion_client.MotionClient, '_note_status', lambda *message: None)
    rig.moving = moving
    result = close(rig, stop_timeout=0.5, stopped=Condition(expression='speed < 0.01'))
    assert (result.outcome, result.error_code, result.stopped) == (
        outcome, ErrorCode.GOAL_UNKNOWN, stopped)
    assert "server 'gripper' keeps no results" in result.error_msg


def test_a_status_that_comes_late_is_waited_for(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgetful = Forgetful(rig, monkeypatch)
    note, kept = motion_client.MotionClient._note_status, list[Any]()

    def late(client: motion_client.MotionClient, message: bytes) -> None:
        kept.append(message)
        if len(kept) == 1:  # it is executed
            note(client, message)
        rig.robot.create_timer(1.2, lambda: note(client, kept[-1]))

    monkeypatch.setattr(motion_client.MotionClient, '_note_status', late)
    result = close(rig)
    assert (result.outcome, forgetful.answered > 2) == ('executed', True)


def test_a_server_that_has_forgotten_a_goal_it_accepted_is_another(rig: Rig) -> None:
    """It says nothing of what the robot does, which the one before may still move."""
    rig.gripper.behaviour = 'wait'
    handle = rig.send(rig.order({'command': {'position': 0.05, 'max_effort': 10.0}}))
    rig.until(lambda: rig.gripper.goals)
    rig.gripper.server._goal_handles.clear()
    result = rig.result(handle)
    assert (result.outcome, result.error_code, result.stopped) == (
        'failed', ErrorCode.SERVER_VANISHED, False)


def test_the_first_goal_is_sent_when_the_server_has_answered(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []
    answer = rig.gripper.server._execute_get_result_request

    async def lose(taken: Any) -> None:
        asked.append(bytes(taken[1].goal_id.uuid))
        if len(asked) == 3:
            assert not rig.gripper.goals
        if len(asked) >= 3:
            await answer(taken)

    monkeypatch.setattr(goal_client, 'PROBE', 30.0)
    monkeypatch.setattr(rig.gripper.server, '_execute_get_result_request', lose)
    assert rig.execute({'command': {'position': 0.01}}).outcome == 'executed'
    assert len(set(asked[:3])) == 3 and len(rig.gripper.goals) == 1
    before = len(asked)
    assert rig.execute({'command': {'position': 0.02}}).outcome == 'executed'
    assert len(set(asked[before:])) == 1  # its result: the server is known


class Losing:
    """A node whose answers to get_state are lost, but for the last of so many."""

    def __init__(self, domain: int, lost: int) -> None:
        self.asked = 0
        context = Context()
        rclpy.init(context=context, domain_id=domain)
        self.node = rclpy.create_node('losing', context=context)
        self.service = self.node.create_service(GetState, 'losing/get_state', self._answer)
        send = self.service.send_response
        self.service.send_response = lambda *answer: (
            send(*answer) if self.asked > lost else None)  # type: ignore[method-assign]
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self.executor.spin)
        self.thread.start()

    def _answer(self, request: Any, response: Any) -> Any:
        self.asked += 1
        response.current_state.label = 'here'
        return response

    def close(self) -> None:
        self.executor.shutdown()
        self.thread.join()
        self.node.destroy_node()
        rclpy.shutdown(context=self.node.context)


@pytest.fixture
def losing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Losing]:
    domain = domain_id()
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
    monkeypatch.setattr(cli_client, 'FIRST_REPEAT', 0.3)
    losing = Losing(domain, lost=2)
    yield losing
    losing.close()


def test_a_command_asks_again_and_waits_until_it_is_heard(losing: Losing) -> None:
    with connect('', 20.0) as client:
        client.until_heard('losing')
        assert losing.asked >= 3
        answer = client.call(GetState, 'losing/get_state', GetState.Request())
        assert answer.current_state.label == 'here'


def test_what_may_be_asked_but_once_is(losing: Losing) -> None:
    with connect('', 2.0) as client:
        with pytest.raises(NotThere, match='does not answer'):
            client.call(GetState, 'losing/get_state', GetState.Request(), again=False)
        assert losing.asked == 1


FLOW = """
flow: one
actions:
  move:
    motion: {server: arm, type: control_msgs/action/GripperCommand, server_timeout: 30.0}
    confirm: gap > 0.01
"""


class Checking(ManagedNode):
    """A node that checks flows."""

    def configure(self) -> None:
        self.check = FlowCheck(self, 'bridge', 10.0, None, None)


def test_a_flow_whose_check_is_lost_is_checked_again_before_its_servers_would_be_given_up(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow_check, 'ANSWER', 0.5)
    context = Context()
    rclpy.init(context=context, domain_id=domain_id())
    waits: list[float] = []

    def answer(request: Any, response: Any) -> Any:
        waits.append(request.wait)
        return response

    bridge = rclpy.create_node('bridge', context=context)
    service = bridge.create_service(Check, 'bridge/check', answer)
    send = service.send_response
    service.send_response = lambda *one: (
        send(*one) if len(waits) > 1 else None)  # type: ignore[method-assign]
    node = Checking('checking', context=context)
    executor = SingleThreadedExecutor(context=context)
    for one in (bridge, node):
        executor.add_node(one)
    assert node.trigger_configure() == SUCCESS
    checked = executor.create_task(node.check.check(parse_flow(FLOW, 'f.yaml')))
    executor.spin_until_future_complete(checked, 20.0)
    assert checked.done() and checked.exception() is None
    assert waits[:2] == [0.0, 0.0]
    executor.shutdown()
    destroy(node, bridge)
    rclpy.try_shutdown(context=context)
