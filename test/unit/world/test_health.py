# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The health of facts: frozen, rate, range, agree, needs, and what follows for conditions."""

from __future__ import annotations

import math
import re

from action_lifecycle.world import (
    Condition,
    parse_facts,
    TruthValue,
    Validity,
    WatchOutcome,
    WatchResult,
    WorldModel,
)
from action_lifecycle.world.facts.equal_samples import CERTAIN, likely_run
from hypothesis import given
from hypothesis import strategies as st
import pytest

from . import messages
from .health_facts import FACT, feed, model_with, noisy

NOISE = '{frozen: {noise: 0.0002, resolution: 0.0001}}'


def test_a_frozen_fact_is_unknown_and_says_why() -> None:
    model = model_with(NOISE)
    now = feed(model, noisy(50))
    assert model.value('x', now).validity is Validity.VALID
    now = feed(model, [0.0213] * 31, now + 0.02)
    value = model.value('x', now)
    assert (value.validity, value.value, value.note) == (
        Validity.UNKNOWN, 0.0213, 'frozen: 31 equal samples in 0.6 s, its noise 0.0002 m makes '
        'at most 13 likely')
    derived = model.value('twice', now)
    assert (derived.validity, derived.value) == (Validity.UNKNOWN, None)
    assert derived.note == f"'x' is unknown: {value.note}"
    assert model.expression('x', now) == (None, f"fact 'x' is unknown: {value.note}")
    assert value.as_dict()['note'] == value.note


def test_a_fact_is_healthy_again_after_a_time_without_failure() -> None:
    model = model_with(NOISE)
    now = feed(model, [0.02] * 40)
    frozen_until = now
    now = feed(model, noisy(20), now + 0.02)
    assert now < frozen_until + 0.5
    value = model.value('x', now)
    assert value.validity is Validity.UNKNOWN
    assert value.note.endswith('likely (ended; counts for 0.5 s)')
    now = feed(model, noisy(10, 1), now + 0.02)
    assert now > frozen_until + 0.5
    assert model.value('x', now).validity is Validity.VALID


@given(st.floats(0.05, 4.0), st.floats(0.0, 1.0), st.integers(1, 3))
def test_a_live_sensor_is_taken_for_frozen_with_less_than_the_stated_probability(
    resolution: float, offset: float, elements: int,
) -> None:
    """Noise 1: the exact probability of a run in any bin, summed over the bins."""
    def below(edge: float) -> float:
        return (1 + math.erf(edge / math.sqrt(2))) / 2

    likely = likely_run(math.erf(resolution / (2 * math.sqrt(2))), elements)
    edges = [below((number - 0.5 - offset) * resolution) for number in range(-200, 202)]
    bins = [upper - lower for lower, upper in zip(edges, edges[1:])]
    run = sum(share ** (likely + 1) for share in bins) ** elements
    assert run <= CERTAIN * 1.0001


@given(st.integers(0, 10_000), st.floats(0.5, 4.0))
def test_a_quantised_noisy_sensor_stays_healthy(seed: int, coarse: float) -> None:
    sigma = 2e-4
    model = model_with(f'{{frozen: {{noise: {sigma}, resolution: {sigma * coarse}}}}}')
    now = 1.0
    for value in noisy(200, seed, sigma, sigma * coarse):
        now = feed(model, [value], now + 0.02)
        assert model.value('x', now).validity is Validity.VALID


def test_without_noise_the_time_decides() -> None:
    model = model_with('{frozen: 0.5}')
    now = feed(model, [0.02] * 25)
    assert model.value('x', now).validity is Validity.VALID
    now = feed(model, [0.02] * 2, now + 0.02)
    assert model.value('x', now).note == (
        'frozen: 27 equal samples in 0.52 s, expected a change within 0.5 s')


def test_a_value_at_the_limit_of_the_sensor_may_stay() -> None:
    model = model_with('{frozen: {for: 0.2, clip: [0.0, 0.08]}}')
    assert model.value('x', feed(model, [0.08] * 50)).validity is Validity.VALID
    assert model.value('x', feed(model, [0.07] * 50, 3.0)).validity is Validity.UNKNOWN


def test_a_sample_that_comes_twice_is_one_sample_of_a_run() -> None:
    model = model_with('{frozen: {noise: 0.0002, resolution: 0.0002}}')
    now = 1.0
    for value in noisy(5000, 3, 2e-4, 2e-4):
        now += 0.02
        feed(model, [value] * 2, now, step=0.0)
        assert model.value('x', now).validity is Validity.VALID
    assert model.value('x', feed(model, [0.02] * 30, now + 0.02)).validity is Validity.UNKNOWN


def test_samples_before_a_silence_show_nothing_about_those_after_it() -> None:
    model = model_with('{frozen: 0.5}')
    now = feed(model, [0.021, 0.02, 0.02])
    now = feed(model, [0.02] * 25, now + 60.0)  # another subscription
    assert model.value('x', now).validity is Validity.VALID
    assert model.value('x', feed(model, [0.02] * 2, now + 0.02)).validity is Validity.UNKNOWN


def test_silence_is_stale_and_not_frozen() -> None:
    model = model_with('{frozen: 0.1}')
    now = feed(model, [0.02] * 3)
    assert model.value('x', now + 0.19).validity is Validity.VALID
    assert model.value('x', now + 0.21).validity is Validity.STALE


def test_a_low_rate_is_found_without_a_sample() -> None:
    model = model_with('{rate: [20, 100]}')
    now = feed(model, [0.02] * 100)
    assert model.value('x', now).validity is Validity.VALID
    found: list[float] = []
    watch = model.maintain([Condition('x', 'x > 0', within=0.0)], now,
                           lambda result: found.append(result.stamp))
    for _ in range(20):  # 10 Hz: 50 samples in the last second become 20
        now += 0.1
        while model.next_deadline() < now:
            model.advance(model.next_deadline())
        if found:
            break
        feed(model, [0.02], now)
    assert not watch.open
    assert found[0] < now
    assert model.value('x', found[0]).note.startswith('rate: 19 Hz over 1 s; expected 20 to 100')


def test_a_high_rate_is_unhealthy_and_the_first_second_is_not_judged() -> None:
    model = model_with('{rate: [20, 100]}')
    now = feed(model, [0.02] * 190, step=0.005)
    assert model.value('x', now).validity is Validity.VALID
    now = feed(model, [0.02] * 20, now + 0.005, step=0.005)
    assert re.match('rate: 20[01] Hz over 1 s; expected 20 to 100 Hz', model.value('x', now).note)


@pytest.mark.parametrize('delay', [0.0, 0.3])
def test_a_constant_delay_does_not_change_the_rate(delay: float) -> None:
    text = FACT.format(health='{rate: [8, 12]}').replace('max_age: 0.2', 'max_age: 1.0')
    model = WorldModel(parse_facts(text))
    for number in range(50):
        now = 1.0 + 0.1 * number
        model.ingest('joint_states', messages.joints(now - delay, x=0.02), now)
        assert model.value('x', now).validity is Validity.VALID
    assert model.value('x', now + 0.35).note == 'rate: 7 Hz over 1 s; expected 8 to 12 Hz'


def test_silence_is_a_low_rate_also_for_a_condition_that_takes_older_samples() -> None:
    model = model_with('{rate: [20, 100]}')
    now = feed(model, [0.02] * 100)
    patient = Condition('x', 'x > 0', max_age=9.0)
    assert model.evaluate([patient], now + 0.1)[0] is TruthValue.TRUE
    for silence in (0.9, 1.5, 3.0):
        assert model.evaluate([patient], now + silence)[0] is TruthValue.UNKNOWN


@given(st.floats(0.1, 1e6), st.floats(0.2, 2.0))
def test_a_low_rate_is_found_at_the_time_that_is_told_before(start: float, over: float) -> None:
    model = WorldModel(parse_facts(FACT.format(health=f'{{rate: {{min: 20, over: {over}}}}}')
                                   .replace('max_age: 0.2', 'max_age: 9.0')))
    now = feed(model, [0.02] * 150, start)
    fact = model._sources['x']
    for _ in range(3):
        now = fact.changes(now, 0.0)
        assert now < math.inf
        if fact.read(now, -math.inf, 0.0) is None:
            return
    pytest.fail('not found')


def test_a_new_subscription_begins_a_new_measurement_of_the_rate() -> None:
    model = model_with('{rate: [20, 100]}')
    now = feed(model, [0.02] * 100) + 30.0
    for _ in range(200):
        now = feed(model, [0.02], now + 0.02)
        assert model.value('x', now).validity is Validity.VALID


def test_a_value_out_of_range_is_unknown_and_not_clamped() -> None:
    model = model_with('{range: [0.0, 0.08], recover: 0.1}')
    assert model.value('x', feed(model, [0.08])).validity is Validity.VALID
    now = feed(model, [0.081], 1.1)
    value = model.value('x', now)
    assert (value.validity, value.value) == (Validity.UNKNOWN, 0.081)
    assert value.note == 'range: 0.081 m; expected 0 to 0.08 m'
    now = feed(model, [0.02], 1.15)
    assert model.value('x', now).validity is Validity.UNKNOWN
    assert model.value('x', 1.26).validity is Validity.VALID


WINDOW = """
estop: none
facts:
  x: {{topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[name=x]', unit: m,
       reduce: median, window: 0.1, max_age: 0.3{}}}
  z: {{expression: x, unit: m{}}}
"""
RANGE = ', health: {range: [0.0, 0.05], recover: 0.04}'


@pytest.mark.parametrize('health, name', [((RANGE, ''), 'x'), (('', RANGE), 'z')])
def test_a_value_that_leaves_its_range_between_two_samples_is_unknown(
    health: tuple[str, str], name: str
) -> None:
    """The median changes when the oldest sample leaves the window."""
    model = WorldModel(parse_facts(WINDOW.format(*health)))
    results: list[WatchResult] = []
    now = feed(model, [0.0, 0.0, 0.0, 0.2, 0.2])  # from 1.0 s to 1.08 s
    assert model.value(name, now).value == 0.0
    assert model.value(name, 1.099).validity is Validity.VALID
    model.confirm([Condition('confirm', f'{name} < 0.2', hold=0.03, within=1.0)], 1.085,
                  results.append)
    value = model.value(name, 1.101)
    assert (value.value, value.validity) == (0.1, Validity.UNKNOWN)
    assert value.note == 'range: 0.1 m; expected 0 to 0.05 m'
    model.advance(1.13)  # the condition was true, then unknown, and so not held
    assert not results


def test_a_failure_between_two_samples_counts_until_it_is_recovered() -> None:
    model = WorldModel(parse_facts(WINDOW.format(RANGE.replace('0.04', '0.3'), '')))
    feed(model, [0.0, 0.0, 0.0, 0.2, 0.2])
    now = feed(model, [0.0, 0.0], 1.11)
    value = model.value('x', now)
    assert value.value == 0.0 and value.validity is Validity.UNKNOWN
    assert 'ended; counts for 0.3 s' in value.note


def test_one_range_for_each_element() -> None:
    model = WorldModel(parse_facts("""
estop: none
facts:
  at: {topic: joint_states, type: sensor_msgs/msg/JointState, field: position, unit: m,
       health: {range: [[0, 1], [-1, 0]], recover: 0}}
"""))
    model.ingest('joint_states', messages.joints(1.0, a=0.5, b=-0.5), 1.0)
    assert model.value('at', 1.0).validity is Validity.VALID
    model.ingest('joint_states', messages.joints(1.1, a=0.5, b=0.5), 1.1)
    assert model.value('at', 1.1).note == 'range: element 1 is 0.5 m; expected -1 to 0 m'
    model.ingest('joint_states', messages.joints(1.2, a=0.5), 1.2)
    assert model.value('at', 1.2).note == 'range: 1 numbers; expected 2'


def test_a_fact_that_needs_an_unhealthy_one_is_unknown() -> None:
    more = ("  z: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[0]',"
            ' health: {needs: [x]}}\n')
    model = model_with('{range: [0.0, 0.1]}', more)
    now = feed(model, [0.05])
    assert model.value('z', now).validity is Validity.VALID
    now = feed(model, [0.2], 1.1)
    assert model.value('z', now).note == \
        "needs 'x', which is unknown: range: 0.2 m; expected 0 to 0.1 m"


def test_a_confirmation_is_not_given_on_frozen_samples() -> None:
    model = model_with(NOISE)
    now = feed(model, noisy(30))
    found: list[WatchResult] = []
    model.confirm([Condition('c', 'x > 0.01', hold=0.5, within=1.0)], now, found.append)
    now = feed(model, [0.02] * 60, now + 0.02)
    assert [result.outcome for result in found] == [WatchOutcome.TIMED_OUT]
    assert found[0].evidence[0].facts[0].note.startswith('frozen: ')


def test_a_window_with_health_waits_until_it_has_healthy_samples_only() -> None:
    model = WorldModel(parse_facts("""
estop: none
facts:
  x: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[name=x]', unit: m,
      reduce: median, window: 1.0, health: {frozen: 0.2, recover: 0.1}}
"""))
    now = feed(model, [0.02] * 20)
    changed = feed(model, [0.03], now + 0.02)
    assert model.value('x', feed(model, noisy(45), changed + 0.02)).validity is Validity.UNKNOWN
    assert model.value('x', feed(model, noisy(60), changed + 0.02)).validity is Validity.VALID


def test_a_window_has_no_sample_from_the_time_in_which_a_needed_fact_was_unhealthy() -> None:
    model = WorldModel(parse_facts("""
estop: none
facts:
  x: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[name=x]',
      window: 1.0, reduce: max, health: {needs: [y]}}
  y: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[name=y]',
      health: {range: [0, 1]}}
"""))
    for number in range(120):
        now, faulty = 1.0 + 0.02 * number, number < 50
        model.ingest('joint_states', messages.joints(now, x=9.0 * faulty, y=2.0 * faulty), now)
        value = model.value('x', now)
        assert value.validity is not Validity.VALID or not value.value
    assert model.value('x', now).validity is Validity.VALID


def test_time_that_jumps_back_drops_failures() -> None:
    model = model_with('{frozen: 0.2}')
    feed(model, [0.02] * 30, 10.0)
    assert model.value('x', feed(model, [0.02], 1.0)).validity is Validity.VALID
