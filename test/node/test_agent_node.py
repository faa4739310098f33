# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The agent node over DDS: sessions, conversations and outside work, killed in each state."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
import threading
from typing import Any

from action_lifecycle.journal import verify_journal
from action_lifecycle_msgs.msg import ErrorCode, Session
from action_lifecycle_msgs.srv import ChooseTransition, ListSessions, Respond
from action_msgs.msg import GoalStatus
import pytest
from rclpy.task import Future
from unit.invoke.celery_rig import CeleryRig
from unit.llm.endpoint import Endpoint

from .agent_rig import AgentRig
from .forked import Forked, ros_arguments

FETCH = """\
initial: ask
fields: {template: []}
states:
  ask: {type: user, template: 'What shall I fetch?'}
  look: {type: invoker, invoke: ['tasks_of_tests:pause', 'tasks_of_tests:shout'], done: found,
         failed: lost}
  count: {type: invoker, invoke: ['tasks_of_tests:split',
          {map: 'tasks_of_tests:shout', over: '{{ actor_input.parts }}'}], done: counted,
          failed: lost}
  seen: {type: user, template: 'I see {{ actor_input|join(", ") }}.'}
  sorry: {type: user, template: 'That did not work: {{ actor_input }}'}
  bye: {type: terminal}
transitions:
  - {event: search, from: [ask, sorry, seen], to: look}
  - {event: found, from: look, to: count}
  - {event: counted, from: count, to: seen}
  - {event: lost, from: [look, count], to: sorry}
  - {event: leave, from: [seen, sorry, ask], to: bye}
"""
TOOLS = """\
python:
  paint: {call: 'agent_tools:paint'}
  look: {call: 'agent_tools:look', idempotent: true}
"""
PYTHON_TOOLS = """\
import os, time
HERE = os.path.dirname(__file__)

def _note(name: str) -> None:
    with open(f'{HERE}/calls', 'a') as calls:
        calls.write(name + '\\n')
    while not os.path.exists(f'{HERE}/go'):
        time.sleep(0.02)

def paint(color: str) -> str:
    '''Paint.'''
    _note('paint')
    return 'painted ' + color

def look() -> str:
    '''Look.'''
    _note('look')
    return 'red'
"""
PAINT = """\
initial: work
states:
  work: {type: tool, tool: TOOL, arguments: ARGUMENTS}
  done: {type: terminal}
transitions: [{event: done, from: work, to: done}]
"""
TALK = """\
initial: reply
states:
  reply: {type: agent}
  ask: {type: user}
  bye: {type: terminal}
transitions:
  - {event: ask, from: reply, to: ask}
  - {event: say, from: ask, to: reply}
  - {event: leave, from: ask, to: bye}
"""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()
    yield endpoint
    endpoint.close()


@pytest.fixture
def rig(tmp_path: Path, endpoint: Endpoint) -> Iterator[AgentRig]:
    rig = AgentRig(tmp_path, OPENAI_BASE_URL=endpoint.url, OPENAI_MODEL='small')
    yield rig
    rig.close()


def waiting(session: Any) -> bool:
    return bool(session.status == Session.WAITING)


def test_a_conversation_over_ros_from_its_greeting_to_its_end(rig: AgentRig) -> None:
    rig.start()
    result = rig.begin(FETCH, 'fetch')
    session = rig.until_session('fetch', waiting, 'the greeting')
    assert session.output == 'What shall I fetch?'
    assert list(session.next_events) == ['search', 'leave']
    reply = rig.send('fetch', 'search', 'a red cup')
    assert reply.accepted and reply.output == 'a red cup'
    assert list(reply.next_events) == ['poll']
    shown = [reply.session.progress]
    while list((reply := rig.poll('fetch')).next_events) == ['poll']:
        shown.append(reply.session.progress)
        assert reply.session.status == Session.WORKING  # no gap between two invokers
    assert shown == sorted(shown)
    assert reply.output == 'I see A, RED, CUP.'
    refused = rig.send('fetch', 'found')
    assert not refused.accepted and refused.error_code == ErrorCode.NOT_ALLOWED
    assert list(refused.next_events) == ['search', 'leave']
    reply = rig.send('fetch', 'search', {'no': 'text'})
    lost = rig.until_session('fetch', lambda session: session.state == 'sorry', 'the failure')
    assert "task 'tasks_of_tests:shout'" in lost.output
    assert list(lost.next_events) == ['search', 'leave'] and lost.error_msg
    rig.send('fetch', 'leave')
    end = rig.until(lambda: result.result() if result.done() else None, 20.0, 'the result')
    assert end.status == GoalStatus.STATUS_SUCCEEDED
    assert (end.result.reason, end.result.state) == (Session.ENDED, 'bye')
    assert [feedback.step for feedback in rig.feedback] == sorted(
        feedback.step for feedback in rig.feedback)
    view = rig.view('fetch')
    assert [(entry.actor, entry.text) for entry in view.dialogue][:3] == [
        ('assistant', 'What shall I fetch?'), ('user', 'a red cup'),
        ('assistant', 'I see A, RED, CUP.')]
    listed = rig.call(ListSessions, ListSessions.Request())
    assert [session.id for session in listed.sessions] == ['fetch']
    # A goal with the id of an ended session gets its result, also after a restart.
    rig.kill_and_start()
    again = rig.begin('', 'fetch')
    end = rig.until(lambda: again.result() if again.done() else None, 20.0, 'the result')
    assert end.result.reason == Session.ENDED
    unknown = rig.begin('', 'nothing')
    end = rig.until(lambda: unknown.result() if unknown.done() else None, 20.0, 'the result')
    assert end.result.error_code == ErrorCode.NOT_FOUND


def test_a_session_that_waits_for_the_user_or_a_model_goes_on_after_a_kill(
    rig: AgentRig, endpoint: Endpoint
) -> None:
    go = threading.Event()

    def answer(request: dict[str, Any]) -> Any:
        go.wait(30.0)
        return {'answer': f'Hello {len(request["messages"])}.'}
    endpoint.always = answer
    rig.start()
    rig.begin(TALK, 'talk', ['Hi'])
    rig.until(lambda: endpoint.requests, 30.0, 'the model is asked')
    rig.kill_and_start()  # while the model is asked
    go.set()
    session = rig.until_session('talk', waiting, 'the answer')
    assert session.output == 'Hello 1.'
    rig.kill_and_start()  # while the user is waited for
    assert rig.until_session('talk', waiting, 'the session').output == 'Hello 1.'
    result = rig.begin('', 'talk')  # follows it
    rig.send('talk', 'say', 'How are you?')
    rig.until_session('talk', lambda session: session.output == 'Hello 3.', 'the next answer')
    rig.send('talk', 'leave')
    end = rig.until(lambda: result.result() if result.done() else None, 20.0, 'the result')
    assert end.result.reason == Session.ENDED
    assert json.loads(end.result.context_json) == [
        'Hi', {'role': 'assistant', 'content': 'Hello 1.'}, 'How are you?',
        {'role': 'assistant', 'content': 'Hello 3.'}]
    assert not verify_journal(rig.journal_path)


def test_a_service_chooses_and_is_asked_again_after_a_kill(rig: AgentRig) -> None:
    asked: list[Any] = []
    may_answer = Future()

    async def choose(
        request: ChooseTransition.Request, response: ChooseTransition.Response
    ) -> ChooseTransition.Response:
        asked.append(request)
        await may_answer
        response.transition = 'right'
        return response

    rig.node.create_service(ChooseTransition, 'chooser', choose)
    rig.start(choose_transition='chooser')
    result = rig.begin("""\
initial: fork
states:
  fork: {type: decision, transition: {next: [left, right]}}
  left: {type: terminal, description: to the left}
  right: {type: terminal, description: to the right}
""", 'fork')
    rig.until(lambda: asked, 30.0, 'the question')
    rig.kill_and_start()
    may_answer.set_result(None)
    rig.until(lambda: len(asked) > 1, 30.0, 'the question again')
    session = rig.until_session(
        'fork', lambda session: session.status == Session.ENDED, 'the end')
    assert session.state == 'right' and not result.done()
    assert list(asked[1].transitions) == ['left', 'right']
    assert list(asked[1].descriptions) == ['to the left', 'to the right']


@pytest.mark.parametrize('tool', ['look', 'paint'])
def test_a_tool_is_called_again_only_if_that_is_harmless(rig: AgentRig, tool: str) -> None:
    folder = rig.folder / 'tools'
    folder.mkdir()
    (folder / 'agent_tools.py').write_text(PYTHON_TOOLS)
    (folder / 'tools.yaml').write_text(TOOLS)
    rig.environment['PYTHONPATH'] += f':{folder}'
    rig.start(tools_file=str(folder / 'tools.yaml'))
    rig.begin(PAINT.replace('TOOL', tool).replace(
        'ARGUMENTS', '{color: red}' if tool == 'paint' else '{}'), 'paint')
    calls = folder / 'calls'
    rig.until(lambda: calls.exists() and calls.read_text(), 30.0, 'the call')
    rig.kill_and_start()
    (folder / 'go').touch()
    if tool == 'paint':
        question = rig.until(lambda: rig.questions, 30.0, 'a question')[0]
        assert 'tool paint' in question.question and list(question.options) == [
            'again', 'done', 'failed']
        rig.kill_and_start()  # the question keeps its id
        assert rig.until(lambda: rig.questions, 30.0, 'the question')[0].id == question.id
        assert (folder / 'calls').read_text() == 'paint\n'
        rig.call(Respond, Respond.Request(id=question.id, answer='done', actor='anna'))
    rig.until_session('paint', lambda session: session.status == Session.ENDED, 'the end')
    content = rig.context_of('paint')[-1]['content']
    assert content == (None if tool == 'paint' else 'red')
    assert (folder / 'calls').read_text() == ('paint\n' if tool == 'paint' else 'look\nlook\n')


@pytest.mark.parametrize('engine', ['local', 'celery'])
def test_outside_work_survives_a_kill_of_the_node(
    rig: AgentRig, engine: str, tmp_path: Path
) -> None:
    if engine == 'celery':
        pytest.importorskip('celery')
    workers = CeleryRig() if engine == 'celery' else None
    ledger = tmp_path / 'done'
    graph = f"""\
initial: ask
states:
  ask: {{type: user}}
  work:
    type: invoker
    invoke: [{{map: {{call: 'tasks_of_tests:note_done', retries: RETRIES,
              input: ['{ledger}', '{{{{ actor_input }}}}']}}}}, 'tasks_of_tests:echo']
    done: done
  end: {{type: terminal}}
transitions:
  - {{event: begin, from: ask, to: work}}
  - {{event: done, from: work, to: end}}
  - {{event: again, from: work, to: ask}}
""".replace('RETRIES', '3' if engine == 'local' else '0')
    parameters = {'engine': engine, **({'broker': workers.url} if workers else {})}
    try:
        if workers:
            workers.start_worker()
        rig.start(**parameters)
        rig.begin(graph, 'work')
        rig.until_session('work', waiting, 'the session')
        numbers = [str(number) for number in range(24)]
        rig.send('work', 'begin', numbers)

        def done() -> int:
            return len(ledger.read_text().split()) if ledger.exists() else 0
        for part in (2, 10):
            rig.until(lambda part=part: done() >= part and rig.progress, 60.0, f'{part} tasks')
            rig.kill_and_start()
        rig.until_session('work', lambda session: session.status == Session.ENDED, 'the end', 90.0)
        assert rig.context_of('work')[-1] == numbers
        shown = rig.progress['work']
        assert shown == sorted(shown) and len(set(shown)) > 1  # as often as they were published
        if workers:  # nothing is done twice
            assert sorted(ledger.read_text().split()) == sorted(numbers)
        assert len([row for row in rig.rows('moved') if row.data['by'] == 'work']) == 1
    finally:
        if workers:
            workers.close()


def test_canceling_the_goal_ends_the_session(rig: AgentRig) -> None:
    rig.start()
    result = rig.begin(FETCH, 'fetch')
    rig.until_session('fetch', waiting, 'the greeting')
    rig.handle.cancel_goal_async()
    end = rig.until(lambda: result.result() if result.done() else None, 20.0, 'the result')
    assert end.status == GoalStatus.STATUS_CANCELED
    assert (end.result.reason, end.result.error_code) == (Session.CANCELED, ErrorCode.CANCELED)
    assert rig.rows('canceling')[0].actor == 'anna'


def test_goals_that_are_not_valid_are_refused_with_the_place(rig: AgentRig) -> None:
    rig.start()

    def refusal(graph: str, session_id: str = '', given: Any = None) -> Any:
        future = rig.begin(graph, session_id, given)
        return rig.until(lambda: future.result() if future.done() else None, 20.0, 'a result'
                         ).result
    bad = refusal('initial: a\nstates:\n  a: {type: nothing}\n')
    assert bad.error_code == ErrorCode.INVALID_REQUEST and 'test.yaml:3:' in bad.error_msg
    assert "no graph 'nothing'" in refusal('nothing').error_msg
    assert 'session_id' in refusal(TALK, 'a/b').error_msg
    assert not rig.rows()


def test_the_command_runs_shows_and_answers_sessions(rig: AgentRig, tmp_path: Path) -> None:
    rig.start()
    graph = tmp_path / 'fetch.yaml'
    graph.write_text(FETCH)
    begun = rig.shell('session', 'run', str(graph), '--id', 'fetch', '--no-wait', '--wait', '30')
    assert (begun.returncode, begun.stdout) == (0, 'fetch\n'), begun.stderr
    sent = rig.shell('session', 'send', 'fetch', 'search', 'a red cup')
    assert (sent.returncode, sent.stdout) == (0, 'I see A, RED, CUP.\n'), sent.stderr
    assert sent.stderr == 'fetch: seen, waiting; next events: search, leave\n'
    wrong = rig.shell('session', 'send', 'fetch', 'serch')
    assert wrong.returncode == 2 and 'next events: search, leave' in wrong.stderr
    listed = json.loads(rig.shell('session', 'list', '--open', '--json').stdout)
    assert [(one['id'], one['state']) for one in listed] == [('fetch', 'seen')]
    shown = json.loads(rig.shell('session', 'show', 'fetch', '--json').stdout)
    assert [entry['text'] for entry in shown['dialogue']] == [
        'What shall I fetch?', 'a red cup', 'I see A, RED, CUP.']
    assert 'I see A, RED, CUP.' in rig.shell('session', 'show', 'fetch').stdout
    assert rig.shell('session', 'send', 'fetch', 'leave').returncode == 0
    ended = rig.shell('session', 'run', '--id', 'fetch', '--json')
    assert ended.returncode == 0 and json.loads(ended.stdout)['reason'] == 'ended'
    assert rig.shell('session', 'show', 'nothing').returncode == 3
    graph.write_text('initial: a\nstates:\n  a: {type: nothing}\n')
    refused = rig.shell('session', 'run', str(graph))
    assert refused.returncode == 2 and 'fetch.yaml:3:' in refused.stderr


def test_the_agent_runs_composed_with_the_other_nodes(rig: AgentRig) -> None:
    command = ['composed', '--agent', *ros_arguments({
        'autostart': True, 'facts_file': rig.facts,
        'agent:journal_path': rig.journal_path,
        'action_lifecycle:journal_path': rig.folder / 'robot.journal',
        'ledger:journal_path': rig.folder / 'robot.journal'})]
    with open(rig.folder / 'composed.log', 'ab') as log:
        rig.process = Forked(command, rig.environment, log)
    result = rig.begin(FETCH, 'fetch')
    rig.until_session('fetch', waiting, 'the greeting')
    assert rig.send('fetch', 'leave').accepted
    end = rig.until(lambda: result.result() if result.done() else None, 20.0, 'the result')
    assert end.result.reason == Session.ENDED
