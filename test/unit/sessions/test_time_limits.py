# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Time limits of states and tools, which do not run while a person is asked."""

from __future__ import annotations

import asyncio
from pathlib import Path
import time
from typing import Any

from action_lifecycle.agents.time_limit import limited, unlimited
import pytest

from .rig import Agent, Rig, run

GRAPH = """\
initial: work
states:
  work: {type: tool, tool: go, arguments: {}}
  done: {type: terminal}
transitions: [{event: done, from: work, to: done}]
"""


def test_a_question_about_a_call_may_take_longer_than_its_state(tmp_path: Path) -> None:
    async def main() -> None:
        agent, calls = Agent(), []
        hangs = asyncio.Event()

        @agent.tool_manager.tool()
        async def go() -> str:
            """Go."""
            calls.append('go')
            await hangs.wait()
            return 'there'
        rig = Rig(tmp_path / 'journal', agent)
        rig.begin(GRAPH, session_id='one')
        await rig.until('one', lambda status: calls)
        await rig.close()
        rig = Rig(tmp_path / 'journal', agent, state_time_limit=0.2)
        rig.sessions.restore()
        await rig.until('one', lambda status: rig.questions)
        begun = time.monotonic()
        await rig.until('one', lambda status: status.status != 'waiting'
                        or time.monotonic() - begun > 0.5)
        assert rig.sessions.status('one').status == 'waiting'
        rig.answers.put_nowait('again')  # the call hangs again: now the limit runs
        end = await rig.end('one')
        assert end.status == 'failed' and 'not done within 0.2 s' in end.error_msg
        assert calls == ['go', 'go']
        await rig.close()
    run(main())


async def answered(answers: asyncio.Event, then: float) -> str:
    with unlimited():
        await answers.wait()
    await asyncio.sleep(then)
    return 'done'


def test_the_time_before_and_after_a_question_counts() -> None:
    async def main(before: float, after: float) -> str:
        answers = asyncio.Event()
        asyncio.get_running_loop().call_later(before + 0.6, answers.set)

        async def work() -> str:
            await asyncio.sleep(before)
            return await limited(answered(answers, after), 30.0)
        return await limited(work(), 0.4)
    assert run(main(0.05, 0.05)) == 'done'
    for before, after in (0.25, 0.25), (0.05, 0.5), (0.6, 0.0):
        with pytest.raises(asyncio.TimeoutError):
            run(main(before, after))


def test_two_questions_at_a_time_stop_a_limit_until_both_are_answered() -> None:
    async def main(then: float) -> Any:
        first, second = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.call_later(0.1, first.set)
        loop.call_later(0.6, second.set)

        async def both() -> Any:
            return await asyncio.gather(answered(first, 0.0), answered(second, then))
        return await limited(both(), 0.3)
    with pytest.raises(asyncio.TimeoutError):
        run(main(5.0))
    assert run(main(0.0)) == ['done', 'done']


def test_a_cancel_and_an_error_end_limited_work() -> None:
    ended: list[str] = []

    async def hang() -> None:
        try:
            await asyncio.sleep(30.0)
        finally:
            await asyncio.sleep(0.01)
            ended.append('hang')

    async def fail() -> None:
        raise LookupError('no cup')

    async def main() -> None:
        task = asyncio.create_task(limited(hang(), 20.0))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ['hang']
        with pytest.raises(LookupError):
            await limited(fail(), 20.0)
        with pytest.raises(asyncio.TimeoutError):
            await limited(hang(), 0.01)
        assert ended == ['hang'] * 2
    run(main())
