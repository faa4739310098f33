# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The bridge killed in every phase of a motion: what a server has begun is followed, never repeated.

The bridge is a process of its own; the action server and who asks the bridge are here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import signal
import subprocess
import sys
import threading
from typing import Any
import uuid

from action_lifecycle_msgs.action import ConfirmOutcome, ExecuteMotion
from action_lifecycle_msgs.msg import Condition, ErrorCode, Motion
from control_msgs.action import GripperCommand
import pytest
from rclpy.action import ActionClient
from std_msgs.msg import Bool
from unique_identifier_msgs.msg import UUID

from .bridge_rig import Gripper, Rig

OPEN = {'command': {'position': 0.05, 'max_effort': 10.0}}
CLOSE = {'command': {'position': 0.0, 'max_effort': 10.0}}
NOT_INSTALLED = Motion(
    server='gripper', type='no_such_msgs/action/Grip', goal_json='{}', server_timeout=10.0)
UNFIT_FINALLY = Motion(
    kind='publish', server='blower', type='std_msgs/msg/Float64', goal_json='{"data": 1.0}',
    server_timeout=10.0, options_json='{"rate": 10.0, "finally": {"speed": 0.0}}')


class KilledRig(Rig):
    """A rig whose bridge is a process that can be killed."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, own_bridge=False)
        self.gap = 0.02

    def start(self) -> None:
        """Start the bridge and wait until it may move."""
        self.safety.clear()
        self.start_bridge()
        self.until(lambda: self.safety and self.safety[-1].state == 1, 20.0)
        self.until_it_answers(self.motion, ExecuteMotion.Goal())
        self.until_it_answers(self.confirmation, ConfirmOutcome.Goal())

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()
        super().close()

    def resumed(self, order: Any) -> Any:
        """Ask the new bridge to follow what the old one was told."""
        self.kill()
        self.start()
        order.resume = True
        return self.send(order)


@pytest.fixture(scope='module')
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KilledRig]:
    rig = KilledRig(tmp_path_factory.mktemp('bridge'))
    yield rig
    rig.close()


@pytest.fixture
def rig(shared: KilledRig) -> Iterator[KilledRig]:
    """Return the rig with a bridge that runs: the last test's, if it has left one."""
    if shared.process is None or shared.process.poll() is not None:
        shared.start()
    shared.gripper.behaviour, shared.gripper.refuse_cancel = 'succeed', False
    shared.gripper.goals.clear()
    shared.gripper.canceled = shared.gripper.asked = 0
    yield shared
    shared.gripper.let_go()
    shared.spin(0.1)


def test_killed_before_anything_was_sent(rig: KilledRig) -> None:
    server = rig.gripper
    order = rig.order(OPEN)
    order.steps[0].server = 'not_yet'
    rig.send(order)
    rig.spin(0.2)
    order.steps[0].server = 'gripper'  # which is there now, and has heard of nothing
    result = rig.result(rig.resumed(order))
    assert (result.outcome, result.stopped) == ('not_running', True)
    assert not server.goals


def test_killed_while_running_it_is_followed_to_its_end(rig: KilledRig) -> None:
    rig.gripper.behaviour = 'wait'
    order = rig.order(OPEN)
    rig.send(order)
    rig.until(lambda: rig.gripper.goals)
    handle = rig.resumed(order)
    rig.spin(0.5)
    rig.gripper.let_go()
    result = rig.result(handle)
    assert (result.outcome, result.steps_done, result.error_code) == ('executed', 1, 0)
    assert len(rig.gripper.goals) == 1


def test_killed_while_it_ends_at_a_server_that_keeps_no_result(rig: KilledRig) -> None:
    """The latched status of the goal is heard."""
    server = Gripper(rig.robot, 'forgetful', result_timeout=0)
    server.behaviour = 'wait'
    order = rig.order(OPEN)
    order.steps[0].server = 'forgetful'
    rig.send(order)
    rig.until(lambda: server.goals)
    rig.kill()
    server.let_go()
    rig.until(lambda: not server.server._goal_handles)
    rig.start()
    order.resume = True
    result = rig.result(rig.send(order))
    server.destroy()
    assert (result.outcome, result.error_msg) == ('executed', '')
    assert result.controller_said == 'succeeded (no result: the server keeps none)'


def test_killed_while_running_its_goal_is_not_that_of_another_client(rig: KilledRig) -> None:
    rig.gripper.behaviour = 'preempt'
    order = rig.order(OPEN)
    rig.send(order)
    rig.until(lambda: rig.gripper.goals)
    rig.resumed(order)
    handle = rig.send(rig.order(CLOSE))
    rig.until(lambda: len(rig.gripper.goals) == 2)
    rig.gripper.let_go()
    assert rig.result(handle).outcome == 'executed'


def test_killed_while_running_it_can_be_canceled(rig: KilledRig) -> None:
    rig.gripper.behaviour = 'wait'
    order = rig.order(OPEN)
    rig.send(order)
    rig.until(lambda: rig.gripper.goals)
    handle = rig.resumed(order)
    rig.spin(0.3)
    rig.wait(handle.cancel_goal_async())
    result = rig.result(handle)
    assert (result.outcome, result.stopped, rig.gripper.canceled) == ('canceled', True, 1)


@pytest.mark.parametrize('moving', [True, False])
def test_killed_while_a_stop_is_confirmed_the_sensors_are_asked_again(
    rig: KilledRig, moving: bool
) -> None:
    rig.gripper.behaviour, rig.moving = 'wait', 0.5
    order = rig.order(
        OPEN, stopped=Condition(name='stopped', expression='speed < 0.01'), stop_timeout=2.0)
    handle = rig.send(order)
    rig.until(lambda: rig.gripper.goals)
    handle.cancel_goal_async()
    rig.until(lambda: rig.gripper.canceled)
    rig.spin(0.3)  # the server says that it is canceled, and it moves on
    rig.moving = 0.5 if moving else 0.0
    result = rig.result(rig.resumed(order))
    rig.moving = 0.0
    assert (result.outcome, result.error_code, result.stopped) == (
        'canceled', ErrorCode.MOTION_CANCELED, not moving)
    assert ('not seen to stop within 2 s: stopped: speed < 0.01' in result.error_msg) is moving


def test_killed_before_the_end_was_read_the_end_is_told(rig: KilledRig) -> None:
    rig.gripper.behaviour = 'wait'
    order = rig.order(OPEN)
    rig.send(order)
    rig.until(lambda: rig.gripper.goals)
    rig.kill()
    rig.gripper.let_go()  # ends while nobody listens
    rig.spin(0.3)
    result = rig.result(rig.resumed(order))
    assert (result.outcome, result.controller_said) == ('executed', 'succeeded')
    assert len(rig.gripper.goals) == 1


def test_killed_between_two_steps_the_second_is_not_sent(rig: KilledRig) -> None:
    rig.gripper.behaviour = 'wait'
    order = rig.order(OPEN, CLOSE)
    rig.send(order)
    rig.until(lambda: rig.gripper.goals)
    rig.kill()
    rig.gripper.let_go()
    rig.spin(0.3)
    result = rig.result(rig.resumed(order))
    assert (result.outcome, result.steps_done, result.stopped) == ('not_running', 1, True)
    assert len(rig.gripper.goals) == 1


def test_killed_in_the_second_step_that_one_is_followed(rig: KilledRig) -> None:
    order = rig.order(OPEN, CLOSE)
    order.steps[1].server = 'other'
    other = Gripper(rig.robot, 'other')
    other.behaviour = 'wait'
    rig.send(order)
    rig.until(lambda: other.goals)
    handle = rig.resumed(order)
    rig.spin(0.3)
    other.let_go()
    result = rig.result(handle)
    assert (result.outcome, result.steps_done) == ('executed', 2)
    assert len(rig.gripper.goals) == len(other.goals) == 1


@pytest.mark.parametrize('how', ['cancel', 'estop'])
def test_killed_in_the_first_step_a_stop_reaches_it_though_the_second_server_is_not_there(
    rig: KilledRig, how: str
) -> None:
    rig.gripper.behaviour = 'wait'
    order = rig.order(OPEN, CLOSE, stop_timeout=8.0)
    order.steps[1].server = 'not_yet'
    rig.send(order)
    rig.until(lambda: rig.gripper.goals)
    handle = rig.resumed(order)
    rig.spin(0.3)
    assert not rig.gripper.canceled
    result = handle.get_result_async()
    if how == 'cancel':
        handle.cancel_goal_async()
    else:
        rig.beating = False
        rig.estop.publish(Bool(data=True))
    took = rig.until(result.done)
    answer = result.result().result
    assert (answer.error_code, answer.stopped, rig.gripper.canceled) == (
        ErrorCode.CANCELED if how == 'cancel' else ErrorCode.ESTOP, True, 1)
    assert took < 4.0  # the second step was never sent: nobody waits for its server
    if how == 'estop':
        rig.beating = True
        rig.clear_when_possible(rig.clear_client)


@pytest.mark.parametrize(('moving', 'refused', 'why'), [
    (0, NOT_INSTALLED, 'no_such_msgs'), (1, NOT_INSTALLED, 'no_such_msgs'),
    (1, UNFIT_FINALLY, 'finally')])
def test_killed_and_another_step_can_not_be_followed_what_moves_is_stopped(
    rig: KilledRig, moving: int, refused: Motion, why: str
) -> None:
    order = rig.order(OPEN, CLOSE)
    order.steps[1].server = f'second_{moving}_{why}'
    servers = [rig.gripper, Gripper(rig.robot, order.steps[1].server)]
    servers[moving].behaviour = 'wait'
    rig.send(order)
    rig.until(lambda: servers[moving].goals)
    rig.kill()
    order.steps[1 - moving] = refused  # as the new bridge sees it
    result = rig.result(rig.resumed(order))
    assert (result.outcome, result.error_code, result.stopped) == (
        'failed', ErrorCode.INVALID_REQUEST, True)
    assert why in result.error_msg
    assert servers[moving].canceled == 1


def test_killed_and_no_step_can_be_followed_nothing_is_known_to_stand(rig: KilledRig) -> None:
    rig.gripper.behaviour = 'wait'
    order = rig.order(OPEN)
    rig.send(order)
    rig.until(lambda: rig.gripper.goals)
    rig.kill()
    order.steps[0] = NOT_INSTALLED
    result = rig.result(rig.resumed(order))
    assert (result.error_code, result.stopped) == (ErrorCode.STOP_UNCONFIRMED, False)
    assert 'no_such_msgs' in result.error_msg


def test_killed_and_the_server_of_a_later_step_is_gone_it_may_still_move(rig: KilledRig) -> None:
    later = Gripper(rig.robot, 'later')
    later.behaviour = 'wait'
    order = rig.order(OPEN, CLOSE)
    order.steps[1].server, order.steps[1].server_timeout = 'later', 1.0
    rig.send(order)
    rig.until(lambda: later.goals)
    rig.kill()
    later.destroy()
    result = rig.result(rig.resumed(order), 20.0)
    later.let_go()
    assert (result.outcome, result.steps_done, result.stopped) == ('not_running', 1, False)
    assert result.error_msg.startswith("no action server 'later'; not seen to stop")
    later = Gripper(rig.robot, 'later')  # as if it was not discovered in time
    later.behaviour = 'wait'
    client = ActionClient(rig.asker, GripperCommand, 'later')
    rig.until(client.server_is_ready)
    step_id = uuid.uuid5(uuid.UUID(bytes=bytes(order.goal_id.uuid)), '1')
    client.send_goal_async(GripperCommand.Goal(), goal_uuid=UUID(uuid=list(step_id.bytes)))
    rig.until(lambda: later.canceled)


def test_killed_and_the_server_is_gone_too_nothing_is_known_to_stand(rig: KilledRig) -> None:
    other = subprocess.Popen(
        [sys.executable, '-m', 'node.gripper_process', 'unwilling', '--ros-args', '-r',
         'gripper:=mortal'], cwd=Path(__file__).parents[1], stdout=subprocess.PIPE,
        env=rig.environment)
    try:
        order = rig.order(OPEN)
        order.steps[0].server = 'mortal'
        order.steps[0].server_timeout = 30.0
        rig.send(order)
        assert other.stdout is not None
        ready = threading.Thread(target=other.stdout.readline)
        ready.start()
        rig.until(lambda: not ready.is_alive(), 40.0)
    finally:
        other.kill()
        other.communicate()
    order.steps[0].server_timeout = 0.5
    result = rig.result(rig.resumed(order))
    assert (result.outcome, result.stopped) == ('not_running', False)
    assert "no action server 'mortal'" in result.controller_said + result.error_msg


def test_killed_after_sending_a_goal_that_is_accepted_only_later(rig: KilledRig) -> None:
    rig.gripper.behaviour = 'never_answer'
    order = rig.order(OPEN)
    rig.send(order)
    rig.until(lambda: rig.gripper.asked)
    result = rig.result(rig.resumed(order))
    assert result.outcome == 'not_running'  # the server does not know it, yet
    rig.gripper.behaviour = 'wait'
    rig.gripper.let_go()
    rig.until(lambda: rig.gripper.canceled)  # it must not run unseen
    assert len(rig.gripper.goals) == 1


def test_a_confirmation_is_asked_anew_after_the_bridge_was_killed(rig: KilledRig) -> None:
    rig.confirm('gap > 0.5', within=30.0)
    rig.kill()
    rig.start()
    assert rig.result(rig.confirm('gap > 0.01', hold=0.2, after=rig.now())).verdict == 1


@pytest.mark.parametrize('confirmed', [True, False])
def test_ctrl_c_stops_the_motion_and_its_end_is_told(rig: KilledRig, confirmed: bool) -> None:
    rig.gripper.behaviour = 'wait' if confirmed else 'hang'
    rig.gripper.refuse_cancel = not confirmed
    handle = rig.send(rig.order(OPEN, stop_timeout=2.0))
    rig.until(lambda: rig.gripper.goals)
    result = handle.get_result_async()
    assert rig.process is not None
    rig.process.send_signal(signal.SIGINT)
    rig.until(lambda: rig.process.poll() is not None)
    assert rig.process.returncode == 0
    rig.until(result.done)
    answer = result.result().result
    assert rig.gripper.canceled and answer.stopped == confirmed
    assert answer.error_code == (
        ErrorCode.INTERRUPTED if confirmed else ErrorCode.STOP_UNCONFIRMED)
