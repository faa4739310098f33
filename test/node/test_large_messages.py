# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Messages that are too large are not converted: results, feedback, responses and samples."""

from __future__ import annotations

from collections.abc import Iterator
import json
from typing import Any

from action_lifecycle.ros.interfaces.limits import READ_BYTES, RESULT_BYTES
from action_lifecycle.ros.interfaces.types import (
    action_class,
    has_lists_of_messages,
    message_class,
)
from action_lifecycle_msgs.msg import Condition, ErrorCode, Motion
from action_lifecycle_msgs.srv import Evaluate
from control_msgs.action import FollowJointTrajectory
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from nav_msgs.srv import GetPlan
import pytest
from rclpy.action import ActionServer
from rclpy.serialization import serialize_message
from rclpy.task import Future

from .bridge_rig import FACTS, Rig

pytest.importorskip('nav2_msgs')  # not released for every distribution
ComputePathToPose = action_class('nav2_msgs/action/ComputePathToPose')

POSES = 5000  #: 360 kB
PLANNED = FACTS.replace('facts:\n', """facts:
  count: {topic: planned, type: nav_msgs/msg/Path, field: poses, reduce: count, max_age: 5.0}
""")


@pytest.fixture(scope='module')
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    rig = Rig(tmp_path_factory.mktemp('large'), PLANNED)
    rig.start()
    yield rig
    rig.close()


def path_of(count: int) -> Path:
    return Path(poses=[PoseStamped() for _ in range(count)])


@pytest.mark.parametrize(('ends', 'said', 'outcome'), [
    ('succeed', 'succeeded', 'executed'), ('abort', 'aborted', 'failed')])
def test_a_result_that_is_too_large_is_dropped_and_the_status_counts(
    rig: Rig, ends: str, said: str, outcome: str
) -> None:
    large = ComputePathToPose.Result(path=path_of(POSES))

    def plan(handle: Any) -> Any:
        getattr(handle, ends)()
        return large

    server = ActionServer(rig.robot, ComputePathToPose, 'compute_path_to_pose', plan)
    try:
        result = rig.execute(Motion(
            server='compute_path_to_pose', type='nav2_msgs/action/ComputePathToPose',
            goal_json='{}', server_timeout=10.0, timeout=60.0), timeout=60.0)
    finally:
        server.destroy()
    assert (result.outcome, result.result_json) == (outcome, '')
    size = len(serialize_message(ComputePathToPose.Impl.GetResultService.Response(result=large)))
    assert result.controller_said == \
        f'{said}; its result was dropped: {size} bytes; at most {RESULT_BYTES} are read'
    assert result.stopped


def test_feedback_that_is_too_large_is_not_passed_on(rig: Rig) -> None:
    handles: list[Any] = []
    released: Any = Future()
    told: list[str] = []

    async def follow(handle: Any) -> Any:
        handles.append(handle)
        await released
        handle.succeed()
        return FollowJointTrajectory.Result()

    server = ActionServer(rig.robot, FollowJointTrajectory, 'arm', follow)
    sent = rig.wait(rig.motion.send_goal_async(rig.order(Motion(
        server='arm', type='control_msgs/action/FollowJointTrajectory', goal_json='{}',
        server_timeout=10.0, timeout=60.0)), lambda message: told.append(
            message.feedback.feedback_json)))
    rig.until(lambda: handles and told)
    for count in (10_000, 2):
        feedback = FollowJointTrajectory.Feedback()
        feedback.actual.positions = [0.5] * count
        handles[0].publish_feedback(feedback)
    rig.until(lambda: any('"positions": [0.5, 0.5]' in text for text in told))
    assert max(map(len, told)) < 10_000
    released.set_result(None)
    assert rig.wait(sent.get_result_async()).result.outcome == 'executed'
    server.destroy()


def test_a_response_that_is_too_large_is_not_judged(rig: Rig) -> None:
    service = rig.robot.create_service(
        GetPlan, 'get_plan', lambda request, response: GetPlan.Response(plan=path_of(POSES)))
    result = rig.execute(Motion(
        kind=Motion.CALL, server='get_plan', type='nav_msgs/srv/GetPlan', goal_json='{}',
        options_json=json.dumps({'success': 'len(plan.poses) > 0'}),
        server_timeout=10.0, timeout=60.0), timeout=60.0)
    rig.robot.destroy_service(service)
    assert result.error_code == ErrorCode.CALL_FAILED
    assert f'bytes; at most {READ_BYTES} are read' in result.error_msg


def test_a_sample_that_is_too_large_makes_its_fact_unknown_with_the_reason(rig: Rig) -> None:
    publisher = rig.robot.create_publisher(Path, 'planned', 10)
    asked = Evaluate.Request(conditions=[Condition(name='c', expression='count > 0')], wait=5.0)
    sent = [path_of(POSES)]
    timer = rig.robot.create_timer(0.1, lambda: publisher.publish(sent[0]))
    refused = rig.call(rig.evaluate_client, asked)
    assert refused.verdict != 1
    size = len(serialize_message(sent[0]))
    assert f'a message of {size} bytes was not read' in str(rig.bridge._facts.health())
    sent[0] = path_of(3)
    rig.until(lambda: rig.call(rig.evaluate_client, asked).verdict == 1)
    rig.until(lambda: 'was not read' not in str(rig.bridge._facts.health()))
    rig.robot.destroy_timer(timer)


@pytest.mark.parametrize(('name', 'expected'), [
    ('nav_msgs/msg/Path', True), ('tf2_msgs/msg/TFMessage', True),
    ('sensor_msgs/msg/JointState', False), ('nav_msgs/msg/Odometry', False),
    ('sensor_msgs/msg/PointCloud2', False), ('sensor_msgs/msg/Image', False)])
def test_types_that_are_large_by_lists_of_messages(name: str, expected: bool) -> None:
    assert has_lists_of_messages(message_class(name)) is expected
