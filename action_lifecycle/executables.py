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

"""
The executables of the package. Each handles signals before it imports what it runs.

Importing rclpy and the message types takes a second or more. A SIGINT or SIGTERM in that time ends
the process with exit code 0, since nothing has begun; `ros.process` takes over from there. Signals
that come after that do not end the process before its own end.
"""

from __future__ import annotations

from collections.abc import Callable
import importlib
import os
import signal
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _executable(module: str) -> Callable[[], int]:
    def main() -> int:
        for number in SIGNALS:
            signal.signal(number, _end)
        code = int(importlib.import_module(module).main())
        for number in SIGNALS:  # Python restores the default for any other handler as it ends
            signal.signal(number, signal.SIG_IGN)
        return code
    return main


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(0)


action_lifecycle_node = _executable('action_lifecycle.nodes.action_lifecycle')
world_model_bridge = _executable('action_lifecycle.nodes.world_model_bridge')
language_model = _executable('action_lifecycle.nodes.language_model')
ledger = _executable('action_lifecycle.nodes.ledger')
composed = _executable('action_lifecycle.nodes.composed')
sim_cell = _executable('action_lifecycle.sim.node')
sim_estop = _executable('action_lifecycle.sim.estop')
