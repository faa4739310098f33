# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Samples that were lost were not seen: they count for no hold, and are no good ones."""

from __future__ import annotations

from action_lifecycle.world import Condition, parse_facts, WatchOutcome, WatchResult, WorldModel
from action_lifecycle.world.evidence import Validity
from action_lifecycle.world.unmet_conditions import Topics, unmet_text
from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from . import messages

TICK = 1 / 64  # s, exact in binary
FACTS = """
estop: none
facts:
  x: {topic: t, type: sensor_msgs/msg/JointState, field: 'position[name=x]', max_age: 4.0}
  y: {topic: u, type: sensor_msgs/msg/JointState, field: 'position[name=x]', max_age: 4.0}
"""
WINDOW = FACTS + """
  w: {topic: t, type: sensor_msgs/msg/JointState, field: 'position[name=x]', reduce: REDUCER,
      window: 1.0, max_age: 4.0}
"""


def feed(model: WorldModel, begin: int, end: int, value: float = 1.0, topic: str = 't') -> None:
    """Pass a sample at each tick from `begin` up to `end`."""
    for tick in range(begin, end):
        model.ingest(topic, messages.joints(x=value), tick * TICK)


def test_a_hold_begins_again_at_a_loss_and_says_so() -> None:
    results: list[WatchResult] = []
    model = WorldModel(parse_facts(FACTS))
    model.confirm([Condition('c', 'x > 0.5', hold=1.0, within=1.5)], 0.0, results.append)
    feed(model, 0, 40)
    model.lost('t', 3, 43 * TICK)
    feed(model, 43, 120)
    assert [result.outcome for result in results] == [WatchOutcome.TIMED_OUT]
    assert results[0].stamp == 1.5 and results[0].evidence[0].held == 1.5 - 43 * TICK
    assert unmet_text(results[0].evidence, Topics({}, lambda topic: '')).endswith(
        ': 3 samples of t were lost 0.828 s before; the hold began again')


def test_a_hold_is_through_one_hold_after_the_loss() -> None:
    results: list[WatchResult] = []
    model = WorldModel(parse_facts(FACTS))
    model.confirm([Condition('c', 'x > 0.5', hold=1.0, within=4.0)], 0.0, results.append)
    feed(model, 0, 40)
    model.lost('t', 0, 40 * TICK)
    feed(model, 40, 200)
    assert [(result.outcome, result.stamp) for result in results] == [
        (WatchOutcome.CONFIRMED, 40 * TICK + 1.0)]


def test_of_several_publishers_what_was_true_before_a_loss_counts_for_no_hold() -> None:
    results: list[WatchResult] = []
    model = WorldModel(parse_facts(FACTS))
    model.set_publishers('t', ['/one', '/two'], 0.0)
    model.confirm([Condition('c', 'x > 0.5', hold=4.0, within=9.0)], 0.0, results.append)
    feed(model, 0, 40)
    model.lost('t', 1, 40 * TICK)  # before it is known that they agree, at 4 s
    feed(model, 40, 600)
    assert [(result.outcome, result.stamp) for result in results] == [
        (WatchOutcome.CONFIRMED, 40 * TICK + 4.0)]


def test_a_loss_that_is_found_when_the_hold_is_due_comes_before_it() -> None:
    results: list[WatchResult] = []
    model = WorldModel(parse_facts(FACTS))
    model.confirm([Condition('c', 'x > 0.5', hold=1.0, within=1.5)], 0.0, results.append)
    feed(model, 0, 60)
    model.lost('t', 1, 1.01)
    model.advance(2.0)
    assert [result.outcome for result in results] == [WatchOutcome.TIMED_OUT]


def test_what_other_topics_lose_is_no_matter() -> None:
    results: list[WatchResult] = []
    model = WorldModel(parse_facts(FACTS))
    model.confirm([Condition('c', 'x > 0.5', hold=1.0, within=1.5)], 0.0, results.append)
    feed(model, 0, 40)
    model.lost('u', 3, 40 * TICK)
    feed(model, 40, 70)
    assert [(result.outcome, result.stamp) for result in results] == [
        (WatchOutcome.CONFIRMED, 1.0)]


def test_what_waits_is_read_before_a_hold_that_is_due_is_judged() -> None:
    results: list[WatchResult] = []
    model = WorldModel(parse_facts(FACTS))
    model.confirm([Condition('c', 'x > 0.5', hold=1.0, within=1.5)], 0.0, results.append)
    feed(model, 0, 60)
    model.read_waiting = lambda: feed(model, 62, 63, value=0.0)
    model.advance(1.01)
    assert results == []
    model.advance(2.0)
    assert [result.outcome for result in results] == [WatchOutcome.REFUTED]


def test_maintain_stands_a_loss_that_is_shorter_than_its_tolerance() -> None:
    results: list[WatchResult] = []
    model = WorldModel(parse_facts(FACTS))
    model.maintain([Condition('m', 'x > 0.5', within=8 * TICK)], 0.0, results.append)
    for begin in range(0, 400, 20):
        feed(model, begin, begin + 17)
        model.lost('t', 3, (begin + 20) * TICK)
        model.advance((begin + 20) * TICK)
    assert results == []


def test_samples_between_losses_do_not_begin_the_tolerance_of_maintain_anew() -> None:
    results: list[WatchResult] = []
    model = WorldModel(parse_facts(FACTS))
    model.maintain([Condition('m', 'x > 0.5', within=16 * TICK)], 0.0, results.append)
    feed(model, 0, 40)
    for begin in range(42, 80, 4):  # each second sample is lost
        model.lost('t', 2, begin * TICK)
        feed(model, begin, begin + 2)
    assert [(result.outcome, result.stamp) for result in results] == [
        (WatchOutcome.VIOLATED, 58 * TICK)]  # 39 was the last one seen, 16 ticks before 55
    assert 'x > 0.5 is not known' in unmet_text(
        results[0].evidence, Topics({}, lambda topic: ''))


def test_one_gap_as_long_as_the_tolerance_violates_maintain() -> None:
    results: list[WatchResult] = []
    model = WorldModel(parse_facts(FACTS))
    model.maintain([Condition('m', 'x > 0.5', within=8 * TICK)], 0.0, results.append)
    feed(model, 0, 40)
    model.lost('t', 9, 49 * TICK)
    feed(model, 49, 60)
    assert [result.outcome for result in results] == [WatchOutcome.VIOLATED]


@pytest.mark.parametrize(('reducer', 'known'), [
    ('min', False), ('max', False), ('sum', False), ('count', False), ('rate', False),
    ('mean', True), ('median', True), ('latest', True)])
def test_a_window_has_no_value_until_it_is_whole_again(reducer: str, known: bool) -> None:
    model = WorldModel(parse_facts(WINDOW.replace('REDUCER', reducer)))
    feed(model, 0, 100)
    model.lost('t', 2, 102 * TICK)
    feed(model, 102, 166)
    value = model.value('w', 165 * TICK)
    assert (value.validity is Validity.VALID) is known
    assert known or value.note == (
        '2 samples of t were lost 0.984 s before, less than its window of 1 s')
    feed(model, 166, 167)
    assert model.value('w', 166 * TICK).validity is Validity.VALID


def test_a_condition_on_a_window_is_judged_when_it_is_whole_again() -> None:
    results: list[WatchResult] = []
    model = WorldModel(parse_facts(WINDOW.replace('REDUCER', 'min')))
    feed(model, 0, 100)
    model.lost('t', 2, 102 * TICK)
    feed(model, 102, 103)
    model.confirm([Condition('c', 'w > 0.5', within=3.0)], 103 * TICK, results.append)
    while model.waiting and not results:
        model.advance(model.next_deadline())
    assert [(result.outcome, result.stamp) for result in results] == [
        (WatchOutcome.CONFIRMED, 102 * TICK + 1.0)]


@settings(max_examples=500)
@given(st.lists(st.tuples(st.integers(1, 6), st.booleans(), st.booleans()), max_size=60),
       st.integers(1, 40))
def test_no_hold_has_an_unseen_false_sample(
    steps: list[tuple[int, bool, bool]], hold: int
) -> None:
    """Each step: ticks since the last sample, whether it is good, whether it is lost."""
    results: list[WatchResult] = []
    model = WorldModel(parse_facts(FACTS))
    model.confirm([Condition('c', 'x > 0.5', hold * TICK, 1000 * TICK)], 0.0, results.append)
    bad: list[int] = []
    tick = lost = 0
    for gap, good, dropped in steps:
        tick += gap
        if not good:
            bad.append(tick)
        if dropped:
            lost += 1
            continue
        if lost:
            model.lost('t', lost, tick * TICK)
            lost = 0
        model.ingest('t', messages.joints(x=float(good)), tick * TICK)
    if lost:  # as the middleware tells with the next sample
        model.lost('t', lost, tick * TICK)
    for result in results:
        if result.outcome is WatchOutcome.CONFIRMED and result.stamp <= tick * TICK:
            end = result.stamp / TICK
            seen = max(step for step in ticks_seen(steps) if step < end)
            assert not any(end - hold < step <= seen for step in bad)


def ticks_seen(steps: list[tuple[int, bool, bool]]) -> list[int]:
    tick = 0
    found = []
    for gap, _, dropped in steps:
        tick += gap
        if not dropped:
            found.append(tick)
    return found
