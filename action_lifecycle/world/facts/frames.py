# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Poses between coordinate frames, from the messages of /tf and /tf_static.

Each frame keeps its newest transform to its parent. A pose between two frames is the product along
the tree; its stamp is that of the oldest dynamic transform in it. Nothing is interpolated, as
conditions need the newest values. Quaternions are (x, y, z, w), lengths are in m (REP 103).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...documents.stamps import to_seconds

Array = npt.NDArray[np.float64]
MAX_CHAIN = 100


class Transform(NamedTuple):
    """The pose of a frame in its parent; `stamp` in s, infinite if static."""

    parent: str
    translation: Array  #: shape (3,), m
    rotation: Array  #: shape (4,), quaternion
    stamp: float


class Frames:
    """The tree of frames."""

    def __init__(self) -> None:
        self._frames: dict[str, Transform] = {}

    def clear(self) -> None:
        """Drop the dynamic transforms, after time jumped back."""
        self._frames = {
            child: transform for child, transform in self._frames.items()
            if transform.stamp == np.inf}

    def forget(self) -> None:
        """Drop all transforms."""
        self._frames.clear()

    def ingest(self, message: Any, received: float, *, static: bool) -> set[str]:
        """Process a TFMessage received at `received` (s); returns the changed child frames."""
        moved = set()
        for entry in message.transforms:
            stamp = entry.header.stamp
            seconds = np.inf if static else min(
                to_seconds(stamp) or received, received)
            child = entry.child_frame_id.lstrip('/')
            old = self._frames.get(child)
            if old is not None and not static and old.stamp != np.inf and seconds < old.stamp:
                continue
            move, turn = entry.transform.translation, entry.transform.rotation
            rotation = np.array((turn.x, turn.y, turn.z, turn.w))
            length = float(np.linalg.norm(rotation))
            translation = np.array((move.x, move.y, move.z))
            if not np.isfinite(length) or length < 1e-6 or not np.isfinite(translation).all():
                continue
            self._frames[child] = Transform(
                entry.header.frame_id.lstrip('/'), translation, rotation / length, seconds)
            moved.add(child)
        return moved

    def pose(self, target: str, source: str) -> tuple[Array, Array, float] | None:
        """
        Return translation (m), quaternion and stamp (s) of `source` in `target`; None: no path.

        The stamp is infinite if all transforms between them are static.
        """
        down = self._to_root(source)
        up = self._to_root(target)
        common = next((frame for frame in down if frame in up), None)
        if common is None:
            return None
        p, q, stamp = down[common]
        p_target, q_target, stamp_target = up[common]
        inverse = q_target * (-1.0, -1.0, -1.0, 1.0)
        return (rotate(inverse, p - p_target), multiply(inverse, q), min(stamp, stamp_target))

    def _to_root(self, frame: str) -> dict[str, tuple[Array, Array, float]]:
        """Return the pose of the frame in each frame between it and the root."""
        translation, rotation, stamp = np.zeros(3), np.array((0.0, 0.0, 0.0, 1.0)), np.inf
        poses = {frame: (translation, rotation, stamp)}
        while frame in self._frames and len(poses) < MAX_CHAIN:
            step = self._frames[frame]
            translation = step.translation + rotate(step.rotation, translation)
            rotation = multiply(step.rotation, rotation)
            stamp = min(stamp, step.stamp)
            frame = step.parent
            if frame in poses:
                break  # a loop, so there is no root
            poses[frame] = translation, rotation, stamp
        return poses


def multiply(one: Array, other: Array) -> Array:
    """Return the product of two quaternions (Hamilton)."""
    x1, y1, z1, w1 = one
    x2, y2, z2, w2 = other
    return np.array((
        w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
        w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
        w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2))


def rotate(rotation: Array, vector: Array) -> Array:
    """Return a vector rotated by a unit quaternion."""
    axis, w = rotation[:3], rotation[3]
    turned: Array = vector + 2.0 * np.cross(axis, np.cross(axis, vector) + w * vector)
    return turned
