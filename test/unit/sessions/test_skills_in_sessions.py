# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Skills that a session calls: each of their calls is recorded, found again, and stopped."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

from action_lifecycle.agents.skills.skill import parse_skill, SkillStore
from action_lifecycle.agents.tools.registry import Tool
from action_lifecycle.journal import Entry, JournalError, verify_journal
from action_lifecycle.tools import AuthRequiredError
import pytest

from .rig import Agent, Rig, run

GRAPH = """\
initial: work
states:
  work: {type: tool, tool: fetch, arguments: {}}
  done: {type: terminal}
transitions: [{event: done, from: work, to: done}]
"""
SKILL = """\
skill: fetch
description: Fetches the cup.
steps: [{tool: look}, {tool: drive}, {tool: grip, arguments: {place: '{{ results[0] }}'}}]
"""


class Workshop:
    """An agent with a skill of an idempotent tool, a motion with an id, and a plain tool."""

    def __init__(self, folder: Path) -> None:
        self.agent = Agent()
        self.calls: Counter[str] = Counter()
        self.sent: list[str] = []
        self.flows: set[str] = set()  #: those that the action node has executed
        self.arrives = asyncio.Event()
        self.permitted = True
        registry = self.agent.tool_manager

        @registry.tool(idempotent=True)
        def look() -> str:
            """Look for the cup."""
            self.calls['look'] += 1
            return 'shelf'

        @registry.tool()
        def grip(place: str) -> str:
            """Take the cup."""
            if not self.permitted:
                raise AuthRequiredError('grip', 'https://example.org/login')
            self.calls[f'grip {place}'] += 1
            return 'taken'

        async def drive(arguments: Any, user_id: Any, call_id: str, again: bool) -> str:
            assert again or call_id not in self.sent, f'{call_id} is sent twice'
            self.sent.append(call_id)
            self.flows.add(call_id)
            await self.arrives.wait()
            return 'there'
        registry.add(Tool(
            'drive', 'base', 'Drives.', {'type': 'object', 'properties': {}},
            lambda arguments, user_id: pytest.fail('a motion without an id'), call_by_id=drive))
        store = SkillStore(folder, registry)
        registry.add_source(store)
        store.add(parse_skill(SKILL, 'fetch.yaml'))


def test_a_motion_of_a_skill_is_followed_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        work = Workshop(tmp_path / 'skills')
        rig = Rig(tmp_path / 'journal', work.agent)
        rig.begin(GRAPH, session_id='one')
        await rig.until('one', lambda status: work.sent)
        await rig.close()
        work.arrives.set()
        rig = Rig(tmp_path / 'journal', work.agent)
        rig.sessions.restore()
        assert (await rig.end('one')).status == 'ended'
        assert rig.questions == [] and work.flows == {'one.1.0.1'}
        assert work.calls == {'look': 1, 'grip shelf': 1}
        assert rig.sessions.view('one').context == [{
            'role': 'tool', 'name': 'fetch',
            'content': {'results': ['shelf', 'there', 'taken']}}]
        await rig.close()
        assert not verify_journal(tmp_path / 'journal')
    run(main())


def test_a_cancel_after_a_restart_stops_the_motion_of_a_skill(tmp_path: Path) -> None:
    async def main() -> None:
        work = Workshop(tmp_path / 'skills')
        rig = Rig(tmp_path / 'journal', work.agent)
        rig.begin(GRAPH, session_id='one')
        await rig.until('one', lambda status: work.sent)
        rig.journal.last = rig.journal.last_seq() + 1
        with pytest.raises(JournalError):
            await rig.sessions.send('one', 'cancel', None, 'anna')
        await rig.close()
        rig = Rig(tmp_path / 'journal', work.agent)
        rig.sessions.restore()
        assert (await rig.end('one')).status == 'canceled'
        assert work.agent.stopped == work.sent == ['one.1.0.1']
        await rig.close()
    run(main())


def test_a_skill_killed_at_any_row_does_nothing_twice(tmp_path: Path) -> None:
    async def once(last: int) -> tuple[int, Workshop, list[Any]]:
        work = Workshop(tmp_path / f'skills{last}')
        work.arrives.set()
        rig = Rig(tmp_path / f'journal{last}', work.agent, last)
        try:
            rig.begin(GRAPH, session_id='one')
            await rig.end('one')
        except JournalError:
            pass
        await rig.close()
        rig = Rig(tmp_path / f'journal{last}', work.agent)
        rig.sessions.restore()
        rig.answers.put_nowait('done')
        end = await rig.end('one')
        assert end.status == 'ended', end
        rows, questions = rig.journal.last_seq(), rig.questions
        await rig.close()
        return rows, work, questions

    async def main() -> None:
        rows, work, _ = await once(0)
        assert rows > 10 and work.calls == {'look': 1, 'grip shelf': 1}
        asked = 0
        for last in range(1, rows + 1):
            _, work, questions = await once(last)
            assert work.flows == {'one.1.0.1'} and work.calls['look'] <= 2, last
            assert work.calls['grip shelf'] == (0 if questions else 1), last
            assert all(one.names['what'] == 'tool grip' for one in questions)
            asked += len(questions)
        assert asked == 1  # between the row that grip begins and its call
    run(main())


@pytest.mark.parametrize('is_killed', [False, True])
def test_a_skill_that_is_authorised_does_not_repeat_its_calls(
    tmp_path: Path, is_killed: bool
) -> None:
    async def main() -> None:
        work = Workshop(tmp_path / 'skills')
        work.arrives.set()
        work.permitted = False
        rig = Rig(tmp_path / 'journal', work.agent)
        rig.begin(GRAPH, session_id='one')
        await rig.until('one', lambda status: rig.questions)
        if is_killed:
            await rig.close()
            rig = Rig(tmp_path / 'journal', work.agent)
            rig.sessions.restore()
        work.permitted = True
        rig.answers.put_nowait('authorized')
        assert (await rig.end('one')).status == 'ended'
        assert work.sent == ['one.1.0.1'] and work.calls == {'look': 1, 'grip shelf': 1}
        await rig.close()
    run(main())


@pytest.mark.parametrize('is_done, sent', [(True, 0), (False, 1)])
def test_a_journal_in_which_a_skill_is_one_call_is_read(
    tmp_path: Path, is_done: bool, sent: int
) -> None:
    async def main() -> None:
        work = Workshop(tmp_path / 'skills')
        work.arrives.set()
        rig = Rig(tmp_path / 'journal', work.agent)
        rig.begin(GRAPH, session_id='one')
        rig.sessions.open['one'].closed = True  # the process has ended
        call = {'n': 0, 'kind': 'tool', 'key': 'fetch'}

        def write(event: str, data: Any) -> None:
            rig.journal.append(Entry('session', 'one', 'session', event=event, data=data))
        write('effect', call)
        if is_done:
            write('effect_done', {**call, 'value': {'results': ['old']}})
        await rig.close()
        rig = Rig(tmp_path / 'journal', work.agent)
        rig.sessions.restore()
        rig.answers.put_nowait('again')
        assert (await rig.end('one')).status == 'ended'
        assert [one.names['what'] for one in rig.questions] == ['tool fetch'] * sent
        assert len(work.sent) == sent
        await rig.close()
    run(main())
