# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The world model: samples, age, windows, tf, and what a confirmation needs."""

from __future__ import annotations

from array import array
import math
from typing import Any

from action_lifecycle.engine.errors import DocumentError
from action_lifecycle.world import (
    Condition,
    Outcome,
    parse_facts,
    Result,
    Validity,
    Verdict,
    WorldModel,
)
from action_lifecycle.world.values import Parameters
from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from . import messages

FACTS = parse_facts("""
estop: none
facts:
  gap: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[name=gripper]',
        max_age: 0.5, unit: m}
  gap_mm: {expression: gap * 1000, unit: mm}
  present: {topic: present, type: std_msgs/msg/Bool, field: data, max_age: .inf}
  near: {topic: scan, type: sensor_msgs/msg/LaserScan, field: ranges, reduce: min}
  mean_gap: {topic: joint_states, type: sensor_msgs/msg/JointState,
             field: 'position[name=gripper]', reduce: mean, window: 1.0}
  gap_rate: {topic: joint_states, type: sensor_msgs/msg/JointState,
             field: 'position[name=gripper]', reduce: rate, window: 1.0}
  gap_age: {topic: joint_states, type: sensor_msgs/msg/JointState,
            field: 'position[name=gripper]', reduce: age}
  tool: {tf: {target: world, source: tool}}
  home: {constant: [1, 0, 0]}
""")


class Answers:
    """Collects results."""

    def __init__(self) -> None:
        self.results: list[Result] = []

    def __call__(self, result: Result) -> None:
        self.results.append(result)

    @property
    def outcome(self) -> Outcome | None:
        assert len(self.results) <= 1
        return self.results[0].outcome if self.results else None


@pytest.fixture
def model() -> WorldModel:
    return WorldModel(FACTS)


def gap(model: WorldModel, value: float, stamp: float, received: float | None = None) -> None:
    model.ingest('joint_states', messages.joints(stamp, gripper=value),
                 stamp if received is None else received)


def confirm(model: WorldModel, text: str, now: float, *, hold: float = 0.0, within: float = 1.0,
            after: float = -math.inf, max_age: float = 0.0, **names: Any) -> Answers:
    answers = Answers()
    model.confirm([Condition('confirm', text, hold, within, max_age)], now, answers,
                  after=after, names=names)
    return answers


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
        assert verdict == Verdict.UNKNOWN, text
        assert all(fact.validity == Validity.UNKNOWN for fact in evidence[0].facts)
    answers = Answers()
    model.confirm([Condition('c', 'number > 0.5', 0.0, 0.5, 0.0)], 1.0, answers, after=0.0)
    model.advance(1.5)
    assert answers.outcome == Outcome.TIMED_OUT


def test_what_an_infinite_element_leaves_finite_is_known() -> None:
    model = WorldModel(INFINITE)
    model.ingest('t', messages.Message(number=1.0, vector=array('d', [0.5, math.inf])), 1.0)
    assert model.value('lowest', 1.0).value == 0.5
    assert model.value('highest', 1.0).validity == Validity.UNKNOWN
    assert model.value('number', 1.0).value == 1.0


@pytest.mark.parametrize(('text', 'verdict'), [
    ('gap < inf', Verdict.TRUE), ('-inf < gap', Verdict.TRUE),
    ('gap * 1e300 * 1e300 > 0.5', Verdict.UNKNOWN), ('min(gap, inf) < 1', Verdict.UNKNOWN)])
def test_infinity_may_be_a_bound_but_no_result(
    model: WorldModel, text: str, verdict: Verdict
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


def test_confirmed_with_evidence(model: WorldModel) -> None:
    answers = confirm(model, 'gap_mm > least', 1.0, hold=0.2, after=1.0, least=10)
    gap(model, 0.02, 1.05)
    gap(model, 0.02, 1.15)
    assert answers.outcome is None
    gap(model, 0.02, 1.3)
    assert answers.outcome == Outcome.CONFIRMED
    evidence = answers.results[0].evidence[0]
    assert answers.results[0].stamp == pytest.approx(1.25)  # when the hold was through
    assert evidence.verdict == Verdict.TRUE and evidence.held == pytest.approx(0.2)
    assert evidence.as_dict()['facts'] == [
        {'name': 'gap_mm', 'stamp': 1.15, 'topic': '', 'validity': 'valid', 'unit': 'mm',
         'numbers': [20.0]},
        {'name': 'least', 'stamp': 0.0, 'topic': '', 'validity': 'valid', 'unit': '',
         'numbers': [10.0]},
        {'name': 'gap', 'stamp': 1.15, 'topic': 'joint_states', 'validity': 'valid', 'unit': 'm',
         'numbers': [0.02]}]


def test_a_sample_stamped_before_the_end_of_the_motion_never_confirms(model: WorldModel) -> None:
    gap(model, 0.02, 0.9)
    answers = confirm(model, 'gap > 0.01', 1.0, after=1.0)
    for step in range(1, 10):  # arrives after, was measured before (or exactly then)
        gap(model, 0.02, min(1.0, 0.9 + step / 50), received=1.0 + step / 10)
    assert answers.outcome is None
    model.advance(2.0)
    assert answers.outcome in (Outcome.TIMED_OUT, Outcome.STALE)


def test_a_silent_topic_is_unknown_not_true(model: WorldModel) -> None:
    never = confirm(model, 'gap > 0.01', 1.0)
    negated = confirm(model, 'not (gap > 0.01)', 1.0)
    model.advance(2.0)
    assert never.outcome == negated.outcome == Outcome.TIMED_OUT


def test_fresh_and_false_is_refuted(model: WorldModel) -> None:
    answers = confirm(model, 'gap > 0.01', 1.0, after=1.0)
    gap(model, 0.001, 1.9)
    model.advance(2.0)
    assert answers.outcome == Outcome.REFUTED
    assert answers.results[0].evidence[0].facts[0].value == 0.001


def test_a_topic_that_falls_silent_is_stale(model: WorldModel) -> None:
    answers = confirm(model, 'gap > 0.01', 1.0, after=1.0, hold=0.6)
    gap(model, 0.02, 1.1)
    model.advance(2.0)
    assert answers.outcome == Outcome.STALE
    assert answers.results[0].evidence[0].facts[0].validity == Validity.STALE


def test_true_too_late_for_the_hold_times_out(model: WorldModel) -> None:
    answers = confirm(model, 'gap > 0.01', 1.0, after=1.0, hold=0.5)
    gap(model, 0.02, 1.8)
    gap(model, 0.02, 1.95)
    model.advance(2.0)
    assert answers.outcome == Outcome.TIMED_OUT


@pytest.mark.parametrize('breaker', ['false', 'unknown', 'stale'])
def test_false_unknown_and_stale_reset_the_hold(model: WorldModel, breaker: str) -> None:
    answers = confirm(model, 'gap > 0.01', 1.0, hold=0.3, within=3.0)
    gap(model, 0.02, 1.0)
    gap(model, 0.02, 1.2)
    if breaker != 'stale':
        gap(model, 0.001 if breaker == 'false' else math.nan, 1.25)
    else:
        answers = confirm(model, 'gap > 0.01', 1.2, hold=0.3, within=3.0, max_age=0.1)
    gap(model, 0.02, 1.4)
    gap(model, 0.02, 1.49)
    model.advance(1.499)
    assert answers.outcome is None
    for stamp in (1.55, 1.6, 1.65, 1.71):
        gap(model, 0.02, stamp)
    assert answers.outcome == Outcome.CONFIRMED
    assert answers.results[0].stamp == pytest.approx(1.7)


def test_judged_at_once_when_within_is_zero(model: WorldModel) -> None:
    assert confirm(model, 'gap > 0.01', 1.0, within=0).outcome == Outcome.TIMED_OUT
    gap(model, 0.02, 1.0)
    assert confirm(model, 'gap > 0.01', 1.1, within=0).outcome == Outcome.CONFIRMED
    assert confirm(model, 'gap > 0.03', 1.1, within=0).outcome == Outcome.REFUTED
    assert confirm(model, 'gap > 0.01', 1.6, within=0).outcome == Outcome.STALE


@pytest.mark.parametrize('ask', ['evaluate', 'confirm', 'maintain', 'until_known'])
def test_a_parameter_may_be_a_list_of_numbers(model: WorldModel, ask: str) -> None:
    condition = Condition('c', 'norm(home - target) < 0.01', within=1.0)
    names = {'target': [1.0, 0, 0]}
    if ask == 'evaluate':
        assert model.evaluate([condition], 1.0, names)[0] is Verdict.TRUE
        return
    answers = Answers()
    getattr(model, ask)([condition], 1.0, answers, names=names)
    model.advance(1.5)
    assert answers.outcome in (
        {'confirm': Outcome.CONFIRMED, 'maintain': None, 'until_known': Outcome.JUDGED}[ask],)


@pytest.mark.parametrize(('value', 'why'), [
    ({'x': 1}, 'expected a number'), (None, 'expected a number'), (math.nan, 'NaN'),
    ([1, 'a'], 'expected a number'), (10 ** 30, 'beyond 64 bits')])
def test_a_parameter_without_a_value_is_named_only_where_an_expression_reads_it(
    model: WorldModel, value: Any, why: str,
) -> None:
    names = {'target': value, 'most': 2}
    assert model.evaluate([Condition('c', 'norm(home) < most')], 1.0, names)[0] is Verdict.TRUE
    with pytest.raises(DocumentError, match=f"parameter 'target' has no value.*{why}") as caught:
        model.confirm([Condition('c', 'norm(home - target) < most')], 1.0, Answers(), names=names)
    assert caught.value.faults[0].column == 13
    with pytest.raises(DocumentError, match="parameter 'target' has no value"):
        model.expression('target + 1', 1.0, names)


def test_parameters_are_converted_once() -> None:
    values = Parameters({'target': [1.0, 2.0], 'names': ['a', 'b'], 'pose': {'x': 1}})
    assert Parameters.of(values) is values and list(values) == ['target', 'names']
    assert list(values.unusable) == ['pose']


def test_several_conditions_must_be_true_together(model: WorldModel) -> None:
    answers = Answers()
    model.confirm([Condition('a', 'gap > 0.01', 0.0, 2.0), Condition('b', 'present', 0.3, 2.0)],
                  1.0, answers)
    gap(model, 0.02, 1.1)
    model.ingest('present', messages.flag(True), 1.2)
    gap(model, 0.0, 1.4)
    model.advance(1.6)
    assert answers.outcome is None  # b is through, a is false again
    gap(model, 0.02, 1.7)
    assert answers.outcome == Outcome.CONFIRMED
    assert [entry.condition for entry in answers.results[0].evidence] == ['a', 'b']


def test_the_earliest_within_decides(model: WorldModel) -> None:
    answers = Answers()
    model.ingest('present', messages.flag(False), 1.0)
    model.confirm([Condition('a', 'gap > 0.01', 0.0, 5.0), Condition('b', 'present', 0.0, 0.5)],
                  1.0, answers)
    assert model.next_deadline() == 1.5
    model.advance(1.5)
    assert answers.outcome == Outcome.REFUTED


def test_a_late_caller_gets_the_answer_of_the_time_that_was_due(model: WorldModel) -> None:
    answers = confirm(model, 'gap > 0.01', 1.0, hold=0.2, within=1.0)
    gap(model, 0.02, 1.1)
    gap(model, 0.001, 5.0)  # nobody called advance in between
    assert answers.outcome == Outcome.CONFIRMED
    assert answers.results[0].stamp == pytest.approx(1.3)


def test_a_hold_that_is_judged_late_begins_anew() -> None:
    model = WorldModel(FACTS, late=0.05)
    model.ingest('present', messages.flag(True), 1.0)
    model.confirm([Condition('a', 'present', 0.4, 0.8)], 1.0, missed := Answers())
    model.confirm([Condition('a', 'present', 0.4, 3.0)], 1.0, held := Answers())
    model.advance(1.44)  # 40 ms late
    assert missed.outcome == held.outcome == Outcome.CONFIRMED

    model.confirm([Condition('a', 'present', 0.4, 0.8)], 2.0, missed := Answers())
    model.confirm([Condition('a', 'present', 0.4, 3.0)], 2.0, held := Answers())
    model.advance(2.6)  # whatever came since 2.0 waits to be handed in
    assert missed.outcome is None and held.outcome is None
    model.ingest('present', messages.flag(False), 2.601)
    model.ingest('present', messages.flag(True), 2.602)
    model.advance(2.8)
    assert missed.outcome == Outcome.TIMED_OUT
    model.advance(3.001)
    assert held.outcome is None
    model.advance(3.003)
    assert held.outcome == Outcome.CONFIRMED


def test_time_that_was_up_before_it_was_noticed_confirms_nothing() -> None:
    model = WorldModel(FACTS, late=0.05)
    model.ingest('present', messages.flag(True), 1.0)
    model.confirm([Condition('a', 'present', 0.4, 0.8)], 1.0, answers := Answers())
    model.ingest('present', messages.flag(True), 5.0)  # nobody called advance in between
    assert answers.outcome == Outcome.TIMED_OUT
    assert answers.results[0].stamp == pytest.approx(1.8)


def test_a_canceled_question_never_answers(model: WorldModel) -> None:
    answers = Answers()
    watch = model.confirm([Condition('a', 'gap > 0.01', 0.0, 1.0)], 1.0, answers)
    watch.cancel()
    gap(model, 0.02, 1.1)
    model.advance(3.0)
    assert answers.outcome is None and model.next_deadline() == math.inf


def test_maintain_answers_at_the_first_violation(model: WorldModel) -> None:
    answers = Answers()
    gap(model, 0.02, 1.0)
    model.maintain([Condition('m', 'gap > 0.01', within=0.2)], 1.0, answers)
    gap(model, 0.02, 1.4)
    assert answers.outcome is None
    gap(model, 0.005, 1.41)
    assert answers.outcome == Outcome.VIOLATED
    assert answers.results[0].stamp == 1.41


def test_maintain_tolerates_unknown_for_its_within_only(model: WorldModel) -> None:
    answers = Answers()
    gap(model, 0.02, 1.0)
    model.maintain([Condition('m', 'gap > 0.01', within=0.2)], 1.0, answers)
    model.advance(1.69)
    assert answers.outcome is None
    model.advance(1.71)
    assert answers.outcome == Outcome.VIOLATED
    assert answers.results[0].stamp == pytest.approx(1.7)
    assert answers.results[0].evidence[0].verdict == Verdict.UNKNOWN


def test_waiting_until_facts_are_known(model: WorldModel) -> None:
    answers, late = Answers(), Answers()
    model.until_known([Condition('a', 'gap > 0.1', within=1.0)], 1.0, answers)
    model.until_known([Condition('a', 'near > 0.1', within=1.0)], 1.0, late)
    gap(model, 0.02, 1.2)
    assert answers.outcome == Outcome.JUDGED
    assert answers.results[0].evidence[0].verdict == Verdict.FALSE
    model.advance(2.0)
    assert late.outcome == Outcome.JUDGED
    assert late.results[0].evidence[0].verdict == Verdict.UNKNOWN


def test_a_window_is_reduced_and_slides(model: WorldModel) -> None:
    for step in range(5):
        gap(model, step / 100, 1.0 + step / 10)
    assert model.value('mean_gap', 1.4).value == pytest.approx(0.02)
    assert model.value('gap_rate', 1.4).value == 5.0
    assert model.value('gap_rate', 2.25).value == 2.0
    assert model.value('gap_rate', 9.0).value == 0.0
    assert model.value('mean_gap', 2.4).validity == Validity.STALE
    assert model.value('gap_age', 2.4).value == pytest.approx(1.0)


def test_a_window_holds_nothing_from_before_the_motion(model: WorldModel) -> None:
    for step in range(5):
        gap(model, 0.05, 1.0 + step / 10)
    answers = confirm(model, 'mean_gap < 0.02', 1.4, after=1.4)
    gap(model, 0.01, 1.5)
    assert answers.outcome == Outcome.CONFIRMED


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
    assert answers.outcome == Outcome.CONFIRMED
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
    assert answers.outcome == Outcome.CONFIRMED


def test_an_expression_has_a_value_or_a_reason(model: WorldModel) -> None:
    value, reason = model.expression('home + [0, 0, up]', 1.0, {'up': 0.1})
    assert value.tolist() == [1, 0, 0.1] and not reason
    assert model.expression('gap + 1', 1.0) == (None, "fact 'gap' is unknown")
    with pytest.raises(DocumentError, match="unknown name 'gapp'; did you mean 'gap'"):
        model.expression('gapp', 1.0)


def test_conditions_with_faulty_numbers_are_refused(model: WorldModel) -> None:
    for condition in (Condition('c', 'present', hold=2.0, within=1.0),
                      Condition('c', 'present', within=math.nan),
                      Condition('c', 'present', max_age=-1.0)):
        with pytest.raises(DocumentError):
            model.evaluate([condition], 1.0)


def test_500_questions_about_200_facts_on_50_topics() -> None:
    lines = ['estop: none', 'facts:']
    lines += [f'  f{n}: {{topic: t{n % 50}, type: std_msgs/msg/Float64, field: data}}'
              for n in range(200)]
    model = WorldModel(parse_facts('\n'.join(lines)))
    answers = [Answers() for _ in range(500)]
    for n, answer in enumerate(answers):
        model.confirm([Condition('c', f'f{n % 200} > 0.5', hold=0.05, within=10.0)], 0.0, answer)
    for step in range(1, 11):
        for topic in range(50):
            value = 1.0 if topic % 2 else 0.0
            model.ingest(f't{topic}', messages.flag(value), step * 0.02 + topic * 1e-4)
    outcomes = [answer.outcome for answer in answers]
    assert outcomes.count(Outcome.CONFIRMED) == 250 and outcomes.count(None) == 250
    model.advance(11.0)
    assert {answer.outcome for answer in answers} == {Outcome.CONFIRMED, Outcome.STALE}
