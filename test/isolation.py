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

"""Keeps tests with nodes apart from one another."""

from __future__ import annotations

import fcntl
import gc
from pathlib import Path
import random
import tempfile

_HELD = []  # files locked by this process until it ends


def domain_id() -> int:
    """
    Return a ROS domain that no other test process on this machine uses.

    Nodes of earlier tests are gone afterwards: rclpy leaves managed nodes and action servers to
    the garbage collector, and Fast DDS finds no more than 32 participants of a process on
    localhost.
    """
    gc.collect()
    folder = Path(tempfile.gettempdir()) / 'action_lifecycle_domains'
    folder.mkdir(exist_ok=True)
    while True:
        domain = random.randint(1, 200)
        file = (folder / str(domain)).open('w')
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
        else:
            _HELD.append(file)
            return domain
