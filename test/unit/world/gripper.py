# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The facts of a gripper, its samples, and questions about them that collect their answers."""

from __future__ import annotations

import math
from typing import Any

from action_lifecycle.world import Condition, parse_facts, WatchOutcome, WatchResult, WorldModel

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
        self.results: list[WatchResult] = []

    def __call__(self, result: WatchResult) -> None:
        self.results.append(result)

    @property
    def outcome(self) -> WatchOutcome | None:
        assert len(self.results) <= 1
        return self.results[0].outcome if self.results else None


def gap(model: WorldModel, value: float, stamp: float, received: float | None = None) -> None:
    model.ingest('joint_states', messages.joints(stamp, gripper=value),
                 stamp if received is None else received)


def confirm(model: WorldModel, text: str, now: float, *, hold: float = 0.0, within: float = 1.0,
            after: float = -math.inf, max_age: float = 0.0, **names: Any) -> Answers:
    answers = Answers()
    model.confirm([Condition('confirm', text, hold, within, max_age)], now, answers,
                  after=after, names=names)
    return answers
