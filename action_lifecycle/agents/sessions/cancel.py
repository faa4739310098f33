# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The cancel of a session: what runs is stopped, then the session ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from .driver import Driver
from .effects import call_id_of
from .host import Host
from .record import CANCELED, SessionRecord
from ..tool_state import ToolError
from ...journal.row import EntryRefused, JournalError
from ...lifecycle.states import ErrorCode

WAIT = 15.0
"""Maximum time (s) to wait for the end of a canceled session, which may come later."""


class Cancel:
    """
    The cancel of one session.

    If the journal refuses its row, what runs is stopped nevertheless. When the host goes on with
    the session from its rows, it gives the order again; see `actor`.
    """

    def __init__(self, session: Any, driver: Driver) -> None:
        self.actor: str | None = None
        """Who has canceled the session, also if the row was refused."""
        self._session = session
        self._driver = driver
        record = self._record
        self._earlier = tuple(record.begun), record.visit  #: calls of an earlier process
        self._task: asyncio.Task[None] | None = None
        self._refusal: JournalError | None = None

    @property
    def _record(self) -> SessionRecord:
        record: SessionRecord = self._session.record
        return record

    def begin(self, actor: str) -> None:
        """Record the order, and stop what runs, again if that failed; raises EntryRefused."""
        session = self._session
        if self._task is not None and not self._has_failed(self._task):
            return
        if self._record.canceled_by is None:
            try:
                session.write('canceling', {}, actor=actor)
            except EntryRefused:
                raise
            except JournalError as error:
                self._refusal = error
                session.refuse(error)
        self.actor = actor
        self._driver.detach.is_set = False
        if session.invoker is not None:
            session.invoker.give_up('the session is canceled')
        self._task = asyncio.create_task(self._run())

    async def wait(self) -> None:
        """Wait until the session has ended, at most WAIT s; raises JournalError, see above."""
        if self._task is None:
            return
        await asyncio.wait([self._task], timeout=WAIT)
        if self._refusal is not None:
            how = 'is stopped' if self._task.done() else 'is being stopped'
            raise JournalError(
                f'session {self._record.session_id} {how}, and its cancel is recorded when '
                f'the journal takes rows again: {self._refusal}') from self._refusal
        if self._task.done() and not self._task.cancelled():
            self._task.result()

    async def detach(self) -> None:
        """Stop waiting for what is to stop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        record, (begun, visit) = self._record, self._earlier
        await self._driver.end()
        for number in begun if record.visit == visit else ():
            if number in record.begun and number not in record.done:
                await self._stop_call(call_id_of(record, number), record.begun[number])
        self._session.finish(CANCELED, ErrorCode.CANCELED,
                             f'canceled by {record.canceled_by or "somebody"}')

    async def _stop_call(self, call_id: str, effect: Mapping[str, Any]) -> None:
        """Stop a call that an earlier process may have made, if it can be found by its id."""
        host: Host = self._session.host
        if hasattr(host.agent, 'stop_call') and await self._has_id(host.agent, effect):
            await host.agent.stop_call(call_id)

    @staticmethod
    async def _has_id(agent: Any, effect: Mapping[str, Any]) -> bool:
        """Whether a call may be found by its id; the tools may be others than at its begin."""
        if effect['kind'] != 'tool':
            return bool(effect['kind'] == 'motion')
        if 'by_id' in effect:  # not in rows of an earlier version
            return bool(effect['by_id'])
        manager = getattr(agent, 'tool_manager', None)
        try:
            return manager is None or (
                await manager.find(effect['key'])).call_by_id is not None
        except ToolError:  # there is no such tool any more
            return True

    @staticmethod
    def _has_failed(task: asyncio.Task[None]) -> bool:
        return task.done() and not task.cancelled() and task.exception() is not None
