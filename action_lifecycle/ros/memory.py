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
