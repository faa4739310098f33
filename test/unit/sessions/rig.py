# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sessions on a journal whose process dies after a given row, and an agent that counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from action_lifecycle.agents.sessions.host import Host, SessionStatus
from action_lifecycle.agents.sessions.hosting import SessionOrder, Sessions
from action_lifecycle.journal import Journal, JournalError
from action_lifecycle.tools import ToolRegistry


class DyingJournal(Journal):
    """A journal whose process is killed right after row `last`; 0: never."""

    last = 0

    def append(self, entry: Any) -> Any:
        self._live()
        row = super().append(entry)
        self._live()
        return row

    def append_many(self, entries: Any) -> Any:
        self._live()
        rows = super().append_many(entries)
        self._live()
        return rows

    def _live(self) -> None:
        if self.last and self.last_seq() >= self.last:
            raise JournalError('killed')


class Agent:
    """What the states call; `replies` are those of the model, by the number of the request."""

    def __init__(self) -> None:
        self.replies: Callable[[Any, Any], Any] = lambda context, schema: {
            'role': 'assistant', 'content': 'Hello.'}
        self.asked: list[Any] = []
        self.motions: dict[str, int] = {}  #: number of motions sent, by call id
        self.stopped: list[str] = []
        self.tool_manager = ToolRegistry()
        self.current_user_id = 'anna'
        self.motion_ends: asyncio.Event | None = None

    async def call_llm(self, context: Any, json_schema: Any = None) -> Any:
        self.asked.append(context)
        await asyncio.sleep(0)
        return self.replies(context, json_schema)

    async def execute_motion(
        self, motion: Mapping[str, Any], context: Any = None, *, call_id: str, again: bool
    ) -> bool:
        if call_id not in self.motions:
            self.motions[call_id] = 1
        elif not again:
            raise AssertionError(f'{call_id} is sent twice')
        if self.motion_ends is not None:
            await self.motion_ends.wait()
        return bool(motion.get('works', True))

    async def confirm(self, condition: str, within: float | None = None) -> bool:
        return condition == 'true'

    async def stop_call(self, call_id: str) -> None:
        self.stopped.append(call_id)


class Rig:
    """One process: sessions on a journal."""

    def __init__(
        self, path: Path, agent: Agent, last: int = 0, compact_keep: int = 0, **options: Any,
    ) -> None:
        self.journal = DyingJournal(path)
        self.journal.last = last
        self.questions: list[Any] = []
        self.answers: asyncio.Queue[str] = asyncio.Queue()
        self.seen: list[SessionStatus] = []
        self.died = asyncio.Event()
        self.sessions = Sessions(Host(self.journal, agent, ask=self._ask, changed=lambda session: (
            self.seen.append(session.status())), **options), compact_keep)
        self.sessions.host.refused = lambda session, error: self.died.set()

    async def _ask(self, question: Any) -> str:
        self.questions.append(question)
        return await self.answers.get()

    def begin(self, graph: str, **order: Any) -> Any:
        return self.sessions.begin(SessionOrder(graph, 'talk', 'talk.yaml', **order))

    async def until(self, session_id: str, wanted: Callable[[SessionStatus], Any]) -> Any:
        """Wait for a status; raises JournalError if the process dies before."""
        async def poll() -> SessionStatus:
            while not wanted(status := self.sessions.status(session_id)):
                if self.died.is_set():
                    raise JournalError('killed')
                await asyncio.sleep(0.001)
            return status
        return await asyncio.wait_for(poll(), 30.0)

    async def end(self, session_id: str) -> SessionStatus:
        return await self.until(session_id, lambda status: status.status in (
            'ended', 'failed', 'canceled'))

    async def close(self) -> None:
        """End the process, as kill -9 does: nothing is recorded."""
        if self.sessions.host.engine is not None:
            await asyncio.to_thread(self.sessions.host.engine.close, keep=True)
        await self.sessions.close()
        self.journal.close()


def run(main: Any) -> Any:
    return asyncio.run(main)
