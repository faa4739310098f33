# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two facts that must agree: when both are unhealthy, and when they are compared."""

from __future__ import annotations

from collections.abc import Iterable
import time

from action_lifecycle.world import (
    Condition,
    parse_facts,
    TruthValue,
    Validity,
    WatchOutcome,
    WatchResult,
    WorldModel,
)
from action_lifecycle.world.facts.agreement import nearest_on
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from . import messages
from .health_facts import FACT, model_with

AGREE = '{agree: {with: y, within: 0.003, for: 0.1}}'


def both(model: WorldModel, pairs: Iterable[tuple[float, float]], start: float = 1.0) -> float:
    now = start - 0.02
    for x, y in pairs:
        now += 0.02
        model.ingest('joint_states', messages.joints(now, x=x), now)
        model.ingest('others', messages.joints(now, y=y), now)
    return now


def test_of_two_facts_that_disagree_both_are_unknown() -> None:
    model = model_with(AGREE)
    now = both(model, [(0.02, 0.022)] * 20)
    assert model.value('x', now).validity is Validity.VALID
    now = both(model, [(0.02, 0.024)] * 4, now + 0.02)
    assert model.value('x', now).validity is Validity.VALID  # not for 0.1 s yet
    now = both(model, [(0.02, 0.024)] * 4, now + 0.02)
    for name in ('x', 'y'):
        value = model.value(name, now)
        assert value.validity is Validity.UNKNOWN
        assert value.note == "agree: 'x' and 'y' differ by 0.004 m; expected at most 0.003 m"
    now = both(model, [(0.02, 0.02)] * 30, now + 0.02)
    assert model.value('x', now).validity is Validity.VALID
    assert model.facts.topics(['x']) == model.facts.topics(['y']) == {'joint_states', 'others'}


def test_of_a_fact_that_is_frozen_the_other_one_is_not_blamed() -> None:
    model = WorldModel(parse_facts(FACT.format(health=AGREE).replace(
        '0.2}\n', '0.2, health: {frozen: {noise: 0.0001}}}\n')))
    now = both(model, [(0.02 + 0.001 * step, 0.02) for step in range(20)])
    assert model.value('y', now).note.startswith('frozen: ')
    assert model.value('x', now).validity is Validity.VALID


def test_a_disagreement_is_found_when_its_time_is_over_without_a_sample() -> None:
    model = model_with(AGREE)
    now = both(model, [(0.02, 0.02)])
    found: list[WatchResult] = []
    model.maintain([Condition('x', 'x > 0', within=0.0)], now, found.append)
    now = both(model, [(0.02, 0.03)] * 3, now + 0.02)
    assert now < model.next_deadline() < now + 0.1
    model.advance(model.next_deadline())
    assert found[0].outcome is WatchOutcome.VIOLATED
    assert found[0].evidence[0].verdict is TruthValue.UNKNOWN


def test_values_that_follow_within_the_lag_agree() -> None:
    course = [0.01 * number for number in range(40)]  # 0.5 m/s
    late = [0.0] * 5 + course  # 0.1 s later
    for lag, validity in ((0.12, Validity.VALID), (0.05, Validity.UNKNOWN)):
        model = model_with(f'{{agree: {{with: y, within: 0.003, for: 0.1, lag: {lag}}}}}')
        assert model.value('x', both(model, zip(course, late))).validity is validity
        assert model.value('y', both(model, zip(late, course), 9.0)).validity is validity


def test_a_sensor_that_agrees_in_passing_stays_unhealthy() -> None:
    model = model_with('{agree: {with: y, within: 0.003, for: 1.0, lag: 0.05}}')
    now = both(model, [(0.0, 0.04)] * 60)  # y is stuck
    assert model.value('x', now).validity is Validity.UNKNOWN
    for x in (0.08, 0.0, 0.08):
        now = both(model, [(0.04, 0.04), *[(x, 0.04)] * 45], now + 0.02)
        assert model.value('x', now).validity is Validity.UNKNOWN
    now = both(model, [(0.04, 0.04)] * 30, now + 0.02)
    assert model.value('x', now).validity is Validity.VALID


def test_a_difference_before_a_silence_does_not_count() -> None:
    model = WorldModel(parse_facts("""
estop: none
facts:
  x: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[name=x]',
      max_age: 0.1, health: {agree: {with: y, within: 0.01, for: 0.2}}}
  y: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[name=y]',
      max_age: 0.1}
"""))
    for now in (1.0, 61.0):
        model.ingest('joint_states', messages.joints(now, x=0.0, y=0.02), now)
        assert model.value('x', now).validity is Validity.VALID
    model.ingest('joint_states', messages.joints(61.08, x=0.0, y=0.02), 61.08)
    model.ingest('joint_states', messages.joints(61.16, x=0.0, y=0.02), 61.16)
    assert model.value('x', 61.21).validity is Validity.UNKNOWN


def test_a_difference_is_found_whose_time_is_longer_than_samples_are_valid() -> None:
    model = model_with('{agree: {with: y, within: 0.003, for: 2.0, lag: 2.0}}')  # max_age: 0.2
    assert model.value('x', both(model, [(0.0, 0.02)] * 105)).validity is Validity.UNKNOWN


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=1, max_size=6),
       st.tuples(st.floats(-1, 1), st.floats(-1, 1)), st.floats(0.0, 6.0), st.integers(1, 2))
def test_the_distance_from_a_course_is_that_from_its_points(
    course: list[tuple[float, float]], at: tuple[float, float], begin: float, elements: int,
) -> None:
    timed = [(float(index), np.array(point[:elements])) for index, point in enumerate(course)]
    while len(timed) > 1 and timed[1][0] <= begin:
        del timed[0]
    first, last = timed[0][0], timed[-1][0]
    times = np.linspace(min(max(begin, first), last), last, 2001)
    drawn = np.stack([np.interp(times, [time for time, _ in timed], [
        point[element] for _, point in timed]) for element in range(elements)], axis=1)
    expected = np.linalg.norm(drawn - at[:elements], axis=1).min()
    found = nearest_on(np.array(at[:elements]), timed, begin)
    assert found <= expected + 1e-12
    assert found == pytest.approx(expected, abs=0.02)


def test_a_long_lag_costs_little() -> None:
    model = model_with('{agree: {with: y, within: 0.003, for: 0.2, lag: 0.5}}')
    begun = time.process_time()
    both(model, [(0.02 + 1e-6 * number, 0.06 + 1e-6 * number) for number in range(1000)])
    assert time.process_time() - begun < 1.0  # a second of 500 Hz on both topics


def test_an_expression_agrees_with_a_fact_that_it_reads_again_after_a_failure() -> None:
    model = WorldModel(parse_facts("""
estop: none
facts:
  x: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[name=x]'}
  y: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[name=y]'}
  mid: {expression: (x + y) / 2, health: {agree: [{with: x, within: 0.01},
                                                   {with: y, within: 0.01}]}}
"""))
    for number in range(100):
        now = 1.0 + 0.02 * number
        away = 0.1 if number < 20 else 0.0
        model.ingest('joint_states', messages.joints(now, x=0.0, y=away), now)
        assert (model.value('mid', now).validity is Validity.VALID) == (number > 44)


def test_facts_are_compared_only_on_the_condition() -> None:
    more = ("  still: {topic: still, type: sensor_msgs/msg/JointState, field: 'position[name=s]',"
            ' max_age: .inf}\n')
    model = model_with("{agree: {with: y, within: 0.003, when: 'still > 0.5'}}", more)
    assert model.value('x', both(model, [(0.0, 0.1)] * 9)).validity is Validity.VALID
    model.ingest('still', messages.joints(2.0, s=1.0), 2.0)
    now = both(model, [(0.0, 0.1)] * 9, 2.1)
    assert model.value('x', now).validity is Validity.UNKNOWN
    model.ingest('still', messages.joints(now, s=0.0), now)
    now = both(model, [(0.0, 0.0)] * 50, now + 0.02)
    assert model.value('x', now).validity is Validity.UNKNOWN  # not compared: the failure stays
