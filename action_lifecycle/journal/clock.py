# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The clocks of the journal: boot time for durations, wall time for dates."""

from __future__ import annotations

from pathlib import Path
import time
from typing import Protocol, TYPE_CHECKING
import uuid

if TYPE_CHECKING:
    from .row import Row

_BOOT_ID = Path('/proc/sys/kernel/random/boot_id')


class Clock(Protocol):
    """The interface of the journal's clock; all times in seconds."""

    boot_id: str

    def boot_time(self) -> float:
        """Return the time since boot, including suspend; monotonic within a `boot_id`."""

    def wall_time(self) -> float:
        """Return the time since 1970 (UTC); may jump."""


def boot_time() -> float:
    """
    Return CLOCK_BOOTTIME, the time (s) since boot, including suspend.

    Claims end by it: time.monotonic() stands still while the computer is suspended.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class SystemClock:
    """The clocks of the machine."""

    def __init__(self) -> None:
        try:
            self.boot_id = _BOOT_ID.read_text().strip()
        except OSError:  # not readable in some sandboxes: each process counts as a boot
            self.boot_id = str(uuid.uuid4())

    def boot_time(self) -> float:
        """Return CLOCK_BOOTTIME."""
        return boot_time()

    def wall_time(self) -> float:
        """Return CLOCK_REALTIME."""
        return time.time()


def elapsed(clock: Clock, boot_id: str, boot_time: float, wall_time: float) -> float:
    """
    Return the time (s) since a moment stamped by both clocks.

    Within one boot this is the difference of boot times; across boots, of wall times, but at least
    0.
    """
    if boot_id == clock.boot_id:
        return max(0.0, clock.boot_time() - boot_time)
    return max(0.0, clock.wall_time() - wall_time)


def seconds_between(before: Row, after: Row) -> float:
    """
    Return the time (s) between two rows of a journal, at least 0.

    In ROS time if both rows have it and it did not go back, else as `elapsed`.
    """
    if before.ros_time is not None and after.ros_time is not None \
            and after.ros_time >= before.ros_time:
        return after.ros_time - before.ros_time
    if before.boot_id == after.boot_id:
        return max(0.0, after.boot_time - before.boot_time)
    return max(0.0, after.wall_time - before.wall_time)
