# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The world model: samples, age, windows, tf, and values that are not finite."""

from __future__ import annotations

from array import array
import math
from types import SimpleNamespace

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.world import (
    Condition,
    parse_facts,
    TruthValue,
    Validity,
    WatchOutcome,
    WorldModel,
)
from action_lifecycle.world.expressions.reducers import reduce_window, REDUCERS
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from . import messages
from .gripper import Answers, confirm, gap


def test_a_fact_is_unknown_then_valid_then_stale(model: WorldModel) -> None:
    assert model.value('gap', 0.0).validity == Validity.UNKNOWN
    gap(model, 0.02, 1.0)
    value = model.value('gap', 1.2)
    assert (value.value, value.stamp, value.topic, value.validity, value.unit) == (
        0.02, 1.0, 'joint_states', Validity.VALID, 'm')
    stale = model.value('gap', 1.5)
    assert (stale.value, stale.validity) == (0.02, Validity.STALE)
    assert model.value('gap_mm', 1.2).numbers() == [20.0]
    assert model.value('gap_mm', 1.5).validity == Validity.STALE


def test_a_message_without_the_joint_is_no_sample(model: WorldModel) -> None:
    gap(model, 0.02, 1.0)
    model.ingest('joint_states', messages.joints(2.0, elbow=1.0), 2.0)
    assert model.value('gap', 2.0).stamp == 1.0


def test_a_nan_makes_the_fact_unknown(model: WorldModel) -> None:
    gap(model, 0.02, 1.0)
    gap(model, math.nan, 1.1)
    value = model.value('gap', 1.1)
    assert (value.validity, value.stamp) == (Validity.UNKNOWN, 1.1)


INFINITE = parse_facts("""
estop: none
facts:
  number: {topic: t, type: x/msg/Y, field: number}
  vector: {topic: t, type: x/msg/Y, field: vector}
  doubled: {expression: number * 2}
  lowest: {topic: t, type: x/msg/Y, field: vector, reduce: min}
  highest: {topic: t, type: x/msg/Y, field: vector, reduce: max}
  size: {topic: t, type: x/msg/Y, field: vector, reduce: norm}
  average: {topic: t, type: x/msg/Y, field: number, reduce: mean, window: 10.0}
  summed: {topic: t, type: x/msg/Y, field: vector, reduce: sum}
""")


NOT_FINITE = st.sampled_from([math.inf, -math.inf, math.nan])


@settings(max_examples=100)
@given(NOT_FINITE, st.sampled_from(['<', '<=', '>', '>=', '==', '!=']), st.floats(-10, 10),
       st.integers(0, 3), st.booleans())
def test_a_fact_that_is_not_finite_decides_nothing(
    value: float, sign: str, bound: float, place: int, denied: bool
) -> None:
    model = WorldModel(INFINITE)
    vector = [1.0, 2.0, 3.0]
    vector.insert(place, value)
    model.ingest('t', messages.Message(number=value, vector=array('d', vector)), 1.0)
    reads = ['number', 'doubled', 'abs(number)', 'number * 0', 'vector[0]', 'norm(vector)',
             'average', 'sum(vector)', 'min(number, 1)', 'max(vector)']
    if math.isinf(value):  # reducers leave NaN elements out
        reads += ['size', 'summed']
    for read in reads:
        text = f'{read} {sign} {bound}'
        verdict, evidence = model.evaluate(
            [Condition('c', f'not ({text})' if denied else text)], 1.0)
        assert verdict == TruthValue.UNKNOWN, text
        assert all(fact.validity == Validity.UNKNOWN for fact in evidence[0].facts)
    answers = Answers()
    model.confirm([Condition('c', 'number > 0.5', 0.0, 0.5, 0.0)], 1.0, answers, after=0.0)
    model.advance(1.5)
    assert answers.outcome == WatchOutcome.TIMED_OUT


def test_what_an_infinite_element_leaves_finite_is_known() -> None:
    model = WorldModel(INFINITE)
    model.ingest('t', messages.Message(number=1.0, vector=array('d', [0.5, math.inf])), 1.0)
    assert model.value('lowest', 1.0).value == 0.5
    assert model.value('highest', 1.0).validity == Validity.UNKNOWN
    assert model.value('number', 1.0).value == 1.0


@pytest.mark.parametrize(('text', 'verdict'), [
    ('gap < inf', TruthValue.TRUE), ('-inf < gap', TruthValue.TRUE),
    ('gap * 1e300 * 1e300 > 0.5', TruthValue.UNKNOWN), ('min(gap, inf) < 1', TruthValue.UNKNOWN)])
def test_infinity_may_be_a_bound_but_no_result(
    model: WorldModel, text: str, verdict: TruthValue
) -> None:
    gap(model, 0.02, 1.0)
    model.ingest('joint_states', messages.joints(1.0, gripper=1e20), 1.0)
    assert model.evaluate([Condition('c', text)], 1.0)[0] == verdict


def test_elements_of_different_length_make_the_fact_unknown() -> None:
    model = WorldModel(parse_facts("""
estop: none
facts:
  scores: {topic: seen, type: a/msg/B, field: 'objects[*].scores'}
  others: {topic: seen, type: a/msg/B, field: count}
"""))

    def take(received: float, *scores: list[float]) -> None:
        model.ingest('seen', messages.Message(count=len(scores), objects=[
            messages.Message(scores=array('d', one)) for one in scores]), received)

    take(1.0, [0.5], [0.25])
    assert model.value('scores', 1.0).validity is Validity.VALID
    take(2.0, [0.5, 0.5], [0.25])
    assert model.value('scores', 2.0).validity is Validity.UNKNOWN
    assert model.value('scores', 2.0).stamp == 2.0
    assert model.value('scores', 2.0).note == (
        'lists of different lengths; add [*] to the inner list')
    assert model.value('others', 2.0).value == 2  # facts behind it are read all the same


def test_an_older_sample_does_not_replace_a_newer(model: WorldModel) -> None:
    gap(model, 0.02, 1.0)
    gap(model, 0.09, 0.9, received=1.1)
    assert model.value('gap', 1.1).value == 0.02


def test_a_stamp_from_the_future_counts_as_its_arrival(model: WorldModel) -> None:
    gap(model, 0.02, 9.0, received=1.0)
    assert model.value('gap', 1.0).stamp == 1.0


def test_a_window_is_reduced_and_slides(model: WorldModel) -> None:
    for step in range(5):
        gap(model, step / 100, 1.0 + step / 10)
    assert model.value('mean_gap', 1.4).value == pytest.approx(0.02)
    assert model.value('gap_rate', 1.4).value == 5.0
    assert model.value('gap_rate', 2.25).value == 2.0
    assert model.value('gap_rate', 9.0).value == 0.0
    assert model.value('mean_gap', 2.4).validity == Validity.STALE
    assert model.value('gap_age', 2.4).value == pytest.approx(1.0)


PAUSED = parse_facts("""
estop: none
facts:
  number: {topic: t, type: x/msg/Y, field: number, reduce: median, window: 0.05, max_age: 0.2}
""")


def test_the_newest_sample_counts_after_its_window_until_it_is_too_old() -> None:
    model = WorldModel(PAUSED)

    def sample(value: float, time: float) -> None:
        model.ingest('t', SimpleNamespace(number=value), time)

    def at(time: float) -> tuple[Validity, float | None]:
        found = model.value('number', time)
        return found.validity, found.value

    sample(1.0, 1.0)
    sample(2.0, 1.02)
    assert at(1.04) == (Validity.VALID, 1.5)
    assert at(1.06) == (Validity.VALID, 2.0)
    assert at(1.21) == (Validity.VALID, 2.0)
    assert at(1.22)[0] == Validity.STALE
    sample(math.nan, 1.3)
    assert at(1.3)[0] == Validity.UNKNOWN


def test_a_pause_longer_than_a_window_does_not_end_the_time_of_a_condition() -> None:
    model = WorldModel(PAUSED)
    for time in (1.0, 1.01):
        model.ingest('t', SimpleNamespace(number=5.0), time)
    answers = confirm(model, 'number > 4', 1.01, hold=0.3, within=1.0, after=1.0)
    for time in (1.13, 1.25, 1.31):  # pauses of 120 ms
        model.advance(time - 0.01)
        model.ingest('t', SimpleNamespace(number=5.0), time)
    model.advance(1.32)
    assert answers.outcome == WatchOutcome.CONFIRMED


def test_a_growing_age_is_noticed_without_samples(model: WorldModel) -> None:
    gap(model, 0.02, 1.0)
    answers = Answers()
    model.maintain([Condition('m', 'gap_age < 0.3')], 1.0, answers)
    while not answers.results and model.next_deadline() < 5.0:
        model.advance(model.next_deadline())
    assert answers.results[0].stamp == pytest.approx(1.3, abs=0.051)


def test_poses_between_frames(model: WorldModel) -> None:
    turn = (0.0, 0.0, math.sin(math.pi / 4), math.cos(math.pi / 4))
    model.ingest('/tf_static', messages.transforms(
        0.0, base=('world', (1.0, 0.0, 0.0), turn)), 1.0)
    assert model.value('tool', 1.0).validity == Validity.UNKNOWN
    answers = confirm(model, 'dist(tool, [1, 2, 0]) < 0.001', 1.0)
    model.ingest('/tf', messages.transforms(
        1.1, tool=('base', (2.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))), 1.2)
    assert answers.outcome == WatchOutcome.CONFIRMED
    value = model.value('tool', 1.2)
    assert value.numbers() == pytest.approx([1.0, 2.0, 0.0]) and value.stamp == 1.1
    assert model.value('tool', 2.2).validity == Validity.STALE


def test_a_jump_back_in_time_voids_what_was_seen(model: WorldModel) -> None:
    gap(model, 0.02, 100.0)
    answers = confirm(model, 'gap > 0.01', 100.0, hold=0.5, within=2.0, after=100.0)
    gap(model, 0.02, 100.1)
    model.advance(3.0)  # the simulation was reset
    assert model.value('gap', 3.0).validity == Validity.UNKNOWN
    gap(model, 0.02, 3.1)
    gap(model, 0.02, 3.5)
    model.advance(3.59)
    assert answers.outcome is None
    model.advance(3.7)
    assert answers.outcome == WatchOutcome.CONFIRMED


def test_an_expression_has_a_value_or_a_reason(model: WorldModel) -> None:
    value, reason = model.expression('home + [0, 0, up]', 1.0, {'up': 0.1})
    assert value.tolist() == [1, 0, 0.1] and not reason
    assert model.expression('gap + 1', 1.0) == (None, "fact 'gap' is unknown")
    with pytest.raises(DocumentError, match="unknown name 'gapp'; did you mean 'gap'"):
        model.expression('gapp', 1.0)


@given(st.lists(st.one_of(st.floats(allow_infinity=False, width=32), st.booleans()), min_size=1,
                max_size=9), st.integers(1, 3))
def test_the_median_is_that_of_numpy(values: list[float], columns: int) -> None:
    array = np.array(values)
    median = REDUCERS['median'].function
    assert median is not None
    np.testing.assert_array_equal(median(array, None), np.median(array))
    table = np.stack([np.roll(array, shift) for shift in range(columns)], axis=1)
    np.testing.assert_array_equal(median(table, 0), np.median(table, axis=0))


@given(st.one_of(
    st.lists(st.floats(width=64), min_size=1, max_size=9),
    st.lists(st.one_of(st.floats(), st.booleans(), st.integers(-9, 9)), min_size=1, max_size=9)))
def test_the_median_of_a_window_is_that_of_numpy(values: list[float]) -> None:
    with np.errstate(invalid='ignore', over='ignore'):
        expected = float(np.median(np.array(values)))
        found = reduce_window('median', values)
    assert found is None if np.isnan(expected) else found == expected
    assert found is None or isinstance(found, float) and str(found) != '-0.0'
