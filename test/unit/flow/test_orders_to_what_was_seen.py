# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""An order is refused if what the person saw has changed since in a way that matters for it."""

from __future__ import annotations

from action_lifecycle.flow.control.orders import OrderRefused
import pytest

from .controlled import CHAIN
from .kills import restart
from .robot import Clock, MOTION, Process, Robot, Start

RETRIED = f'flow: f\nactions:\n  a: {{{MOTION}, retry: {{times: 3, delay: 50}}}}\n'


def check(process: Process, verb: str, action_id: str, base_seq: int) -> None:
    process.orchestrator.control.check_unchanged(verb, 'f', action_id, base_seq)


def test_a_skip_is_for_the_attempt_that_was_seen(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted', 'refuted']
    process = start()
    process.submit(RETRIED)
    clock.run(5.0)
    seen = process.journal.last_seq()
    for verb in ('skip', 'retry', 'resume', 'breakpoint', 'cancel'):
        check(process, verb, 'a', seen)
    clock.run(60.0)  # the second attempt has failed, too: the same state, another failure
    for verb in ('skip', 'retry'):
        with pytest.raises(OrderRefused, match=f"'{verb}' is refused, 'a' is .*: it has changed"):
            check(process, verb, 'a', seen)
        check(process, verb, 'a', 0)
        check(process, verb, 'a', process.journal.last_seq())
    check(process, 'cancel', 'a', seen)  # stops something: is meant for the action as it is


def test_a_cancel_is_not_for_a_retry_of_somebody_else(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    process = start()
    process.submit(RETRIED)
    clock.run(5.0)
    seen = process.journal.last_seq()
    process.orchestrator.control.retry('f', 'a', 'ben')
    for each in (process, restart(start, process)[0]):
        with pytest.raises(OrderRefused, match='it has changed'):
            check(each, 'cancel', 'a', seen)


def test_a_resume_is_for_the_pause_that_was_seen(start: Start, clock: Clock, robot: Robot) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(CHAIN)
    clock.run(0.5)
    control = process.orchestrator.control
    control.pause('f', 'ann')
    seen = process.journal.last_seq()
    check(process, 'resume', '', seen)
    control.resume('f', 'ben')
    check(process, 'resume', '', seen)  # accepted: there is nothing to do
    control.pause('f', 'ben', 'a leak')
    for each in (process, restart(start, process)[0]):
        with pytest.raises(OrderRefused, match='the flow was paused again, by ben'):
            check(each, 'resume', '', seen)
        for verb in ('pause', 'cancel'):
            check(each, verb, '', seen)


def test_a_breakpoint_that_was_set_again_is_another_one(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(CHAIN)
    clock.run(0.5)
    control = process.orchestrator.control
    control.set_breakpoint('f', 'c', 'ann')
    seen = process.journal.last_seq()
    control.clear_breakpoint('f', 'c', 'ann')
    control.set_breakpoint('f', 'c', 'ben')
    with pytest.raises(OrderRefused, match='it has changed'):
        check(process, 'breakpoint', 'c', seen)
    check(process, 'breakpoint', 'b', seen)  # of another action
