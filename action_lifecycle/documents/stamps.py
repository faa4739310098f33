# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Converts the times in messages."""

from __future__ import annotations

from typing import Any


def to_seconds(time: Any) -> float:
    """Return the seconds of a Time or Duration, of ROS or equivalent."""
    seconds: float = time.sec + time.nanosec / 1e9
    return seconds
