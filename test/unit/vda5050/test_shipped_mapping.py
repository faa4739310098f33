# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""config/vda5050/nav2.yaml judges where the robot stands by what the order allows."""

from __future__ import annotations

import math
from pathlib import Path

from action_lifecycle.flow import parse_flow
from action_lifecycle.testing import Behaviour, Ramp, RobotScript, ScriptedRobot
from action_lifecycle.vda5050.judge import judge_order
from action_lifecycle.vda5050.mapping import read_mapping
from action_lifecycle.vda5050.progress import Progress
from action_lifecycle.world.facts.loader import load_facts
import pytest

from .orders import line, node

CONFIG = Path(__file__).parents[3] / 'config'
MAPPED = read_mapping(CONFIG / 'vda5050' / 'nav2.yaml')
FACTS = load_facts(CONFIG / 'stacks' / 'nav2' / 'facts.yaml')
AT_START = {'x': 0.0, 'y': 0.0, 'theta': 0.0}
EXACT = {'allowedDeviationXY': 0.05, 'allowedDeviationTheta': 0.1}


def turned(angle):
    return [0.0, 0.0, math.sin(angle / 2), math.cos(angle / 2)]


def driven(position, off, angle, speed=0.0):
    """Return how a drive to (1, 0) ends if it stops `off` m beside it, turned by `angle`."""
    order = {**line(0, 1), 'nodes': [node(0, mapId='map'), node(1, mapId='map', **position)]}
    flow = parse_flow(judge_order(order, Progress(None, {}), MAPPED, AT_START).text, 'order')
    robot = ScriptedRobot(FACTS, RobotScript(
        facts={'at': [0.0, 0.0, 0.0], 'heading': turned(0.0), 'speed': 0.0, 'turning': 0.0,
               'variance': 0.01, 'battery': 0.8, 'battery_status': 2},
        servers={'navigate_to_pose': Behaviour(
            takes=2.0, during={'at': Ramp(to=[1.0, off, 0.0]), 'speed': 0.4},
            after={'heading': turned(angle), 'speed': speed})}))
    action, = robot.run(flow).actions.values()
    return action.outcome, action.error


REACHED, REFUTED = ('succeeded', 'NONE'), ('failed', 'REFUTED')


@pytest.mark.parametrize(('position', 'off', 'angle', 'expected'), [
    (EXACT, 0.049, 0.0, REACHED), (EXACT, 0.051, 0.0, REFUTED), (EXACT, 0.2, 0.0, REFUTED),
    ({**EXACT, 'theta': 0.0}, 0.0, 0.099, REACHED),
    ({**EXACT, 'theta': 0.0}, 0.0, 0.101, REFUTED),
    ({**EXACT, 'theta': 0.0}, 0.0, -0.101, REFUTED),
    ({**EXACT, 'theta': 3.1}, 0.0, -3.1, REACHED),  # 0.08 rad over the end of the circle
    ({**EXACT, 'theta': 3.1}, 0.0, 2.99, REFUTED),
    (EXACT, 0.0, math.pi, REACHED),  # without theta every orientation is allowed
    ({'allowedDeviationXY': 2.0, 'theta': 0.0}, 1.99, 0.0, REACHED),
    ({'allowedDeviationXY': 2.0, 'theta': 0.0}, 2.01, 0.0, REFUTED),
    ({'theta': 0.0, 'allowedDeviationXY': 0.0, 'allowedDeviationTheta': 0}, 0.249, 0.249, REACHED),
    ({'theta': 0.0}, 0.251, 0.0, REFUTED), ({'theta': 0.0}, 0.0, 0.251, REFUTED),
])
def test_the_shipped_mapping_judges_by_the_deviations_of_the_order(
    position, off, angle, expected
):
    assert driven(position, off, angle) == expected


def test_the_shipped_mapping_confirms_no_robot_that_drives_on():
    assert driven(EXACT, 0.0, 0.0, speed=0.02)[0] != 'succeeded'
