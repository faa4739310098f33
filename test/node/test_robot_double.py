# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The robot double does to a goal what a test has told it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory, GripperCommand
import pytest
from rclpy.action import ActionClient
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .robot_double import RobotDouble
from .robot_process import PARTS
from .system import System


class Client(System):
    """The double, and clients of its servers."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.robot = RobotDouble(folder, self.environment)
        self.arms = ActionClient(self.node, FollowJointTrajectory, PARTS['left'][0])
        self.gripper = ActionClient(self.node, GripperCommand, PARTS['gripper'][0])
        self.joints = JointState()
        self.node.create_subscription(
            JointState, 'joint_states', lambda message: setattr(self, 'joints', message), 10)

    def send(self, target: float, seconds: float) -> Any:
        goal = FollowJointTrajectory.Goal(trajectory=JointTrajectory(
            joint_names=['left'], points=[JointTrajectoryPoint(positions=[target])]))
        goal.trajectory.points[0].time_from_start.nanosec = int(seconds % 1.0 * 1e9)
        goal.trajectory.points[0].time_from_start.sec = int(seconds)
        return self.arms.send_goal_async(goal)

    def accepted(self, target: float, seconds: float) -> Any:
        sent = self.send(target, seconds)
        self.until(sent.done, 40.0, 'an answer to the goal')
        assert sent.result().accepted
        return sent.result()

    def result(self, handle: Any) -> Any:
        asked = handle.get_result_async()
        self.until(asked.done, 40.0, 'the result')
        return asked.result()

    def count(self, event: str, number: int = 1) -> None:
        self.until(lambda: self.robot.count(event) >= number, 40.0, event)

    def position(self) -> float:
        asked = self.node.get_clock().now().nanoseconds
        self.until(lambda: Time.from_msg(self.joints.header.stamp).nanoseconds > asked, 10.0,
                   'a new sample')
        return float(self.joints.position[0])

    def close(self) -> None:
        self.robot.close()
        super().close()


@pytest.fixture(scope='module')
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    client = Client(tmp_path_factory.mktemp('robot'))
    client.until(lambda: client.arms.server_is_ready() and client.gripper.server_is_ready(),
                 30.0, 'the double')
    yield client
    client.close()


@pytest.fixture(autouse=True)
def rest(client: Client) -> Iterator[None]:
    yield
    client.robot.tell('release')
    client.until(lambda: not client.robot.running(), 40.0, 'nothing moves')


def test_a_goal_moves_its_joint_within_its_time(client: Client) -> None:
    before = client.robot.count('still')
    answer = client.result(client.accepted(0.3, 0.4))
    assert answer.status == GoalStatus.STATUS_SUCCEEDED
    assert client.position() == pytest.approx(0.3)
    client.count('still', before + 1)
    last = client.robot.log()
    goal = next(line for line in reversed(last) if line['event'] == 'still')['goal']
    events = [line['event'] for line in last if line.get('goal') == goal]
    assert events == ['asked', 'accepted', 'still', 'succeeded']
    times = {line['event']: line['boot'] for line in last if line.get('goal') == goal}
    assert times['still'] - times['accepted'] > 0.35  # it moves before 'accepted' is written


@pytest.mark.parametrize(('fault', 'status'), [
    ('lie', GoalStatus.STATUS_SUCCEEDED), ('abort', GoalStatus.STATUS_ABORTED)])
def test_a_lie_and_an_abort_do_not_reach_the_target(
    client: Client, fault: str, status: int
) -> None:
    target = 0.1 if client.position() > 0.5 else 0.9
    client.robot.tell('fault', part='left', fault=fault)
    assert client.result(client.accepted(target, 0.2)).status == status
    assert abs(client.position() - target) > 0.1


@pytest.mark.parametrize(('fault', 'told_first'), [('slow_stop', False), ('creep', True)])
def test_a_joint_stands_later_than_its_cancel(
    client: Client, fault: str, told_first: bool
) -> None:
    client.robot.tell('fault', part='left', fault=fault, seconds=0.5)
    handle = client.accepted(0.5, 5.0)
    still = client.robot.count('still')
    canceling = handle.cancel_goal_async()
    client.until(canceling.done, 40.0, 'an answer to the cancel')
    assert client.result(handle).status == GoalStatus.STATUS_CANCELED
    assert (client.robot.count('still') == still) is told_first
    client.count('still', still + 1)
    times = {line['event']: line['boot'] for line in client.robot.log()
             if line.get('goal') == bytes(handle.goal_id.uuid).hex()}
    assert times['still'] - times['canceling'] > 0.45


def times_of(client: Client, handle: Any) -> dict[str, float]:
    """Return when (s) what happened to a goal, once its joint stands."""
    goal = bytes(handle.goal_id.uuid).hex()
    client.until(lambda: goal not in client.robot.running(), 40.0, 'it stands')
    return {line['event']: line['boot'] for line in client.robot.log()
            if line.get('goal') == goal}


@pytest.mark.parametrize('end', ['aborted', 'succeeded'])
def test_a_joint_drives_on_after_its_server_has_ended_the_goal(client: Client, end: str) -> None:
    client.robot.tell('fault', part='left', fault='drive_on', end=end, seconds=0.5)
    handle = client.accepted(2.0, 0.4)
    client.result(handle)
    times = times_of(client, handle)
    assert times['still'] - times[end] > 0.45
    assert client.position() < 1.99


def test_a_goal_takes_the_place_of_another_and_drives_on(client: Client) -> None:
    first = client.accepted(0.5, 30.0)
    client.robot.tell('fault', part='left', fault='drive_on', preempts=True, seconds=0.5)
    second = client.accepted(0.9, 0.2)
    assert client.result(first).status == GoalStatus.STATUS_ABORTED
    assert times_of(client, first)['aborted'] < times_of(client, second)['accepted']
    assert times_of(client, second)['still'] - times_of(client, second)['aborted'] > 0.45


def test_a_joint_drives_on_when_its_server_has_died(client: Client) -> None:
    handle = client.accepted(0.1, 30.0)
    died = client.robot.count('died')
    client.robot.tell('die', part='left', seconds=0.5, back=0.2)
    client.count('died', died + 1)
    assert bytes(handle.goal_id.uuid).hex() in client.robot.running()
    assert not {'aborted', 'canceled', 'succeeded'} & times_of(client, handle).keys()
    assert client.result(client.accepted(0.2, 0.2)).status == GoalStatus.STATUS_SUCCEEDED


def test_a_motion_under_way_gets_a_fault(client: Client) -> None:
    handle = client.accepted(0.6, 5.0)
    still = client.robot.count('still')
    client.robot.tell('fault', fault='slow_stop', seconds=0.5, now=True)
    client.until(handle.cancel_goal_async().done, 40.0, 'an answer to the cancel')
    client.count('still', still + 1)
    times = {line['event']: line['boot'] for line in client.robot.log()
             if line.get('goal') == bytes(handle.goal_id.uuid).hex()}
    assert times['still'] - times['canceling'] > 0.45


def test_a_hang_goes_on_until_it_is_released(client: Client) -> None:
    client.robot.tell('fault', part='left', fault='hang')
    handle = client.accepted(0.2, 0.1)
    goal = bytes(handle.goal_id.uuid).hex()
    began = client.robot.count('command')
    client.robot.tell('facts', state='publish')
    client.count('command', began + 1)
    assert client.robot.running() == {goal}
    client.robot.tell('release')
    assert client.result(handle).status == GoalStatus.STATUS_SUCCEEDED


def test_cancels_and_goals_are_refused_and_answers_lost_as_often_as_told(client: Client) -> None:
    robot = client.robot
    robot.tell('fault', part='left', fault='refuse_cancel')
    handle = client.accepted(0.4, 0.5)
    canceling = handle.cancel_goal_async()
    client.until(canceling.done, 40.0, 'an answer to the cancel')
    assert not canceling.result().goals_canceling
    assert client.result(handle).status == GoalStatus.STATUS_SUCCEEDED

    robot.tell('fault', part='left', fault='reject')
    sent = client.send(0.1, 0.1)
    client.until(sent.done, 40.0, 'an answer to the goal')
    assert not sent.result().accepted

    before = robot.count('accepted')
    robot.tell('fault', part='left', fault='lose_acceptance')
    sent = client.send(0.1, 0.1)
    client.until(lambda: robot.count('accepted') > before and not robot.running(), 10.0, 'a move')
    assert not sent.done()

    robot.tell('fault', part='left', fault='lose_result')
    handle = client.accepted(0.3, 0.1)
    asked = handle.get_result_async()
    client.count('lost', 2)
    assert not asked.done()
    assert client.result(handle).status == GoalStatus.STATUS_SUCCEEDED  # asked for once more


def test_the_e_stop_beats_presses_and_falls_silent(client: Client) -> None:
    heard: list[bool] = []
    client.node.create_subscription(Bool, 'estop', lambda beat: heard.append(beat.data), 10)
    client.until(lambda: len(heard) > 3, 40.0, 'a heartbeat')
    assert not any(heard)
    client.robot.tell('estop', state='pressed')
    client.until(lambda: any(heard), 40.0, 'a pressed button')
    client.robot.tell('estop', state='silent')
    client.robot.tell('estop', state='clear')
    client.until(lambda: not heard[-1], 40.0, 'the button is released')
