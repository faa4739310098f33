# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Canceled sessions: what runs is stopped first, also if the journal refuses the row."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from action_lifecycle.agents.sessions import cancel, hosting
from action_lifecycle.agents.skills.skill import parse_skill, SkillStore
from action_lifecycle.agents.tools.registry import Tool
from action_lifecycle.journal import JournalError
import pytest

from .rig import Agent, Rig, run

MOVE = """\
initial: work
states:
  work: {type: motion, motion: {server: arm}}
  done: {type: terminal}
transitions: [{event: done, from: work, to: done}]
"""


class Stopping(Agent):
    """Its motions go on until they are stopped by their id, and `may_stop` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.motion_ends = asyncio.Event()
        self.may_stop = asyncio.Event()

    async def stop_call(self, call_id: str) -> None:
        await self.may_stop.wait()
        await super().stop_call(call_id)


def refuse(rig: Rig) -> Any:
    """Let the journal refuse all rows; returns a function that ends this."""
    original = rig.journal.append

    def append(entry: Any) -> Any:
        raise JournalError('the disk is full')
    rig.journal.append = append  # type: ignore[method-assign]
    return lambda: setattr(rig.journal, 'append', original)


def test_a_cancel_that_the_journal_refuses_stops_at_once_and_is_recorded_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosting, 'RETRY_DELAY', 0.05)

    async def main() -> None:
        agent, ended = Agent(), []

        async def execute(*_: Any, **__: Any) -> bool:
            agent.motions['arm'] = 1
            try:
                await asyncio.Event().wait()
            finally:
                ended.append('arm')
            return True
        agent.execute_motion = execute  # type: ignore[method-assign]
        rig = Rig(tmp_path / 'journal', agent)
        rig.sessions.host.refused = rig.sessions._refused
        rig.begin(MOVE, session_id='one')
        await rig.until('one', lambda status: agent.motions)
        take = refuse(rig)
        with pytest.raises(JournalError, match='is stopped, and its cancel is recorded when the '
                           'journal takes rows again: the disk is full'):
            await rig.sessions.send('one', 'cancel', None, 'anna')
        assert ended == ['arm']
        await asyncio.sleep(0.2)  # some tries
        assert rig.sessions.status('one').status == 'running' and ended == ['arm']
        take()
        end = await rig.end('one')
        assert (end.status, end.error_msg) == ('canceled', 'canceled by anna')
        assert agent.stopped == ['one.1.0'] * len(agent.stopped) and agent.stopped
        await rig.close()
    run(main())


def test_a_cancel_of_a_session_that_waits_for_the_journal_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosting, 'RETRY_DELAY', 0.2)
    talk = 'initial: ask\nstates:\n  ask: {type: user, transition: {next: [work]}}\n' \
        '  work: {type: motion, motion: {server: arm}, transition: {next: [ask]}}\n'

    async def main() -> None:
        agent = Agent()
        rig = Rig(tmp_path / 'journal', agent)
        rig.sessions.host.refused = rig.sessions._refused
        rig.begin(talk, session_id='one')
        session = rig.sessions.open['one']
        take = refuse(rig)
        session.refuse(JournalError('the disk is full'))
        take()
        with pytest.raises(JournalError, match='its cancel is recorded when'):
            await rig.sessions.send('one', 'cancel', None, 'anna')
        end = await rig.end('one')
        assert (end.status, end.error_msg) == ('canceled', 'canceled by anna')
        await rig.close()
    run(main())


def test_a_session_is_not_canceled_before_its_motion_has_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancel, 'WAIT', 0.05)

    async def main() -> None:
        agent = Stopping()
        rig = Rig(tmp_path / 'journal', agent)
        rig.begin(MOVE, session_id='one')
        await rig.until('one', lambda status: agent.motions)
        await rig.close()
        for _ in range(2):  # the order is in the journal; the process ends before the motion
            rig = Rig(tmp_path / 'journal', agent)
            rig.sessions.restore()
            _, status = await rig.sessions.send('one', 'cancel', None, 'anna')
            assert (status.status, status.next_events) == ('running', ('poll',))
            assert not agent.stopped
            await rig.close()
        rig = Rig(tmp_path / 'journal', agent)
        rig.sessions.restore()
        agent.may_stop.set()
        assert (await rig.end('one')).error_msg == 'canceled by anna'
        assert agent.stopped == ['one.1.0']
        assert [row.event for row in rig.journal.rows()].count('canceling') == 1
        await rig.close()
    run(main())


def test_only_calls_that_can_be_found_by_their_id_are_stopped(tmp_path: Path) -> None:
    tool = MOVE.replace('type: motion, motion: {server: arm}',
                        'type: tool, tool: NAME, arguments: {}')

    async def main() -> None:
        agent, calls = Agent(), []
        schema = {'type': 'object', 'properties': {}}

        async def call(*arguments: Any) -> None:
            calls.append(arguments)
            await asyncio.Event().wait()
        agent.tool_manager.add(Tool('paint', 'python', 'Paints.', schema, call))
        agent.tool_manager.add(Tool('drive', 'arm', 'Drives.', schema, call, call_by_id=call))
        rig = Rig(tmp_path / 'journal', agent)
        for name in ('paint', 'drive'):
            rig.begin(tool.replace('NAME', name), session_id=name)
        await rig.until('paint', lambda status: len(calls) == 2)
        await rig.close()
        rig = Rig(tmp_path / 'journal', agent)
        rig.sessions.restore()
        for name in ('paint', 'drive'):
            await rig.sessions.send(name, 'cancel')
            assert rig.sessions.status(name).status == 'canceled'
        assert agent.stopped == ['drive.1.0']
        await rig.close()
    run(main())


def test_a_cancel_stops_the_motion_of_a_skill(tmp_path: Path) -> None:
    async def main() -> None:
        agent, calls = Agent(), []
        schema = {'type': 'object', 'properties': {}}

        async def look(*arguments: Any) -> str:
            return 'seen'

        async def drive(*arguments: Any) -> None:
            calls.append(arguments)
            await asyncio.Event().wait()
        agent.tool_manager.add(Tool('look', 'python', 'Looks.', schema, look))
        agent.tool_manager.add(Tool('drive', 'arm', 'Drives.', schema, drive, call_by_id=drive))
        store = SkillStore(tmp_path / 'skills', agent.tool_manager)
        agent.tool_manager.add_source(store)
        store.add(parse_skill(
            'skill: fetch\ndescription: d\nsteps: [{tool: look}, {tool: drive}]\n', 's'))
        rig = Rig(tmp_path / 'journal', agent)
        rig.begin(MOVE.replace('type: motion, motion: {server: arm}',
                               'type: tool, tool: fetch, arguments: {}'), session_id='one')
        await rig.until('one', lambda status: calls)
        await rig.close()
        rig = Rig(tmp_path / 'journal', agent)
        rig.sessions.restore()
        await rig.sessions.send('one', 'cancel')
        assert rig.sessions.status('one').status == 'canceled'
        assert agent.stopped == ['one.1.0.1']
        await rig.close()
    run(main())
