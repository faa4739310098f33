# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Converts times: those in messages, and those of files in ns."""

from __future__ import annotations

from typing import Any


def to_seconds(time: Any) -> float:
    """Return the seconds of a Time or Duration, of ROS or equivalent."""
    seconds: float = time.sec + time.nanosec / 1e9
    return seconds


def to_ns(seconds: float) -> int:
    """
    Return ns, not below 0 nor above those of the year 2242.

    `from_ns` returns the same number again where floats are coarser than ns.
    """
    if not 0 < seconds < _LAST:
        return _LAST * 10 ** 9 if seconds >= _LAST else 0
    whole = int(seconds)
    return whole * 10 ** 9 + round((seconds - whole) * 1e9)


def from_ns(nanoseconds: int) -> float:
    """Return s of ns, correctly rounded."""
    return nanoseconds / 10 ** 9


_LAST = 2 ** 33
