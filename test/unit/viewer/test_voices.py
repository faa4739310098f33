# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""How the work of an attempt ended is read from its rows, not from its words."""

from __future__ import annotations

from typing import Any

from action_lifecycle.graphs.packaged import packaged_graph
from action_lifecycle.journal.projection import ReadOnly
from action_lifecycle.lifecycle.action import Action
from action_lifecycle.lifecycle.ports import WorkResult
from action_lifecycle.lifecycle.spec import ActionSpec
from action_lifecycle.viewer.record.attempts import attempts_of
import pytest

from ..flow.robot import Clock, Process, Robot

FLOW = """
flow: one
actions:
  pick:
    motion: {server: arm, type: a/action/B, goal: {}}
    confirm: z > 1
    fallback: []
"""


@pytest.mark.parametrize(('end', 'verdict', 'work'), [
    ({}, 'confirmed', 'done'), ({}, 'refuted', 'done'),
    ({'controller_said': 'answered: vacuum on'}, 'confirmed', 'done'),
    ({'controller_said': 'answered: no pump', 'outcome': 'failed'}, '', 'failed'),
    ({'controller_said': 'canceled', 'outcome': 'canceled'}, '', 'failed')])
def test_the_work_of_an_attempt(
    tmp_path: Any, end: dict[str, Any], verdict: str, work: str
) -> None:
    clock = Clock()
    robot = Robot(clock)
    robot.by_hand = {'motion'}
    robot.verdicts['pick', 'confirm'] = [verdict]
    process = Process(tmp_path / 'journal', clock, robot)
    process.submit(FLOW)
    clock.run(0.5)
    going, = attempts_of(new(), list(process.journal.rows(flow_id='f', action_id='pick')))
    assert going.work == ''
    motion = robot.motions[0]
    motion.result(WorkResult(**{'outcome': 'executed', 'ended': clock.time,
                                'controller_said': 'succeeded', **end}))
    clock.run(10)
    ended, = attempts_of(new(), list(process.journal.rows(flow_id='f', action_id='pick')))
    assert ended.work == work and ended.controller_said == end.get('controller_said', 'succeeded')
    process.journal.close()


def new() -> Action:
    return Action('f', 'pick', ActionSpec(), packaged_graph('action'), ReadOnly())
