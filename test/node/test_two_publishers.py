# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two publishers of joint states that contradict, over DDS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from action_lifecycle_msgs.action import ConfirmOutcome
from action_lifecycle_msgs.msg import Fact
import pytest
import rclpy
from sensor_msgs.msg import JointState

from .bridge_rig import Rig
from .ending import destroy

CONFIRMED = ConfirmOutcome.Result.CONFIRMED


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    found = Rig(tmp_path)
    yield found
    found.close()


@pytest.fixture
def zeros(rig: Rig) -> Iterator[Any]:
    """Return the node of a joint_state_publisher that knows no robot."""
    node = rclpy.create_node('joint_state_publisher', context=rig.context)
    yield node
    destroy(node)


def test_zeros_of_another_publisher_confirm_nothing(rig: Rig, zeros: Any) -> None:
    rig.start()
    rig.gap = 0.03
    assert rig.result(rig.confirm('gap > 0.02')).verdict == CONFIRMED
    watching = rig.confirm('gap < 0.005', within=3.0)
    rig.spin(0.3)
    publisher = zeros.create_publisher(JointState, 'joint_states', 10)
    message = JointState(name=['gripper'], position=[0.0], velocity=[0.0])
    for _ in range(50):  # its first message may come at once
        message.header.stamp = rig.robot.get_clock().now().to_msg()
        publisher.publish(message)
        rig.spin(0.05)
    result = rig.result(watching)
    assert result.verdict != CONFIRMED
    assert "'/joint_states' has 2 publishers (/joint_state_publisher, /robot)" in result.error_msg
    fact = result.evidence[0].facts[0]
    assert fact.validity == Fact.UNKNOWN and '/joint_state_publisher' in fact.note


def test_another_driver_without_the_joint_delays_nothing(rig: Rig, zeros: Any) -> None:
    publisher = zeros.create_publisher(JointState, 'joint_states', 10)
    zeros.create_timer(0.02, lambda: publisher.publish(JointState(
        name=['elbow'], position=[1.0], velocity=[0.0])))
    rig.executor.add_node(zeros)
    rig.start()
    rig.gap = 0.03
    assert rig.result(rig.confirm('gap > 0.02')).verdict == CONFIRMED
    rig.gap = 0.0
    result = rig.result(rig.confirm('gap < 0.005'))
    assert result.verdict == CONFIRMED and result.evidence[0].held < 0.5
