# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The health of facts: frozen, rate, range, agree, needs, and what follows for conditions."""

from __future__ import annotations

from collections.abc import Iterable
import math
from pathlib import Path
import re
import time

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.world import (
    Condition,
    parse_facts,
    TruthValue,
    Validity,
    WatchOutcome,
    WatchResult,
    WorldModel,
)
from action_lifecycle.world.expressions.value_types import Kind
from action_lifecycle.world.facts.agreement import nearest_on
from action_lifecycle.world.facts.equal_samples import CERTAIN, likely_run
from action_lifecycle.world.facts.facts_checks import FieldKind
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from . import messages

DOC = Path(__file__).parents[3] / 'docs' / 'fact_health.md'
FACT = """
estop: none
facts:
  x: {{topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[name=x]', unit: m,
       max_age: 0.2, health: {health}}}
  y: {{topic: others, type: sensor_msgs/msg/JointState, field: 'position[name=y]', unit: m,
       max_age: 0.2}}
  twice: {{expression: x * 2, unit: m}}
"""


def model_with(health: str, more: str = '') -> WorldModel:
    return WorldModel(parse_facts(FACT.format(health=health) + more))


def feed(model: WorldModel, values: Iterable[float], start: float = 1.0, step: float = 0.02,
         name: str = 'x', topic: str = 'joint_states') -> float:
    """Ingest samples `step` s apart; returns the time of the last."""
    now = start - step
    for value in values:
        now += step
        model.ingest(topic, messages.joints(now, **{name: value}), now)
    return now


def noisy(count: int, seed: int = 0, sigma: float = 2e-4, step: float = 1e-4) -> list[float]:
    """Return quantised samples of a constant 0.02 with noise."""
    drawn = np.random.default_rng(seed).normal(0.02, sigma, count)
    return [float(value) for value in np.rint(drawn / step) * step]


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


@pytest.mark.parametrize('health, message', [
    ('{frozen: 0}', 'more than 0 and at most 3600 s'),
    ('{frozen: {resolution: 0.1}}', "expected 'noise', 'for' or both"),
    ('{frozen: {noise: 0.1, clip: [1, 0]}}', '[1.0, 0.0]: expected [least, greatest]'),
    ('{frozen: .nan}', 'more than 0 and at most 3600 s'),
    ('{frozen: {noise: .inf}}', 'finite'),
    ('{rate: {min: 0.5}}', "less than one sample in 1 s; expected a longer 'over'"),
    ('{rate: [5, 2]}', '[5, 2]: expected [min, max] in Hz'),
    ('{range: [1, 0]}', 'expected [least, greatest]'),
    ('{agree: {with: z, within: 1}}', "there is no fact 'z'"),
    ('{agree: {with: x, within: 1}}', 'expected another fact, got itself'),
    ('{agree: {with: y}}', "'within'"),
    ('{agree: {with: y, within: 1, when: y >}}', 'column'),
    ('{needs: [twice]}', 'its health needs itself by way of twice'),
    ('{needs: [yy]}', "there is no fact 'yy'; did you mean 'y'?"),
    ('{frozn: 1}', "'frozn'"),
])
def test_faults_name_the_line_the_fact_and_what_is_expected(health: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_facts(FACT.format(health=health))
    assert message in str(caught.value)
    assert caught.value.faults[0].line in (4, 5)


def test_a_noise_that_the_resolution_hides_is_a_fault() -> None:
    class Numbers(FieldKind):

        def __call__(self, type_name: str, path: str) -> Kind:
            return Kind.NUMBER

    with pytest.raises(DocumentError, match='3.61e.07 equal samples are likely'):
        parse_facts(FACT.format(health='{frozen: {noise: 0.01, resolution: 0.1}}'),
                    field_kind=Numbers())


def test_an_expression_and_a_constant_have_no_checks_of_samples() -> None:
    with pytest.raises(DocumentError) as caught:
        parse_facts('estop: none\nfacts:\n  a: {constant: 1, health: {range: [0, 1]}}\n'
                    '  b: {expression: a, health: {rate: [1, 2]}}\n')
    assert [(fault.line, fault.message.split(', ')[0]) for fault in caught.value.faults] == [
        (3, "fact 'a': a constant has no health"),
        (4, "fact 'b': 'rate' is a check of samples")]


def test_the_documented_runs_are_those_of_the_check() -> None:
    text = DOC.read_text()
    rows = re.findall(r'^\| ([\d.]+) \| (0\.\d+) \| (\d+) \|$', text, re.MULTILINE)
    assert len(rows) == 5
    for ratio, probability, run in rows:
        p = math.erf(1 / (2 * math.sqrt(2) * float(ratio)))
        assert (round(p, 3), likely_run(p, 1)) == (float(probability), int(run))
    parse_facts(text.split('```yaml\n')[1].split('```')[0])
