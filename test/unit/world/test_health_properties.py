# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Facts with health under any stream: no change is missed, and none depends on who looks when."""

from __future__ import annotations

from collections.abc import Iterator
import random

from action_lifecycle.world import Condition, parse_facts, WatchResult, WorldModel
import pytest

from . import messages

TEXT = """
estop: none
facts:
  x: {{topic: a, type: sensor_msgs/msg/JointState, field: 'position[name=x]', max_age: 0.3,
       {x_window} health: {{{x_health}}}}}
  y: {{topic: b, type: sensor_msgs/msg/JointState, field: 'position[name=y]', max_age: {y_age},
       health: {{{y_health}}}}}
  z: {{topic: c, type: sensor_msgs/msg/JointState, field: 'position[name=z]', max_age: 0.4,
       {z_window} health: {{needs: [x], recover: 0.2}}}}
  d: {{expression: x - y, health: {{range: [-0.5, 0.5]}}}}
"""
X_HEALTH = ['frozen: 0.2', 'rate: {min: 5, max: 40, over: 0.5}', 'range: [0, 3]',
            'agree: {with: y, within: 1.0, for: 0.15}']
Y_HEALTH = ['rate: {min: 4, over: 0.5}', 'range: [0, 3]', 'frozen: 0.3',
            'rate: {min: 2, max: 6, over: 1}', 'frozen: {noise: 0.5, resolution: 1}']
WATCHED = ['x > 1.5', 'y > 1.5', 'z > 1.5', 'd > 0.2', 'x > 1.5 and z < 4']


def model_of(text: str) -> WorldModel:
    return WorldModel(parse_facts(text))


def drawn_facts(drawn: random.Random) -> str:
    return TEXT.format(
        x_health=', '.join(drawn.sample(X_HEALTH, drawn.randint(1, 3))),
        y_health=drawn.choice(Y_HEALTH), y_age=drawn.choice([0.2, 2.0]),
        x_window=drawn.choice(['', 'window: 0.25, reduce: mean,']),
        z_window=drawn.choice(['', 'window: 0.5, reduce: max,']))


def stream(drawn: random.Random) -> Iterator[tuple[float, str, str, float, float]]:
    """Yield (time, topic, name, value, delay) at rates that change."""
    now, period = 1.0, 0.02
    for _ in range(120):
        if drawn.random() < 0.05:
            period = drawn.choice([0.005, 0.02, 0.1, 0.3, 1.2])
        now += period * drawn.uniform(0.2, 1.5)
        topic, name = drawn.choice([('a', 'x')] * 3 + [('b', 'y')] * 2 + [('c', 'z')])
        yield now, topic, name, drawn.choice([1.0, 1.0, 1.0, 2.0, 2.0, 5.0]), drawn.choice(
            [0.0, 0.0, 0.01, 0.1])


@pytest.mark.parametrize('seed', range(12))
def test_a_watch_has_the_verdict_of_each_moment(seed: int) -> None:
    """Also at times without a sample; and a model that is asked only at samples has the same."""
    drawn = random.Random(seed)
    text = drawn_facts(drawn)
    model, quiet = model_of(text), model_of(text)
    conditions = [Condition(text, text, 0.0, 1e6) for text in WATCHED]
    never = Condition('never', '1 > 2', 0.0, 1e6)

    def ignore(result: WatchResult) -> None:
        raise AssertionError(result)

    watches = [model.confirm([condition, never], 1.0, ignore) for condition in conditions]

    def check(now: float) -> None:
        for condition, watch in zip(conditions, watches):
            assert watch.conditions[0].verdict is model.evaluate([condition], now)[0]

    for now, topic, name, value, delay in stream(drawn):
        for _ in range(3):
            between = drawn.uniform(model.now, now)
            if 0 < between < now:
                model.advance(between)
                check(between)
        for one in (model, quiet):
            one.ingest(topic, messages.joints(now - delay, **{name: value}), now)
        check(now)
        for fact in 'xyzd':
            assert model.value(fact, now) == quiet.value(fact, now)


def test_a_window_that_was_empty_is_judged_again_when_its_sample_leaves() -> None:
    model = model_of("""
estop: none
facts:
  x: {topic: a, type: sensor_msgs/msg/JointState, field: 'position[name=x]', max_age: 9.0,
      window: 0.25, reduce: max}
  z: {topic: c, type: sensor_msgs/msg/JointState, field: 'position[name=z]'}
""")
    found: list[WatchResult] = []
    model.maintain([Condition('m', 'x > 2 and z > 0', 0.0, 9.0)], 1.0, found.append)
    for now, value in ((1.1, 5.0), (1.2, 1.0)):
        model.ingest('a', messages.joints(now, x=value), now)
    model.advance(1.4)
    assert [result.stamp for result in found] == [pytest.approx(1.35)]
