# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Small inputs with which robots went wrong (test/cases), with action node and bridge, over DDS.

A base that drives on after its goal has ended is in test/unit/testing/test_standstill.py, an
e-stop beside large messages in test_estop_under_load.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import Any

from action_lifecycle.journal import JournalReader
from action_lifecycle.ros.interfaces.types import action_class
from action_lifecycle_msgs.msg import SafetyState
from geometry_msgs.msg import PoseStamped, TransformStamped
from nav_msgs.msg import Path as NavPath
import pytest
import rclpy
from rclpy.action import ActionServer
from sensor_msgs.msg import JointState, LaserScan
from std_msgs.msg import Float64
from tf2_msgs.msg import TFMessage

from .bridge_rig import Gripper
from .other_definition import other_definition
from .scripted_rig import HEARTBEAT, PATIENT
from .test_physical_cases import Stack

pytest.importorskip('nav2_msgs')  # not released for every distribution
ComputePathToPose = action_class('nav2_msgs/action/ComputePathToPose')

CASES = Path(__file__).parents[1] / 'cases'
OPEN, CLOSED = 0.03, 0.004  #: m
FREE = [inf] * 8  #: beams without a return
AS_FAST = 0.5  #: s
LOAD = 'scale_msgs/msg/Load, field: gross', 'std_msgs/msg/Float64, field: data'
"""A type that is not installed, and what stands for it."""
NAMESPACE = ['--ros-args', '-r', '__ns:=/r1', '-r', '/tf:=tf', '-r', '/tf_static:=tf_static']


class Cell(Stack):
    """The robot of the cases: a gripper, a scanner, and whatever a case adds."""

    joint = 'finger'

    def __init__(self, folder: Path, facts: str = 'facts.yaml', **how: Any) -> None:
        text = (CASES / facts).read_text().replace(HEARTBEAT, PATIENT)
        text = text.replace('max_age: 0.5', 'max_age: 2.0')  # a busy machine may be silent for it
        text = text.replace(*LOAD)
        super().__init__(folder, text, **how)
        self.serve()
        self.other = rclpy.create_node(
            'other', context=self.context, use_global_arguments=False)
        self.nodes.append(self.other)
        self.executor.add_node(self.other)
        self.scans = self.robot.create_publisher(LaserScan, 'scan', 10)
        self.ranges: list[float] | None = None
        self.robot.create_timer(0.02, self.scan)
        self.gap = OPEN

    def serve(self, **options: Any) -> None:
        """Take the place of the gripper's server."""
        self.gripper.destroy()
        self.gripper = Gripper(self.robot, 'gripper_controller/gripper_cmd', **options)

    def scan(self) -> None:
        if self.ranges is not None:
            message = LaserScan(ranges=self.ranges, range_min=0.1, range_max=30.0)
            message.header.stamp = self.robot.get_clock().now().to_msg()
            self.scans.publish(message)

    def every(self, publish: Callable[[], None]) -> None:
        self.other.create_timer(0.05, publish)

    def run(self, flow: str) -> tuple[str, str]:
        """Execute a flow; returns how it ended and why."""
        return self.ended(self.submit_text((CASES / flow).read_text()))

    def ended(self, handle: Any) -> tuple[str, str]:
        result = self.wait(handle.get_result_async(), 40.0).result
        with JournalReader(self.path) as journal:
            rows = list(journal.rows(kind='transition'))
        confirmed = any(row.data.get('outcome') == 'succeeded' for row in rows if row.final)
        assert confirmed == (result.state == 'FINISH')
        return result.state, ' '.join(
            [result.error_msg, *(row.data.get('error_msg', '') for row in rows)])

    def closes(self, flow: str) -> None:
        """Execute a flow whose motion is sent and whose outcome is seen."""
        handle = self.submit_text((CASES / flow).read_text())
        self.until(lambda: self.gripper.goals)
        self.gap = CLOSED
        assert self.ended(handle)[0] == 'FINISH'


@pytest.fixture
def cell(tmp_path: Path) -> Iterator[Cell]:
    cell = Cell(tmp_path)
    cell.start()
    yield cell
    cell.close()


def test_an_empty_hall_is_free(cell: Cell) -> None:
    cell.ranges = FREE
    cell.closes('near.yaml')


def test_a_beam_without_a_return_is_no_obstacle(cell: Cell) -> None:
    cell.ranges = [2.0, inf, 0.8]
    cell.closes('any.yaml')


def test_what_is_nearer_than_the_least_range_stops_as_fast_as_what_is_near(cell: Cell) -> None:
    cell.gripper.behaviour = 'wait'
    took = []
    for near in (0.1, -inf):
        cell.ranges = FREE
        cell.gripper.let_go()
        sent = len(cell.gripper.goals)
        handle = cell.submit_text((CASES / 'near.yaml').read_text())
        cell.until(lambda sent=sent: len(cell.gripper.goals) > sent)
        canceled = cell.gripper.canceled
        cell.ranges = [*FREE, near]
        cell.scan()
        took.append(cell.until(lambda canceled=canceled: cell.gripper.canceled > canceled))
        state, why = cell.ended(handle)
        assert state == 'FAIL' and f'near > 0.3 is false (near {near:g} m' in why
    print(f'canceled after {took[0]:.3f} s at 0.1 m, {took[1]:.3f} s at -inf')
    assert took[1] < took[0] + AS_FAST


@pytest.mark.parametrize(('stamp', 'told'), [
    (lambda now: now - 3.0, 'look at the clocks'),
    (lambda now: now % 1000.0 + 10.0, 'set use_sim_time'),
], ids=['clock skew', 'simulated stamps'])
def test_old_stamps_are_told_before_the_motion(
    cell: Cell, stamp: Callable[[float], float], told: str
) -> None:
    cell.gap = None
    cell.every(lambda: cell.publish_gap(CLOSED, stamp=stamp(cell.now())))
    state, why = cell.run('close.yaml')
    assert state == 'FAIL' and not cell.gripper.goals
    assert 'messages arrive on /joint_states, but their stamps are' in why and told in why


def test_a_server_that_keeps_no_results_is_judged_by_the_sensors(cell: Cell) -> None:
    cell.serve(result_timeout=0)
    cell.closes('close.yaml')


def test_a_pose_in_another_frame_confirms_nothing(cell: Cell) -> None:
    publisher = cell.other.create_publisher(PoseStamped, 'part_pose', 10)

    def see() -> None:
        message = PoseStamped()
        message.header.frame_id = 'camera_optical'
        message.header.stamp = cell.other.get_clock().now().to_msg()
        message.pose.position.x = 1.0
        publisher.publish(message)
    cell.every(see)
    state, why = cell.run('look.yaml')
    assert state == 'FAIL' and "'camera_optical'" in why and "'map'" in why


@pytest.mark.parametrize('flow', ['part.yaml', 'part_hold.yaml'])
def test_a_publisher_of_zeros_confirms_no_grip(cell: Cell, flow: str) -> None:
    publisher = cell.other.create_publisher(JointState, 'joint_states', 10)
    message = JointState(name=['finger'], position=[0.0])
    cell.every(lambda: publisher.publish(message))
    state, why = cell.run(flow)
    assert state == 'FAIL' and "'/joint_states' has 2 publishers (/other, /robot)" in why


def test_a_huge_result_is_dropped_with_one_sentence(cell: Cell) -> None:
    def plan(handle: Any) -> Any:
        handle.succeed()
        return ComputePathToPose.Result(path=NavPath(poses=[PoseStamped()] * 30_000))
    server = ActionServer(cell.robot, ComputePathToPose, 'compute_path_to_pose', plan)
    state, why = cell.run('plan.yaml')
    server.destroy()
    assert state == 'FINISH', why
    with JournalReader(cell.path) as journal:
        said = {row.data['controller_said'] for row in journal.rows(kind='transition')
                if 'controller_said' in row.data}
    assert len(said) == 1 and 'its result was dropped' in said.pop()
    assert all(told.state != SafetyState.STOPPED for told in cell.safety)


def test_another_layout_of_the_scale_confirms_no_empty_scale(tmp_path: Path) -> None:
    cell = Cell(tmp_path, 'scale/facts.yaml')
    try:
        with other_definition(Float64):
            publisher = cell.other.create_publisher(Float64, 'scale', 10)
        cell.every(lambda: publisher.publish(Float64(data=0.0)))  # its `tare`
        cell.start()
        state, why = cell.run('scale/flow.yaml')
        assert state == 'FAIL' and "topic '/scale' has another definition of" in why
        assert '/other has RIHS01_' in why and 'installed here is RIHS01_' in why
    finally:
        cell.close()


def test_tf_of_another_namespace_is_named(tmp_path: Path) -> None:
    cell = Cell(tmp_path, 'namespace/facts.yaml', arguments=NAMESPACE)
    try:
        publisher = cell.other.create_publisher(TFMessage, '/tf', 10)
        entry = TransformStamped(child_frame_id='base_link')
        entry.header.frame_id = 'map'
        entry.transform.rotation.w = 1.0

        def move() -> None:
            entry.header.stamp = cell.other.get_clock().now().to_msg()
            publisher.publish(TFMessage(transforms=[entry]))
        cell.every(move)
        cell.start()
        state, why = cell.run('namespace/flow.yaml')
        assert state == 'FAIL'
        assert 'no sample on /r1/tf yet (nobody publishes it; /tf is: look at the names' in why
    finally:
        cell.close()
