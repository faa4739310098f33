# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The orders that the pages offer are those that the orchestrator accepts."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses

from action_lifecycle.flow.control.orders import OrderRefused
from action_lifecycle.viewer import possible_orders as possible
import pytest

from .records import loaded, rows_of
from ..flow.robot import Clock, MOTION, Process, Robot, Start

FLOW = f"""\
flow: f
actions:
  a: {{{MOTION}, fallback: [ask], timeout: 10000}}
  b: {{{MOTION}, after: [a]}}
"""
Situation = Callable[[Process, Robot, Clock], None]


def at_work(process: Process, robot: Robot, clock: Clock) -> None:
    robot.by_hand.add('motion')
    process.submit(FLOW)
    clock.run(1.0)


def held(process: Process, robot: Robot, clock: Clock) -> None:
    at_work(process, robot, clock)
    process.orchestrator.control.pause('f', 'ann', hold=True)
    robot.motions[-1].end('canceled')
    clock.run(1.0)


def being_stopped(process: Process, robot: Robot, clock: Clock) -> None:
    at_work(process, robot, clock)
    process.orchestrator.control.pause('f', 'ann', hold=True)
    clock.run(0.05)


def at_breakpoint(process: Process, robot: Robot, clock: Clock) -> None:
    process.submit(FLOW)
    process.orchestrator.control.set_breakpoint('f', 'b', 'ann')
    clock.run(30.0)


def before_breakpoint(process: Process, robot: Robot, clock: Clock) -> None:
    at_work(process, robot, clock)
    process.orchestrator.control.set_breakpoint('f', 'b', 'ann')
    clock.run(1.0)


def asking(process: Process, robot: Robot, clock: Clock) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    process.submit(FLOW)
    clock.run(30.0)


def failed_in_a_pause(process: Process, robot: Robot, clock: Clock) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted'] * 9
    process.submit(FLOW.replace('fallback: [ask], ', ''))
    process.orchestrator.control.pause('f', 'ann')
    process.orchestrator.control.resume('f', 'ann')
    clock.run(0.5)
    process.orchestrator.control.pause('f', 'ann')
    clock.run(30.0)


def ended(process: Process, robot: Robot, clock: Clock) -> None:
    process.submit(FLOW)
    clock.run(100.0)


def canceled(process: Process, robot: Robot, clock: Clock) -> None:
    at_work(process, robot, clock)
    process.orchestrator.cancel('f', 'ann', '')
    clock.run(0.05)


SITUATIONS = (at_work, held, being_stopped, at_breakpoint, before_breakpoint, asking,
              failed_in_a_pause, ended, canceled)
ORDERS = (possible.RESUME, possible.SKIP, possible.RETRY, possible.BREAKPOINT)


@pytest.mark.parametrize('order', ORDERS)
@pytest.mark.parametrize('name', ['a', 'b'])
@pytest.mark.parametrize('situation', SITUATIONS)
def test_an_order_to_an_action_is_offered_if_it_is_accepted(
    start: Start, clock: Clock, robot: Robot, situation: Situation, name: str, order: str
) -> None:
    process = start()
    situation(process, robot, clock)
    record = loaded(process.journal.path, 'f')
    why_not = possible.action_orders(record.flow(), name, record.shown(name))
    control = process.orchestrator.control
    control.check_unchanged(order, 'f', name, record.seen(name))
    give = {possible.RESUME: lambda: control.resume('f', 'ann', action_id=name),
            possible.SKIP: lambda: control.skip('f', name, 'ann'),
            possible.RETRY: lambda: control.retry('f', name, 'ann'),
            possible.BREAKPOINT: lambda: control.set_breakpoint('f', name, 'ann')}[order]
    try:
        accepted = bool(give().seq)
    except (OrderRefused, KeyError) as error:
        accepted, said = False, str(error)
        assert said
    if (order, record.shown(name).outcome, name) == (possible.RETRY, 'skipped', 'b'):
        return  # skipped since 'a' failed: only the node knows that 'a' has to be retried
    assert accepted is not bool(why_not[order]), (record.shown(name), why_not[order])


@pytest.mark.parametrize('order', [possible.PAUSE, possible.RESUME])
@pytest.mark.parametrize('situation', SITUATIONS)
def test_an_order_to_a_flow_is_offered_if_it_is_accepted(
    start: Start, clock: Clock, robot: Robot, situation: Situation, order: str
) -> None:
    process = start()
    situation(process, robot, clock)
    rows = rows_of(process.journal.path, 'f')[-1].seq
    why_not = possible.flow_orders(loaded(process.journal.path, 'f').flow())[order]
    control = process.orchestrator.control
    try:
        accepted = {possible.PAUSE: control.pause, possible.RESUME: control.resume}[order](
            'f', 'ann').seq > rows
    except (OrderRefused, KeyError):
        accepted = False
    assert accepted is not bool(why_not), why_not


def test_a_clear_breakpoint_is_offered_at_a_breakpoint(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    before_breakpoint(process, robot, clock)
    record = loaded(process.journal.path, 'f')
    flow = record.flow()
    assert possible.action_orders(flow, 'b', record.shown('b'))[possible.CLEAR_BREAKPOINT] == ''
    assert possible.action_orders(flow, 'a', record.shown('a'))[possible.CLEAR_BREAKPOINT]
    closed = dataclasses.replace(flow, state='FAIL')
    assert all(possible.action_orders(closed, 'b', record.shown('b')).values())
    assert all(possible.flow_orders(closed).values())
