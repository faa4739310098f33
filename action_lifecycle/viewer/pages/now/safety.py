# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Whether motions may run, and the locked resources."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nicegui import ui

from .symbols import StateChip
from .ticking import Ticking
from ..controls import short, why_no_orders
from ..order_button import allow, OrderButton, SEEN
from ..orders import PageOrders, tell
from ...robots import Answer, Orders, Robot, SafetyNow
from ....report.looks import LOOKS

LOOK = {'ready': 'succeeded', 'stopped': 'failed', 'not_ready': 'pending'}
TEXT = {'ready': 'Ready', 'stopped': 'Stopped', 'not_ready': 'Not ready', '': 'Not known'}
EXPLAINED = {
    'ready': 'Motions may run.',
    'stopped': 'Motions are stopped, and none starts until a person clears the stop.',
    'not_ready': 'No message on a safety topic yet: no motion starts.',
    '': 'The bridge has not published a safety state.'}
GONE = '{} is gone: no motion starts, and nobody watches over what still moves.'
CONFIRM = 'Have you checked the robot? '


class SafetyCard:
    """The safety state, large; why, since when; the locked resources with buttons to unlock."""

    def __init__(self, robot: Robot, orders: PageOrders) -> None:
        self._robot, self._orders = robot, orders
        self._locked: Sequence[str] | None = None
        self._buttons: list[OrderButton] = []
        self._number = 0  #: of the state that is shown; a click says which one it is for
        self._shown: SafetyNow | None = None
        with ui.element('section').classes('now-card safety') as self._card:
            self._card.props['aria-label'] = 'Safety'
            with ui.element('div').classes('safety-state').props(
                    'role=status aria-live=assertive'):
                self._chip = StateChip('34px', 'safety-chip')
                self._since = Ticking(before='for ')
            self._explained = ui.label().classes('now-soft')
            self._reason = ui.label().classes('safety-reason foreign')
            self._cause = ui.label().classes('safety-cause foreign').props('role=status')
            with ui.row().classes('safety-details') as self._details:
                self._code = ui.label().classes('code foreign')
                self._topic = ui.label().classes('code foreign')
            self._locks = ui.column().classes('safety-locks')
            with ui.row().classes('items-center') as self._clear_row:
                self._clear = OrderButton('Clear stop', partial(self._send, ''), icon='lock_open')
                self._clear.props('outline data-order=clear_stop')
                self._why = ui.input(placeholder='Reason (journaled)').props(
                    'dense outlined maxlength=500 aria-label="Reason of the next order"')

    def show(self) -> None:
        """Show the robot's safety as it is now."""
        now = self._robot.now
        safety = now.safety
        if safety != self._shown or not self._number:
            self._shown = safety
            self._number += 1
            self._card.props[SEEN] = self._number
        state = safety.state if safety else ''
        look = LOOKS[LOOK.get(state, 'waiting')]
        self._chip.show(look, TEXT.get(state, state))
        self._card.classes(replace=f'now-card safety safety-{state or "unknown"} {look.css}')
        gone = ', '.join(name for name, seen in now.nodes.items() if seen.state == 'gone')
        self._explained.set_text(GONE.format(gone) if gone and not safety
                                 else EXPLAINED.get(state, ''))
        stopped = safety is not None and state == 'stopped'
        self._cause.set_visibility(stopped)
        self._cause.set_text('' if safety is None else f'Now: {safety.cause}' if safety.cause else
                             'The cause has gone: check the robot, then clear the stop.')
        self._reason.set_text(safety.reason if safety else '')
        self._reason.set_visibility(bool(safety and safety.reason))
        self._code.set_text(safety.error_code if safety else '')
        self._topic.set_text(safety.topic if safety else '')
        self._details.set_visibility(bool(safety and (safety.error_code or safety.topic)))
        self._since.set_visibility(bool(safety and safety.since))
        if safety:
            self._since.show(safety.since, now.clock_offset)
        locked = tuple(safety.locked) if safety else ()
        if locked != self._locked:
            self._locked = locked
            self._show_locks(locked)
        self._clear_row.set_visibility(state == 'stopped' or bool(locked))
        self._clear.set_text('Clear stop' if state == 'stopped' else 'Unlock all')
        self._enable()

    def _show_locks(self, locked: Sequence[str]) -> None:
        self._locks.clear()
        self._locks.set_visibility(bool(locked))
        self._buttons.clear()
        if not locked:
            return
        with self._locks:
            ui.label('Locked: the stop of a motion was not confirmed').classes('now-soft')
            for name in locked:
                with ui.row().classes('safety-lock no-wrap'):
                    ui.icon('lock', size='16px').props('aria-hidden=true')
                    ui.label('everything' if name == '*' else name).classes('foreign')
                    button = OrderButton('Unlock', partial(self._send, name)).props(
                        'flat dense data-order=unlock')
                    button.props['aria-label'] = f'Unlock {short(name)}'
                    self._buttons.append(button)

    def _enable(self) -> None:
        reason = why_no_orders(self._robot, self._orders)
        for button in self._buttons:
            button.allow(reason)
        self._clear.allow(reason or (self._shown.cause if self._shown else ''))
        allow(self._why, reason)

    async def _send(self, resource: str, seen: int) -> None:
        """Unlock a resource, or ('') clear the stop and unlock all that is shown."""
        safety, reason = self._robot.now.safety, str(self._why.value or '').strip()
        if safety is None:
            tell('Not sent: the safety state is not known.', 'warning')
            return
        resources = (resource,) if resource else tuple(safety.locked)
        stopped = safety.state == 'stopped'

        async def order(orders: Orders, actor: str) -> Answer:
            return await orders.clear_stop(resources, safety, actor=actor, reason=reason)

        def changed() -> str:
            return '' if self._number == seen else 'safety has changed after what you saw; look ' \
                'at it, then give the order again'

        what = f'unlock {short(resource)}' if resource else (
            'clear the stop' if stopped else 'unlock all resources')
        why = f' ({short(safety.reason or safety.topic or safety.error_code)})' if stopped else ''
        confirm = f'{CONFIRM}{what.capitalize()}{why}? Motions may start again.'
        await self._orders.send(
            self._robot, what, order, confirm=confirm, changed=changed,
            button=None if resource else self._clear)
