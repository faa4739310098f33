# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Buttons for the orders of people to flows and actions; each order goes through `PageOrders`."""

from __future__ import annotations

from typing import NamedTuple

from nicegui import ui

from .order_button import allow, OrderButton, SEEN
from .orders import PageOrders
from .. import possible_orders as possible
from ..record.flow_record import FlowRecord
from ..robots import Answer, Orders, Robot

MAX_NAME = 80
"""Maximum number of characters of a name in a question or a notification."""


class _Button(NamedTuple):
    label: str
    icon: str
    description: str  #: of the order, in notifications
    confirm: str = ''


_FLOW = {
    possible.PAUSE: _Button('Pause', 'pause', 'pause {name}'),
    possible.HOLD: _Button('Hold', 'front_hand', 'pause {name} and stop its motions'),
    possible.RESUME: _Button('Resume', 'play_arrow', 'resume {name}'),
    possible.CANCEL: _Button(
        'Cancel', 'cancel', 'cancel {name}',
        'Cancel {name}? Motions are stopped, and no more actions start.')}
_ACTION = {
    possible.RESUME: _Button('Resume', 'play_arrow', 'resume {name}'),
    possible.RETRY: _Button('Retry', 'replay', 'retry {name}'),
    possible.SKIP: _Button(
        'Skip', 'skip_next', 'skip {name}',
        'Skip {name}? Its dependents start as if it had succeeded.'),
    possible.BREAKPOINT: _Button(
        'Breakpoint', 'fiber_manual_record', 'set a breakpoint on {name}'),
    possible.CLEAR_BREAKPOINT: _Button(
        'Clear breakpoint', 'highlight_off', 'clear the breakpoint of {name}'),
    possible.CANCEL: _Button(
        'Cancel', 'cancel', 'cancel {name}',
        'Cancel {name}? Its motion is stopped, and its dependents are skipped.')}
_HINTS = {
    possible.PAUSE: 'Nothing more starts; actions at work go on to their end',
    possible.HOLD: 'Nothing more starts, and what moves is stopped'}


def why_no_orders(robot: Robot, orders: PageOrders) -> str:
    """Return why no orders can be given to a robot now; '' if they can."""
    if robot.orders is None or not robot.now.live:
        return 'this is no live robot'
    return '' if orders.allowed else orders.why_not or 'not signed in'


class Controls:
    """
    The buttons of a flow, or with `path` of one of its actions, in the current container.

    Call `update` after each change; only the orders that make sense then can be given, and they
    are given for what the browser showed at the click.
    """

    def __init__(
        self, robot: Robot, orders: PageOrders, flow_id: str, path: str = '', name: str = '', *,
        dense: bool = False,
    ) -> None:
        self._robot, self._orders = robot, orders
        self._flow_id, self._path = flow_id, path
        self._name = short(name or path or flow_id)
        self._full_name = f'action {short(path)} of flow {short(flow_id)}' if path else (
            f'flow {self._name}' + (f' ({short(flow_id)})' if name not in ('', flow_id) else ''))
        self._buttons: dict[str, OrderButton] = {}
        with ui.row().classes('controls items-center').style('gap: .25rem') as self.row:
            self.row.props['role'] = 'group'
            self.row.props['aria-label'] = f'Orders to {self._name}'
            for key, button in (_ACTION if path else _FLOW).items():
                self._add(key, button, dense)
            self._reason: ui.input | None = None
            if not dense:
                self._reason = ui.input(placeholder='Reason (journaled)').props(
                    'dense outlined maxlength=500 aria-label="Reason of the next order"'
                ).classes('controls-reason')

    def _add(self, key: str, button: _Button, dense: bool) -> None:
        found = OrderButton('' if dense else button.label, lambda seen: self._send(
            key, button, seen), icon=button.icon)
        found.props('flat dense' + (' round size=sm' if dense else ' padding="2px 8px"'))
        found.props['aria-label'] = f'{button.label}: {self._name}'
        found.props['data-order'] = key
        if key == possible.CANCEL:
            found.classes('text-negative')
        self._buttons[key] = found

    def update(self, record: FlowRecord) -> None:
        """Enable the orders that make sense for the flow or action as it is now."""
        if (seen := record.seen(self._path)) != self.row.props.get(SEEN):
            self.row.props[SEEN] = seen
        never, flow = why_no_orders(self._robot, self._orders), record.flow()
        why_not = possible.action_orders(flow, self._path, record.shown(self._path)) \
            if self._path else possible.flow_orders(flow)
        for key, button in self._buttons.items():
            label = (_ACTION if self._path else _FLOW)[key].label
            button.allow(never or why_not[key], _HINTS.get(key, label))
        if self._reason is not None:
            allow(self._reason, never)

    async def _send(self, key: str, button: _Button, seen: int) -> None:
        flow_id, path = self._flow_id, self._path
        reason = str(self._reason.value or '').strip() if self._reason is not None else ''

        async def order(orders: Orders, actor: str) -> Answer:
            if key == possible.CANCEL:
                return await orders.cancel(flow_id, path, actor=actor, reason=reason, seen=seen)
            verb = {possible.HOLD: possible.PAUSE,
                    possible.CLEAR_BREAKPOINT: possible.BREAKPOINT}.get(key, key)
            return await orders.control(
                verb, flow_id, path, hold=key == possible.HOLD,
                clear=key == possible.CLEAR_BREAKPOINT, actor=actor, reason=reason, seen=seen)

        done = await self._orders.send(
            self._robot, button.description.format(name=self._name), order,
            confirm=button.confirm.format(name=self._full_name), button=self._buttons[key])
        if done and self._reason is not None and not self._reason.is_deleted:
            self._reason.set_value('')


def short(name: str) -> str:
    """Return a name, cut to a length for one line."""
    return name if len(name) <= MAX_NAME else name[:MAX_NAME - 1] + '…'
