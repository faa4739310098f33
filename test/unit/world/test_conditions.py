# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a confirmation needs, when a maintained condition is violated, and when one is refused."""

from __future__ import annotations

import math
from typing import Any

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.world import (
    Condition,
    parse_facts,
    TruthValue,
    Validity,
    WatchOutcome,
    WorldModel,
)
from action_lifecycle.world.expressions.constant_values import ConditionParameters
import pytest

from . import messages
from .gripper import Answers, confirm, FACTS, gap


def test_confirmed_with_evidence(model: WorldModel) -> None:
    answers = confirm(model, 'gap_mm > least', 1.0, hold=0.2, after=1.0, least=10)
    gap(model, 0.02, 1.05)
    gap(model, 0.02, 1.15)
    assert answers.outcome is None
    gap(model, 0.02, 1.3)
    assert answers.outcome == WatchOutcome.CONFIRMED
    evidence = answers.results[0].evidence[0]
    assert answers.results[0].stamp == pytest.approx(1.25)  # when the hold was through
    assert evidence.verdict == TruthValue.TRUE and evidence.held == pytest.approx(0.2)
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
    assert answers.outcome in (WatchOutcome.TIMED_OUT, WatchOutcome.STALE)


def test_a_silent_topic_is_unknown_not_true(model: WorldModel) -> None:
    never = confirm(model, 'gap > 0.01', 1.0)
    negated = confirm(model, 'not (gap > 0.01)', 1.0)
    model.advance(2.0)
    assert never.outcome == negated.outcome == WatchOutcome.TIMED_OUT


def test_fresh_and_false_is_refuted(model: WorldModel) -> None:
    answers = confirm(model, 'gap > 0.01', 1.0, after=1.0)
    gap(model, 0.001, 1.9)
    model.advance(2.0)
    assert answers.outcome == WatchOutcome.REFUTED
    assert answers.results[0].evidence[0].facts[0].value == 0.001


def test_a_topic_that_falls_silent_is_stale(model: WorldModel) -> None:
    answers = confirm(model, 'gap > 0.01', 1.0, after=1.0, hold=0.6)
    gap(model, 0.02, 1.1)
    model.advance(2.0)
    assert answers.outcome == WatchOutcome.STALE
    assert answers.results[0].evidence[0].facts[0].validity == Validity.STALE


def test_true_too_late_for_the_hold_times_out(model: WorldModel) -> None:
    answers = confirm(model, 'gap > 0.01', 1.0, after=1.0, hold=0.5)
    gap(model, 0.02, 1.8)
    gap(model, 0.02, 1.95)
    model.advance(2.0)
    assert answers.outcome == WatchOutcome.TIMED_OUT


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
    assert answers.outcome == WatchOutcome.CONFIRMED
    assert answers.results[0].stamp == pytest.approx(1.7)


def test_judged_at_once_when_within_is_zero(model: WorldModel) -> None:
    assert confirm(model, 'gap > 0.01', 1.0, within=0).outcome == WatchOutcome.TIMED_OUT
    gap(model, 0.02, 1.0)
    assert confirm(model, 'gap > 0.01', 1.1, within=0).outcome == WatchOutcome.CONFIRMED
    assert confirm(model, 'gap > 0.03', 1.1, within=0).outcome == WatchOutcome.REFUTED
    assert confirm(model, 'gap > 0.01', 1.6, within=0).outcome == WatchOutcome.STALE


@pytest.mark.parametrize('ask', ['evaluate', 'maintain', 'until_known'])
def test_a_parameter_may_be_a_list_of_numbers(model: WorldModel, ask: str) -> None:
    condition = Condition('c', 'norm(home - target) < 0.01', within=1.0)
    names = {'target': [1.0, 0, 0]}
    if ask == 'evaluate':
        assert model.evaluate([condition], 1.0, names)[0] is TruthValue.TRUE
        return
    answers = Answers()
    getattr(model, ask)([condition], 1.0, answers, names=names)
    model.advance(1.5)
    assert answers.outcome in (
        {'maintain': None, 'until_known': WatchOutcome.JUDGED}[ask],)


@pytest.mark.parametrize(('value', 'why'), [
    ({'x': 1}, 'expected a number'), (None, 'expected a number'), (math.nan, 'NaN'),
    ([1, 'a'], 'expected a number'), (10 ** 30, 'beyond 64 bits')])
def test_a_parameter_without_a_value_is_named_only_where_an_expression_reads_it(
    model: WorldModel, value: Any, why: str,
) -> None:
    names = {'target': value, 'most': 2}
    assert model.evaluate([Condition('c', 'norm(home) < most')], 1.0, names)[0] is TruthValue.TRUE
    with pytest.raises(DocumentError, match=f"parameter 'target' has no value.*{why}") as caught:
        model.confirm([Condition('c', 'norm(home - target) < most')], 1.0, Answers(), names=names)
    assert caught.value.faults[0].column == 13
    with pytest.raises(DocumentError, match="parameter 'target' has no value"):
        model.expression('target + 1', 1.0, names)


def test_parameters_are_converted_once() -> None:
    values = ConditionParameters({'target': [1.0, 2.0], 'names': ['a', 'b'], 'pose': {'x': 1}})
    assert ConditionParameters.of(values) is values and list(values) == ['target', 'names']
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
    assert answers.outcome == WatchOutcome.CONFIRMED
    assert [entry.condition for entry in answers.results[0].evidence] == ['a', 'b']


def test_the_earliest_within_decides(model: WorldModel) -> None:
    answers = Answers()
    model.ingest('present', messages.flag(False), 1.0)
    model.confirm([Condition('a', 'gap > 0.01', 0.0, 5.0), Condition('b', 'present', 0.0, 0.5)],
                  1.0, answers)
    assert model.next_deadline() == 1.5
    model.advance(1.5)
    assert answers.outcome == WatchOutcome.REFUTED


def test_a_late_caller_gets_the_answer_of_the_time_that_was_due(model: WorldModel) -> None:
    answers = confirm(model, 'gap > 0.01', 1.0, hold=0.2, within=1.0)
    gap(model, 0.02, 1.1)
    gap(model, 0.001, 5.0)  # nobody called advance in between
    assert answers.outcome == WatchOutcome.CONFIRMED
    assert answers.results[0].stamp == pytest.approx(1.3)


def test_a_hold_that_is_judged_late_begins_anew() -> None:
    model = WorldModel(FACTS, late=0.05)
    model.ingest('present', messages.flag(True), 1.0)
    model.confirm([Condition('a', 'present', 0.4, 0.8)], 1.0, missed := Answers())
    model.confirm([Condition('a', 'present', 0.4, 3.0)], 1.0, held := Answers())
    model.advance(1.44)  # 40 ms late
    assert missed.outcome == held.outcome == WatchOutcome.CONFIRMED

    model.confirm([Condition('a', 'present', 0.4, 0.8)], 2.0, missed := Answers())
    model.confirm([Condition('a', 'present', 0.4, 3.0)], 2.0, held := Answers())
    model.advance(2.6)  # whatever came since 2.0 waits to be handed in
    assert missed.outcome is None and held.outcome is None
    model.ingest('present', messages.flag(False), 2.601)
    model.ingest('present', messages.flag(True), 2.602)
    model.advance(2.8)
    assert missed.outcome == WatchOutcome.TIMED_OUT
    model.advance(3.001)
    assert held.outcome is None
    model.advance(3.003)
    assert held.outcome == WatchOutcome.CONFIRMED


def test_time_that_was_up_before_it_was_noticed_confirms_nothing() -> None:
    model = WorldModel(FACTS, late=0.05)
    model.ingest('present', messages.flag(True), 1.0)
    model.confirm([Condition('a', 'present', 0.4, 0.8)], 1.0, answers := Answers())
    model.ingest('present', messages.flag(True), 5.0)  # nobody called advance in between
    assert answers.outcome == WatchOutcome.TIMED_OUT
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
    assert answers.outcome == WatchOutcome.VIOLATED
    assert answers.results[0].stamp == 1.41


def test_maintain_tolerates_unknown_for_its_within_only(model: WorldModel) -> None:
    answers = Answers()
    gap(model, 0.02, 1.0)
    model.maintain([Condition('m', 'gap > 0.01', within=0.2)], 1.0, answers)
    model.advance(1.69)
    assert answers.outcome is None
    model.advance(1.71)
    assert answers.outcome == WatchOutcome.VIOLATED
    assert answers.results[0].stamp == pytest.approx(1.7)
    assert answers.results[0].evidence[0].verdict == TruthValue.UNKNOWN


def test_waiting_until_facts_are_known(model: WorldModel) -> None:
    answers, late = Answers(), Answers()
    model.until_known([Condition('a', 'gap > 0.1', within=1.0)], 1.0, answers)
    model.until_known([Condition('a', 'near > 0.1', within=1.0)], 1.0, late)
    gap(model, 0.02, 1.2)
    assert answers.outcome == WatchOutcome.JUDGED
    assert answers.results[0].evidence[0].verdict == TruthValue.FALSE
    model.advance(2.0)
    assert late.outcome == WatchOutcome.JUDGED
    assert late.results[0].evidence[0].verdict == TruthValue.UNKNOWN


def test_a_window_holds_nothing_from_before_the_motion(model: WorldModel) -> None:
    for step in range(5):
        gap(model, 0.05, 1.0 + step / 10)
    answers = confirm(model, 'mean_gap < 0.02', 1.4, after=1.4)
    gap(model, 0.01, 1.5)
    assert answers.outcome == WatchOutcome.CONFIRMED


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
    assert outcomes.count(WatchOutcome.CONFIRMED) == 250 and outcomes.count(None) == 250
    model.advance(11.0)
    assert {answer.outcome for answer in answers} == {WatchOutcome.CONFIRMED, WatchOutcome.STALE}
