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

"""Memory for messages of a megabyte and more, at many a second."""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
LARGE_TYPES = frozenset(('sensor_msgs/msg/PointCloud2', 'sensor_msgs/msg/Image'))


def keep_memory() -> None:
    """
    Let glibc keep what large messages needed, instead of giving it back after each.

    By default the pages of a message of 1 MB go back to the system when it is freed, and the next
    one has them mapped and zeroed again: 2 to 4 times the CPU time of reading it. Costs up to
    64 MiB that stay with the process. Without glibc: nothing is done.
    """
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, 32 * 1024 * 1024)
        mallopt(M_TRIM_THRESHOLD, 64 * 1024 * 1024)
