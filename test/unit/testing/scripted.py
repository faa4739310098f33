# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Facts and flows of the tests of the scripted robot."""

from __future__ import annotations

from typing import Any

from action_lifecycle.flow import parse_flow
from action_lifecycle.testing import Behaviour, Ramp, RobotScript, ScriptedRobot
from action_lifecycle.world import parse_facts

FACTS_TEXT = """\
estop: none
facts:
  x: {topic: joints, type: sensor_msgs/msg/JointState, field: 'position[name=x]', max_age: 0.3}
  speed: {topic: joints, type: sensor_msgs/msg/JointState, field: velocity, reduce: norm,
          max_age: 0.3}
  lamp: {topic: lamp, type: std_msgs/msg/Bool, field: data, max_age: 0.3}
  twin: {topic: twin, type: std_msgs/msg/Float64, field: data, max_age: 0.3,
         health: {frozen: 0.5, agree: {with: x, within: 0.01, for: 0.1}}}
  still: {expression: speed < 0.01}
"""
FACTS = parse_facts(FACTS_TEXT)
STILL = {'x': 0.0, 'speed': 0.0, 'lamp': False}
GO = Behaviour(takes=4.0, during={'x': Ramp(to=1.0), 'speed': 0.25})
MOVE = """\
flow: move
actions:
  move:
    motion: {server: arm, type: a/action/Go, goal: {x: 1.0}, timeout: 20}
    stopped: {condition: still, hold: 0.1}
    confirm: {condition: x > 0.9 and still, hold: 0.2, within: 2}
"""


def run(text: str, facts: dict[str, Any] = STILL, *, events: Any = (), answers: Any = None,
        within: float = 600.0, **script: Any) -> tuple[Any, ScriptedRobot]:
    robot = ScriptedRobot(FACTS, RobotScript(facts=facts, **script))
    flow = parse_flow(text, 'flow.yaml')
    return robot.run(flow, events=events, answers=answers, within=within), robot


CALL = """\
flow: hold
actions:
  hold:
    call: {service: vacuum, type: s/srv/SetBool, request: {data: true}, PHYSICAL}
    confirm: {condition: lamp, within: 1}
"""
RATE = """\
flow: drive
actions:
  drive:
    publish: {topic: belt, type: std_msgs/msg/Float64, message: {data: 0.2}, rate: 20,
              until: x > 0.5, within: 5, physical: true FINALLY}
    stopped: {condition: still, hold: 0.1}
    confirm: {condition: x > 0.4, within: 1}
    resources: [belt]
"""
