# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The coordinate frames of a robot in three dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any

from nicegui import ui

from ...robots import FrameNow
from ....lifecycle.text_format import printable

MAX_FRAMES = 200
MAX_NAME = 40
BACKGROUND, LINK = '#eef1f5', '#5b6675'  # now.css inverts them in the dark
LABEL = ('color:#1c2129;font:11px system-ui,sans-serif;padding:0 3px;border-radius:3px;'
         'background:rgba(255,255,255,.7);unicode-bidi:isolate;pointer-events:none')
_FINITE = 1e6
"""Largest coordinate (m) that is shown."""


class FramesScene:
    """Axes and names of frames, and lines to their parents; only what has changed is sent."""

    def __init__(self) -> None:
        self._tree: frozenset[tuple[str, str]] = frozenset()
        self._shown: dict[str, FrameNow] = {}
        self._groups: dict[str, Any] = {}
        self._links: dict[str, Any] = {}
        self._size = 0.1
        self._placed = False
        self._scene = ui.scene(
            width=640, height=360, grid=(4, 40), background_color=BACKGROUND).classes('scene')

    def show(self, frames: Sequence[FrameNow]) -> None:
        """Show frames; names that are given twice, loops and infinite values are left out."""
        found = ordered(frames)
        tree = frozenset((frame.parent, frame.child) for frame in found)
        with self._scene:
            if tree != self._tree:
                self._rebuild(found)
                self._tree = tree
                return
            for frame in found:
                before = self._shown[frame.child]
                if frame != before:
                    self._move(frame, before)

    def _rebuild(self, found: Sequence[FrameNow]) -> None:
        self._scene.delete_objects()
        self._groups.clear()
        self._links.clear()
        self._shown.clear()
        low, high = extent(found)
        span = max((above - below for below, above in zip(low, high)), default=0.0)
        self._size = min(1.0, max(0.02, span / 8))
        for root in dict.fromkeys(frame.parent for frame in found):
            if all(frame.child != root for frame in found):
                self._groups[root] = self._frame(root)
        for frame in found:
            with self._groups[frame.parent]:
                self._groups[frame.child] = self._frame(frame.child)
            self._move(frame, None)
        if found and not self._placed:
            self._placed = True
            middle = [(below + above) / 2 for below, above in zip(low, high)]
            far = max(0.3, 0.65 * span)
            self._scene.move_camera(
                middle[0] + far, middle[1] - far, middle[2] + 0.7 * far, middle[0], middle[1],
                middle[2], duration=0.0)

    def _frame(self, name: str) -> Any:
        with self._scene.group().with_name(printable(name, MAX_NAME)) as group:
            self._scene.axes_helper(self._size)
            self._scene.text(printable(name, MAX_NAME), LABEL)
        return group

    def _move(self, frame: FrameNow, before: FrameNow | None) -> None:
        group = self._groups[frame.child]
        group.move(*frame.translation)
        group.rotate_R(rotation_matrix(frame.rotation))
        if before is None or before.translation != frame.translation:
            if frame.child in self._links:
                self._links.pop(frame.child).delete()
            if any(frame.translation):
                with self._groups[frame.parent]:
                    self._links[frame.child] = self._scene.line(
                        [0.0, 0.0, 0.0], list(frame.translation)).material(LINK)
        self._shown[frame.child] = frame


def ordered(frames: Sequence[FrameNow]) -> list[FrameNow]:
    """Return the frames that can be drawn, each after its parent."""
    by_child: dict[str, FrameNow] = {}
    for frame in frames:
        if all(math.isfinite(each) and abs(each) < _FINITE
               for each in (*frame.translation, *frame.rotation)):
            by_child.setdefault(frame.child, frame)
    found: dict[str, FrameNow] = {}
    for child in by_child:
        way: dict[str, FrameNow] = {}
        while child in by_child and child not in found and child not in way:
            way[child] = by_child[child]
            child = by_child[child].parent
        if child not in way:  # no loop
            found.update(reversed(list(way.items())))
    return list(found.values())[:MAX_FRAMES]


def extent(found: Sequence[FrameNow]) -> tuple[list[float], list[float]]:
    """Return the corners (m) of the box around the origins of frames."""
    places = list(origins(found).values()) or [(0.0, 0.0, 0.0)]
    return ([min(place[axis] for place in places) for axis in range(3)],
            [max(place[axis] for place in places) for axis in range(3)])


def origins(found: Sequence[FrameNow]) -> Mapping[str, tuple[float, float, float]]:
    """Return where the origin of each frame is in its root's frame (m); see `ordered`."""
    places: dict[str, tuple[float, float, float]] = {}
    turns: dict[str, list[list[float]]] = {}
    for frame in found:
        base = places.setdefault(frame.parent, (0.0, 0.0, 0.0))
        turn = turns.setdefault(frame.parent, rotation_matrix((0.0, 0.0, 0.0, 1.0)))
        own = rotation_matrix(frame.rotation)
        x, y, z = (base[row] + sum(turn[row][k] * frame.translation[k] for k in range(3))
                   for row in range(3))
        places[frame.child] = x, y, z
        turns[frame.child] = [[sum(turn[row][k] * own[k][column] for k in range(3))
                               for column in range(3)] for row in range(3)]
    return places


def rotation_matrix(quaternion: tuple[float, float, float, float]) -> list[list[float]]:
    """Return the matrix of a quaternion (x, y, z, w), which need not have length 1."""
    norm = math.sqrt(sum(each * each for each in quaternion))
    if norm < 1e-9:
        return [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    x, y, z, w = (each / norm for each in quaternion)
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]]
