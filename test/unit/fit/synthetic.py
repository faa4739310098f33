# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Synthetic labelled runs of a small flow."""

from action_lifecycle.fit.labels import Label
from action_lifecycle.fit.runs import run_of
from action_lifecycle.lifecycle.ports import Condition
from action_lifecycle.traces import Confirmed, Curve, Trace, TraceKey
from action_lifecycle.world import parse_facts
import numpy as np

FACTS = """\
estop: none
facts:
  gap: {topic: joints, type: std_msgs/msg/Float64, field: data, max_age: 0.2, unit: m}
  load: {topic: wrench, type: std_msgs/msg/Float64, field: data, reduce: mean, window: 0.1}
  least: {constant: 0.3}
"""
FLOW = """\
# How the part is gripped.
flow: grip
parameters:
  clear: {default: 0.2, description: 'height, in m'}
actions:
  grasp:
    motion: &reach {server: arm, type: demo/action/Reach, goal: {height: '{{ clear }}'}}
    confirm: &held   # 0.02 was measured with a ruler
      condition: >-
        gap > GAP and
        load > 0.5
      hold: 0.1   # s
      within: 1.0
  again:
    after: grasp
    motion: *reach
    confirm: *held
"""


def facts():
    return parse_facts(FACTS)


def flow(gap='0.02'):
    return FLOW.replace('GAP', gap)


def curve(name, times, values, topic):
    times = np.asarray(times, float)
    return Curve(name, '', topic, 'number', times, times, np.asarray(values, float))


def run(number, there, gap, load, *, noise=0.0, action='grasp', seconds=1.0, text=None,
        source='file', hold=0.1):
    """Return a run whose facts have these means; `noise`: of `gap` (deterministic)."""
    rng = np.random.default_rng(number)
    times = 10.0 + 0.02 * np.arange(1, int(seconds / 0.02) + 1)
    gaps = gap + noise * rng.standard_normal(len(times))
    loads = load + 0.01 * rng.standard_normal(len(times))
    condition = Condition('confirm', text or 'gap > 0.02 and load > 0.5', hold, 1.0)
    confirmed = Confirmed(10.0, 10.0, 10.0 + seconds, [condition], {'clear': 0.2}, 'refuted')
    trace = Trace(
        TraceKey(f'grip-{number:04d}', action, 1), 9.0, 11.0,
        {'gap': curve('gap', times, gaps, 'joints'),
         'load': curve('load', times, loads, 'wrench')},
        confirmations=[confirmed], samples={'load': curve('load', times, loads, 'wrench')})
    return run_of(trace, Label(there, source))


def separable(count, low=0.01, high=0.04, *, noise=0.0, spread=0.002, seed=1):
    """Return runs of both classes; `gap` is about `low` or `high`, `load` says nothing."""
    rng = np.random.default_rng(seed)
    return [run(2 * index + there, bool(there),
                (high if there else low) + spread * float(rng.uniform(-1, 1)), 1.0, noise=noise)
            for index in range(count) for there in (0, 1)]
