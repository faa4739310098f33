# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""hold, within and max_age against a slow model that judges every tick of time."""

from __future__ import annotations

import math

from action_lifecycle.world import Condition, parse_facts, WatchOutcome, WatchResult, WorldModel
from hypothesis import given, settings
from hypothesis import strategies as st

from . import messages

TICK = 1 / 64  # s, exact in binary, so that both models see the very same times
FACTS = parse_facts("""
estop: none
facts: {x: {topic: t, type: sensor_msgs/msg/JointState, field: 'position[name=x]', max_age: 0.25}}
""")
SAMPLES = st.lists(  # ticks since the last sample, delay in ticks, value (NaN: sees nothing)
    st.tuples(st.integers(1, 30), st.integers(0, 6), st.sampled_from([0.0, 1.0, 1.0, math.nan])),
    max_size=40)


def obvious(samples: dict[int, tuple[int, float]], hold: int, within: int, after: int,
            max_age: int) -> tuple[WatchOutcome, int]:
    """Judge at every tick; `samples`: by tick of arrival, the tick of the stamp and the value."""
    newest: tuple[int, float] | None = None
    held = -1
    for now in range(1000):
        verdicts = []
        # at one and the same tick, what was known before is judged, then what arrives
        for arrival in (False, True):
            if arrival and now in samples and (newest is None or samples[now][0] >= newest[0]):
                newest = samples[now]
            counts = newest is not None and newest[0] > after
            fresh = newest is not None and now < newest[0] + max_age
            known = counts and fresh and not math.isnan(newest[1])
            true = known and newest[1] > 0.5
            verdicts.append((known, true, newest is not None and not fresh))
            held = (now if held < 0 else held) if true else -1
            if true and now >= held + hold:
                return WatchOutcome.CONFIRMED, now
            if now == within and not arrival:
                if known and not true:
                    return WatchOutcome.REFUTED, now
                if not known and newest is not None and not fresh:
                    return WatchOutcome.STALE, now
                return WatchOutcome.TIMED_OUT, now
    raise AssertionError


@settings(max_examples=500)
@given(SAMPLES, st.integers(0, 40), st.integers(0, 100), st.integers(-1, 60), st.integers(1, 40))
def test_confirm_decides_as_the_slow_model_does(
    steps: list[tuple[int, int, float]], hold: int, spare: int, after: int, max_age: int,
) -> None:
    within = max(1, hold + spare)
    samples: dict[int, tuple[int, float]] = {}
    tick = 0
    for gap, delay, value in steps:
        tick += gap
        samples[tick] = (max(1, tick - delay), value)
    expected = obvious(samples, hold, within, after, max_age)

    results: list[WatchResult] = []
    model = WorldModel(FACTS)
    model.confirm([Condition('c', 'x > 0.5', hold * TICK, within * TICK, max_age * TICK)], 0.0,
                  results.append, after=after * TICK)
    for now, (stamp, value) in samples.items():
        model.ingest('t', messages.joints(stamp * TICK, x=value), now * TICK)
    model.advance(1000 * TICK)
    assert [(result.outcome, result.stamp / TICK) for result in results] == [expected]
