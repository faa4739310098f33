# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Messages as rclpy hands them out, for tests without ROS: same attributes, same array types."""

from __future__ import annotations

import array
from types import SimpleNamespace
from typing import Any


class Message:
    """A message with fields in the order in which they are given."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def get_fields_and_field_types(self) -> dict[str, str]:
        return dict.fromkeys(self.__dict__, '')


def time_of(seconds: float) -> Message:
    nanoseconds = round(seconds * 1e9)
    return Message(sec=nanoseconds // 10 ** 9, nanosec=nanoseconds % 10 ** 9)


def header(stamp: float, frame_id: str = '') -> Message:
    return Message(stamp=time_of(stamp), frame_id=frame_id)


def joints(stamp: float = 0.0, **positions: float) -> Message:
    return Message(
        header=header(stamp), name=list(positions),
        position=array.array('d', positions.values()), velocity=array.array('d'),
        effort=array.array('d', [10 * value for value in positions.values()]))


def scan(ranges: list[float], stamp: float = 0.0) -> Message:
    return Message(header=header(stamp), ranges=array.array('f', ranges))


def point(x: float, y: float, z: float) -> Message:
    return Message(x=float(x), y=float(y), z=float(z))


def quaternion(x: float, y: float, z: float, w: float) -> Message:
    return Message(x=float(x), y=float(y), z=float(z), w=float(w))


def pose(x: float, y: float, z: float) -> Message:
    return Message(position=point(x, y, z), orientation=quaternion(0, 0, 0, 1))


def pose_stamped(x: float, y: float, z: float, stamp: float = 0.0) -> Message:
    return Message(header=header(stamp), pose=pose(x, y, z))


def transforms(stamp: float, **frames: tuple[str, tuple[float, ...], tuple[float, ...]]) -> Any:
    """`child=(parent, translation, rotation)`."""
    return SimpleNamespace(transforms=[
        Message(header=header(stamp, parent), child_frame_id=child,
                transform=Message(translation=point(*move), rotation=quaternion(*turn)))
        for child, (parent, move, turn) in frames.items()])


def flag(data: Any) -> Message:
    return Message(data=data)
