# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""SmartLedger on a session of the agent node: its states and its outside work."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
import uuid

from action_lifecycle.agents.sessions.record import ACTION, KIND
from action_lifecycle.agents.sessions.session_tasks import SessionTasks
from action_lifecycle.fleet import LedgerRefused, open_ledger, SmartLedger
from action_lifecycle.journal import Entry, Journal
import pytest

from .rig import Agent, Rig, run
from .test_hosted_sessions import TALK, WORK, workshop


class Synced:
    """A SmartLedger on a session, and the sync of its journal."""

    def __init__(self, journal: Journal, session: str = 'one') -> None:
        self.url = f'memory://{uuid.uuid4().hex}'
        self.journal = journal
        self.ledger = SmartLedger(
            session, SessionTasks(open_ledger(self.url, 'robot7_agent').reader()))

    async def statuses(self) -> dict[str, tuple[str, str]]:
        ledger = open_ledger(self.url, 'robot7_agent')
        await ledger.apply(list(self.journal.rows(after=(await ledger.cursor()).seq)))
        return {name: (task.status.value, task.blocked_reason)
                for name, task in self.ledger.tasks.items()}


def test_states_of_a_conversation_are_its_tasks(tmp_path: Path) -> None:
    async def main() -> None:
        rig = Rig(tmp_path / 'journal', Agent())
        rig.begin(TALK, session_id='one', context_input='Hi', requester='anna')
        await rig.until('one', lambda status: status.status == 'waiting')
        synced = Synced(rig.journal)
        assert await synced.statuses() == {
            'reply': ('COMPLETED', ''), 'ask': ('BLOCKED', 'input_required')}
        await rig.sessions.send('one', 'say', 'How are you?', 'anna')
        await rig.until('one', lambda status: status.status == 'waiting')
        await rig.sessions.send('one', 'leave')
        await rig.end('one')
        assert await synced.statuses() == {
            'reply': ('COMPLETED', ''), 'ask': ('COMPLETED', ''), 'bye': ('COMPLETED', '')}
        history = synced.ledger.history('reply')
        assert [(one.event, one.claimant, one.token) for one in history] == [
            ('IN_PROGRESS', 'robot7_agent', 1), ('COMPLETED', 'robot7_agent', 1),
            ('IN_PROGRESS', 'robot7_agent', 2), ('COMPLETED', 'robot7_agent', 2)]
        with pytest.raises(LedgerRefused, match="task 'reply' belongs to session 'one' of robot"):
            synced.ledger.claim('reply')
        assert Synced(rig.journal, 'two').ledger.tasks == {}
        await rig.close()
    run(main())


def test_motion_is_in_progress_until_its_session_is_canceled(tmp_path: Path) -> None:
    async def main() -> None:
        agent, _ = workshop()
        agent.motion_ends = asyncio.Event()
        rig = Rig(tmp_path / 'journal', agent)
        rig.begin(WORK, session_id='one')
        await rig.until('one', lambda status: agent.motions)
        synced = Synced(rig.journal)
        assert (await synced.statuses())['move'] == ('IN_PROGRESS', '')
        cancel = asyncio.ensure_future(rig.sessions.send('one', 'cancel', None, 'anna'))
        await rig.end('one')
        await cancel
        assert await synced.statuses() == {
            'look': ('COMPLETED', ''), 'paint': ('COMPLETED', ''), 'move': ('CANCELLED', '')}
        await rig.close()
    run(main())


def test_pauses_failures_and_outside_work_are_shown(tmp_path: Path) -> None:
    graph = """\
initial: find
states:
  find: {type: invoker, invoke: 'my_skills.vision:find', done: bye}
  bye: {type: terminal}
transitions: [{event: bye, from: find, to: bye}]
"""
    steps: list[tuple[str, dict[str, Any], dict[str, tuple[str, str]]]] = [
        ('opened', {'graph': graph, 'name': 'g', 'source': 'g.yaml', 'context': []},
         {'find': ('IN_PROGRESS', '')}),
        ('work', {'run': 'r', 'before': [0, 0]}, {'find': ('IN_PROGRESS', '')}),
        ('task_sent', {'run': 'r', 'task': '0'}, {'find/0': ('IN_PROGRESS', '')}),
        ('task_sent', {'run': 'r', 'task': '1'}, {'find/1': ('IN_PROGRESS', '')}),
        ('task_ended', {'run': 'r', 'task': '0', 'value': 7}, {'find/0': ('COMPLETED', '')}),
        ('task_ended', {'run': 'r', 'task': '1', 'error': 'no part'}, {'find/1': ('FAILED', '')}),
        ('failed', {'error': 'no part'}, {'find': ('FAILED', '')}),
        ('again', {}, {'find': ('IN_PROGRESS', '')}),
        ('paused', {'message': 'Sign in', 'link': 'https://x'},
         {'find': ('BLOCKED', 'approval_required')}),
        ('again', {}, {'find': ('IN_PROGRESS', '')}),
        ('paused', {'message': 'Which one?', 'link': ''}, {'find': ('BLOCKED', 'input_required')}),
        ('task_sent', {'run': 'r', 'task': '2'}, {'find/2': ('IN_PROGRESS', '')}),
        ('ended', {'reason': 'failed', 'error_msg': 'gone'},
         {'find': ('FAILED', ''), 'find/2': ('FAILED', '')})]

    async def main() -> None:
        with Journal(tmp_path / 'journal') as journal:
            synced = Synced(journal)
            expected: dict[str, tuple[str, str]] = {}
            for event, data, change in steps:
                journal.append(Entry(
                    KIND, 'one', ACTION, event=event, data=data, final=event == 'ended',
                    to_state='find' if event == 'opened' else ''))
                expected.update(change)
                assert await synced.statuses() == expected, event
            assert synced.ledger.tasks['find/1'].reason == 'no part'
            assert synced.ledger.tasks['find'].reason == 'gone'
    run(main())
