# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the sensors of the cell say, and when."""

from __future__ import annotations

import math
from statistics import mean, stdev

from action_lifecycle.documents.stamps import to_seconds
from action_lifecycle.sim.sensors import TOPICS
import numpy as np
import pytest


def test_rates(rig):
    rig.step(2.0)
    count = {topic: len(rig.samples[topic]) for topic in TOPICS}
    assert count['joint_states'] == 250
    assert count['gripper/wrench'] == 250
    for part in 'abc':
        assert count[f'camera/part_{part}/pose'] in (19, 20)


def test_stamps_rise_and_samples_come_in_order_of_time(rig):
    rig.step(1.0)
    stamps = [to_seconds(state.header.stamp) for state in rig.samples['joint_states']]
    assert stamps[0] == pytest.approx(0.008)
    np.testing.assert_allclose(np.diff(stamps), 0.008, atol=1e-9)


def test_camera_pose_is_late_and_bears_the_time_of_its_exposure(rig):
    for _ in range(250):
        now = rig.cell.time
        for sample in rig.cell.step():
            if sample.topic == 'camera/part_a/pose':
                stamp = to_seconds(sample.message.header.stamp)
                assert rig.cell.time - stamp == pytest.approx(0.08, abs=1e-9)
    assert now > 0.9


def test_camera_noise_is_about_a_millimetre(rig):
    rig.step(10.0)
    truth = rig.cell.truth()['part_b'].position
    for axis, value in zip('xyz', truth, strict=True):
        seen = [getattr(pose.pose.position, axis) for pose in rig.samples['camera/part_b/pose']]
        assert mean(seen) == pytest.approx(value, abs=0.0004)
        assert 0.0007 < stdev(seen) < 0.0014
    pose = rig.samples['camera/part_b/pose'][-1]
    assert pose.header.frame_id == 'world'
    q = pose.pose.orientation
    assert math.hypot(q.x, q.y, q.z, q.w) == pytest.approx(1.0)


def test_camera_loses_the_part_under_the_gripper_and_while_held(rig):
    def seen_in(seconds):
        rig.samples.clear()
        rig.step(seconds)
        return {part for part in 'abc' if rig.samples[f'camera/part_{part}/pose']}

    assert seen_in(0.5) == {'a', 'b', 'c'}
    rig.go(0.8, x=-0.2, y=-0.12)
    rig.step(0.2)
    assert seen_in(0.5) == {'a', 'b', 'c'}
    rig.go(0.6, z=0.052)
    rig.step(0.2)
    below = seen_in(0.5)
    assert 'a' not in below
    assert 'c' in below
    rig.grip(0.0, 15.0)
    rig.go(0.6, z=0.2)
    rig.step(0.2)
    assert 'a' not in seen_in(0.5)
    rig.place('part_a')
    rig.step(0.2)
    assert seen_in(0.5) == {'a', 'b', 'c'}


def test_force_sensor_tells_squeeze_and_weight(make_rig):
    rig = make_rig(seed=3, gripper_force_spread=0.0)
    rig.step(1.0)
    for axis in 'xyz':
        forces = [getattr(message.wrench.force, axis) for message in rig.samples['gripper/wrench']]
        assert abs(mean(forces)) < 0.2
        assert 0.1 < stdev(forces) < 0.2
    rig.pick('part_a', 15.0)
    rig.samples.clear()
    rig.step(1.0)
    forces = [message.wrench.force for message in rig.samples['gripper/wrench']]
    assert mean(force.y for force in forces) == pytest.approx(15.0, abs=0.5)
    assert mean(force.z for force in forces) == pytest.approx(-0.2 * 9.81, abs=0.3)


def test_joint_effort_tells_the_grip_and_the_load(rig):
    rig.pick('part_b', 30.0)
    rig.samples.clear()
    rig.step(1.0)
    efforts = np.mean([state.effort for state in rig.samples['joint_states']], axis=0)
    assert rig.samples['joint_states'][0].name[4] == 'finger_joint'
    assert efforts[4] == pytest.approx(-30.0, abs=0.3)
    assert efforts[2] == pytest.approx(0.45 * 9.81, abs=0.5)


def test_muted_topic_is_silent(rig):
    rig.cell.muted = frozenset({'gripper/wrench', 'camera/part_a/pose'})
    rig.step(0.5)
    assert 'gripper/wrench' not in rig.samples
    assert 'camera/part_a/pose' not in rig.samples
    assert rig.samples['camera/part_b/pose']


def test_the_marker_is_seen_all_the_time_where_it_stands(rig):
    rig.step(4.0)
    poses = [pose.pose.position for pose in rig.samples['camera/marker/pose']]
    assert len(poses) in (39, 40)
    for axis, value in zip('xyz', (0.0, -0.25, 0.0005), strict=True):
        seen = [getattr(pose, axis) for pose in poses]
        assert mean(seen) == pytest.approx(value, abs=0.0002)
        assert 0.00015 < stdev(seen) < 0.0004
