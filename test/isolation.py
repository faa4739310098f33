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

import os
import random


def domain_id() -> int:
    """Return a ROS domain for one test; those of two pytest processes never meet."""
    worker = int(os.environ.get('PYTEST_XDIST_WORKER', 'gw0')[2:])
    return 2 * random.randint(1, 99) + worker % 2
