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

"""What the programs of the tests import, imported once; see forked.py."""

from __future__ import annotations

from contextlib import suppress
import gc
import importlib
import inspect

import action_lifecycle.nodes.composed  # noqa: F401
import action_lifecycle.nodes.language_model  # noqa: F401
import action_lifecycle.sim.estop  # noqa: F401
import control_msgs.action  # noqa: F401
import sensor_msgs.msg  # noqa: F401

with suppress(ImportError):  # the cell is an extra
    importlib.import_module('action_lifecycle.sim.node')
inspect.getmodule(inspect.currentframe())  # rclpy's loggers look all modules up, once in a process
gc.freeze()  # what each of the forked processes would go through
