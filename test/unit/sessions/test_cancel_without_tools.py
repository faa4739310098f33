# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Canceled sessions after a restart without the tool whose call had begun."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from action_lifecycle.agents.sessions.record import SessionRecord
from action_lifecycle.agents.tools.registry import Tool
from action_lifecycle.tools import ToolRegistry
import pytest

from .rig import Agent, Rig, run

CALL = """\
initial: work
states:
  work: {type: tool, tool: TOOL, arguments: {}}
  done: {type: terminal}
transitions: [{event: done, from: work, to: done}]
"""


async def begun(path: Path, name: str) -> None:
    """Begin a call of `drive`, which has an id, or of `paint`; then the process is killed."""
    agent, calls = Agent(), []

    async def call(*arguments: Any) -> None:
        calls.append(arguments)
        await asyncio.Event().wait()
    schema = {'type': 'object', 'properties': {}}
    agent.tool_manager.add(Tool('paint', 'python', 'Paints.', schema, call))
    agent.tool_manager.add(Tool('drive', 'arm', 'Drives.', schema, call, call_by_id=call))
    rig = Rig(path, agent)
    rig.begin(CALL.replace('TOOL', name), session_id='one')
    await rig.until('one', lambda status: calls)
    await rig.close()


def without(how: str) -> Any:
    """Return an agent without tools, or one whose tools are others."""
    agent: Any = Agent()
    if how == 'no tools':
        agent = SimpleNamespace(current_user_id='', stopped=[])

        async def stop_call(call_id: str) -> None:
            agent.stopped.append(call_id)
        agent.stop_call = stop_call
    else:
        agent.tool_manager = ToolRegistry()
    return agent


@pytest.mark.parametrize('how', ['no tools', 'other tools'])
@pytest.mark.parametrize(('name', 'stopped'), [('drive', ['one.1.0']), ('paint', [])])
def test_a_call_with_an_id_is_stopped_without_its_tool(
    tmp_path: Path, how: str, name: str, stopped: list[str]
) -> None:
    async def main() -> None:
        await begun(tmp_path / 'journal', name)
        agent = without(how)
        rig = Rig(tmp_path / 'journal', agent)
        rig.sessions.restore()
        _, status = await rig.sessions.send('one', 'cancel', None, 'anna')
        assert (status.status, agent.stopped) == ('canceled', stopped)
        await rig.close()
    run(main())


@pytest.mark.parametrize('how', ['no tools', 'other tools'])
def test_a_call_of_an_earlier_version_is_stopped_if_its_tool_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    original = SessionRecord._effect

    def effect(self: SessionRecord, data: dict[str, Any], row: Any) -> None:
        original(self, {key: data[key] for key in data if key != 'by_id'}, row)
    monkeypatch.setattr(SessionRecord, '_effect', effect)

    async def main() -> None:
        await begun(tmp_path / 'journal', 'drive')
        agent = without(how)
        rig = Rig(tmp_path / 'journal', agent)
        rig.sessions.restore()
        _, status = await rig.sessions.send('one', 'cancel', None, 'anna')
        assert (status.status, agent.stopped) == ('canceled', ['one.1.0'])
        await rig.close()
    run(main())


def test_a_cancel_that_failed_can_be_given_again(tmp_path: Path) -> None:
    async def main() -> None:
        await begun(tmp_path / 'journal', 'drive')
        agent = without('other tools')
        stop_call, agent.stop_call = agent.stop_call, None
        rig = Rig(tmp_path / 'journal', agent)
        rig.sessions.restore()
        with pytest.raises(TypeError):
            await rig.sessions.send('one', 'cancel', None, 'anna')
        assert rig.sessions.status('one').status == 'running'
        agent.stop_call = stop_call
        _, status = await rig.sessions.send('one', 'cancel', None, 'anna')
        assert (status.status, agent.stopped) == ('canceled', ['one.1.0'])
        assert [row.event for row in rig.journal.rows()].count('canceling') == 1
        await rig.close()
    run(main())
