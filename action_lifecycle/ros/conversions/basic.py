# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Converts times, UUIDs, error codes and JSON values."""

from __future__ import annotations

from collections.abc import Mapping
import json
from typing import Any
import uuid

from builtin_interfaces.msg import Time
from rosidl_runtime_py.convert import message_to_ordereddict
from unique_identifier_msgs.msg import UUID

from ...documents.stamps import to_ns
from ...lifecycle.states import ErrorCode

LAST_TIME = 2**31 - 1
"""The largest `sec` of builtin_interfaces/Time, in 2038."""


def to_time(seconds: float) -> Time:
    """Return ROS time from seconds, clamped to 0 and LAST_TIME."""
    sec, nanosec = sec_nanosec(seconds)
    return Time(sec=sec, nanosec=nanosec)


def sec_nanosec(seconds: float) -> tuple[int, int]:
    """Return the fields (sec, nanosec) of ROS time from seconds, clamped as in `to_time`."""
    if not seconds < LAST_TIME:
        return LAST_TIME, 0
    return divmod(to_ns(seconds), 1_000_000_000)


def to_uuid(text: str) -> UUID:
    """Return the message of a hexadecimal UUID; '': zeros."""
    return UUID(uuid=list(uuid.UUID(text).bytes)) if text else UUID()


def from_uuid(message: UUID) -> uuid.UUID:
    """Return the UUID of a message."""
    return uuid.UUID(bytes=bytes(message.uuid))


def to_code(number: int) -> ErrorCode:
    """Return the error code of a message; an unknown number becomes INTERNAL."""
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.INTERNAL


def to_json(message: Any) -> str:
    """Return a message, or a mapping, as JSON."""
    return json.dumps(
        message if isinstance(message, Mapping) else message_to_ordereddict(message))
