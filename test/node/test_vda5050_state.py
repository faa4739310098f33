# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the state of VDA 5050 says of stops; test_vda5050_node.py has a real one."""

from __future__ import annotations

from types import SimpleNamespace

from action_lifecycle.nodes.vda5050.fact_values import FactValues
from action_lifecycle.nodes.vda5050.robot_state import emergency_stop, RobotState, safety_errors
from action_lifecycle.vda5050.mapping import LIMITS
from action_lifecycle.world.expressions.expression import compile_expression
from action_lifecycle_msgs.msg import Fact, SafetyState
import pytest


@pytest.mark.parametrize(('safety', 'stop', 'words'), [
    (None, 'AUTOACK', ['the action node has not said yet']),
    (SafetyState(state=SafetyState.NOT_READY, reason='never seen'), 'AUTOACK', ['never seen']),
    (SafetyState(state=SafetyState.READY), 'NONE', []),
    (SafetyState(state=SafetyState.STOPPED, reason='silent', topic='/estop', cause='still silent'),
     'MANUAL', ['silent; latched: look at the robot, then clear the stop: ',
                'clear-stop', 'it can not be cleared now: still silent']),
])
def test_only_a_latched_stop_is_acknowledged_by_a_person(safety, stop, words):
    assert emergency_stop(safety) == stop
    found = [*safety_errors(safety)]
    assert [one['errorLevel'] for one in found] == ['FATAL'] * bool(words)
    for word in words:
        assert word in found[0]['errorDescription']
    if stop == 'AUTOACK':
        assert 'clear' not in found[0]['errorDescription']


class Facts(FactValues):
    """Facts without a node; those that are not there are unknown."""

    def __init__(self, expressions):
        node = SimpleNamespace(add_subscription=lambda *_: None)
        super().__init__(node, 'bridge', {
            place: compile_expression(text, None, condition=place in CONDITIONS)
            for place, text in expressions.items()}, lambda: None, LIMITS)

    def put(self, **values):
        self._facts = {name: Fact(
            name=name, validity=Fact.VALID, numbers=[float(value)])
            for name, value in values.items()}


CONDITIONS = ('driving', 'field_violation')


def state(facts, is_driving=False):
    progress = SimpleNamespace(fields=dict, is_driving=is_driving, action_states=list, errors=list)
    runner = SimpleNamespace(flow_paused=False, is_away=False, record=SimpleNamespace(
        progress=progress, paused=False, instants=[], errors=[], canceling=None))
    made = RobotState(runner, facts, SimpleNamespace(spec=SimpleNamespace(
        state=SimpleNamespace(position=None))))
    made.safety = SafetyState(state=SafetyState.READY)
    return made.message()


def test_a_field_violation_or_a_drive_that_is_not_known_is_not_denied():
    facts = Facts({'battery.charge': 'battery', 'field_violation': 'gap < 0.5',
                   'driving': 'speed > 0.1'})
    facts.put(battery=80.0)
    found = state(facts)
    assert found['safetyState']['fieldViolation'] and found['driving']
    assert [(one['errorType'], one['errorLevel']) for one in found['errors']] == [
        ('factUnknown', 'WARNING')] * 2
    facts.put(battery=80.0, gap=1.0, speed=0.0)
    found = state(facts)
    assert not found['safetyState']['fieldViolation'] and not found['driving']
    assert found['errors'] == []
    facts.put(battery=80.0)  # not known any more: the last value does not count
    assert state(facts)['safetyState']['fieldViolation'] and state(facts)['driving']
    facts.put(battery=80.0, gap=0.2, speed=0.2)
    assert state(facts)['safetyState']['fieldViolation'] and state(facts)['driving']
    without = Facts({'battery.charge': 'battery'})
    assert not state(without)['safetyState']['fieldViolation']
    assert state(without, is_driving=True)['driving'] and not state(without)['driving']


@pytest.mark.parametrize(('charge', 'value', 'told'), [
    ('battery * 100', 85.0, 'is 8500.0, expected 0 to 100'),
    ('battery', -1.0, 'expected 0 to 100'), ('battery * 100', 1.01, 'expected 0 to 100'),
    ('battery * 100', 0.85, ''), ('battery', 85.0, ''), ('battery', 100.0, ''),
    ('battery', 0.0, '')])
def test_a_charge_that_can_not_be_is_not_reported(charge, value, told):
    facts = Facts({'battery.charge': charge})
    facts.put(battery=value)
    found = state(facts)
    assert found['batteryState']['batteryCharge'] == (0.0 if told else value * (
        100 if '*' in charge else 1))
    assert [told in one['errorDescription'] for one in found['errors']] == [True] * bool(told)
    facts.put(battery=0.5)
    assert state(facts)['errors'] == []
    facts.put(battery=value)
    if told:
        assert state(facts)['batteryState']['batteryCharge'] == (50 if '*' in charge else 0.5)


def test_locked_resources_are_named():
    safety = SafetyState(state=SafetyState.READY, locked_resources=['arm', 'base'])
    assert emergency_stop(safety) == 'NONE'
    found = [*safety_errors(safety)]
    assert [(one['errorType'], one['errorLevel'], one['errorReferences'][0]['referenceValue'])
            for one in found] == [('resourceLocked', 'WARNING', name) for name in ('arm', 'base')]
    assert "resource 'arm' is locked" in found[0]['errorDescription']
    assert 'clear-stop' in found[0]['errorDescription']
