# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Endpoints with another definition of a type of the same name are neither read nor commanded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from action_lifecycle_msgs.action import ConfirmOutcome
from action_lifecycle_msgs.msg import (
    CheckFault,
    Condition,
    ErrorCode,
    Fact,
    Motion,
    SafetyState,
)
from action_lifecycle_msgs.srv import Check
from control_msgs.action import GripperCommand
from geometry_msgs.msg import Twist
import pytest
import rclpy
from std_msgs.msg import Bool, Float64

from .bridge_rig import GRIPPER, Rig
from .ending import destroy
from .other_definition import other_definition

FACTS = """
estop: {topic: estop, type: std_msgs/msg/Bool, field: data, max_age: 1.0}
facts:
  load: {topic: scale, type: std_msgs/msg/Float64, field: data, max_age: 1.0, unit: kg}
"""


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    found = Rig(tmp_path, FACTS)
    yield found
    found.close()


@pytest.fixture
def other(rig: Rig) -> Iterator[Any]:
    """Return a node of another distribution."""
    node = rclpy.create_node('driver', context=rig.context)
    yield node
    destroy(node)


def other_publisher(node: Any, cls: Any, topic: str) -> Any:
    with other_definition(cls):
        return node.create_publisher(cls, topic, 10)


def weigh(publisher: Any) -> None:
    """Publish `float64 tare`, `float64 gross` as it is read here: the tare of a full scale."""
    publisher.publish(Float64(data=0.0))


def test_a_fact_is_unknown_while_a_publisher_has_another_definition(rig: Rig, other: Any) -> None:
    scale = other_publisher(other, Float64, 'scale')
    timer = other.create_timer(0.02, lambda: weigh(scale))
    rig.executor.add_node(other)
    rig.start()
    result = rig.result(rig.confirm('load < 0.1', within=1.5))
    assert result.verdict == ConfirmOutcome.Result.TIMED_OUT
    assert "load unknown: topic '/scale' has another definition of std_msgs/msg/Float64: " \
           '/driver has RIHS01_8f5ba9c3, installed here is RIHS01_705ba9c3;' in result.error_msg
    fact = result.evidence[0].facts[0]
    assert fact.validity == Fact.UNKNOWN and not fact.numbers
    assert 'RIHS01_8f5ba9c3' in fact.note
    checked = rig.call(rig.check_client, Check.Request(
        conditions=[Condition(name='confirm', expression='load < 0.1', within=1.0)]))
    assert ['/driver has RIHS01_8f5ba9c3' in fault.message for fault in checked.faults] == [True]
    rig.executor.remove_node(other)
    other.destroy_timer(timer)
    rig.executor.spin_once(timeout_sec=0.0)  # a call of the timer may still be due
    other.destroy_publisher(scale)
    own = rig.robot.create_publisher(Float64, 'scale', 10)
    rig.robot.create_timer(0.02, lambda: own.publish(Float64(data=0.0)))
    assert rig.result(rig.confirm('load < 0.1')).verdict == ConfirmOutcome.Result.CONFIRMED


def test_one_of_two_publishers_with_another_definition_is_enough(rig: Rig, other: Any) -> None:
    own = rig.robot.create_publisher(Float64, 'scale', 10)
    rig.robot.create_timer(0.02, lambda: own.publish(Float64(data=7.5)))
    rig.start()
    assert rig.result(rig.confirm('load > 7')).verdict == ConfirmOutcome.Result.CONFIRMED
    watching = rig.confirm('load < 0.1', within=3.0)
    rig.spin(0.3)
    weigh(other_publisher(other, Float64, 'scale'))  # before the next poll of the publishers
    result = rig.result(watching)
    assert result.verdict == ConfirmOutcome.Result.TIMED_OUT, result.error_msg
    assert '/driver has RIHS01_8f5ba9c3' in result.error_msg


def test_a_safety_topic_of_another_definition_is_not_heard(rig: Rig, other: Any) -> None:
    rig.start()
    assert rig.execute({}).error_code == ErrorCode.NONE
    rig.robot.destroy_publisher(rig.estop)
    beat = other_publisher(other, Bool, 'estop')
    rig.beating = False
    rig.robot.create_timer(0.05, lambda: beat.publish(Bool(data=False)))
    rig.until(lambda: rig.safety[-1].state == SafetyState.STOPPED)
    rig.until(lambda: 'another definition of std_msgs/msg/Bool: /driver has' in
              rig.safety[-1].cause)
    result = rig.execute({})
    assert result.error_code == ErrorCode.SAFETY_STALE and not rig.gripper.goals[1:]


def test_a_bridge_that_starts_beside_such_a_safety_topic_is_not_ready(
    rig: Rig, other: Any
) -> None:
    rig.robot.destroy_publisher(rig.estop)
    rig.beating = False
    beat = other_publisher(other, Bool, 'estop')
    rig.robot.create_timer(0.05, lambda: beat.publish(Bool(data=False)))
    assert rig.bridge.start()
    rig.until(lambda: rig.safety and 'another definition' in rig.safety[-1].reason)
    rig.spin(0.5)
    assert {state.state for state in rig.safety} == {SafetyState.NOT_READY}
    assert rig.safety[-1].reason.count('/driver has') == 1


def test_nothing_is_sent_to_a_server_of_another_definition(rig: Rig, other: Any) -> None:
    rig.start()
    other_publisher(other, GripperCommand.Impl.FeedbackMessage, 'gripper/_action/feedback')
    result = rig.execute({})
    assert result.error_code == ErrorCode.GOAL_INVALID and not rig.gripper.asked
    assert "server 'gripper' was sent nothing: another definition of " \
           f'{GRIPPER}_FeedbackMessage: /driver has RIHS01_' in result.error_msg
    order = rig.order({})
    checked = rig.call(rig.check_client, Check.Request(steps=order.steps))
    assert [(fault.kind, fault.path) for fault in checked.faults] == [(CheckFault.MOTION, 'type')]


def test_nothing_is_published_to_a_subscriber_of_another_definition(rig: Rig, other: Any) -> None:
    heard: list[Twist] = []
    with other_definition(Twist):
        other.create_subscription(Twist, 'cmd_vel', heard.append, 10)
    rig.executor.add_node(other)
    rig.start()
    result = rig.execute(Motion(
        server='cmd_vel', type='geometry_msgs/msg/Twist', goal_json='{"linear": {"x": 0.1}}',
        kind='publish', server_timeout=10.0, timeout=20.0))
    assert result.error_code == ErrorCode.GOAL_INVALID and not heard, result.error_msg
    assert 'nothing was sent: another definition of geometry_msgs/msg/Twist: /driver has' \
        in result.error_msg
