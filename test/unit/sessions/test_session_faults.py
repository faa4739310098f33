# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sessions that wait for a permission, whose journal refuses rows, or with unsafe states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from action_lifecycle.agents.sessions import hosting
from action_lifecycle.engine import State
from action_lifecycle.graphs.state_types import Pause, REGISTRY
from action_lifecycle.journal import compactor, JournalError, verify_journal
from action_lifecycle.tools import AuthRequiredError
import pytest

from .rig import Agent, Rig, run

TOOL = """\
initial: work
states:
  work: {type: tool, tool: mail, arguments: {}}
  done: {type: terminal}
transitions: [{event: done, from: work, to: done}]
"""


class Weld(State):
    """A state that does something by itself."""

    type = 'weld_of_tests'  # noqa: A003
    done: list[str] = []

    def run(self, context: Any, agent: Any = None) -> Any:
        self.done.append(self.name)
        return {'welded': self.name}

    def check_transition_ready(self, context: Any) -> bool:
        return True


@pytest.fixture
def weld() -> Any:
    REGISTRY.register_type(Weld)
    Weld.done.clear()
    yield Weld
    REGISTRY._things.pop('weld_of_tests')


def test_a_tool_is_authorised_by_a_person_also_after_a_kill(tmp_path: Path) -> None:
    async def main(answer: str) -> tuple[Any, list[str]]:
        agent, calls = Agent(), []
        permitted = [False]

        @agent.tool_manager.tool()
        def mail() -> str:
            """Send a mail."""
            if not permitted[0]:
                raise AuthRequiredError('mail', 'https://example.org/login')
            calls.append('mail')
            return 'sent'
        path = tmp_path / answer
        rig = Rig(path, agent)
        rig.begin(TOOL, session_id='one')
        await rig.until('one', lambda status: rig.questions)
        await rig.close()
        rig = Rig(path, agent)
        rig.sessions.restore()
        status = await rig.until('one', lambda status: rig.questions)
        assert status.status == 'waiting'
        question, = rig.questions
        assert question.link == 'https://example.org/login' and question.kind == 'authorize'
        permitted[0] = True
        rig.answers.put_nowait(answer)
        end = await rig.end('one')
        await rig.close()
        return end, calls
    end, calls = run(main('authorized'))
    assert end.status == 'ended' and calls == ['mail']
    end, calls = run(main('give_up'))
    assert end.status == 'failed' and 'not authorised' in end.error_msg and not calls


def test_a_state_type_that_is_not_repeatable_is_asked_about(tmp_path: Path, weld: Any) -> None:
    graph = TOOL.replace('type: tool, tool: mail, arguments: {}', 'type: weld_of_tests')

    async def main() -> None:
        rig = Rig(tmp_path / 'journal', Agent(), last=3)  # opened, entered, the run begins
        rig.begin(graph, session_id='one')
        with pytest.raises(JournalError):
            await rig.end('one')
        await rig.close()
        begun = list(weld.done)
        rig = Rig(tmp_path / 'journal', Agent())
        rig.sessions.restore()
        await rig.until('one', lambda status: rig.questions)
        assert "the run of state 'work'" in rig.questions[0].names['what']
        assert weld.done == begun
        rig.answers.put_nowait('again')
        assert (await rig.end('one')).status == 'ended'
        assert weld.done == [*begun, 'work']
        await rig.close()
    run(main())


@pytest.mark.parametrize('fault, message', [
    ('pause', 'what it says can not be recorded: data: 1100'),
    ('error', "state 'work': bad: ?"), ('update', 'its update can not be recorded: data.update')])
@pytest.mark.parametrize('people', [True, False])
def test_a_state_whose_words_can_not_be_recorded_fails_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, message: str, people: bool
) -> None:
    monkeypatch.setattr(hosting, 'RETRY_DELAY', 0.05)

    class Speaker(State):
        """A state whose output no row can have."""

        type = 'speaker_of_tests'  # noqa: A003
        repeatable = True
        runs = 0

        def run(self, context: Any, agent: Any = None) -> Any:
            Speaker.runs += 1
            if fault == 'error':
                raise ValueError('bad: \ud800')
            return Pause('x' * 1_100_000, '') if fault == 'pause' else {'said': '\ud800'}

        def check_transition_ready(self, context: Any) -> bool:
            return True
    REGISTRY.register_type(Speaker)
    graph = TOOL.replace('type: tool, tool: mail, arguments: {}', 'type: speaker_of_tests')
    if people:
        graph = graph.replace('type: terminal', 'type: user')

    async def main() -> None:
        rig = Rig(tmp_path / 'journal', Agent())
        rig.sessions.host.refused = rig.sessions._refused
        rig.begin(graph, session_id='one')
        status = await rig.until('one', lambda status: status.error_msg)
        assert message in status.error_msg, status
        assert status.status == ('waiting' if people else 'failed') and Speaker.runs == 1
        if people:
            await rig.sessions.send('one', 'retry')
            await rig.until('one', lambda status: status.error_msg)
            assert Speaker.runs == 2
        await rig.close()
    try:
        run(main())
    finally:
        REGISTRY._things.pop('speaker_of_tests')


def test_a_session_goes_on_when_the_journal_takes_rows_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosting, 'RETRY_DELAY', 0.05)

    async def main() -> None:
        agent = Agent()
        rig = Rig(tmp_path / 'journal', agent)
        rig.sessions.host.refused = rig.sessions._refused
        rig.begin(TOOL.replace('type: tool, tool: mail, arguments: {}', 'type: agent'),
                  session_id='one')
        original, refused = rig.journal.append, [0]

        def append(entry: Any) -> Any:
            if entry.event == 'updated' and refused[0] < 2:
                refused[0] += 1
                raise JournalError('the disk is full')
            return original(entry)
        rig.journal.append = append  # type: ignore[method-assign]
        end = await rig.end('one')
        assert end.status == 'ended' and refused == [2]
        assert len(agent.asked) == 1  # its answer was recorded before
        await rig.close()
        assert not verify_journal(tmp_path / 'journal')
    run(main())


@pytest.mark.parametrize('keep', [10, 0])
def test_ended_sessions_are_compacted_and_open_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: int
) -> None:
    monkeypatch.setattr(compactor, 'LEAST', 1)
    agents = TOOL.replace('type: tool, tool: mail, arguments: {}', 'type: agent')
    waits = 'initial: ask\nstates:\n  ask: {type: user, transition: {next: [bye]}}\n' \
        '  bye: {type: terminal}\n'

    async def main() -> None:
        rig = Rig(tmp_path / 'journal', Agent(), compact_keep=keep)
        rig.begin(waits, session_id='open', context_input='kept')
        for number in range(200):
            rig.begin(agents, session_id=f'old-{number}')
            await rig.end(f'old-{number}')
            left = {row.flow_id for row in rig.journal.rows()} - {'', 'open'}
            if number >= 9 and (len(left) < 6 or not keep):  # compaction is in another thread
                break
        await rig.close()
        rig = Rig(tmp_path / 'journal', Agent())
        rig.sessions.restore()
        assert rig.sessions.view('open').context == ['kept']
        kept = set(rig.sessions.ended)
        assert f'old-{number}' in kept and (len(kept) < 6) is bool(keep)
        await rig.sessions.send('open', 'bye')
        await rig.end('open')
        await rig.close()
        assert not verify_journal(tmp_path / 'journal')
    run(main())


def test_a_state_that_takes_too_long_fails(tmp_path: Path) -> None:
    async def main() -> None:
        import asyncio
        agent = Agent()
        agent.motion_ends = asyncio.Event()
        rig = Rig(tmp_path / 'journal', agent, state_time_limit=0.05)
        rig.begin(TOOL.replace('type: tool, tool: mail, arguments: {}',
                               'type: motion, motion: {server: arm}'), session_id='one')
        end = await rig.end('one')
        assert end.status == 'failed' and 'not done within 0.05 s' in end.error_msg
        await rig.close()
    run(main())
