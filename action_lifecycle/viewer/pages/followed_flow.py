# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Follows one flow for a part of a page: reads it, and reports its changes, but not too often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
import logging

from nicegui import background_tasks, ui

from .listening import listen_while_shown
from ..moment import Moment
from ..record.flow_record import FlowRecord
from ..robots import Heard, Robot, ROWS

RETRY = 2.0
"""Time (s) until a flow that could not be read is read again."""
Paths = frozenset[str]
_LOG = logging.getLogger(__name__)


class FollowedFlow:
    """
    The record of a flow, for as long as an element of a page exists.

    Within `root`, `show(record, paths)` is called once the flow is read and after each change, at
    most once in `period` s. `paths`: what has changed, see `record.shown`; None: everything. With
    a `moment`, changes count only while it is live, and another moment changes everything.
    `say(fault)` gets why the flow can't be shown; '' if it can.
    """

    def __init__(
        self, robot: Robot, flow_id: str, root: ui.element,
        show: Callable[[FlowRecord, Paths | None], None], say: Callable[[str], None], *,
        period: float, moment: Moment | None = None,
    ) -> None:
        self._robot, self._flow_id, self._root, self._moment = robot, flow_id, root, moment
        self._show, self._say, self._period = show, say, period
        self._loop = asyncio.get_running_loop()
        self.record: FlowRecord | None = None
        self._due: Paths | None = frozenset()
        self._timer: asyncio.TimerHandle | None = None
        self._shown = False
        self._shown_at = 0.0
        listen_while_shown(robot, root, self._heard)
        if moment is not None:
            listen_while_shown(moment, root, self.show_all)
        background_tasks.create(self._load(), context=root)

    async def _load(self) -> None:
        while self.record is None:
            try:
                self.record = await self._robot.record.flow(self._flow_id)
            except Exception as error:  # of one reading
                _LOG.warning('%s: %s', self._robot.name, error)
                if not self._root.is_deleted:
                    self._say(f"The flow can't be read: {error}")
                await asyncio.sleep(RETRY)
            if self._root.is_deleted:
                return
        self.show_all()

    def _heard(self, heard: Heard) -> None:
        if heard.kind == ROWS and heard.update is not None and (
                self._moment is None or self._moment.live):
            paths = heard.update.flows.get(self._flow_id)
            if paths:
                self._soon(paths)

    def show_all(self) -> None:
        """Show everything anew."""
        self._soon(None)

    def _soon(self, paths: Paths | None) -> None:
        self._due = None if paths is None or self._due is None else self._due | paths
        if self._timer is None:
            wait = max(0.0, self._shown_at + self._period - self._loop.time())
            self._timer = self._loop.call_later(wait, self._show_due)

    def _show_due(self) -> None:
        self._timer, self._shown_at = None, self._loop.time()
        if self._root.is_deleted or self.record is None:
            return
        due, self._due = self._due, frozenset()
        try:
            with self._root:
                if self.record.last_seq or self._shown:
                    self._shown = True
                    self._show(self.record, due)
                self._say(self._fault(self.record))
        except Exception:
            _LOG.exception('flow %s could not be shown', self._flow_id)
            self._say('This page could not be updated; see the log.')

    def _fault(self, record: FlowRecord) -> str:
        if not record.last_seq:
            return f'The journal has no row of this flow yet: {self._flow_id}'
        return f"The text of the flow can't be read: {record.fault}" if record.fault else ''
