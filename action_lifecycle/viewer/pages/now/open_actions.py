# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The open flows of a robot, and what each of their open actions does or waits for."""

from __future__ import annotations

import asyncio

from nicegui import ui

from .symbols import StateChip
from .ticking import Ticking
from ..controls import Controls
from ..orders import PageOrders
from ...looks import flow_look, look_of
from ...place import FLOW, Place
from ...record.flow_record import FlowRecord
from ...record.shown import FlowHead, Shown, STRUCTURE, Update
from ...robots import Robot
from ...words import flow_text
from ....documents.errors import LifecycleError
from ....lifecycle.flow_ids import stored

MAX_FLOWS = 8
MAX_ACTIONS = 50
"""Maximum number of actions that are shown of a flow."""
RECENT = 50
"""Number of newest flows of which the open ones are shown."""


class OpenActions:
    """The open flows, each with its orders and its open actions."""

    def __init__(self, robot: Robot, orders: PageOrders) -> None:
        self._robot, self._orders = robot, orders
        self._flows: dict[str, _OpenFlow] = {}
        self._lock = asyncio.Lock()
        with ui.element('section').classes('now-section').props('aria-label="Open actions"'):
            ui.label('Open actions').classes('now-title')
            self._none = ui.label('No flow is running.').classes('now-empty')
            self._lost = ui.label().classes('now-lost foreign')
            self._list = ui.column().classes('open-flows')
            self._more = ui.label().classes('now-soft')
        self._lost.set_visibility(False)

    async def load(self) -> None:
        """Find the open flows, and show them; says why if the journal can't be read."""
        async with self._lock:
            try:
                heads = [head for head in await self._robot.record.heads(limit=RECENT)
                         if head.ended is None]
                await self._replace(heads[:MAX_FLOWS])
            except LifecycleError as error:
                self.lost(str(error))
                return
            if self._list.is_deleted:
                return
            self.lost('')
            self._none.set_visibility(not heads)
            left = len(heads) - MAX_FLOWS
            self._more.set_text(f'and {left} more flows' if left > 0 else '')
            self._more.set_visibility(left > 0)

    async def _replace(self, heads: list[FlowHead]) -> None:
        wanted = {head.flow_id: head for head in heads}
        for flow_id in self._flows.keys() - wanted.keys():
            self._flows.pop(flow_id).delete()
        for flow_id, head in wanted.items():
            if flow_id not in self._flows:
                record = await self._robot.record.flow(flow_id)
                if self._list.is_deleted:
                    return
                with self._list:
                    self._flows[flow_id] = _OpenFlow(self._robot, self._orders, head, record)

    def take(self, update: Update) -> None:
        """Show what new rows have changed."""
        self.lost(update.lost)
        for flow_id, paths in update.flows.items():
            if flow_id in self._flows:
                self._flows[flow_id].take(paths)

    def show(self) -> None:
        """Show the motions and questions as they are now."""
        for flow in self._flows.values():
            flow.show()

    def lost(self, why: str) -> None:
        """Say why the journal can't be read; '': it can."""
        self._lost.set_text(f'The journal can not be read: {why}' if why else '')
        self._lost.set_visibility(bool(why))


class _OpenFlow:
    """One flow."""

    def __init__(
        self, robot: Robot, orders: PageOrders, head: FlowHead, record: FlowRecord
    ) -> None:
        self._robot, self._orders, self._record = robot, orders, record
        self._flow_id = head.flow_id
        self._open: dict[str, Shown] = {}
        self._rows: dict[str, _OpenAction] = {}
        with ui.element('article').classes('now-card open-flow') as self._card:
            with ui.row().classes('open-flow-head'):
                self._chip = StateChip()
                ui.link(head.name or head.flow_id, Place(robot.name, head.flow_id).url(FLOW)
                        ).classes('open-flow-name foreign').props['title'] = head.flow_id
                self._counts = ui.label().classes('now-soft')
                ui.space()
                self._controls = Controls(robot, orders, head.flow_id, '', head.name)
            self._said = ui.label().classes('now-soft foreign')
            self._list = ui.column().classes('open-actions')
            self._more = ui.label().classes('now-soft')
        self.take(frozenset({STRUCTURE}))

    def delete(self) -> None:
        """Remove it from the page."""
        self._card.delete()

    def take(self, paths: frozenset[str]) -> None:
        """Show what rows have changed."""
        nodes = self._record.nodes()
        if STRUCTURE in paths:
            self._open.clear()
            paths = frozenset(nodes)
        for path in paths:
            shown = self._record.shown(path) if path in nodes else None
            if shown is not None and _is_open(shown):
                self._open[path] = shown
            else:
                self._open.pop(path, None)
        self.show()

    def show(self) -> None:
        """Show the flow and its open actions."""
        flow = self._record.flow()
        self._chip.show(flow_look(flow))
        counts = flow.counts
        self._counts.set_text(', '.join(
            f'{counts[name]} {name}' for name in (
                'running', 'waiting', 'succeeded', 'failed', 'skipped', 'canceled')
            if counts.get(name)))
        said = flow_text(flow)
        self._said.set_text(said)
        self._said.set_visibility(bool(said))
        self._controls.update(self._record)
        paths = sorted(self._open, key=lambda path: (
            self._open[path].state == 'assigned', self._open[path].since))
        left = len(paths) - MAX_ACTIONS
        paths = paths[:MAX_ACTIONS]
        for path in self._rows.keys() - set(paths):
            self._rows.pop(path).delete()
        with self._list:
            for path in paths:
                if path not in self._rows:
                    self._rows[path] = _OpenAction(
                        self._robot, self._orders, self._flow_id, path)
        for path in paths:
            self._rows[path].show(self._record, self._open[path])
        self._more.set_text(f'and {left} more actions' if left > 0 else '')
        self._more.set_visibility(left > 0)


class _OpenAction:
    """One line: state, name, since when, what it does or waits for, its orders."""

    def __init__(self, robot: Robot, orders: PageOrders, flow_id: str, path: str) -> None:
        self._robot, self._key = robot, (flow_id, path)
        with ui.element('div').classes('open-action') as self._line:
            self._line.props['data-action'] = path
            self._chip = StateChip()
            ui.link(path, Place(robot.name, flow_id, None, path).url(FLOW)).classes(
                'open-action-name foreign').props['title'] = path
            self._since = Ticking().classes('now-soft open-action-since')
            self._waits = ui.label().classes('open-action-waits foreign')
            self._controls = Controls(robot, orders, flow_id, path, dense=True)

    def delete(self) -> None:
        """Remove it from the page."""
        self._line.delete()

    def show(self, record: FlowRecord, shown: Shown) -> None:
        """Show the action."""
        self._chip.show(look_of(shown))
        self._since.set_visibility(bool(shown.since))
        self._since.show(shown.since)
        motion = self._robot.now.motions.get(self._key)
        said = [f'attempt {shown.attempt}' if shown.attempt > 1 else '']
        if motion is not None:
            said += [f'step {motion.step + 1}', motion.state, motion.text]
        if any((each.flow_id, each.action_id) == stored(*self._key)
               for each in self._robot.now.questions):
            said.append('waits for an answer')
        said.append(shown.waits)
        text = ' · '.join(filter(None, said))
        self._waits.set_text(text)
        self._waits.props['title'] = text
        self._controls.update(record)


def _is_open(shown: Shown) -> bool:
    """Return whether an action has begun and not ended, or waits for locks or people."""
    if shown.state == 'terminated':
        return False
    return shown.state != 'assigned' or bool(shown.waits_for)
