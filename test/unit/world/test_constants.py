# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Constants by name, and the values at which a safety topic stops or permits."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.flow.files.loader import parse_flow
from action_lifecycle.flow.files.uses import check_names
from action_lifecycle.world import (
    Condition,
    FactSet,
    parse_facts,
    Safety,
    SafetyMonitor,
    TruthValue,
    WorldModel,
)
from action_lifecycle.world.expressions.value_types import Kind
import pytest

from . import messages

FACTS = """
estop: none
facts:
  power: {topic: battery, type: a/msg/Battery, field: status}
  robot: {topic: robot, type: a/msg/Robot, field: mode}
"""


class Types:
    """Message types with constants."""

    def __call__(self, type_name: str, path: str) -> Kind:
        return Kind.NUMBER

    def constants(self, type_name: str, path: str) -> Mapping[str, Mapping[str, Any]]:
        return {'a/msg/Battery': {'Battery': {'FULL': 4, 'ERROR': 2, 'NAME': 'b'}},
                'a/msg/Robot': {'Robot': {'NORMAL': 1, 'ERROR': b'\x07', 'power': 3, 'pi': 3}},
                }[type_name]


def judge(text: str, facts: FactSet, **parameters: Any) -> TruthValue:
    model = WorldModel(facts)
    model.ingest('battery', messages.Message(status=4), 1.0)
    model.ingest('robot', messages.Message(mode=7), 1.0)
    return model.evaluate([Condition('c', text)], 1.0, parameters)[0]


@pytest.mark.parametrize(('text', 'verdict'), [
    ('power == FULL', TruthValue.TRUE), ('power == Battery_FULL', TruthValue.TRUE),
    ('robot in [NORMAL, Robot_ERROR]', TruthValue.TRUE),
    ('robot == Battery_ERROR', TruthValue.FALSE),
    ('power == 4', TruthValue.TRUE),  # the fact, not the constant of its name
    ("NAME == 'b'", TruthValue.TRUE), ('pi > 3.1', TruthValue.TRUE)])
def test_a_constant_stands_for_its_number(text: str, verdict: TruthValue) -> None:
    assert judge(text, parse_facts(FACTS, field_kind=Types())) is verdict


def test_a_constant_with_two_meanings_is_refused_with_both() -> None:
    facts = parse_facts(FACTS, field_kind=Types())
    told = "'ERROR' is 2 .Battery_ERROR. and 7 .Robot_ERROR.: write the one that is meant"
    with pytest.raises(DocumentError, match=told) as caught:
        judge('robot == ERROR', facts)
    assert caught.value.faults[0].column == 10
    assert judge('robot == ERROR', facts, ERROR=7) is TruthValue.TRUE
    with pytest.raises(DocumentError, match=f"fact 'failed': {told}"):
        parse_facts(f'{FACTS}  failed: {{expression: robot == ERROR}}\n', field_kind=Types())


def test_a_flow_may_name_constants() -> None:
    flow = parse_flow('flow: f\nactions:\n  a: {confirm: power == FULL}\n', 'f.yaml')
    check_names(flow, parse_facts(FACTS, field_kind=Types()).kinds)
    with pytest.raises(DocumentError, match="unknown name 'FULL'"):
        check_names(flow, parse_facts(FACTS).kinds)


def monitor(stop: str) -> SafetyMonitor:
    return SafetyMonitor(parse_facts(
        f'estop: {{topic: e, type: a/msg/Robot, field: mode, mode: on_change, {stop}}}',
        field_kind=Types()), lambda status: None)


@pytest.mark.parametrize(('stop', 'permitted', 'stopping'), [
    ('ok_when: [1, 2]', [1, 2, 2.0], [0, 3, -1, math.nan, 'x']),
    ('ok_when: NORMAL', [1], [0, 2]), ('ok_when: [NORMAL, 3]', [1, 3], [2]),
    ('stop_when: [3, 4]', [0, 1], [3, 4, math.nan]),
    ('stop_when: [Robot_ERROR, 0]', [1], [7, 0]), ('ok_when: true', [1, 5], [0]),
    ('stop_when: true', [0], [1, 5]), ('stop_when: false', [1, 5], [0])])
def test_an_e_stop_may_stop_or_permit_at_several_values(
    stop: str, permitted: list[Any], stopping: list[Any],
) -> None:
    for values, expected in ((permitted, Safety.READY), (stopping, Safety.STOPPED)):
        for value in values:
            judged = monitor(stop)
            (spec,) = judged.specs()
            judged.set_publishers(spec, {b'driver'}, 1.0)
            judged.ingest(spec, messages.Message(mode=value), 1.0)
            judged.advance(1.0)
            assert judged.status.state is expected, value


@pytest.mark.parametrize(('stop', 'told'), [
    ('ok_when: []', 'expected at least one value'), ('stop_when: []', 'at least one value'),
    ('stop_when: 1, ok_when: 2', "expected 'stop_when' or 'ok_when', got both"),
    ('ok_when: NORML', "never 'NORML'; did you mean 'NORMAL'?"),
    ('ok_when: {a: 1}', 'ok_when')])
def test_values_that_no_e_stop_has_are_refused(stop: str, told: str) -> None:
    with pytest.raises(DocumentError) as caught:
        monitor(stop)
    assert told in str(caught.value)


def test_ok_when_needs_a_field() -> None:
    with pytest.raises(DocumentError, match="'ok_when' needs a 'field'"):
        parse_facts('estop: none\nsafety: [{topic: t, type: a/msg/Robot, ok_when: 1}]')
