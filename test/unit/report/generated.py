# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Journals of many flows that the orchestrator runs, with a robot that fails at random."""

from __future__ import annotations

import contextlib
from pathlib import Path
import random

from action_lifecycle.flow.control.orders import OrderRefused
from action_lifecycle.lifecycle.states import ErrorCode

from ..flow.robot import Clock, Motion, Process, Question, Robot

FLOWS = {
    'pick': """\
flow: pick
actions:
  reach: {motion: {server: arm, type: a/action/B}, confirm: z > 0, retry: {times: 1},
          resources: [arm]}
  grasp: {motion: {server: gripper, type: a/action/B}, confirm: {condition: z > 0, within: 1},
          after: [reach], resources: [arm], parameters: {force: 5}, fallback: [
            {strategy: retry, parameters: {force: 8}},
            {strategy: action, motion: {server: vacuum, type: a/action/C}}, {strategy: ask}]}
  check: {motion: {server: camera, type: a/action/D}, confirm: z > 0, after: [grasp],
          verify: {by: service, service: /judge}}
""",
    'sort': """\
flow: sort
actions:
  look: {call: {service: /look, type: a/srv/Look}}
  move: {steps: [{motion: {server: arm, type: a/action/B}},
                 {motion: {server: gripper, type: a/action/B}}], confirm: z > 0, after: [look],
         fallback: [{strategy: ask}], resources: [arm]}
  twice: {motion: {server: arm, type: a/action/B}, confirm: z > 0, repeat: 2, resources: [arm]}
"""}


class FaultyRobot(Robot):
    """Motions abort, and outcomes are refuted, not seen in time, or not seen, at random."""

    def __init__(self, clock: Clock, chance: random.Random) -> None:
        super().__init__(clock)
        self.chance = chance
        self.by_hand = {'motion', 'confirm', 'call'}

    def execute(self, request, result):  # type: ignore[no-untyped-def]
        motion: Motion = super().execute(request, result)
        aborts = self.chance.random() < 0.1
        self.clock.call_later(self.chance.uniform(0.5, 3.0), lambda: motion.end(
            *(('canceled',) if motion.canceled else
              ('failed', ErrorCode.MOTION_ABORTED) if aborts else ())))
        return motion

    def confirm(self, request, result):  # type: ignore[no-untyped-def]
        question: Question = super().confirm(request, result)
        verdict = self.chance.choices(
            ('confirmed', 'refuted', 'timed_out', 'stale'), (16, 3, 2, 1))[0]
        self.clock.call_later(
            0.2, lambda: None if question.canceled else question.answer(verdict))
        return question

    def start(self, spec, request, ended, resumed=False):  # type: ignore[no-untyped-def]
        work = super().start(spec, request, ended, resumed)
        self.clock.call_later(0.5, work.end)
        return work


def generate(path: Path, flows: int, seed: int = 0, days: float = 10.0) -> None:
    """Write a journal of so many flows; some are paused, canceled, retried, or left open."""
    chance = random.Random(seed)
    clock = Clock()
    clock.time = 1.79e9 + seed * 1e6
    robot = FaultyRobot(clock, chance)
    process = Process(path, clock, robot)
    for number in range(flows):
        flow_id = f'{number}-{seed}'
        robot.answers['/judge'] = chance.choices(
            (['completed'], ['error', 'completed'], ['pending', 'completed']), (8, 1, 1))[0][:]
        process.submit(FLOWS[chance.choice(list(FLOWS))], flow_id)
        last = number == flows - 1
        _steer(process, flow_id, chance, 2 if last else 60)
        if not last:
            clock.run(days * 86400 / flows)
    process.journal.close()


def _steer(process: Process, flow_id: str, chance: random.Random, steps: int) -> None:
    """Let a flow run, with people who answer, cancel, pause and retry."""
    orchestrator, clock = process.orchestrator, process.clock
    for _ in range(steps):
        clock.run(chance.uniform(0.3, 2.0))
        if orchestrator.runs[flow_id].ended:
            return
        for name in [*process.desk.open]:
            process.desk.respond(name, chance.choice(['retry', 'retry', 'give_up']), 'anna')
        what = chance.random()
        if what < 0.004:
            orchestrator.cancel(flow_id, 'anna', 'enough')
        elif what < 0.012:
            orchestrator.control.pause(flow_id, 'anna', hold=what < 0.01)
            clock.run(chance.uniform(1.0, 20.0))
            if not orchestrator.runs[flow_id].ended:
                orchestrator.control.resume(flow_id, '', 'anna')
        elif what < 0.1:
            _order(process, flow_id, chance)


def _order(process: Process, flow_id: str, chance: random.Random) -> None:
    """Retry or skip an action, if that is possible now."""
    run = process.orchestrator.runs[flow_id]
    action = chance.choice(sorted(run.flow.actions))
    order = chance.choice([process.orchestrator.control.retry] * 3
                          + [process.orchestrator.control.skip])
    with contextlib.suppress(OrderRefused):
        order(flow_id, action, 'anna')
