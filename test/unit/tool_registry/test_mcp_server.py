# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""MCP servers: a real one on a pipe that answers, dies, hangs and asks for authorisation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
import os
from pathlib import Path
import signal
import sys
import time
from types import SimpleNamespace
from typing import Any

from action_lifecycle.agents.tools.mcp_server import _link
from action_lifecycle.documents import json_schema
from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.engine import load_graph, Session, StateHandler
from action_lifecycle.tools import AuthRequiredError, McpServer, ToolError, ToolRegistry
import pytest

from .pauses import longest_pause

pytest.importorskip('mcp')

SERVER = Path(__file__).parent / 'servers' / 'lamp_server.py'

Use = Callable[[ToolRegistry, McpServer], Coroutine[Any, Any, Any]]


def run(use: Use, tmp_path: Path, time_limit: float = 20.0) -> Any:
    """Run a coroutine with a registry that has the server."""
    async def main() -> Any:
        server = McpServer('lamps', sys.executable, [str(SERVER)], time_limit=time_limit,
                           env={'AUTHORISED': str(tmp_path / 'authorised')})
        registry = ToolRegistry()
        registry.add_source(server)
        try:
            return await asyncio.wait_for(use(registry, server), 60)
        finally:
            await registry.close()

    return asyncio.run(main())


def is_running(pid: int) -> bool:
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] not in 'ZX'
    except FileNotFoundError:
        return False


def test_tools_are_listed_checked_and_called_in_one_session(tmp_path: Path) -> None:
    async def use(registry: ToolRegistry, server: McpServer) -> None:
        specs = (await registry.list_all_tools())['lamps']
        assert specs['switch']['description'] == 'to switch'
        assert specs['switch']['inputSchema']['required'] == ['on']
        assert 'outside' not in specs  # its schema is on the network
        assert await registry.call_tool('switch', {'on': True}) == {'on': True}
        assert await registry.call_tool('unicode', {}) == 'Grüße 🤖 \u202e'
        with pytest.raises(ToolError, match="'yes' is not of type 'boolean'"):
            await registry.call_tool('switch', {'on': 'yes'})
        pids = {await registry.call_tool('pid', {}) for _ in range(3)}
        assert len(pids) == 1 and server.starts == 1

    run(use, tmp_path)


def test_answers_are_judged_by_the_schema_of_the_tool_in_limited_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def use(registry: ToolRegistry, server: McpServer) -> None:
        with pytest.raises(ToolError, match=r"does not fit: \.on: 'a+!' is not of type"):
            await registry.call_tool('lie', {})
        monkeypatch.setattr(json_schema, 'TIME_LIMIT', 1.0)
        for _ in range(3):  # all may stand still in one of them
            asked = asyncio.ensure_future(registry.call_tool('slow', {}))
            longest = await longest_pause(asked)
            with pytest.raises(LifecycleError, match='by the schema takes longer than 1 s'):
                await asked
            if longest < 0.5:
                break
        assert longest < 0.5
        assert await registry.call_tool('switch', {'on': True}) == {'on': True}
        assert server.starts == 1

    run(use, tmp_path)


def test_a_server_that_dies_between_calls_is_started_anew(tmp_path: Path) -> None:
    async def use(registry: ToolRegistry, server: McpServer) -> None:
        pid = int(await registry.call_tool('pid', {}))
        os.kill(pid, signal.SIGKILL)
        while is_running(pid) or not server._end.is_set():
            await asyncio.sleep(0.01)
        assert int(await registry.call_tool('pid', {})) != pid
        assert server.starts == 2

    run(use, tmp_path)


def test_a_server_that_dies_in_a_call_fails_that_call_and_serves_the_next(tmp_path: Path) -> None:
    async def use(registry: ToolRegistry, server: McpServer) -> None:
        with pytest.raises(ToolError, match="ended during 'die'; whether it was done is not known;"
                                            ' its last words: the bulb has burst$'):
            await registry.call_tool('die', {})
        assert await registry.call_tool('switch', {'on': False}) == {'on': False}
        assert server.starts == 2

    run(use, tmp_path)


def test_what_has_ended_is_known_before_it_is_cleared_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def use(registry: ToolRegistry, server: McpServer) -> None:
        keep = server._keep

        async def late(*arguments: Any) -> None:
            await keep(*arguments)
            await asyncio.sleep(0.5)

        monkeypatch.setattr(server, '_keep', late)
        for _ in range(2):
            with pytest.raises(ToolError, match="ended during 'die'; whether it was done"):
                await registry.call_tool('die', {})
        assert await registry.call_tool('switch', {'on': False}) == {'on': False}
        assert server.starts == 3

    run(use, tmp_path)


def test_a_server_that_hangs_is_ended_after_its_time(tmp_path: Path) -> None:
    async def use(registry: ToolRegistry, server: McpServer) -> None:
        pid = int(await registry.call_tool('pid', {}))
        started = time.monotonic()
        with pytest.raises(ToolError, match="no answer to 'hang' within 5 s; it is restarted"):
            await registry.call_tool('hang', {})
        assert time.monotonic() - started < 20
        assert not is_running(pid)
        assert await registry.call_tool('switch', {'on': True}) == {'on': True}

    run(use, tmp_path, time_limit=5.0)


@pytest.mark.parametrize('tool, error', [
    ('fail', "tool 'fail' failed: the bulb is broken"), ('large', 'has 1000002 characters'),
    ('lamp', "there is no tool 'lamp'")])
def test_what_goes_wrong_in_a_call_leaves_the_session(
    tmp_path: Path, tool: str, error: str
) -> None:
    async def use(registry: ToolRegistry, server: McpServer) -> None:
        with pytest.raises(ToolError, match=error):
            await registry.call_tool(tool, {})
        assert await registry.call_tool('switch', {'on': True}) == {'on': True}
        assert server.starts == 1

    run(use, tmp_path)


def test_what_a_server_says_beside_the_protocol_does_not_disturb(tmp_path: Path) -> None:
    async def use(registry: ToolRegistry, server: McpServer) -> None:
        assert await registry.call_tool('noise', {}) == 'Grüße 🤖 \u202e'
        assert await registry.call_tool('switch', {'on': True}) == {'on': True}

    run(use, tmp_path)


def test_a_server_that_can_not_start_is_told_and_the_others_stay() -> None:
    async def main() -> None:
        for command, args in (('/no/such/server', []), ('/bin/false', []), ('/bin/cat', [])):
            server = McpServer('bad', command, args, time_limit=1.0)
            with pytest.raises(ToolError, match="MCP server 'bad'"):
                await asyncio.wait_for(server.tools(), 40)
            registry = ToolRegistry()
            registry.add_source(server)
            assert await registry.list_all_tools() == {}
            await registry.close()

    asyncio.run(main())


LAST_WORDS = """import os, sys
sys.stderr.write('x' * {size} + '\\nModuleNotFoundError: \\033[1mno maps\\r\\n')
sys.stderr.flush()
{then}
"""


@pytest.mark.parametrize('size, then', [
    (0, 'os._exit(3)'), (1_000_000, 'os._exit(3)'),
    (0, 'if not os.fork(): os.setsid(); os.close(1); os.close(0); import time; time.sleep(3)')])
def test_the_last_words_of_a_server_that_dies_at_its_start_are_in_the_error(
    size: int, then: str, capfd: pytest.CaptureFixture[str]
) -> None:
    async def main() -> str:
        server = McpServer('maps', sys.executable,
                           ['-c', LAST_WORDS.format(size=size, then=then)], time_limit=20.0)
        with pytest.raises(ToolError) as failed:
            await asyncio.wait_for(server.tools(), 60)
        await server.close()
        return str(failed.value)

    said = asyncio.run(main())
    assert said.startswith("MCP server 'maps' can not be started: ")
    assert said.endswith('ModuleNotFoundError: \ufffd[1mno maps') and len(said) < 1200
    assert len(capfd.readouterr().err) >= size  # all of it is still in the log


def test_closing_ends_the_process(tmp_path: Path) -> None:
    async def use(registry: ToolRegistry, server: McpServer) -> int:
        return int(await registry.call_tool('pid', {}))

    assert not is_running(run(use, tmp_path))


@pytest.mark.parametrize('url, taken', [
    ('https://lamps.example/connect?x=1', True), ('http://[::1]:8080/', True),
    ('javascript:alert(1)', False), ('file:///etc/passwd', False), ('https://a b', False),
    ('https://' + 'x' * 3000, False), ('https://a\x1b[2J', False), (None, False), (7, False)])
def test_only_a_link_of_the_web_is_shown_to_people(url: Any, taken: bool) -> None:
    error = Exception('authorise')
    error.error = SimpleNamespace(  # type: ignore[attr-defined]
        code=-32042, data={'elicitations': [{'url': url, 'message': 'm'}]})
    assert (_link(error) == (url, 'm')) is taken


def test_a_tool_that_needs_authorisation_pauses_the_session_and_goes_on_afterwards(
    tmp_path: Path
) -> None:
    graph = load_graph('use: {type: tool, tool: secret, arguments: {}, '
                       'transition: {next: [done]}}\ndone: {type: terminal}\n', name='g.yaml')

    async def use(registry: ToolRegistry, server: McpServer) -> None:
        with pytest.raises(AuthRequiredError):
            await registry.call_tool('secret', {})
        session = Session(StateHandler(graph=graph), agent=SimpleNamespace(
            tool_manager=registry, call_llm=None))
        result = await session.run()
        assert (result.reason, result.state) == ('paused', 'use')
        assert result.pause == ('To complete this request, please connect your lamps',
                                'https://lamps.example/connect')
        (tmp_path / 'authorised').touch()
        result = await session.resume()
        assert (result.reason, result.state) == ('terminal', 'done')
        assert result.context == [{'role': 'tool', 'name': 'secret',
                                   'content': 'Grüße 🤖 \u202e'}]

    run(use, tmp_path)
