# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Robots are killed, stopped and cut off: no work is lost, none moves twice without an answer."""

from __future__ import annotations

import asyncio
import importlib
from pathlib import Path
import shutil
from types import SimpleNamespace

import pytest

from .redis_server import SERVER

BENCH = Path(__file__).parents[3] / 'bench'


@pytest.fixture
def bench(monkeypatch):
    """Return modules of bench/fleet.py."""
    monkeypatch.syspath_prepend(str(BENCH))
    return SimpleNamespace(**{name: importlib.import_module(f'_fleet_{name}')
                              for name in ('proxy', 'rig', 'soak', 'world')})


def soaked(bench, folder, seconds, rate, **options):
    if shutil.which(SERVER) is None:
        pytest.skip('redis-server is not installed (Debian, Ubuntu: apt install redis-server)')
    with bench.rig.server() as server:
        soak = bench.soak.Soak(server, folder, **options)
        judged = asyncio.run(soak.run(seconds, rate))
    assert judged.faults == []
    assert all(soak.counts[fault] for fault in ('kills', 'stops', 'cuts')), soak.counts
    assert judged.counts['completed'] + judged.counts['dead_letters'] == len(soak.works) > 0
    return judged


def test_few_robots_do_all_work_once_under_faults(bench, tmp_path):
    soaked(bench, tmp_path, 2.0, 5.0, processes=2, robots=2, min_idle=0.6, seed=1)


@pytest.mark.long
def test_hundred_robots_do_all_work_once_under_faults(bench, tmp_path):
    judged = soaked(bench, tmp_path, 40.0, 15.0, processes=10, robots=10, min_idle=2.0, seed=2)
    assert judged.counts['take_over'] and judged.counts['give_up'], judged.counts


DONE = {'state': 'COMPLETED'}
FLOWS = {'flow_id': 'w.1'}, {'flow_id': 'w.2'}
MOVED = ['motion', 'w', 'one', 'w.1']
MOVED_AGAIN = ['motion', 'w', 'two', 'w.2']
LETTER = {'trace_id': 'w'}


@pytest.mark.parametrize(('lines', 'trace', 'result', 'letters', 'faults'), [
    ([MOVED], DONE, FLOWS[0], [], []),
    ([MOVED, ['take_over', 'w', 'two', ''], MOVED_AGAIN], DONE, FLOWS[1], [], []),
    ([MOVED, ['give_up', 'w', 'two', '']], {'state': 'ERRORED'}, None, [LETTER], []),
    ([], {'state': 'ERRORED'}, None, [LETTER], []),
    ([MOVED, MOVED_AGAIN], DONE, FLOWS[1], [], ['moved_twice']),
    ([['take_over', 'w', 'two', ''], MOVED, MOVED_AGAIN], DONE, FLOWS[1], [], ['moved_twice']),
    ([MOVED, ['give_up', 'w', 'two', ''], MOVED_AGAIN], DONE, FLOWS[1], [], ['moved_twice']),
    ([MOVED], {'state': 'ERRORED'}, None, [LETTER], ['not_asked']),
    ([MOVED], {'state': 'TOOL_EXECUTING'}, None, [], ['lost']),
    ([MOVED], DONE, None, [], ['lost']),
    ([MOVED], DONE, FLOWS[0], [LETTER], ['lost']),
    ([], {}, None, [], ['lost']),
    ([MOVED], DONE, FLOWS[1], [], ['not_moved']),
])
def test_judge_finds_what_must_not_happen(bench, lines, trace, result, letters, faults):
    judged = bench.world.judge(lines, ['w'], {'w': trace}, {'w': result}, letters)
    assert [name for name in ('lost', 'moved_twice', 'not_asked', 'not_moved')
            if judged.counts[name]] == faults
    assert len(judged.faults) == len(faults)


def test_person_gives_both_answers(bench):
    assert {bench.world.answer_of_person(f'work{number}') for number in range(20)} == {
        'take_over', 'give_up'}


@pytest.mark.parametrize('reset', [False, True])
def test_network_that_is_cut_delivers_late_or_never(bench, tmp_path, reset):
    async def scenario():
        received = []
        arrived = asyncio.Event()

        async def serve(reader, writer):
            while data := await reader.read(100):
                received.append(data)
                arrived.set()
                writer.write(data)
            writer.close()
        target = str(tmp_path / 'socket')
        server = await asyncio.start_unix_server(serve, target)
        proxy = bench.proxy.Proxy(target)
        await proxy.start()
        reader, writer = await asyncio.open_connection('127.0.0.1', proxy.port)
        writer.write(b'before')
        assert await asyncio.wait_for(reader.read(100), 20) == b'before'
        proxy.cut()
        writer.write(b'meanwhile')
        arrived.clear()
        other, _ = await asyncio.open_connection('127.0.0.1', proxy.port)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(reader.read(100), 0.2)
        assert not arrived.is_set()
        proxy.mend(reset=reset)
        assert await asyncio.wait_for(reader.read(100), 20) == (b'' if reset else b'meanwhile')
        reader, writer = await asyncio.open_connection('127.0.0.1', proxy.port)
        writer.write(b'after')
        assert await asyncio.wait_for(reader.read(100), 20) == b'after'
        assert received == [b'before', *([] if reset else [b'meanwhile']), b'after']
        await proxy.close()
        server.close()
    asyncio.run(scenario())
