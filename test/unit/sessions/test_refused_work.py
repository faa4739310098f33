# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Outside work of sessions whose journal refuses a row while tasks run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
import time
from typing import Any

from action_lifecycle.agents.sessions import hosting
from action_lifecycle.invoke import LocalEngine
from action_lifecycle.journal import JournalError
import pytest

from .rig import Agent, Rig, run
from .test_session_restore import change

TASKS = Path(__file__).parents[1] / 'invoke' / 'tasks'
GRAPH = """\
initial: ask
states:
  ask: {type: user}
  work:
    type: invoker
    done: found
    failed: lost
    invoke:
      slow: {call: 'tasks_of_tests:note_and_wait_for', retries: RETRIES}
      quick:
      - 'tasks_of_tests:wait_for'
      - {call: 'tasks_of_tests:note', input: '{{ actor_input }}.quick'}
  good: {type: terminal}
  bad: {type: terminal}
transitions:
- {event: do, from: ask, to: work}
- {event: found, from: work, to: good}
- {event: lost, from: work, to: bad}
"""


class Refusing(Rig):
    """A rig whose journal refuses the next rows that a test names."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hosting, 'RETRY_DELAY', 0.7)  # longer than the engine's poll
        monkeypatch.syspath_prepend(str(TASKS))
        super().__init__(path, Agent(), engine=LocalEngine(2, 30.0))
        self.sessions.host.refused = self.sessions._refused
        self.refused: list[str] = []
        self.refuses: Callable[[Any], bool] = lambda entry: False
        append = self.journal.append

        def refuse(entry: Any) -> Any:
            if self.refuses(entry):
                self.refused.append(entry.event)
                raise JournalError('the disk is full')
            return append(entry)
        self.journal.append = refuse  # type: ignore[method-assign]

    async def goes_on(self, before: Any) -> None:
        """Wait until another object has the session."""
        async def poll() -> None:
            while self.sessions.open['one'] is before or self.sessions.open['one'].closed:
                await asyncio.sleep(0.01)
        await asyncio.wait_for(poll(), 20.0)


@pytest.mark.parametrize('retries', [0, 1])
@pytest.mark.parametrize('refusals', [
    ['task_ended'], ['task_sent'], ['task_ended', 'task_ended', 'task_ended']])
def test_tasks_go_on_and_run_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retries: int, refusals: list[str]
) -> None:
    path = tmp_path / 'log'

    async def main() -> None:
        rig = Refusing(tmp_path / 'journal', monkeypatch)
        rig.refuses = lambda entry: entry.event == refusals[0] \
            and len(rig.refused) < len(refusals)
        rig.begin(GRAPH.replace('RETRIES', str(retries)), session_id='one')
        before = rig.sessions.open['one']
        await rig.sessions.send('one', 'do', str(path))
        await rig.goes_on(before)
        assert rig.refused == refusals
        await asyncio.sleep(1.2)  # in which the engine ends what is not wanted
        Path(f'{path}.go').touch()
        end = await rig.end('one')
        await rig.close()
        assert (end.state, end.status) == ('good', 'ended'), end
    run(main())
    assert path.read_text().split() == ['tried']
    assert Path(f'{path}.quick').read_text().split() == ['done']


@pytest.mark.parametrize('end', ['canceled', 'set aside'])
def test_tasks_of_a_session_that_does_not_go_on_are_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    path = tmp_path / 'log'

    async def main() -> None:
        rig = Refusing(tmp_path / 'journal', monkeypatch)
        full = True
        rig.refuses = lambda entry: full and entry.event in ('task_ended', 'canceling')
        rig.begin(GRAPH.replace('RETRIES', '1'), session_id='one')
        engine: Any = rig.sessions.host.engine
        await rig.sessions.send('one', 'do', str(path))
        while not rig.refused:
            await asyncio.sleep(0.01)
        busy = set(engine.pids)
        if end == 'canceled':
            with pytest.raises(JournalError):
                await rig.sessions.send('one', 'cancel')
        else:
            change(tmp_path / 'journal', "UPDATE entry SET actor = 'x' WHERE event = 'work'")
        full = False
        while 'one' in rig.sessions.open:
            await asyncio.sleep(0.01)
        assert ('one' in rig.sessions.aside) == (end != 'canceled')
        deadline = time.monotonic() + 20.0
        while busy <= set(engine.pids):
            assert time.monotonic() < deadline, 'the task goes on'
            await asyncio.sleep(0.05)
        await rig.close()
    run(main())
    assert path.read_text().split() == ['tried']


def test_an_outcome_that_is_too_large_to_record_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / 'large_task.py').write_text('def large(given):\n    return "x" * 3_000_000\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    graph = """\
initial: work
states:
  work: {type: invoker, done: found, failed: lost, invoke: {call: 'large_task:large'}}
  good: {type: terminal}
  bad: {type: terminal}
transitions:
- {event: found, from: work, to: good}
- {event: lost, from: work, to: bad}
"""

    async def main() -> None:
        rig = Rig(tmp_path / 'journal', Agent(), engine=LocalEngine(1, 30.0))
        rig.begin(graph, session_id='one')
        assert (await rig.end('one')).state == 'bad'
        engine: Any = rig.sessions.host.engine
        assert not engine._held._ended
        await rig.close()
    run(main())
