# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Range sensors without a return, or with something too near (REP 117), in flows."""

from __future__ import annotations

from math import inf
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow import parse_flow
from action_lifecycle.testing import Behaviour, Event, Ramp, RobotScript, ScriptedRobot
from action_lifecycle.world import parse_facts
import pytest

FACTS = parse_facts("""
estop: none
facts:
  gap: {topic: gap, type: std_msgs/msg/Float64, field: data, max_age: 0.5}
  level: {topic: level, type: std_msgs/msg/Float64, field: data, max_age: 0.5}
  near: {topic: scan, type: sensor_msgs/msg/LaserScan, field: ranges, reduce: min, max_age: 0.5}
  ranges: {topic: beams, type: sensor_msgs/msg/LaserScan, field: ranges, max_age: 0.5}
""")
FLOW = """
flow: close
actions:
  close:
    {}
    motion: {{server: gripper, type: control_msgs/action/GripperCommand, timeout: 10}}
    confirm: {{condition: gap < 0.005, hold: 0.3, within: 2}}
"""
START = {'gap': 4.0, 'level': 1.0, 'near': 3.0, 'ranges': [3.0, 2.0]}
CLOSE = Behaviour(takes=4.0, during={'gap': Ramp(to=0.0)})


def run(fields: str, events: Any = (), **start: Any) -> tuple[str, ScriptedRobot]:
    """Return how the action ended; the gap is 4 at the start of the motion, and 1 less each s."""
    robot = ScriptedRobot(FACTS, RobotScript(facts={**START, **start}, servers={'gripper': CLOSE}))
    report = robot.run(parse_flow(FLOW.format(fields), 'flow.yaml'), events=events)
    return report.actions['close'].error, robot


@pytest.mark.parametrize(('fields', 'start', 'error'), [
    ('require: near > 0.5', {'near': inf}, 'NONE'),
    ('require: near > 0.5', {'near': 0.4}, 'REQUIRE_REFUTED'),
    ('require: near > 0.5', {'near': -inf}, 'REQUIRE_REFUTED'),
    ('require: not any(ranges < 0.5)', {'ranges': [inf, 2.0]}, 'NONE'),
    ('require: not any(ranges < 0.5)', {'ranges': [inf, inf]}, 'NONE'),
    ('require: not any(ranges < 0.5)', {'ranges': [-inf, 2.0]}, 'REQUIRE_REFUTED'),
    ('maintain: near > 0.3', {'near': inf}, 'NONE'),
    ('maintain: near > 0.3', {'near': -inf}, 'MAINTAIN_VIOLATED'),
])
def test_free_space_permits_a_motion_and_something_near_does_not(
    fields: str, start: dict[str, Any], error: str
) -> None:
    found, robot = run(fields, **start)
    assert found == error
    assert robot.servers.count('gripper') == (error == 'NONE')


def stopped_at(near: float | None, fields: str = 'maintain: near > 0.3') -> float:
    """Return the time (s) from the change of `near` in a motion to its stop."""
    error, robot = run(fields, [Event(at=1.0, facts={'near': near})])
    assert error == 'MAINTAIN_VIOLATED'
    return 3.0 - float(robot.signals.value('gap', robot.clock.time))


def test_minus_infinity_stops_as_fast_as_a_near_obstacle() -> None:
    assert stopped_at(-inf) == pytest.approx(stopped_at(0.1), abs=1e-6)
    assert stopped_at(-inf) < 0.2


@pytest.mark.parametrize(('within', 'least', 'most'), [
    ('near > 0.3', 1.0, 1.2), ('{condition: near > 0.3, within: 0}', 0.5, 0.7),
    ('{condition: near > 0.3, within: 2}', 2.5, 2.7)])
def test_a_silent_sensor_is_tolerated_for_max_age_and_within(
    within: str, least: float, most: float
) -> None:
    assert least <= stopped_at(None, f'maintain: {within}') <= most


def test_after_a_restart_a_silent_sensor_has_two_seconds_to_be_found() -> None:
    robot = ScriptedRobot(FACTS, RobotScript(
        facts=START, servers={'gripper': Behaviour(takes=60.0)}))
    report = robot.run(parse_flow(FLOW.format('maintain: near > 0.3').replace(
        'timeout: 10', 'timeout: 90'), 'flow.yaml'), events=[
            Event(at=1.0, facts={'near': None}, kill=True)])
    assert report.actions['close'].error == 'MAINTAIN_VIOLATED'
    assert 3.5 <= robot.clock.time <= 6.0


def test_a_motion_whose_guard_is_unknown_is_not_sent() -> None:
    error, robot = run('maintain: near > 0.3', near=None)
    assert error == 'MAINTAIN_VIOLATED' and not robot.servers.goals


def test_only_facts_that_may_be_infinite_are_scripted_so() -> None:
    with pytest.raises(LifecycleError, match="fact 'level': infinity is no value"):
        run('maintain: near > 0.3', level=inf)
    with pytest.raises(LifecycleError, match="fact 'near': infinity is no value"):
        run('description: d', [Event(at=1.0, facts={'near': Ramp(to=inf)})])
