# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Facts with health, and samples of them."""

from __future__ import annotations

from collections.abc import Iterable

from action_lifecycle.world import parse_facts, WorldModel
import numpy as np

from . import messages

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
