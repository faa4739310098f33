# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The executables of the package; each handles signals before it imports its main module.

Importing rclpy and the message types takes a second or more. A SIGINT or SIGTERM during the import
ends the process with exit code 0. Then `ros.process` handles signals; after the main function
returns, they are ignored.
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
        for number in SIGNALS:  # at exit, Python resets any other handler to the default
            signal.signal(number, signal.SIG_IGN)
        return code
    return main


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(0)


action_lifecycle_node = _executable('action_lifecycle.nodes.action.node')
world_model_bridge = _executable('action_lifecycle.nodes.bridge.node')
agent = _executable('action_lifecycle.nodes.agent.agent_node')
language_model = _executable('action_lifecycle.nodes.agent.node')
ledger = _executable('action_lifecycle.nodes.ledger.node')
web = _executable('action_lifecycle.nodes.web.node')
markers = _executable('action_lifecycle.nodes.markers.node')
vda5050 = _executable('action_lifecycle.nodes.vda5050.node')
composed = _executable('action_lifecycle.nodes.composed')
scripted_robot = _executable('action_lifecycle.nodes.scripted.main')
sim_cell = _executable('action_lifecycle.sim.node')
sim_estop = _executable('action_lifecycle.sim.estop')
