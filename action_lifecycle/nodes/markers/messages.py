# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The markers of actions as visualization_msgs.

An action has a text above its place, in the colour of its state. The first one at a place also has
a ball there; the texts of others are above its text. Stamps are zero and `frame_locked` is set: a
marker moves with its frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, Pose, Quaternion, Vector3
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from .places import MarkerPlace
from .shown_actions import Key, ShownAction
from .wording import marker_text
from ...documents.stamps import to_ns

TEXTS, PLACES = 'actions', 'places'
"""Namespaces of the texts and of the balls."""
LINE = 1.3
"""Height of a line in multiples of that of the letters."""
BALL = 0.6
"""Diameter of a ball in the same unit."""
MarkerKey = tuple[str, int]


class Style(NamedTuple):
    """How markers look: height of letters (m), background, time (s) until they vanish."""

    text_height: float
    dark_background: bool
    lifetime: float


class Markers:
    """The markers that subscribers have; ids are the lowest free numbers from 0."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._ids: dict[Key, int] = {}
        self._shown: set[MarkerKey] = set()

    def update(
        self, actions: Iterable[tuple[ShownAction, MarkerPlace]], *, first: bool = False
    ) -> MarkerArray:
        """
        Return the message that shows these actions and deletes the markers of all others.

        `first`: delete also what an earlier process has left.
        """
        made = list(self._made(list(actions)))
        now = {(marker.ns, marker.id) for marker in made}
        old = [] if first else sorted(self._shown - now)
        self._shown = now
        return MarkerArray(markers=[
            *([Marker(action=Marker.DELETEALL)] if first else ()),
            *(Marker(ns=ns, id=number, action=Marker.DELETE) for ns, number in old), *made])

    def clear(self) -> MarkerArray:
        """Return the message that deletes all markers."""
        self._ids.clear()
        return self.update((), first=True)

    def _made(self, actions: list[tuple[ShownAction, MarkerPlace]]) -> Iterator[Marker]:
        keys = {action.key for action, _ in actions}
        self._ids = {key: number for key, number in self._ids.items() if key in keys}
        heights: dict[MarkerPlace, float] = {}
        for action, place in actions:
            number = self._id_of(action.key)
            text = marker_text(action)
            if place not in heights:
                yield self._marker(Marker.SPHERE, PLACES, number, place, 0.0, action)
                heights[place] = BALL * self._style.text_height
            height = text.count('\n') * LINE + LINE
            yield self._marker(
                Marker.TEXT_VIEW_FACING, TEXTS, number, place,
                heights[place] + height / 2 * self._style.text_height, action, text)
            heights[place] += height * self._style.text_height

    def _id_of(self, key: Key) -> int:
        if key not in self._ids:
            used = set(self._ids.values())
            self._ids[key] = next(number for number in range(len(used) + 1) if number not in used)
        return self._ids[key]

    def _marker(
        self, kind: int, namespace: str, number: int, place: MarkerPlace, above: float,
        action: ShownAction, text: str = '',
    ) -> Marker:
        style = self._style
        x, y, z = place.position
        size = style.text_height * (1.0 if text else BALL)
        lifetime = to_ns(style.lifetime)
        return Marker(
            header=Header(frame_id=place.frame), ns=namespace, id=number, type=kind,
            action=Marker.ADD, frame_locked=True, text=text,
            pose=Pose(position=Point(x=x, y=y, z=z + above), orientation=Quaternion(w=1.0)),
            scale=Vector3(x=size, y=size, z=size),
            color=_color(action.look.dark if style.dark_background else action.look.light),
            lifetime=Duration(sec=lifetime // 10**9, nanosec=lifetime % 10**9))


def _color(text: str) -> ColorRGBA:
    """Return a colour such as #0064a3."""
    red, green, blue = (int(text[start:start + 2], 16) / 255 for start in (1, 3, 5))
    return ColorRGBA(r=red, g=green, b=blue, a=1.0)
