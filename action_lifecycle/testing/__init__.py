# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Tests of flows without a robot: scripted sensors, servers and people on a clock that does not wait.

`Cases` runs the cases of a YAML file, `ScriptedRobot` a flow from Python (docs/testing.md).
Where ROS is there, `ScriptedNode` plays the same script as a ROS node. It is in `nodes.scripted`,
as nothing here imports ROS; here is only its name.
"""

from __future__ import annotations

import importlib
from typing import Any

from .cases import CaseResult, Cases
from .script import Behaviour, Event, Ramp, RobotScript
from .scripted_doing import SentGoal
from .scripted_robot import ActionReport, RunReport, ScriptedRobot
from .stepped_clock import SteppedClock

__all__ = [
    'ActionReport', 'Behaviour', 'CaseResult', 'Cases', 'Event', 'Ramp', 'RobotScript',
    'RunReport', 'ScriptedRobot', 'SentGoal', 'SteppedClock',
]


def __getattr__(name: str) -> Any:
    """Import `ScriptedNode` when it is used; raises ImportError without ROS."""
    if name == 'ScriptedNode':
        return importlib.import_module('action_lifecycle.nodes.scripted').ScriptedNode
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
