# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A joint trajectory: polynomials between waypoints, which can be sampled at any time.

Waypoints with accelerations are joined by quintics, those with velocities only by cubics. Without
both, the velocities are computed: zero at the end, and in between the harmonic mean of Fritsch and
Butland (1984), which keeps the curve monotone. The accelerations are then zero.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Trajectory:
    """
    Piecewise polynomials for n joints through k waypoints, from a moving start.

    `start` is (3, n): position, velocity, acceleration at time zero; `times` (k,) seconds, rising,
    above zero; `positions`, `velocities`, `accelerations` (k, n), the latter two or None.
    """

    def __init__(
        self,
        start: Array,
        times: Array,
        positions: Array,
        velocities: Array | None = None,
        accelerations: Array | None = None,
    ) -> None:
        """Fit the polynomials."""
        self._knots = np.concatenate(([0.0], times))
        p = np.vstack((start[:1], positions))
        if velocities is None:
            velocities, accelerations = _slopes(self._knots, p), np.zeros_like(positions)
        v = np.vstack((start[1:2], velocities))
        h = np.diff(self._knots)[:, None]
        if accelerations is None:
            self._coefficients = _cubic(h, p, v)
        else:
            self._coefficients = _quintic(h, p, v, np.vstack((start[2:], accelerations)))

    @property
    def duration(self) -> float:
        """Seconds from the start to the last waypoint."""
        return float(self._knots[-1])

    def sample(self, times: Array) -> Array:
        """
        Return (3, len(times), n): positions, velocities, accelerations.

        Before the start and after the end the joints are at rest at the first and last position.
        """
        inside = np.clip(times, 0.0, self.duration)
        segment = np.searchsorted(self._knots[1:-1], inside, 'right')
        t = (inside - self._knots[segment])[:, None]
        c0, c1, c2, c3, c4, c5 = self._coefficients[:, segment]
        moving = ((times >= 0.0) & (times <= self.duration))[:, None]
        return np.stack((
            c0 + t * (c1 + t * (c2 + t * (c3 + t * (c4 + t * c5)))),
            moving * (c1 + t * (2 * c2 + t * (3 * c3 + t * (4 * c4 + t * 5 * c5)))),
            moving * (2 * c2 + t * (6 * c3 + t * (12 * c4 + t * 20 * c5))),
        ))

    def dense(self) -> Array:
        """Return samples dense enough to find extremes: 32 in each segment, shaped as `sample`."""
        steps = np.arange(32) / 32
        times = self._knots[:-1, None] + np.diff(self._knots)[:, None] * steps
        return self.sample(np.append(times.ravel(), self.duration))


def _slopes(knots: Array, positions: Array) -> Array:
    """Return velocities for all waypoints but the start: monotone in between, zero at the end."""
    slopes = np.diff(positions, axis=0) / np.diff(knots)[:, None]
    before, after = slopes[:-1], slopes[1:]
    same = before * after > 0.0
    total = np.where(same, before + after, 1.0)
    inner = np.where(same, 2.0 * before * after / total, 0.0)
    return np.vstack((inner, np.zeros_like(positions[:1])))


def _cubic(h: Array, p: Array, v: Array) -> Array:
    """Return Hermite cubics as (6, segments, n) coefficients, the upper two zero."""
    delta, v0, v1 = np.diff(p, axis=0), v[:-1], v[1:]
    zero = np.zeros_like(v0)
    return np.stack((
        p[:-1],
        v0,
        (3 * delta - (2 * v0 + v1) * h) / h**2,
        (-2 * delta + (v0 + v1) * h) / h**3,
        zero,
        zero,
    ))


def _quintic(h: Array, p: Array, v: Array, a: Array) -> Array:
    """Return quintics through position, velocity and acceleration as (6, segments, n)."""
    delta, v0, v1, a0, a1 = np.diff(p, axis=0), v[:-1], v[1:], a[:-1], a[1:]
    return np.stack((
        p[:-1],
        v0,
        a0 / 2,
        (20 * delta - (12 * v0 + 8 * v1) * h - (3 * a0 - a1) * h**2) / (2 * h**3),
        (-30 * delta + (16 * v0 + 14 * v1) * h + (3 * a0 - 2 * a1) * h**2) / (2 * h**4),
        (12 * delta - 6 * (v0 + v1) * h - (a0 - a1) * h**2) / (2 * h**5),
    ))
