# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Invokers: work between two events, its progress, its failures."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import threading
from typing import Any

from action_lifecycle.engine import load_graph, Machine, TransitionNotAllowed
from action_lifecycle.invoke import (
    Engine,
    Invoker,
    LocalEngine,
    Progress,
    WireError,
    WorkError,
)
import pytest

from .engine_doubles import Held, Twice

ONE = """\
initial: ask
fields: {template: []}
states:
  ask: {type: user, template: 'What?'}
  work: {type: invoker, invoke: %s, done: found}
  told: {type: user, template: '{{ actor_input }}'}
  sorry: {type: user, template: 'Sorry: {{ actor_input }}'}
transitions:
  - {event: search, from: [ask, told, sorry, work], to: work}
  - {event: found, from: work, to: told}
  - {event: apologise, from: work, to: sorry}
  - {event: stop, from: [told, sorry, ask], to: end}
""".replace('transitions:', '  end: {final: true}\ntransitions:')

TWO = """\
initial: ask
fields: {template: []}
states:
  ask: {type: user}
  look: {type: invoker, invoke: ['tasks_of_tests:echo', 'tasks_of_tests:split'], done: think}
  think: {type: invoker, done: show, invoke: {
    map: {call: 'tasks_of_tests:shout', input: '{{ actor_input }}{{ map_index }}'},
    over: '{{ actor_input.parts }}'}}
  seen: {type: user, final: true, template: 'I see {{ actor_input }}'}
transitions:
  - {event: search, from: ask, to: look}
  - {event: think, from: look, to: think}
  - {event: show, from: think, to: seen}
  - {event: drop, from: [look, think], to: seen}
"""


def one(work: Any, failed: str = '') -> str:
    """Return the graph with this work."""
    text = ONE % json.dumps(work)
    return text.replace('done: found', f'done: found, failed: {failed}') if failed else text


def task(name: str, **more: Any) -> dict[str, Any]:
    return {'call': f'tasks_of_tests:{name}', **more}


@pytest.mark.parametrize('work, given, text', [
    (task('shout'), 'größe', 'GRÖSSE'),
    ([task('shout'), task('split')], 'a b', '{"parts": ["A", "B"]}'),
    ({'left': task('shout'), 'right': task('echo')}, 'a', '{"left": "A", "right": "a"}'),
    ([task('split'), {'map': task('shout'), 'over': '{{ actor_input.parts }}'}], 'a b c',
     '["A", "B", "C"]'),
    ([{'x': {'map': [task('shout'), task('echo')]}}, task('echo')], ['a', 'b'],
     '{"x": ["A", "B"]}'),
    ({'map': task('shout')}, [], '[]'),
    (task('size'), b'\x00\xff', '2'),
])
def test_work_gives_its_output_to_the_next_state(
    engine: Engine, talk: Any, work: Any, given: Any, text: str
) -> None:
    held = Held(engine)
    session = talk(one(work), held)
    assert held.send(session, 'search', given).next_events == ('poll',)
    reply = session.finish()
    assert (reply.output, reply.next_events, reply.progress, reply.error) == (
        text, ('search', 'stop'), None, '')


def test_from_invoker_to_invoker_nothing_is_seen_but_the_end(
    engine: Engine, talk: Any
) -> None:
    held = Held(engine)
    session = talk(TWO, held)
    replies = [held.send(session, 'search', 'red cup')]
    while replies[-1].next_events == ('poll',):
        replies.append(session.poll())
    steps = [reply.progress for reply in replies if reply.progress is not None]
    assert steps[0].total == 4 and all(
        a.done <= b.done and a.total <= b.total and a.fraction <= b.fraction < 1
        for a, b in zip(steps, steps[1:]))
    assert all(reply.next_events == ('poll',) for reply in replies[:-1])
    assert replies[-1].output == "I see ['RED0', 'CUP1']"
    assert [(entry.actor, entry.text) for entry in session.dialogue.entries] == [
        ('user', 'red cup'), ('assistant', "I see ['RED0', 'CUP1']")]


def test_progress_begins_with_nothing_done_and_goes_on_in_the_next_invoker(
    engine: Engine, talk: Any, tmp_path: Path, eventually: Callable[..., Any]
) -> None:
    text = TWO.replace("['tasks_of_tests:echo', 'tasks_of_tests:split']",
                       "'tasks_of_tests:wait_for'").replace(
        "{\n    map: {call: 'tasks_of_tests:shout', input: '{{ actor_input }}{{ map_index }}'},\n"
        "    over: '{{ actor_input.parts }}'}", "{call: 'tasks_of_tests:wait_for', input: "
        f"'{tmp_path}/second'}}")
    session = talk(text, engine)
    assert session.send('search', f'{tmp_path}/first').progress == (2, 0, 0.0)
    assert session.invoker.progress == Progress(2, 0, 0.0)
    (tmp_path / 'first').touch()
    eventually(lambda: session.machine.state == 'think' and session.poll().progress.total == 4)
    progress = session.poll().progress
    assert (progress.total, progress.done) == (4, 2) and progress.fraction >= 0.5
    (tmp_path / 'second').touch()
    assert session.finish().output == f'I see {tmp_path}/second'


def test_while_work_runs_every_other_event_is_refused(
    engine: Engine, talk: Any, tmp_path: Path
) -> None:
    session = talk(one(task('wait_for')), engine)
    path = tmp_path / 'go'
    session.send('search', str(path))
    for event in ('found', 'apologise', 'search'):
        with pytest.raises(TransitionNotAllowed, match='work is running; possible events: poll'):
            session.send(event)
        with pytest.raises(TransitionNotAllowed):
            session.machine.fire(event, invocation='guessed')
    assert session.machine.possible_events() == ()
    path.touch()
    assert session.finish().output == str(path)


def test_the_closing_event_is_never_admitted_from_elsewhere(
    engine: Engine, talk: Any
) -> None:
    session = talk(one(task('fail')), engine)
    session.send('search', 'x')
    session.finish()
    with pytest.raises(TransitionNotAllowed, match='only the end of the work fires it; possible '
                                                   'events: search, apologise'):
        session.send('found', 'made up')


def test_a_failure_clears_the_progress_and_offers_the_next_events(
    engine: Engine, talk: Any
) -> None:
    held = Held(engine)
    session = talk(one([task('echo'), task('fail')]), held)
    held.send(session, 'search', 'x')
    reply = session.finish()
    assert reply.error == "task 'tasks_of_tests:fail': ValueError: no way with x"
    assert (reply.progress, reply.next_events) == (None, ('search', 'apologise'))
    assert held.send(session, 'search', 'y').progress.done == 0
    assert session.finish().error.endswith('no way with y')
    assert session.send('apologise', 'by hand').error == ''


def test_a_failure_fires_the_event_that_the_state_has_for_it(
    engine: Engine, talk: Any
) -> None:
    session = talk(one(task('fail'), failed='apologise'), engine)
    session.send('search', 'x')
    reply = session.finish()
    error = "task 'tasks_of_tests:fail': ValueError: no way with x"
    assert (reply.error, reply.output) == (error, f'Sorry: {error}')
    assert reply.next_events == ('search', 'stop')
    assert session.send('stop').error == ''


def test_a_worker_killed_in_its_task_ends_in_an_error_and_harms_no_other_session(
    engine: Engine, talk: Any, tmp_path: Path, eventually: Callable[..., Any]
) -> None:
    killed, other = talk(one(task('hang')), engine), talk(one(task('wait_for')), engine)
    other.send('search', str(tmp_path / 'go'))
    killed.send('search', str(tmp_path / 'pids'))
    pid, child = eventually(lambda: (tmp_path / 'pids').exists()
                            and (tmp_path / 'pids').read_text().split())
    assert killed.poll().next_events == ('poll',)
    os.kill(int(pid), signal.SIGKILL)
    reply = killed.finish(within=10)
    assert reply.error == "task 'tasks_of_tests:hang': its worker process was killed by signal 9"
    assert reply.next_events == ('search', 'apologise')
    (tmp_path / 'go').touch()
    assert other.finish().error == ''


def test_a_task_that_is_delivered_twice_fires_the_next_event_once(
    engine: Engine, talk: Any, tmp_path: Path, eventually: Callable[..., Any]
) -> None:
    fired: list[str] = []

    class Hooks:

        def after_found(self, event: str) -> None:
            fired.append(event)

    twice = Twice(engine)
    session = talk(one({'a': task('note'), 'b': [task('echo'), task('echo')]}), twice, Hooks())
    session.send('search', str(tmp_path / 'notes'))
    assert session.finish().error == ''
    eventually(lambda: twice.replies == 6)
    assert (tmp_path / 'notes').read_text() == 'done\n' * 2
    assert fired == ['found'] and session.machine.state == 'told'
    assert [transition.event for transition in session.machine.history] == ['search', 'found']


def test_a_hundred_sessions_at_once_keep_apart(engine: Engine, talk: Any) -> None:
    graph = one([task('echo'), {'upper': task('shout'), 'same': task('echo')}])
    sessions = [talk(graph, engine) for _ in range(100)]
    threads = [threading.Thread(target=session.send, args=('search', f'cup {number}'))
               for number, session in enumerate(sessions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, session in enumerate(sessions):
        assert json.loads(session.finish().output) == {
            'upper': f'CUP {number}', 'same': f'cup {number}'}
        assert len(session.dialogue.entries) == 3


def test_input_that_can_not_be_sent_is_refused_before_anything_happens(
    engine: Engine, talk: Any
) -> None:
    session = talk(one(task('echo')), engine)
    for value in (object(), float('nan'), b'x' * 10_000_000):
        with pytest.raises(WireError, match="event 'search': actor_input can't be sent"):
            session.send('search', value)
    assert session.machine.state == 'ask'


def test_an_oversized_answer_is_an_error(engine: Engine, talk: Any) -> None:
    session = talk(one(task('large', input='{{ 10 ** 8 }}')), engine)
    session.send('search')
    assert 'its answer is refused: it has 1000000' in session.finish().error


def test_a_map_over_what_is_no_list_is_an_error(engine: Engine, talk: Any) -> None:
    session = talk(one({'map': task('echo')}), engine)
    session.send('search', 'text')
    assert session.finish().error == 'a map takes a list of at most 10000 elements, got str'


@pytest.mark.parametrize('place', ['before_found', 'on_enter_told', 'after_transition'])
@pytest.mark.parametrize('told', [False, True])
def test_a_hook_that_fails_in_the_closing_event_ends_in_an_error(
    engine: Engine, place: str, told: bool
) -> None:
    class Hooks:

        def __getattr__(self, name: str) -> Callable[..., None]:
            if name != place:
                raise AttributeError(name)

            def fail(target: str) -> None:
                if target == 'told':
                    raise ZeroDivisionError('in a hook')
            return fail

    graph = load_graph(one(task('echo')))
    invoker = Invoker(graph, engine)
    over = threading.Event()
    machine = Machine(graph, listeners=[Hooks(), invoker],
                      on_error=(lambda change, error: over.set()) if told else None)
    machine.fire('search', actor_input='x')
    while invoker.poll() is not None:
        over.wait(0.005)
    assert 'hook' in invoker.error
    assert machine.state == ('work' if place == 'before_found' else 'told')
    assert machine.possible_events()


def test_a_hook_that_fails_on_the_way_to_the_next_invoker_does_not_leave_it_polling(
    engine: Engine, talk: Any
) -> None:
    class Hooks:

        def on_enter_think(self) -> None:
            raise ZeroDivisionError('in a hook')

    session = talk(TWO, engine, Hooks())
    session.send('search', 'a')
    reply = session.finish()
    assert (session.machine.state, reply.error) == ('think', 'in a hook')
    assert reply.next_events == ('drop',)


def test_work_that_can_not_start_is_told_at_once(talk: Any) -> None:
    engine = LocalEngine()
    engine.close()
    session = talk(one(task('echo')), engine)
    with pytest.raises(Exception, match='the engine is closed'):
        session.send('search', 'x')
    reply = session.poll()
    assert reply.error == "the work of state 'work' did not start: the engine is closed"
    assert reply.next_events == ('search', 'apologise')


def test_work_that_is_given_up_changes_nothing_when_it_ends(
    engine: Engine, talk: Any, tmp_path: Path
) -> None:
    session = talk(one(task('wait_for')), engine)
    session.send('search', str(tmp_path / 'go'))
    session.invoker.give_up('the operator had enough')
    reply = session.poll()
    assert (reply.error, reply.progress) == ('the operator had enough', None)
    session.send('search', str(tmp_path / 'other'))
    (tmp_path / 'go').touch()
    assert session.poll().next_events == ('poll',)
    (tmp_path / 'other').touch()
    assert session.finish().output == str(tmp_path / 'other')
    session.invoker.give_up('nothing runs')
    assert session.poll().error == ''


def test_progress_expires_with_its_session(
    engine: Engine, talk: Any, tmp_path: Path
) -> None:
    now = 0.0
    session = talk(one(task('wait_for')), engine, expires_after=100.0, clock=lambda: now)
    session.send('search', str(tmp_path / 'go'))
    now = 99.0
    assert session.poll().next_events == ('poll',)
    now = 198.0
    assert session.poll().next_events == ('poll',)
    now = 299.0
    reply = session.poll()
    assert 'the session expired' in reply.error and reply.progress is None
    (tmp_path / 'go').touch()
    assert session.poll().next_events == ('search', 'apologise')


def test_what_comes_after_the_session_expired_fires_nothing(
    engine: Engine, talk: Any, tmp_path: Path, eventually: Callable[..., Any]
) -> None:
    now = 0.0
    session = talk(one(task('wait_for')), engine, expires_after=100.0, clock=lambda: now)
    session.send('search', str(tmp_path / 'go'))
    now = 101.0
    (tmp_path / 'go').touch()
    eventually(lambda: session.invoker.progress is None)
    assert session.machine.state == 'work' and 'expired' in session.invoker.error


def test_the_type_is_known_without_importing_anything_of_invoke() -> None:
    if not entry_points(group='action_lifecycle.states', name='invoker'):
        pytest.skip('the package is not installed')
    text = one('m:f', failed='apologise')
    found = subprocess.run(
        [sys.executable, '-c', 'import sys; from action_lifecycle.engine import load_graph; '
         'print(load_graph(sys.argv[1]).states["work"].type, "celery" in sys.modules)', text],
        capture_output=True, text=True, timeout=60, check=True,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))})
    assert found.stdout == 'invoker False\n'


def test_a_restart_in_an_invoker_state_is_an_error_with_the_next_events(
    engine: Engine
) -> None:
    graph = load_graph(one(task('echo')))
    invoker = Invoker(graph, engine, state='work')
    machine = Machine(graph, listeners=[invoker], state='work')
    assert invoker.error == "the work of state 'work' was lost in a restart"
    assert (invoker.poll(), machine.possible_events()) == (None, ('search', 'apologise'))


def test_faults_of_invoker_states_are_told_together(engine: Engine) -> None:
    graph = load_graph("""\
initial: a
states:
  a: {type: invoker, invoke: [], done: go}
  b: {type: invoker, invoke: 'm:f', done: goo}
  c: {type: invoker, invoke: 'm:f', done: go}
  end: {final: true}
transitions:
  - {event: go, from: a, to: b}
  - {event: go, from: b, to: c}
  - {event: go, from: c, to: end}
  - {event: poll, from: b, to: c}
""")
    with pytest.raises(WorkError) as caught:
        Invoker(graph, engine)
    assert [line.partition(': ')[2] for line in str(caught.value).splitlines()] == [
        'invoke: expected module:function, or a list or mapping of work that is not empty, got []',
        "done: no event 'goo' leaves it; did you mean 'go'?",
        "only 'go' leaves it: another event is needed for work that fails",
        "no event may be called 'poll'"]
