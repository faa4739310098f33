# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the judge looks for in orders to running flows: pause, breakpoint, skip, retry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .judged import MOTION_EVENTS, Record, Row, Violation

BEGINS = ('start', 'retry', 'apply_fallback', 'repeat_motion', 'resume')
"""Events that begin an attempt or a motion; none may come in a paused flow."""


@dataclass
class _Held:
    """The orders that apply to a flow at a row."""

    pause: Row | None = None
    hold: bool = False
    breakpoints: dict[str, Row] = field(default_factory=dict)
    skipped: dict[str, Row] = field(default_factory=dict)
    retried: dict[str, Row] = field(default_factory=dict)
    canceled: set[str] = field(default_factory=set)  #: '': the flow


class Control(Record):
    """Orders to running flows, against what came after them."""

    def control(self) -> Iterator[Violation]:
        held: dict[str, _Held] = {}
        for row in self.rows:
            if not row.flow_id:
                continue
            orders = held.setdefault(row.flow_id, _Held())
            if row.kind == 'transition':
                yield from _against(orders, row)
            elif row.kind == 'note':
                _apply(orders, row)
            elif row.kind == 'flow' and row.final:
                for name, order in {**orders.skipped, **orders.retried}.items():
                    yield Violation('half an order', f'{row.flow_id}/{name}: what was ordered '
                                    'was not done', [order, row])
                if orders.pause is not None and not orders.canceled:
                    yield Violation('half an order', f'{row.flow_id} has ended in a pause',
                                    [orders.pause, row])


def _apply(orders: _Held, row: Row) -> None:
    """Apply a note to the orders of its flow."""
    name = str(row.data.get('action', row.action_id))
    if row.event == 'paused':
        orders.pause, orders.hold = orders.pause or row, orders.hold or row.data['hold']
    elif row.event == 'resumed' and not name:
        orders.pause, orders.hold = None, False
    elif row.event in ('resumed', 'breakpoint_cleared'):
        orders.breakpoints.pop(name, None)
    elif row.event == 'breakpoint_set':
        orders.breakpoints[name] = row
    elif row.event == 'skipped':
        orders.skipped[name] = row
        orders.breakpoints.pop(name, None)
    elif row.event == 'retried':
        orders.retried.update(dict.fromkeys(row.data.get('actions', [name]), row))
    elif row.event == 'cancel_flow':
        orders.canceled.add('')
        orders.pause, orders.hold, orders.retried = None, False, {}
    elif row.event == 'cancel_action':
        orders.canceled.add(name)


def _against(orders: _Held, row: Row) -> Iterator[Violation]:
    """Yield what a change of an action does against the orders that apply."""
    name, about = row.action_id, f'{row.flow_id}/{row.action_id}'
    if orders.pause is not None and (
            row.event in BEGINS or orders.hold and row.event in MOTION_EVENTS):
        yield Violation('half an order', f'{about}: {row.event} in a paused flow',
                        [orders.pause, row])
    if row.event == 'start' and name in orders.breakpoints:
        yield Violation('half an order', f'{about} has passed its breakpoint',
                        [orders.breakpoints[name], row])
    if row.event == 'reassign' and name not in orders.retried:
        yield Violation('half an order', f'{about} was assigned again, and no row tells who '
                        'ordered it', [row])
    orders.retried.pop(name, None)
    if row.event in ('reassign', 'retry'):
        orders.canceled.discard(name)
    skip = orders.skipped.get(name)
    if skip is not None and (row.event in BEGINS or row.final):
        del orders.skipped[name]
        if row.data.get('outcome') != 'skipped' and not {'', name} & orders.canceled:
            yield Violation('half an order', f'{about} was to be skipped', [skip, row])
    if row.final:
        orders.breakpoints.pop(name, None)
