# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Actions that run a graph in the agent node, each of the two nodes killed on the way."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
from typing import Any

from action_lifecycle_msgs.msg import ErrorCode, Session, SessionArray
from action_lifecycle_msgs.srv import SendSessionEvent
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from unit.invoke.celery_rig import TASKS

from .work_rig import NODE, WorkRig

TALK = """\
initial: ask
fields: {template: []}
states:
  ask: {type: user, template: 'Which part?'}
  look: {type: invoker, invoke: 'tasks_of_tests:wait_for', done: found, failed: lost}
  seen: {type: terminal, template: 'I see {{ actor_input }}'}
  sorry: {type: user, template: 'Sorry: {{ actor_input }}'}
transitions:
  - {event: search, from: [ask, sorry], to: look}
  - {event: found, from: look, to: seen}
  - {event: lost, from: look, to: sorry}
  - {event: leave, from: [ask, sorry], to: seen}
"""
PAINT = """\
initial: work
states:
  work: {type: tool, tool: paint, arguments: {color: red}}
  done: {type: terminal}
transitions: [{event: done, from: work, to: done}]
"""
PYTHON_TOOLS = """\
def paint(color: str) -> str:
    '''Paint.'''
    raise ValueError('no ' + color)
"""


class GraphRig(WorkRig):
    """With the agent node, and a client of its sessions."""

    def __init__(self, folder: Path) -> None:
        self.graphs = folder / 'graphs'
        self.graphs.mkdir()
        (self.graphs / 'talk.yaml').write_text(TALK)
        (folder / 'tools_of_graphs.py').write_text(PYTHON_TOOLS)
        self.tools = folder / 'tools.yaml'
        self.tools.write_text("python: {paint: {call: 'tools_of_graphs:paint'}}\n")
        super().__init__(folder, folder, graph_folders=json.dumps([str(self.graphs)]),
                         bridge_timeout=60.0)
        self.sessions: dict[str, Any] = {}
        self.node.create_subscription(
            SessionArray, 'agent/sessions', self._seen,
            QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self.events = self.node.create_client(SendSessionEvent, 'agent/send_event')
        self.start_agent()

    def _seen(self, message: SessionArray) -> None:
        self.sessions = {session.id: session for session in message.sessions}

    def start_agent(self) -> None:
        self.start('agent', journal_path=self.folder / 'agent.journal', tools_file=self.tools)

    def session(self, status: str, known: set[str]) -> Any:
        """Wait for a new session with this status."""
        return self.until(lambda: next(
            (one for one in self.sessions.values()
             if one.id not in known and one.status == status), None), 60.0, f'a session {status}')

    def fire(self, session: Any, event: str, given: Any = None) -> None:
        response = self.ask(self.events, SendSessionEvent.Request(
            session_id=session.id, event=event, input_json=json.dumps(given), actor='anna'))
        assert response.accepted, response.error_msg


@pytest.fixture(scope='module')
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphRig]:
    rig = GraphRig(tmp_path_factory.mktemp('graphs'))
    yield rig
    rig.close()


def inline(text: str, more: str = '') -> str:
    return 'a:\n  graph:\n    graph: |\n      ' + text.replace('\n', '\n      ').rstrip() + \
        f'\n    input: [hello]{more}'


def test_a_graph_with_a_person_and_a_task_runs_to_its_end(rig: GraphRig, tmp_path: Path) -> None:
    name, known = rig.new_id(), set(rig.sessions)
    rig.send(name, 'a: {graph: {graph: talk, input: {tray: 3}}}')
    session = rig.session(Session.WAITING, known)
    rig.until(lambda: name in rig.status and 'ask, waiting' in rig.status[name].progress_text,
              30.0, 'what it waits for')
    assert rig.status[name].progress_text == 'ask, waiting, step 1: Which part?'
    (tmp_path / 'nut').touch()
    rig.fire(session, 'search', str(tmp_path / 'nut'))
    assert rig.end_of(name).data['outcome'] == 'succeeded'
    result = rig.row(name, 'request_verification').data['result']
    assert (result['state'], result['output']) == ('seen', f'I see {tmp_path}/nut')
    assert result['context']['tray'] == 3 if isinstance(result['context'], dict) else True


@pytest.mark.parametrize('work, fault', [
    ('a: {graph: {graph: talc}}', "test.yaml:3:15: action 'a', graph: there is no graph 'talc'"),
    (inline(PAINT.replace('to: done', 'to: don')), "did you mean 'done'?"),
    (inline(PAINT.replace('type: tool', 'type: tol')), "unknown state type 'tol'"),
    (inline('initial: [\n'), 'graph'),
    (inline(TALK.replace('tasks_of_tests:wait_for', 'os:system')), "state 'look', 'os:system': "
     "functions of 'os' are not called by flows"),
    ("a: {graph: {graph: '{{ name }}'}}", 'the name of a graph file can not be a template'),
    ('a: {graph: {graph: talk, input: 2024-01-01, inptu: 3}}', "unknown field 'inptu'"),
])
def test_faults_are_found_before_anything_runs(rig: GraphRig, work: str, fault: str) -> None:
    known = set(rig.sessions)
    result = rig.result(rig.new_id(), work)
    assert result.error_code == ErrorCode.FLOW_INVALID and fault in result.error_msg
    assert set(rig.sessions) == known


def test_a_state_that_fails_fails_the_action(rig: GraphRig) -> None:
    name = rig.new_id()
    rig.send(name, inline(PAINT))
    assert rig.end_of(name).data['outcome'] == 'failed'
    failed = rig.row(name, 'fail')
    assert failed.data['error_code'] == 'WORK_FAILED'
    assert 'ValueError: no red' in failed.data['error_msg']


def test_an_end_that_the_sensors_refute_is_no_success(rig: GraphRig) -> None:
    name, known = rig.new_id(), set(rig.sessions)
    rig.send(name, 'a: {graph: {graph: talk}, confirm: {condition: level > 5, within: 0.5}}')
    rig.fire(rig.session(Session.WAITING, known), 'leave', 'x')
    rig.end_of(name)
    assert rig.row(name, 'fail').data['error_code'] == 'REFUTED'


@pytest.mark.parametrize('how', ['cancel', 'time_limit', 'timeout'])
def test_a_stop_cancels_the_session(rig: GraphRig, how: str) -> None:
    name, known = rig.new_id(), set(rig.sessions)
    limit = {'time_limit': ', time_limit: 3'}.get(how, '')
    handle = rig.send(name, f'a: {{graph: {{graph: talk{limit}}}'
                      + (', timeout: 3' if how == 'timeout' else '') + '}')
    session = rig.session(Session.WAITING, known)
    if how == 'cancel':
        handle.cancel_goal_async()
    rig.end_of(name)
    assert rig.row(name, 'fail').data['error_code'] == {
        'cancel': 'CANCELED', 'time_limit': 'MOTION_TIMEOUT', 'timeout': 'DEADLINE_EXCEEDED'}[how]
    rig.until(lambda: rig.sessions[session.id].status == Session.CANCELED, 30.0, 'canceled')


def test_a_session_that_a_person_cancels_fails_the_action(rig: GraphRig) -> None:
    name, known = rig.new_id(), set(rig.sessions)
    rig.send(name, 'a: {graph: {graph: talk}}')
    rig.fire(rig.session(Session.WAITING, known), 'cancel')
    rig.end_of(name)
    failed = rig.row(name, 'fail').data
    assert (failed['error_code'], failed['error_msg']) == ('WORK_FAILED', 'canceled by anna')


@pytest.mark.parametrize('killed', [
    [NODE], ['agent'], pytest.param([NODE, 'agent'], marks=pytest.mark.long),
    pytest.param(['agent', NODE], marks=pytest.mark.long)])
@pytest.mark.parametrize('working', [False, True])
def test_killed_in_mid_work_the_session_goes_on(
    rig: GraphRig, killed: list[str], working: bool, tmp_path: Path
) -> None:
    name, known = rig.new_id(), set(rig.sessions)
    rig.send(name, 'a: {graph: {graph: talk}}')
    session = rig.session(Session.WAITING, known)
    if working:
        rig.fire(session, 'search', str(tmp_path / 'nut'))
        rig.session(Session.WORKING, known)
    for victim in killed:
        rig.kill(victim)
    if 'agent' in killed:
        rig.sessions = {}
    for victim in killed:
        if victim == 'agent':
            rig.start_agent()
        else:
            rig.start_node()
    (tmp_path / 'nut').touch()
    known.discard(session.id)
    if working:
        # A task of the local engine that the kill interrupts is not repeated by the agent node.
        rig.until(lambda: session.id in rig.sessions and rig.sessions[
            session.id].status != Session.WORKING, 60.0, 'the session is there')
        if rig.sessions[session.id].status == Session.WAITING:
            rig.fire(session, 'leave', 'nothing')
    else:
        rig.until(lambda: session.id in rig.sessions, 60.0, 'the session is there')
        rig.fire(session, 'search', str(tmp_path / 'nut'))
    end = rig.end_of(name, timeout=90.0)
    assert end.data['outcome'] == 'succeeded', rig.row(name, 'fail').data
    assert [row.event for row in rig.rows(name)].count('request_verification') == 1
    assert sum(one.id not in known for one in rig.sessions.values()) <= 1


def test_without_the_agent_node_it_fails(tmp_path: Path) -> None:
    rig = WorkRig(tmp_path, agent='nobody', bridge_timeout=3.0, graph_folders=json.dumps(
        [str(TASKS.parents[3] / 'config' / 'graphs')]))
    try:
        rig.send('f', inline(PAINT))
        rig.end_of('f')
        failed = rig.row('f', 'fail')
        assert failed.data['error_code'] == 'SERVER_MISSING'
        assert 'nobody/run_graph is not there within 3 s' in failed.data['error_msg']
    finally:
        rig.close()
