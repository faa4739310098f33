# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Configures malloc for frequent messages of 1 MB and more."""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
LARGE_TYPES = frozenset(('sensor_msgs/msg/PointCloud2', 'sensor_msgs/msg/Image'))


def keep_memory() -> None:
    """
    Let glibc keep the memory of large messages instead of returning it after each.

    By default, freeing a message of 1 MB returns its pages to the system, and the next message
    maps and zeroes them again, which takes 2 to 4 times the CPU time of reading it. The process
    keeps up to 64 MiB. Does nothing without glibc.
    """
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, 32 * 1024 * 1024)
        mallopt(M_TRIM_THRESHOLD, 64 * 1024 * 1024)
