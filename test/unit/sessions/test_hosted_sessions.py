# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Hosted sessions: states run, people answer, and a kill after any row loses nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar

from action_lifecycle.dialogue import Dialogue, register_hooks
from action_lifecycle.documents.errors import LifecycleError, TransitionNotAllowed
from action_lifecycle.journal import JournalError, verify_journal
import pytest

from .rig import Agent, Rig, run

TALK = """\
initial: reply
fields: {template: []}
states:
  reply: {type: agent, description: Answers}
  ask: {type: user, template: 'Robot: {{ actor_input }}'}
  bye: {type: terminal}
transitions:
  - {event: ask, from: reply, to: ask}
  - {event: say, from: ask, to: reply}
  - {event: leave, from: ask, to: bye}
"""
WORK = """\
initial: look
states:
  look: {type: tool, tool: look, arguments: {}}
  paint: {type: tool, tool: paint, arguments: {color: red}}
  move: {type: motion, motion: {server: arm}, succeeded: check, failed: broken}
  check: {type: confirm, condition: 'true', confirmed: done, refuted: broken}
  done: {type: terminal}
  broken: {type: terminal}
transitions:
  - {event: paint, from: look, to: paint}
  - {event: move, from: paint, to: move}
  - {event: check, from: move, to: check}
  - {event: broken, from: [move, check], to: broken}
  - {event: done, from: check, to: done}
"""
LOOP = """\
initial: think
states:
  think: {type: agent}
transitions: [{event: think, from: think, to: think}]
"""


def workshop() -> tuple[Agent, list[str]]:
    """Return an agent with an idempotent tool and one that must not be repeated."""
    agent, calls = Agent(), []

    @agent.tool_manager.tool(idempotent=True)
    def look() -> str:
        """Look."""
        calls.append('look')
        return 'red'

    @agent.tool_manager.tool()
    def paint(color: str) -> str:
        """Paint."""
        calls.append(f'paint {color}')
        return 'painted'
    return agent, calls


def test_a_conversation_runs_over_events_and_is_there_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        agent = Agent()
        rig = Rig(tmp_path / 'journal', agent)
        rig.begin(TALK, session_id='one', context_input='Hi', requester='anna')
        waiting = await rig.until('one', lambda status: status.status == 'waiting')
        assert (waiting.output, waiting.next_events) == ('Robot: Hello.', ('say', 'leave'))
        output, status = await rig.sessions.send('one', 'say', 'How are you?', 'anna')
        assert output == 'How are you?' and status.next_events == ('poll',)
        await rig.until('one', lambda status: status.status == 'waiting')
        before = rig.sessions.view('one')
        await rig.close()
        rig = Rig(tmp_path / 'journal', agent)
        rig.sessions.restore()
        assert rig.sessions.view('one') == before
        assert before.context == [
            'Hi', {'role': 'assistant', 'content': 'Hello.'}, 'How are you?',
            {'role': 'assistant', 'content': 'Hello.'}]
        assert [(entry.actor, entry.text) for entry in before.entries] == [
            ('assistant', 'Robot: Hello.'), ('user', 'How are you?'),
            ('assistant', 'Robot: Hello.')]
        with pytest.raises(TransitionNotAllowed):
            await rig.sessions.send('one', 'ask')
        await rig.sessions.send('one', 'leave')
        ended = await rig.end('one')
        assert ended.status == 'ended' and ended.state == 'bye'
        await rig.close()
        rig = Rig(tmp_path / 'journal', agent)
        rig.sessions.restore()
        assert not rig.sessions.open and rig.sessions.status('one') == ended
        assert rig.sessions.view('one').context == before.context
        with pytest.raises(LifecycleError, match='in the journal already'):
            rig.begin(TALK, session_id='one')
        await rig.close()
        assert len(agent.asked) == 2
        assert not verify_journal(tmp_path / 'journal')
    run(main())


def test_an_event_while_a_state_runs_is_refused_with_poll_as_the_next_one(tmp_path: Path) -> None:
    async def main() -> None:
        rig = Rig(tmp_path / 'journal', Agent())
        rig.begin(TALK, session_id='one')
        assert rig.sessions.status('one').next_events == ('poll',)
        with pytest.raises(TransitionNotAllowed, match='work is running; possible events: poll'):
            await rig.sessions.send('one', 'ask')
        await rig.until('one', lambda status: status.status == 'waiting')
        with pytest.raises(TransitionNotAllowed, match='possible events: say, leave'):
            await rig.sessions.send('one', 'ask')
        await rig.close()
    run(main())


GUARDED = """\
initial: ask
hooks: polite
fields: {template: []}
states:
  ask: {type: user, template: 'What?'}
  reply: {type: agent}
  again: {type: user, template: 'Robot: {{ actor_input }}'}
  bye: {type: terminal, enter: wave}
transitions:
  - {event: say, from: [ask, again], to: reply, validators: friendly}
  - {event: again, from: reply, to: again}
  - {event: leave, from: again, to: bye, cond: paid}
"""


@register_hooks('polite')
class Polite:
    """Hooks, a guard and a validator of GUARDED."""

    calls: ClassVar[list[str]] = []

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue

    def friendly(self, actor_input: Any) -> None:
        if actor_input == 'rubbish':
            raise ValueError('say it politely')

    def paid(self) -> bool:
        return 'money' in self.dialogue.names['context']

    async def later(self) -> bool:
        return True

    def on_enter_again(self) -> None:
        self.calls.append('again')
        self.dialogue.dialogue_persistence = 'NONE'

    def wave(self, target: str) -> None:
        self.calls.append(f'wave at {target}')


def test_registered_hooks_guards_and_validators_of_a_graph_are_called(tmp_path: Path) -> None:
    async def main() -> None:
        Polite.calls.clear()
        rig = Rig(tmp_path / 'journal', Agent())
        rig.begin(GUARDED, session_id='one')
        with pytest.raises(LifecycleError, match="'say' is refused: say it politely"):
            await rig.sessions.send('one', 'say', 'rubbish')
        assert rig.sessions.status('one').state == 'ask'
        await rig.sessions.send('one', 'say', 'Hello')
        status = await rig.until('one', lambda status: status.state == 'again')
        assert status.next_events == ('say',) and status.output == 'Robot: Hello.'
        assert [entry.text for entry in rig.sessions.view('one').entries] == ['What?', 'Hello']
        with pytest.raises(TransitionNotAllowed, match="guard 'paid' .*; possible events: say"):
            await rig.sessions.send('one', 'leave')
        await rig.sessions.send('one', 'say', 'money')
        await rig.until('one', lambda status: 'leave' in status.next_events)
        await rig.sessions.send('one', 'leave')
        assert Polite.calls == ['again', 'again', 'wave at bye']
        await rig.close()
    run(main())


def test_after_a_kill_within_a_transition_its_registered_hooks_are_called(tmp_path: Path) -> None:
    async def main() -> None:
        rig = Rig(tmp_path / 'journal', Agent())
        rig.begin(GUARDED, session_id='one')
        original = rig.journal.append

        def append(entry: Any) -> Any:
            row = original(entry)
            if entry.event == 'moved' and entry.to_state == 'again':
                rig.journal.last = row.seq
            return row
        rig.journal.append = append  # type: ignore[method-assign]
        await rig.sessions.send('one', 'say', 'Hello')
        with pytest.raises(JournalError):
            await rig.until('one', lambda status: False)
        await rig.close()
        Polite.calls.clear()
        rig = Rig(tmp_path / 'journal', Agent())
        rig.sessions.restore()
        assert Polite.calls == ['again']
        assert rig.sessions.status('one').output == 'Robot: Hello.'
        assert [entry.text for entry in rig.sessions.view('one').entries] == ['What?', 'Hello']
        await rig.close()
    run(main())


async def restarted_until_the_end(path: Path, agent: Agent, graph: str, last: int) -> Any:
    """Run a session that is killed after row `last`, then again without a kill."""
    rig = Rig(path, agent, last)
    try:
        rig.begin(graph, session_id='one')
        await rig.end('one')
    except JournalError:
        pass
    await rig.close()
    rig = Rig(path, agent)
    rig.sessions.restore()
    if 'one' not in (*rig.sessions.open, *rig.sessions.ended):
        rig.begin(graph, session_id='one')
    await rig.end('one')
    return rig


def test_after_a_kill_at_any_row_nothing_is_done_twice(tmp_path: Path) -> None:
    async def main() -> None:
        agent, calls = workshop()
        rig = await restarted_until_the_end(tmp_path / 'whole', agent, WORK, 0)
        rows, wanted = rig.journal.last_seq(), rig.sessions.view('one')
        assert wanted.status.status == 'ended' and wanted.status.state == 'done'
        await rig.close()
        assert rows > 15
        for last in range(1, rows + 1):
            agent, calls = workshop()
            asked: list[Any] = []

            async def one(last: int = last, agent: Agent = agent, asked: list[Any] = asked) -> Any:
                path = tmp_path / f'killed{last}'
                task = asyncio.ensure_future(restarted_until_the_end(path, agent, WORK, last))
                return await task

            rig = None
            with_answers = Rig._ask

            async def answer(self: Rig, question: Any, asked: list[Any] = asked) -> str:
                asked.append(question)
                return 'done'
            Rig._ask = answer  # type: ignore[method-assign]
            try:
                rig = await one()
            finally:
                Rig._ask = with_answers  # type: ignore[method-assign]
            view = rig.sessions.view('one')
            await rig.close()
            assert view.status.state == 'done', last
            assert calls.count('paint red') == (0 if asked else 1), last
            assert len(asked) <= 1 and calls.count('look') <= 2
            assert len(agent.motions) == 1
            if not asked:
                assert view.context == wanted.context
            assert not verify_journal(tmp_path / f'killed{last}')
    run(main())


def test_a_kill_between_a_call_and_its_result_asks_a_person(tmp_path: Path) -> None:
    async def main(answer: str) -> tuple[list[str], Any]:
        agent, calls = workshop()
        path = tmp_path / answer
        rig = Rig(path, agent)
        rows = [0]
        original = rig.journal.append

        def append(entry: Any) -> Any:
            if entry.event == 'effect_done' and entry.data['key'] == 'paint':
                raise JournalError('killed')
            rows[0] += 1
            return original(entry)
        rig.journal.append = append  # type: ignore[method-assign]
        rig.begin(WORK, session_id='one')
        with pytest.raises(JournalError):
            await rig.end('one')
        await rig.close()
        rig = Rig(path, agent)
        rig.sessions.restore()
        status = await rig.until('one', lambda status: rig.questions)
        assert status.status == 'waiting' and status.next_events == ('poll',)
        assert calls == ['look', 'paint red']
        question, = rig.questions
        assert question.names['what'] == 'tool paint'
        rig.answers.put_nowait(answer)
        await rig.end('one')
        view = rig.sessions.view('one')
        await rig.close()
        return calls, view
    calls, view = run(main('again'))
    assert calls == ['look', 'paint red', 'paint red'] and view.status.status == 'ended'
    calls, view = run(main('done'))
    assert calls == ['look', 'paint red'] and view.status.status == 'ended'
    calls, view = run(main('failed'))
    assert view.status.status == 'failed' and 'a person says' in view.status.error_msg


def test_exactly_so_many_states_run_without_an_event(tmp_path: Path) -> None:
    async def main() -> None:
        agent = Agent()
        rig = Rig(tmp_path / 'journal', agent, max_steps=7)
        rig.begin(LOOP, session_id='one')
        status = await rig.end('one')
        assert status.status == 'failed' and status.error_msg.startswith('max_steps: 7 ')
        assert len(agent.asked) == 7
        await rig.close()
    run(main())


def test_the_oldest_items_of_a_context_are_dropped(tmp_path: Path) -> None:
    async def main() -> None:
        rig = Rig(tmp_path / 'journal', Agent(), max_steps=40, context_limit=500)
        rig.begin(LOOP, session_id='one', context_input='the request')
        await rig.end('one')
        context = rig.sessions.view('one').context
        assert context[0] == 'the request' and 3 < len(context) < 20
        await rig.close()
    run(main())


def test_a_failure_is_offered_to_people_and_ends_a_graph_without_them(tmp_path: Path) -> None:
    async def main() -> None:
        agent = Agent()

        def fail(context: Any, schema: Any) -> Any:
            raise LifecycleError('no model is there')
        agent.replies = fail
        rig = Rig(tmp_path / 'journal', agent)
        rig.begin(TALK, session_id='one')
        status = await rig.until('one', lambda status: status.error_msg)
        assert status.next_events == ('ask', 'retry') and status.status == 'waiting'
        assert 'no model is there' in status.error_msg
        rig.begin(LOOP, session_id='two')
        assert 'no model is there' in (await rig.end('two')).error_msg
        await rig.close()
        rig = Rig(tmp_path / 'journal', agent)
        rig.sessions.restore()
        assert rig.sessions.status('one') == status
        agent.replies = lambda context, schema: {'role': 'assistant', 'content': 'Here.'}
        await rig.sessions.send('one', 'retry', None, 'anna')
        status = await rig.until('one', lambda status: status.status == 'waiting')
        assert status.output == 'Robot: Here.' and not status.error_msg
        await rig.close()
    run(main())


def test_a_cancel_stops_the_motion_also_after_a_kill(tmp_path: Path) -> None:
    async def main() -> None:
        agent, _ = workshop()
        agent.motion_ends = asyncio.Event()
        rig = Rig(tmp_path / 'journal', agent)
        rig.begin(WORK, session_id='one')
        await rig.until('one', lambda status: agent.motions)
        rig.journal.last = rig.journal.last_seq() + 1
        with pytest.raises(JournalError):
            await rig.sessions.send('one', 'cancel', None, 'anna')
        await rig.close()
        rig = Rig(tmp_path / 'journal', agent)
        rig.sessions.restore()
        status = await rig.end('one')
        assert status.status == 'canceled' and status.error_msg == 'canceled by anna'
        assert agent.stopped == list(agent.motions)
        await rig.close()
    run(main())


def test_a_graph_that_can_not_be_hosted_is_refused_with_all_reasons(tmp_path: Path) -> None:
    async def main() -> None:
        rig = Rig(tmp_path / 'journal', Agent())
        with pytest.raises(LifecycleError) as caught:
            rig.begin("""\
initial: a
states:
  a: {type: user, enter: wave}
  b: {type: user}
transitions:
  - {event: poll, from: a, to: b, cond: ready}
""")
        assert all(word in str(caught.value) for word in ('wave', "'ready'", "'poll'"))
        with pytest.raises(LifecycleError, match="no dialogue hooks 'polit'; .*'polite'"):
            rig.begin(GUARDED.replace('hooks: polite', 'hooks: polit'))
        with pytest.raises(LifecycleError, match="hooks 'polite' do not have it.*'paid'"):
            rig.begin(GUARDED.replace('cond: paid', 'cond: payd'))
        with pytest.raises(LifecycleError, match="'actor': sessions have something of this name"):
            rig.begin(GUARDED.replace('cond: paid', 'cond: actor'))
        with pytest.raises(LifecycleError, match="a session can't be async"):
            rig.begin(GUARDED.replace('cond: paid', 'cond: later'))
        for session_id in ('a/b', 'a.1', 'a b', '-a', 'a' * 101):
            with pytest.raises(LifecycleError, match='session_id'):
                rig.begin(LOOP, session_id=session_id)
        assert rig.journal.last_seq() == 0
        await rig.close()
    run(main())


def test_a_row_that_can_not_be_used_sets_only_its_session_aside(tmp_path: Path) -> None:
    async def main() -> None:
        rig = Rig(tmp_path / 'journal', Agent())
        for name in ('one', 'two'):
            rig.begin(TALK, session_id=name)
            await rig.until(name, lambda status: status.status == 'waiting')
        from action_lifecycle.journal import Entry
        rig.journal.append(Entry('session', 'one', 'session', event='updated', data={}))
        await rig.close()
        rig = Rig(tmp_path / 'journal', Agent())
        rig.sessions.restore()
        assert list(rig.sessions.open) == ['two']
        with pytest.raises(LifecycleError, match='set aside'):
            rig.sessions.status('one')
        with pytest.raises(LifecycleError, match='already'):
            rig.begin(TALK, session_id='one')
        await rig.close()
    run(main())
