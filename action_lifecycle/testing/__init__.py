# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Tests of flows without a robot: scripted sensors, servers and people on a clock that does not wait.

`Cases` runs the cases of a YAML file, `ScriptedRobot` a flow from Python (docs/testing.md).
"""

from .cases import CaseResult, Cases
from .script import Behaviour, Event, Ramp, RobotScript
from .scripted_doing import SentGoal
from .scripted_robot import ActionReport, RunReport, ScriptedRobot
from .stepped_clock import SteppedClock

__all__ = [
    'ActionReport', 'Behaviour', 'CaseResult', 'Cases', 'Event', 'Ramp', 'RobotScript',
    'RunReport', 'ScriptedRobot', 'SentGoal', 'SteppedClock',
]
