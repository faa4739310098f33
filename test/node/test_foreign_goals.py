# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Goals of two clients at a server that executes one at a time, as Nav2's do."""

from __future__ import annotations

from collections.abc import Iterator
import json
import os
from pathlib import Path
import subprocess
import sys
from typing import Any
import uuid

from action_lifecycle_msgs.msg import ErrorCode, Motion
from control_msgs.action import GripperCommand
from isolation import as_it_comes
import pytest
from rclpy.action import ActionClient

from .bridge_rig import GRIPPER, Rig

OPEN = {'command': {'position': 0.05, 'max_effort': 10.0}}


class SharedRig(Rig):
    """A gripper that the bridge and an operator use."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.gap = 0.02
        self.gripper.behaviour = 'preempt'
        self.operator = ActionClient(self.asker, GripperCommand, 'gripper')

    def operate(self) -> Any:
        """Send a goal of the operator, which is executed until `release`."""
        self.until(self.operator.server_is_ready)
        handle = self.wait(self.operator.send_goal_async(GripperCommand.Goal()))
        self.until(lambda: bytes(handle.goal_id.uuid) in self.gripper.ids)
        return handle

    def step(self, foreign_goals: str = 'ask', server: str = 'gripper') -> Motion:
        return Motion(
            server=server, type=GRIPPER, goal_json=json.dumps(OPEN), server_timeout=10.0,
            timeout=20.0, options_json=json.dumps({'foreign_goals': foreign_goals}))


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[SharedRig]:
    rig = SharedRig(tmp_path)
    rig.start()
    yield rig
    rig.close()


@pytest.mark.parametrize('known', [False, True], ids=['new server', 'known server'])
@pytest.mark.parametrize('policy', ['ask', 'fail'])
def test_nothing_is_sent_while_another_client_has_a_goal(
    rig: SharedRig, policy: str, known: bool
) -> None:
    if known:
        rig.gripper.behaviour = 'succeed'
        assert rig.execute(rig.step(policy)).outcome == 'executed'
        rig.gripper.behaviour = 'preempt'
    before = len(rig.gripper.goals)
    theirs = rig.operate()
    result = rig.execute(rig.step(policy))
    assert (result.outcome, result.error_code, result.stopped) == (
        'failed', ErrorCode.NOT_ALLOWED, True)
    goal = uuid.UUID(bytes=bytes(theirs.goal_id.uuid))
    assert result.error_msg == (
        f"nothing was sent: server 'gripper' has goal {goal} of another client")
    assert len(rig.gripper.goals) == before + 1


def test_a_motion_waits_until_the_goal_of_another_client_has_ended(rig: SharedRig) -> None:
    rig.operate()
    states: list[str] = []
    handle = rig.wait(rig.motion.send_goal_async(
        rig.order(rig.step('wait')),
        lambda message: states.append(message.feedback.step_state)))
    rig.until(lambda: any(state.startswith('waits for its end: ') for state in states))
    rig.spin(0.5)
    assert len(rig.gripper.goals) == 1
    rig.gripper.let_go()
    rig.until(lambda: len(rig.gripper.goals) == 2)
    rig.gripper.let_go()
    assert rig.result(handle).outcome == 'executed'


def test_a_wait_for_another_client_is_canceled_at_once(rig: SharedRig) -> None:
    rig.operate()
    handle = rig.send(rig.order(rig.step('wait')))
    rig.spin(0.5)
    rig.wait(handle.cancel_goal_async())
    result = rig.result(handle, 2.0)
    assert (result.outcome, result.stopped, len(rig.gripper.goals)) == ('canceled', True, 1)


def test_a_goal_that_another_client_ends_says_so(rig: SharedRig) -> None:
    handle = rig.send(rig.order(rig.step()))
    rig.until(lambda: rig.gripper.goals)
    theirs = rig.operate()
    result = rig.result(handle)
    assert (result.outcome, result.error_code) == ('failed', ErrorCode.NOT_ALLOWED)
    goal = uuid.UUID(bytes=bytes(theirs.goal_id.uuid))
    assert result.error_msg == f"aborted; server 'gripper' has goal {goal} of another client"


def test_it_says_so_although_the_other_goal_has_ended_meanwhile(rig: SharedRig) -> None:
    handle = rig.send(rig.order(rig.step()))
    rig.until(lambda: rig.gripper.goals)
    theirs = rig.operate()
    rig.gripper.let_go()
    rig.wait(theirs.get_result_async())
    result = rig.result(handle)
    assert result.error_code == ErrorCode.NOT_ALLOWED


def test_servers_for_several_clients_are_used_beside_others(rig: SharedRig) -> None:
    rig.operate()
    handle = rig.send(rig.order(rig.step('allow')))
    rig.until(lambda: len(rig.gripper.goals) == 2)
    rig.operate()
    result = rig.result(handle)
    assert (result.error_code, result.error_msg) == (ErrorCode.MOTION_ABORTED, 'aborted')


def test_own_goals_are_not_those_of_others(rig: SharedRig) -> None:
    """Also one that the bridge does not wait for any more."""
    rig.gripper.refuse_cancel = True
    handle = rig.send(rig.order(rig.step(), stop_timeout=0.5))
    rig.until(lambda: rig.gripper.goals)
    rig.wait(handle.cancel_goal_async())
    assert rig.result(handle).error_code == ErrorCode.STOP_UNCONFIRMED
    again = rig.send(rig.order(rig.step()))
    rig.until(lambda: len(rig.gripper.goals) == 2)
    rig.gripper.let_go()
    assert rig.result(again).outcome == 'executed'


@pytest.mark.parametrize('follows', [False, True])
def test_goals_that_the_bridge_has_sent_for_others_are_not_own_ones(
    rig: SharedRig, follows: bool
) -> None:
    """A caller and its journal may be gone; who follows its motion has taken over."""
    order = rig.order(rig.step())
    rig.send(order, b'gone')
    rig.until(lambda: rig.gripper.goals)
    if follows:
        order.resume = True
        rig.send(order)
    result = rig.send(rig.order(rig.step()))
    if follows:
        rig.until(lambda: len(rig.gripper.goals) == 2)
        rig.gripper.let_go()
        assert rig.result(result).outcome == 'executed'
    else:
        ended = rig.result(result)
        assert (ended.outcome, ended.error_code, ended.stopped, len(rig.gripper.goals)) == (
            'failed', ErrorCode.NOT_ALLOWED, True, 1)
        assert "nothing was sent: server 'gripper' has goal" in ended.error_msg


def test_an_operator_of_a_server_that_is_gone_does_not_count(rig: SharedRig) -> None:
    rig.gripper.behaviour = 'succeed'
    rig.execute(rig.step())
    rig.gripper.behaviour = 'preempt'
    rig.operate()
    rig.gripper.destroy()
    rig.until(lambda: not rig.operator.server_is_ready())
    rig.gripper = type(rig.gripper)(rig.robot)
    result = rig.execute(rig.step('wait'))
    assert (result.outcome, result.error_msg) == ('executed', '')


def test_other_goals_are_seen_on_cyclone_dds(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', __file__, '-k',
         'nothing_is_sent or ends_says_so', '--basetemp', str(tmp_path / 'cyclone')],
        env={**as_it_comes(dict(os.environ)), 'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'},
        capture_output=True, text=True, timeout=120.0, check=False)
    assert ran.returncode == 0 and '5 passed' in ran.stdout, ran.stdout + ran.stderr
