# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows that people pause, hold, skip and retry, and what tests of it look at."""

from __future__ import annotations

from action_lifecycle.flow import FlowRun
from action_lifecycle.flow.run.flow_control import CONTROL_EVENTS

from .robot import Clock, MOTION, Process, Robot, Start

CHAIN = (f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}, after: a}}\n'
         f'  c: {{{MOTION}, after: b}}\n')


def outcomes(run: FlowRun) -> dict[str, str]:
    return {action.action_id: action.outcome.value for action in run.actions if action.outcome}


def orders(process: Process) -> list[tuple[str, str, str]]:
    return [(row.event, row.actor, row.cause) for row in process.journal.rows(kind='note')
            if row.event in CONTROL_EVENTS]


def held(start: Start, clock: Clock, robot: Robot, extra: str = '') -> tuple[Process, FlowRun]:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(f'flow: f\nactions:\n  a: {{{MOTION}, resources: [arm]{extra}}}\n')
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann', hold=True)
    assert robot.motions[0].canceled
    return process, run
