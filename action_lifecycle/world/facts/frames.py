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
NAMED = 10  #: maximum number of frames in a message


class Transform(NamedTuple):
    """The pose of a frame in its parent; `stamp` in s, infinite if static, `received` in s."""

    parent: str
    translation: Array  #: shape (3,), m
    rotation: Array  #: shape (4,), quaternion
    stamp: float
    received: float  #: when the first transform of this stamp came


class Frames:
    """The tree of frames."""

    def __init__(self) -> None:
        self._frames: dict[str, Transform] = {}

    def clear(self, *, static: bool = False) -> None:
        """Drop the dynamic transforms, or the static ones."""
        self._frames = {
            child: transform for child, transform in self._frames.items()
            if (transform.stamp == np.inf) is not static}

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
                entry.header.frame_id.lstrip('/'), translation, rotation / length, seconds,
                old.received if old is not None and old.stamp == seconds else received)
            moved.add(child)
        return moved

    def pose(self, target: str, source: str) -> tuple[Array, Array, float, float] | None:
        """
        Return translation (m), quaternion, stamp and arrival (s) of `source` in `target`.

        Stamp and arrival are those of the transform with the oldest stamp, and infinite if all
        transforms between them are static. None: there is no path.
        """
        down = self._to_root(source)
        up = self._to_root(target)
        common = next((frame for frame in down if frame in up), None)
        if common is None:
            return None
        p, q, oldest = down[common]
        p_target, q_target, oldest_target = up[common]
        inverse = q_target * (-1.0, -1.0, -1.0, 1.0)
        return (rotate(inverse, p - p_target), multiply(inverse, q),
                *min(oldest, oldest_target))

    def between(self, target: str, source: str) -> dict[str, Transform]:
        """Return the transforms of which the pose of `source` in `target` is the product."""
        ways: list[dict[str, Transform]] = []
        for frame in (target, source):
            way: dict[str, Transform] = {}
            while frame in self._frames and frame not in way and len(way) < MAX_CHAIN:
                way[frame] = self._frames[frame]
                frame = way[frame].parent
            ways.append(way)
        up, down = ways
        return {frame: step for frame, step in (*up.items(), *down.items())
                if (frame in up) is not (frame in down)}

    def why_apart(self, target: str, source: str) -> str:
        """Return why there is no pose between two frames; '' if there is, or nothing came."""
        frames = {*self._frames, *(step.parent for step in self._frames.values())}
        missing = [f"'{frame}'" for frame in (target, source) if frame not in frames]
        if not frames:
            return ''
        if missing:
            known = [*sorted(frames)[:NAMED], *(['…'] if len(frames) > NAMED else [])]
            return f"no transform names the frame {' or '.join(missing)}; " \
                f"there are {', '.join(known)}"
        if self.pose(target, source) is None:
            return f"no transforms connect '{source}' to '{target}'"
        return ''

    def oldest(self, target: str, source: str) -> str:
        """Return which transform between two frames is the oldest; '' if all are static."""
        steps = self.between(target, source)
        frame = min(steps, key=lambda name: steps[name].stamp, default='')
        if not frame or steps[frame].stamp == np.inf:
            return ''
        return f"the oldest transform is that of '{frame}' in '{steps[frame].parent}'"

    def _to_root(self, frame: str) -> dict[str, tuple[Array, Array, tuple[float, float]]]:
        """Return the pose of the frame in each frame between it and the root."""
        translation, rotation = np.zeros(3), np.array((0.0, 0.0, 0.0, 1.0))
        oldest = np.inf, np.inf  # stamp and arrival
        poses = {frame: (translation, rotation, oldest)}
        while frame in self._frames and len(poses) < MAX_CHAIN:
            step = self._frames[frame]
            translation = step.translation + rotate(step.rotation, translation)
            rotation = multiply(step.rotation, rotation)
            if step.stamp < np.inf:
                oldest = min(oldest, (step.stamp, step.received))
            frame = step.parent
            if frame in poses:
                break  # a loop, so there is no root
            poses[frame] = translation, rotation, oldest
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
