# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""REP 117: infinities of range sensors are numbers, others are unknown, and NaN always is."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any
import warnings

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.lifecycle.ports import Condition
from action_lifecycle.world.condition import compile_condition, WatchOutcome
from action_lifecycle.world.evidence import TruthValue, Validity
from action_lifecycle.world.facts.loader import parse_facts
from action_lifecycle.world.model import WorldModel
from action_lifecycle.world.unmet_conditions import Topics, unmet_text
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

inf, nan = math.inf, math.nan
FACTS = """
estop: none
facts:
  near: {topic: scan, type: sensor_msgs/msg/LaserScan, field: ranges, reduce: min}
  far: {topic: scan, type: sensor_msgs/msg/LaserScan, field: ranges, reduce: max}
  average: {topic: scan, type: sensor_msgs/msg/LaserScan, field: ranges, reduce: mean}
  middle: {topic: scan, type: sensor_msgs/msg/LaserScan, field: ranges, reduce: median}
  length: {topic: scan, type: sensor_msgs/msg/LaserScan, field: ranges, reduce: norm}
  least: {topic: scan, type: sensor_msgs/msg/LaserScan, field: ranges, reduce: [min, min],
          window: 5}
  ranges: {topic: scan, type: sensor_msgs/msg/LaserScan, field: ranges}
  free: {expression: near > 0.5}
  in_mm: {expression: near * 1000}
  off: {topic: scan, type: sensor_msgs/msg/LaserScan, field: ranges, reduce: min,
        infinite: unknown}
  gap: {topic: gap, type: std_msgs/msg/Float64, field: data}
  open: {topic: gap, type: std_msgs/msg/Float64, field: data, infinite: ordered}
  twice: {expression: gap * 2}
  grid: {topic: grid, type: std_msgs/msg/Float64MultiArray, field: data}
  huge: {expression: gap * 1e308 * 10}
  sonar: {topic: sonar, type: sensor_msgs/msg/Range, field: range}
"""
TRUE, FALSE, UNKNOWN = TruthValue.TRUE, TruthValue.FALSE, TruthValue.UNKNOWN


@dataclass
class Scan:
    ranges: Any


@dataclass
class Float64:
    data: Any


@dataclass
class Range:
    range: float  # noqa: A003


@pytest.fixture(autouse=True)
def _no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        yield


def world(beams: Any = (1.0,), gap: float = 1.0, sonar: float = 1.0) -> WorldModel:
    model = WorldModel(parse_facts(FACTS))
    model.ingest('scan', Scan(np.array(beams, dtype=np.float32)), 1.0)
    model.ingest('gap', Float64(gap), 1.0)
    model.ingest('sonar', Range(sonar), 1.0)
    return model


def verdict(model: WorldModel, text: str) -> TruthValue:
    return model.evaluate([Condition('', text)], 1.1)[0]


def reason(model: WorldModel, text: str) -> str:
    return unmet_text(model.evaluate([Condition('c', text)], 1.1)[1], Topics({}, lambda _: ''))


@pytest.mark.parametrize(('beams', 'text', 'expected'), [
    ([inf, inf, inf], 'near > 0.5', TRUE),  # an empty hall
    ([inf, 3.0, inf], 'near > 0.5', TRUE), ([inf, 0.4, inf], 'near > 0.5', FALSE),
    ([-inf, 3.0, inf], 'near > 0.5', FALSE), ([-inf, 3.0], 'near < 0.3', TRUE),
    ([inf, 3.0], 'far > 100', TRUE), ([inf, inf], 'near == inf', TRUE),
    ([inf, 2.0], 'not any(ranges < 0.5)', TRUE), ([-inf, 2.0], 'any(ranges < 0.5)', TRUE),
    ([inf, 2.0], 'all(ranges > 0.5)', TRUE), ([inf, inf, 0.1], 'ranges[0] > 1', TRUE),
    ([inf, 2.0], 'min(ranges) > 0.5', TRUE), ([inf, 2.0], 'max(ranges) > 5', TRUE),
    ([inf, 2.0], 'near - 0.2 > 0.5', TRUE), ([inf, inf], 'near - 0.2 > 0.5', TRUE),
    ([inf, inf], 'min(near - 0.2, 3) > 0.5', TRUE), ([inf, 2.0], 'average > 100', TRUE),
    ([-inf, inf], 'average > 0 or average <= 0', UNKNOWN),
    ([-inf, inf], 'middle == middle', UNKNOWN),
    ([-inf, 0.0, inf], 'middle == 0', TRUE), ([-inf, 1.0], 'length > 100', TRUE),
    ([inf, inf], 'near - near == 0', UNKNOWN), ([inf, inf], 'any(ranges - ranges < 1)', UNKNOWN),
    ([inf, inf], 'free', TRUE), ([inf, inf], 'in_mm > 500', TRUE), ([-inf], 'in_mm < 1', TRUE),
    ([inf, inf], 'least > 0.5', TRUE), ([-inf, inf], 'least < 0', TRUE),
    ([nan, inf], 'near > 0.5', TRUE), ([nan, -inf], 'near < 0.5', TRUE),  # missing beams
    ([nan, nan], 'near > 0.5', UNKNOWN), ([nan, 3.0], 'all(ranges > 0.5)', UNKNOWN),
    ([inf, inf], 'off > 0.5', UNKNOWN), ([inf, 3.0], 'off > 0.5', TRUE),
    ([inf, inf], 'near > 0.5 and gap > 0.5', TRUE), ([inf, inf], 'dist(near, near) < 1', UNKNOWN),
    ([inf, inf], 'near in [inf, 3]', TRUE), ([inf], 'sum(ranges) > 3', TRUE),
    ([inf], 'sin(near) < 2', UNKNOWN), ([-inf], 'sqrt(near) > 0', UNKNOWN),
    ([inf], 'near * 0 < 1', UNKNOWN), ([inf], 'gap / near < 0.1', TRUE),
    ([inf], 'min(3, near - near) > 1', UNKNOWN), ([inf], 'max(3, near - near) > 1', UNKNOWN),
])
def test_beams_of_a_scan(beams: list[float], text: str, expected: TruthValue) -> None:
    assert verdict(world(beams), text) is expected


@pytest.mark.parametrize(('value', 'text', 'expected'), [
    (inf, 'gap > 0.5', UNKNOWN), (-inf, 'gap < 0.5', UNKNOWN), (inf, 'gap < inf', UNKNOWN),
    (inf, 'open > 0.5', TRUE), (-inf, 'open < 0.5', TRUE), (nan, 'open < 0.5', UNKNOWN),
    (inf, 'twice > 1', UNKNOWN), (1.0, 'huge > 1', UNKNOWN),
    (1.0, 'gap * 1e308 * 10 > 1', UNKNOWN),
    (1.0, 'min(gap * 1e308 * 10, 3) > 1', UNKNOWN), (inf, 'gap > 3 or near > 0.5', TRUE),
    (1.0, 'atan2(gap * 1e308 * 10, 1) > 1', UNKNOWN), (1.0, 'gap < inf', TRUE),
])
def test_other_facts(value: float, text: str, expected: TruthValue) -> None:
    assert verdict(world(gap=value), text) is expected


@pytest.mark.parametrize(('values', 'why'), [
    ([1.0, inf], 'infinite'), ([-inf, inf], 'infinite'), ([1.0, nan], 'NaN'),
    ([inf, nan], 'NaN')])
def test_one_element_without_a_value_makes_a_vector_unknown(values: list[float], why: str) -> None:
    model = world()
    model.ingest('grid', Float64(np.array(values)), 1.0)
    assert verdict(model, 'grid[0] > 0.5') is verdict(model, 'any(grid > 0.5)') is UNKNOWN
    assert why in reason(model, 'any(grid > 0.5)')


@pytest.mark.parametrize(('value', 'expected'), [(inf, TRUE), (-inf, FALSE), (nan, UNKNOWN)])
def test_a_range_sensor_of_one_beam(value: float, expected: TruthValue) -> None:
    assert verdict(world(sonar=value), 'sonar > 0.5') is expected


@pytest.mark.parametrize(('model', 'text', 'said'), [
    (world(gap=inf), 'gap > 1', 'has no value: infinite; it would count as a number with `inf'),
    (world(gap=nan), 'gap > 1', 'has no value: not a number (NaN)'),
    (world(gap=nan), 'open > 1', 'has no value: not a number (NaN)'),
    (world([inf]), 'off > 1', 'has no value: infinite'),
    (world([nan]), 'near > 1', 'has no value: no element is a number (NaN)'),
    (world([1.0, nan]), 'any(ranges > 1)', 'has no value: not a number (NaN)'),
    (world(), 'huge > 1', 'huge unknown: infinite'),
    (world([inf]), 'near - near > 1', 'c: near - near > 1 is not known (near inf m'),
    (world([inf]), 'near - near > 1', '): not a number (NaN)'),
    (world([inf]), 'near < 0.5', 'is false (near inf'),
])
def test_the_reason_tells_which(model: WorldModel, text: str, said: str) -> None:
    assert said.replace(' inf m', ' inf') in reason(model, text)


def test_the_evidence_carries_infinite_numbers() -> None:
    found = world([inf]).value('near', 1.1)
    assert found.validity is Validity.VALID and found.numbers() == [inf]
    assert found.as_dict()['numbers'] == ['inf']


@pytest.mark.parametrize('beams', [[-inf, 3.0], [0.1, 3.0], [-inf, -inf], [-inf, nan]])
def test_too_near_breaks_maintain_at_its_sample(beams: list[float]) -> None:
    model, found = world([3.0, inf]), []
    model.maintain([Condition('maintain', 'near > 0.3', within=2.0)], 1.1, found.append)
    assert not found
    model.ingest('scan', Scan(np.array(beams)), 1.2)
    assert [result.outcome for result in found] == [WatchOutcome.VIOLATED]
    assert found[0].stamp == 1.2


@pytest.mark.parametrize(('beams', 'agrees'), [([inf], False), ([3.0], False), ([1.0], True)])
def test_an_infinite_range_that_another_sensor_contradicts(
    beams: list[float], agrees: bool
) -> None:
    facts = FACTS.replace('near * 1000}', (
        'near * 1000, health: {agree: {with: sonar_in_mm, within: 9, for: 0.1}}}\n'
        '  sonar_in_mm: {expression: sonar * 1000}'))
    model = WorldModel(parse_facts(facts))
    for now in (1.0, 1.05, 1.1, 1.15, 1.2):
        model.ingest('scan', Scan(np.array(beams)), now)
        model.ingest('sonar', Range(1.0), now)
    assert (model.value('in_mm', 1.2).validity is Validity.VALID) is agrees


def test_infinite_is_only_for_topics_and_expressions() -> None:
    with pytest.raises(DocumentError, match="'infinite' is for facts of a topic"):
        parse_facts('estop: none\nfacts:\n  home: {constant: 3, infinite: ordered}\n')
    with pytest.raises(DocumentError, match='infinite'):
        parse_facts('estop: none\nfacts:\n  gap: {topic: gap, type: std_msgs/msg/Float64, '
                    'field: data, infinite: maybe}\n')


ordered = st.one_of(st.floats(-100, 100, width=32), st.sampled_from([inf, -inf]))


@settings(max_examples=400)
@given(st.lists(ordered, min_size=1, max_size=6), ordered,
       st.sampled_from(['<', '<=', '>', '>=', '==', '!=']))
def test_ordered_infinities_compare_as_in_python(
    beams: list[float], bound: float, operator: str
) -> None:
    model = world(beams)
    truth = {True: TRUE, False: FALSE}
    limit = 'inf' if bound == inf else '-inf' if bound == -inf else f'({bound!r})'
    for text, value in (('near', min(beams)), ('far', max(beams)), ('ranges[0]', beams[0])):
        expected = eval(f'value {operator} bound', {'value': value, 'bound': bound})
        assert verdict(model, f'{text} {operator} {limit}') is truth[expected]
    each = [eval(f'value {operator} bound', {'value': value, 'bound': bound}) for value in beams]
    assert verdict(model, f'any(ranges {operator} {limit})') is truth[any(each)]
    assert verdict(model, f'all(ranges {operator} {limit})') is truth[all(each)]


@settings(max_examples=400)
@given(st.lists(st.one_of(ordered, st.just(nan)), min_size=1, max_size=4),
       st.sampled_from(['near - far', 'near + far', 'near * far', 'far * 0', 'abs(near)',
                        '-near']))
def test_only_what_is_nan_is_unknown(beams: list[float], text: str) -> None:
    model = world(beams)
    values = [value for value in beams if not math.isnan(value)]
    expected = nan if not values else eval(
        text, {'near': min(values), 'far': max(values), 'abs': abs})
    found = verdict(model, f'{text} > 1')
    assert found is (UNKNOWN if math.isnan(expected) else TRUE if expected > 1 else FALSE)


def test_a_condition_knows_which_names_may_be_infinite() -> None:
    facts = parse_facts(FACTS)
    assert facts.ordered == {'near', 'far', 'average', 'middle', 'length', 'least', 'ranges',
                             'free', 'in_mm', 'open', 'sonar'}
    assert compile_condition('near - 1 > 2', facts).evaluate([inf]) is True
