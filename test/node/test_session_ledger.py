# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A session whose motion is a flow of the action node, as the ledger in Redis shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import time

from action_lifecycle.agents.sessions.session_tasks import SessionTasks
from action_lifecycle.fleet import FlowTasks, open_ledger, SmartLedger
from action_lifecycle_msgs.msg import Session
from action_lifecycle_msgs.srv import Respond
import pytest

from .agent_rig import MovingRig
from .test_agent_moves import graph

TOOLS = """\
import os
from action_lifecycle.tools import AuthRequiredError

def enter() -> str:
    '''Open the door of the cell.'''
    if not os.path.exists(os.path.dirname(__file__) + '/signed_in'):
        raise AuthRequiredError('door', 'https://example.org/login')
    return 'open'
"""
GRAPH = graph(target=0.3, seconds=30).replace('initial: reach\nstates:\n', """\
initial: enter
states:
  enter: {type: tool, tool: enter, arguments: {}}
  ask: {type: user}
""") + """\
  - {event: ask, from: enter, to: ask}
  - {event: reach, from: ask, to: reach}
"""


class SyncedRig(MovingRig):
    """Both journals are synced to one Redis, each by a ledger node."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, redis=True)
        assert self.redis is not None
        tools = folder / 'tools'
        tools.mkdir()
        (tools / 'door_tools.py').write_text(TOOLS)
        (tools / 'tools.yaml').write_text("python:\n  enter: {call: 'door_tools:enter'}\n")
        self.environment['PYTHONPATH'] += f':{tools}'
        self.parameters['tools_file'] = str(tools / 'tools.yaml')
        self.signed_in = tools / 'signed_in'
        url = self.redis.url
        for robot, journal in ('robot7', 'robot'), ('robot7_agent', 'agent'):
            self.others[robot] = self.spawn('ledger', {
                'autostart': True, 'robot': robot, 'ledger_url': url,
                'journal_path': folder / f'{journal}.journal'},
                '-r', f'__node:={robot}_ledger', log=robot)
        self.session = SmartLedger(
            'talk', SessionTasks(open_ledger(url, 'robot7_agent').reader()))
        self.flow = SmartLedger('talk.3.0', FlowTasks(open_ledger(url, 'robot7').reader()))

    def until_task(self, name: str, status: str, reason: str = '') -> None:
        """Wait until the ledger shows a task as expected."""
        def seen() -> bool:
            task = self.session.tasks.get(name)
            return task is not None and (task.status.value, task.blocked_reason) == (
                status, reason)
        self.until(seen, 30.0, f'{name}: {status} {reason}')

    def until_flow(self, status: str) -> None:
        """Wait until the ledger shows the action of the flow as expected."""
        self.until(lambda: [task.status.value for task in self.flow.tasks.values()] == [status],
                   30.0, f'the flow: {status}')


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[SyncedRig]:
    rig = SyncedRig(tmp_path)
    yield rig
    rig.close()


@pytest.mark.long
def test_a_session_on_two_nodes_is_followed_in_the_ledger_through_kills_and_a_cancel(
    rig: SyncedRig
) -> None:
    rig.start()
    rig.begin(GRAPH, 'talk')
    rig.until_task('enter', 'BLOCKED', 'approval_required')
    rig.kill_and_start()
    question = rig.until(lambda: rig.questions, 30.0, 'the question')[0]
    rig.signed_in.touch()
    rig.call(Respond, Respond.Request(id=question.id, answer='authorized', actor='anna'))
    rig.until_task('ask', 'BLOCKED', 'input_required')
    assert rig.session.tasks['enter'].status.value == 'COMPLETED'
    rig.send('talk', 'reach')
    rig.until(lambda: rig.robot.count() == 1, 60.0, 'the motion')
    rig.until_task('reach', 'IN_PROGRESS')
    rig.until_flow('IN_PROGRESS')
    rig.kill_and_start()
    rig.until(lambda: 'talk' in rig.sessions, 40.0, 'the session')
    # Both are away: the order alone ends nothing, as the action node will resume the flow.
    rig.kill_action_node()
    rig.begin('', 'talk')
    rig.handle.cancel_goal_async()
    rig.until(lambda: rig.rows('canceling'), 20.0, 'the order')
    rig.kill_and_start()
    rig.until(lambda: 'talk' in rig.sessions, 40.0, 'the session')
    since = time.monotonic()
    rig.until(lambda: time.monotonic() > since + 2.0, 5.0, 'time to end too early')
    assert rig.sessions['talk'].status == Session.RUNNING and rig.robot.running()
    rig.until_task('reach', 'IN_PROGRESS')
    rig.start_others()
    rig.until_session('talk', lambda session: session.status == Session.CANCELED, 'the end')
    assert not rig.robot.running()
    rig.until_task('reach', 'CANCELLED')
    rig.until_flow('CANCELLED')
    assert rig.robot.count() == 1
