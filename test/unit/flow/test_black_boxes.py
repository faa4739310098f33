# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The names of black boxes have a field of their own, apart from reasons and questions."""

from __future__ import annotations

from typing import Any

from action_lifecycle.graphs.packaged import packaged_graph
from action_lifecycle.journal.projection import ReadOnly
from action_lifecycle.journal.row_text import black_boxes
from action_lifecycle.lifecycle.action import Action
from action_lifecycle.lifecycle.ports import Confirmation
from action_lifecycle.lifecycle.states import ActionState, ErrorCode
from action_lifecycle.viewer.record.attempts import attempts_of
import pytest

from .robot import Clock, Robot, Start

FLOW = """
flow: one
actions:
  pick:
    motion: {server: arm, type: a/action/B, goal: {}}
    confirm: z > 1
    fallback: [{strategy: ask, question: '{{ error }}'}]
"""
BOX, OTHER = '20261123T221530.123Z-f-pick-1-refuted.mcap', '20261123T221531.000Z-f-pick-1-x.mcap'


def refused(robot: Robot, clock: Clock) -> None:
    clock.run(1.5)
    robot.questions[-1].result(Confirmation(
        'refuted', error_msg='z > 1 is false', black_box=BOX))


def test_a_refuted_outcome_names_its_box_beside_the_reason(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand = {'confirm'}
    process = start()
    run = process.submit(FLOW)
    refused(robot, clock)
    clock.run(0.5)
    action = run.actions[0]
    assert action.state is ActionState.FALLBACK_REQUESTED and action.error_msg == 'z > 1 is false'
    assert process.desk.open and not any(
        'black box' in str(request) for request in process.desk.open.values())
    rows = [row for row in process.journal.rows(flow_id='f') if row.kind == 'transition']
    assert {row.event: black_boxes(row.data) for row in rows if black_boxes(row.data)} == {
        'fail': [BOX]}
    assert not any('black box' in row.cause for row in rows)


@pytest.mark.parametrize('stop', ['', OTHER])
def test_the_box_of_a_motion_and_of_its_stop_are_in_one_row(
    start: Start, clock: Clock, robot: Robot, stop: str
) -> None:
    robot.by_hand = {'motion', 'stop', 'confirm'}
    process = start()
    process.submit(FLOW)
    clock.run(0.5)
    if stop:
        robot.motions[0].end()
        refused(robot, clock)
        robot.stops_judged[0].end('failed', stopped=False, black_box=stop, error_msg='it moves')
    else:
        robot.motions[0].end('canceled', ErrorCode.MAINTAIN_VIOLATED, error_msg='not maintained',
                             black_box=BOX)
    failed = [row for row in process.journal.rows(flow_id='f') if row.event == 'fail']
    assert [black_boxes(row.data) for row in failed] == [[BOX, OTHER] if stop else [BOX]]
    assert not any('mcap' in row.cause + str(row.data['error_msg']) for row in failed)


def test_the_attempt_of_the_viewer_has_the_boxes_of_its_rows(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand = {'confirm'}
    process = start()
    run = process.submit(FLOW)
    refused(robot, clock)
    clock.run(0.5)
    rows = list(process.journal.rows(flow_id='f', action_id='pick'))
    first = attempts_of(Action('f', 'pick', run.actions[0].spec, packaged_graph('action'),
                               ReadOnly()), rows)[0]
    assert first.black_boxes == (BOX,) and first.cause == 'z > 1 is false'


@pytest.mark.parametrize(('data', 'names'), [
    ({}, []), ({'black_boxes': BOX}, []), ({'black_boxes': [BOX, 3]}, [BOX])])
def test_rows_of_any_data_have_no_other_boxes(data: Any, names: list[str]) -> None:
    assert black_boxes(data) == names
