# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Converts between times and UUIDs of ROS and of Python."""

from __future__ import annotations

import uuid

from builtin_interfaces.msg import Time
from unique_identifier_msgs.msg import UUID


def to_time(seconds: float) -> Time:
    """Return ROS time from seconds; negative values become 0."""
    nanoseconds = max(0, round(seconds * 1e9))
    return Time(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


def to_seconds(time: Time) -> float:
    """Return seconds from ROS time."""
    return float(time.sec) + time.nanosec / 1e9


def to_uuid(text: str) -> UUID:
    """Return the message of a hexadecimal UUID; '': zeros."""
    return UUID(uuid=list(uuid.UUID(text).bytes) if text else [0] * 16)


def from_uuid(message: UUID) -> uuid.UUID:
    """Return the UUID of a message."""
    return uuid.UUID(bytes=bytes(message.uuid))
