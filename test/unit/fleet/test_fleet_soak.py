# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Robots are killed, stopped and cut off: no work is lost, none moves twice without an answer."""

from __future__ import annotations

import asyncio
import contextlib
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
    return SimpleNamespace(
        network=importlib.import_module('_network'),
        **{name: importlib.import_module(f'_fleet_{name}') for name in ('rig', 'soak', 'world')})


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


@contextlib.asynccontextmanager
async def linked(bench, folder):
    """Give a link to a server that sends everything back, and a list of what has reached it."""
    received = []

    async def serve(reader, writer):
        while data := await reader.read(100):
            received.append(data)
            writer.write(data)
        writer.close()
    target = str(folder / 'socket')
    server = await asyncio.start_unix_server(serve, target)
    link = bench.network.Link(target)
    await link.start()
    try:
        yield link, received
    finally:
        await link.close()
        server.close()


async def connect(link):
    return await asyncio.open_connection('127.0.0.1', link.port)


async def read(reader):
    return await asyncio.wait_for(reader.read(100), 20)


async def is_silent(reader):
    """Return whether neither data nor an end comes, for a moment."""
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(reader.read(100), 0.2)
        return False
    return True


async def echo(reader, writer, data):
    writer.write(data)
    assert await read(reader) == data


@pytest.mark.parametrize(('old', 'later'), [
    ('LATE', b'meanwhile'), ('ENDED', b''), ('FORGOTTEN', None)])
def test_network_that_is_cut_delivers_late_or_ends_or_forgets(bench, tmp_path, old, later):
    async def scenario():
        async with linked(bench, tmp_path) as (link, received):
            reader, writer = await connect(link)
            await echo(reader, writer, b'before')
            link.cut()
            writer.write(b'meanwhile')
            other, _ = await connect(link)
            assert await is_silent(reader) and await is_silent(other)
            assert received == [b'before']
            link.mend(bench.network.Old[old])
            if later is None:
                writer.write(b'more')
                assert await is_silent(reader) and await is_silent(other)
            else:
                with contextlib.suppress(ConnectionResetError):
                    assert await read(reader) == later
            await echo(*await connect(link), b'after')
            assert received == [b'before', *([later] if later else []), b'after']
    asyncio.run(scenario())


def test_network_that_refuses_ends_connections_until_it_is_mended(bench, tmp_path):
    async def scenario():
        async with linked(bench, tmp_path) as (link, received):
            reader, writer = await connect(link)
            await echo(reader, writer, b'before')
            link.cut(refuses=True)
            for each in reader, (await connect(link))[0]:
                with contextlib.suppress(ConnectionResetError):
                    assert await read(each) == b''
            link.mend(bench.network.Old.FORGOTTEN)
            await echo(*await connect(link), b'after')
            assert received == [b'before', b'after']
    asyncio.run(scenario())
