# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Between ROS's times and UUIDs and our own."""

from __future__ import annotations

import uuid

from builtin_interfaces.msg import Time
from unique_identifier_msgs.msg import UUID


def to_time(seconds: float) -> Time:
    """Return ROS time from seconds; what is before 0 becomes 0."""
    nanoseconds = max(0, round(seconds * 1e9))
    return Time(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


def to_seconds(time: Time) -> float:
    """Return seconds from ROS time."""
    return float(time.sec) + time.nanosec / 1e9


def to_uuid(text: str) -> UUID:
    """Return the message of a UUID in hex; empty: zeros."""
    return UUID(uuid=list(uuid.UUID(text).bytes) if text else [0] * 16)


def from_uuid(message: UUID) -> uuid.UUID:
    """Return the UUID of a message."""
    return uuid.UUID(bytes=bytes(message.uuid))
