# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Splines between waypoints."""

from __future__ import annotations

from action_lifecycle.sim.trajectory import Trajectory
import numpy as np
import pytest

TIMES = np.array([0.5, 1.2, 2.0])
POINTS = np.array([[0.1, 0.3], [0.2, -0.1], [0.4, -0.1]])
SPEEDS = np.array([[0.2, 0.0], [0.1, -0.3], [0.0, 0.0]])
PULLS = np.array([[0.0, 0.5], [-0.4, 0.0], [0.0, 0.0]])
START = np.array([[0.0, 0.1], [0.05, 0.0], [0.2, -0.1]])


@pytest.mark.parametrize(
    ('speeds', 'pulls'), [(None, None), (SPEEDS, None), (SPEEDS, PULLS)], ids=['5', '3', '5full']
)
def test_passes_through_what_was_given(speeds, pulls):
    position, velocity, acceleration = Trajectory(START, TIMES, POINTS, speeds, pulls).sample(
        np.concatenate(([0.0], TIMES))
    )
    np.testing.assert_allclose(position, np.vstack((START[:1], POINTS)), atol=1e-12)
    np.testing.assert_allclose(velocity[0], START[1], atol=1e-12)
    np.testing.assert_allclose(velocity[-1], 0.0, atol=1e-12)
    if speeds is not None:
        np.testing.assert_allclose(velocity[1:], speeds, atol=1e-12)
    if pulls is not None:
        np.testing.assert_allclose(acceleration, np.vstack((START[2:], pulls)), atol=1e-11)


def test_velocity_and_acceleration_are_the_derivatives():
    trajectory = Trajectory(START, TIMES, POINTS, SPEEDS, PULLS)
    times = np.linspace(0.01, 1.99, 200)
    step = 1e-6
    low, high = trajectory.sample(times - step), trajectory.sample(times + step)
    middle = trajectory.sample(times)
    away = np.abs(times[:, None] - TIMES).min(axis=1) > 2 * step
    for order in (0, 1):
        slope = (high[order] - low[order]) / (2 * step)
        np.testing.assert_allclose(slope[away], middle[order + 1][away], atol=1e-4)


def test_stands_still_outside_its_time():
    position, velocity, acceleration = Trajectory(START, TIMES, POINTS).sample(
        np.array([-1.0, 2.5])
    )
    np.testing.assert_array_equal(position[0], START[0])
    np.testing.assert_allclose(position[1], POINTS[-1])
    assert not velocity.any()
    assert not acceleration.any()


def test_filled_in_velocities_do_not_overshoot():
    rest = np.zeros((3, 1))
    trajectory = Trajectory(rest, np.array([1.0, 2.0, 3.0]), np.array([[0.1], [0.1], [0.3]]))
    position, _, _ = trajectory.dense()
    assert position.min() > -1e-9
    assert position.max() < 0.3 + 1e-9
    assert position[32:64].max() < 0.1 + 1e-9
