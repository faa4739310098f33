# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Evidence traces read over get_trace are those of the file; and what the viewer says if not."""

from __future__ import annotations

from array import array
import asyncio
from collections.abc import Iterator
from pathlib import Path
import sqlite3
from typing import Any

from action_lifecycle.nodes.bridge.trace_queries import PAGE
from action_lifecycle.nodes.web.remote_traces import RemoteTraces
from action_lifecycle.traces import TraceError, TraceKey, TraceReader
from action_lifecycle.traces.image import trace_image
from action_lifecycle.viewer.record.trace_sources import FileTraces
from action_lifecycle_msgs.srv import GetTrace
import pytest
from unit.traces.rig import assert_same, long_trace

from .web_rig import ACTION_NODE, BRIDGE, Fleet, Viewer

LOOK = 'look: {confirm: {condition: level > 0.0, hold: 0.5, within: 5.0}}'
LONG, LARGE = TraceKey('old', 'long', 1), TraceKey('old', 'large', 1)


@pytest.fixture(scope='module')
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of traces of an older run, of which one is long and one too large."""
    path = tmp_path_factory.mktemp('robot') / 'one.traces'
    long_trace(path, LONG, width=200, facts=2)
    long_trace(path, LARGE, width=1000, facts=3)
    return path


@pytest.fixture(scope='module')
def fleet(tmp_path_factory: pytest.TempPathFactory, path: Path) -> Iterator[Fleet]:
    fleet = Fleet(tmp_path_factory.mktemp('traces'), {'one': 1.0, 'two': 2.0})
    fleet.start('one', BRIDGE, trace_file=path)
    fleet.start('two', BRIDGE)
    fleet.start('one', ACTION_NODE)
    yield fleet
    fleet.close()


@pytest.fixture(scope='module')
def viewer(fleet: Fleet) -> Iterator[Viewer]:
    # nothing of the robots is on this machine
    viewer = Viewer(fleet, {name: fleet.folder / f'no_{name}.journal' for name in ('one', 'two')})
    for name in ('one', 'two'):
        viewer.until_node(name, 'world_model_bridge', 'active', 40.0)
    yield viewer
    viewer.close()


def traces_of(viewer: Viewer, name: str = 'one') -> Any:
    return viewer.robots[name].record.source.traces


def test_the_curves_of_an_attempt_are_those_of_the_file(
    fleet: Fleet, viewer: Viewer, path: Path
) -> None:
    viewer.until_node('one', 'action_lifecycle', 'active', 40.0)
    fleet.send('one', 'seen', LOOK)
    fleet.until_row('one', kind='flow', flow_id='seen', final=True)
    key = TraceKey('seen', 'look', 1)
    fleet.until(lambda: TraceReader(path).trace(key).ended is not None, 20.0, 'the trace')
    there = viewer.do(traces_of(viewer).find(key))
    assert_same(there, asyncio.run(FileTraces(path).find(key)))
    assert there.confirmations[-1].verdict == 'confirmed' and len(there.curves['level'].times) > 3
    assert viewer.do(traces_of(viewer).find(key)) is there  # it was not sent again
    assert viewer.do(traces_of(viewer).find(TraceKey('seen', 'look', 2))) is None
    assert viewer.do(traces_of(viewer).find(TraceKey('', "' OR 1", 2**32 - 1))) is None


def test_a_long_trace_is_read_in_pages(fleet: Fleet, viewer: Viewer, path: Path) -> None:
    assert_same(viewer.do(traces_of(viewer).find(LONG)), TraceReader(path).trace(LONG))
    client = viewer.node.create_client(GetTrace, '/one/world_model_bridge/get_trace')
    image = trace_image(path, LONG)
    assert image is not None and len(image) > 10 * PAGE
    fields = {'flow_id': LONG.flow_id, 'action_id': LONG.action_id, 'attempt': LONG.attempt}
    first = fleet.ask(client, GetTrace.Request(**fields))
    assert first.size == len(image) and bytes(first.data) == image[:PAGE]
    rest = GetTrace.Request(**fields, version=first.version, offset=len(image) - 10)
    for _ in range(2):  # also if the response was lost
        assert bytes(fleet.ask(client, rest).data) == image[-10:]
    for offset, version in ((0, first.version), (5, first.version ^ 1), (2**63, first.version),
                            (2**64 - 1, 2**64 - 1)):
        answer = fleet.ask(client, GetTrace.Request(**fields, version=version, offset=offset))
        assert not answer.data and answer.version == first.version and not answer.error_code


def test_pages_are_of_one_moment(fleet: Fleet, viewer: Viewer, path: Path) -> None:
    client = viewer.node.create_client(GetTrace, '/one/world_model_bridge/get_trace')
    before = TraceReader(path).trace(LONG)
    traces = RemoteTraces(viewer.node, client, str)
    asked = changed_after(traces, 3, path)
    fleet.until(client.service_is_ready, 20.0, 'get_trace')
    assert_same(viewer.do(traces.find(LONG)), before)
    after = viewer.do(traces.find(LONG))
    assert_same(after, TraceReader(path).trace(LONG))
    assert after.ended == before.ended + 1 and len(asked) > 20


def changed_after(traces: RemoteTraces, number: int, path: Path) -> list[int]:
    """Change the trace after so many requests; returns the offsets that are asked for."""
    ask, asked = traces._ask, []

    async def counted(key: TraceKey, version: int, offset: int) -> Any:
        asked.append(offset)
        if len(asked) == number:
            with sqlite3.connect(path) as writer:
                writer.execute("UPDATE trace SET ended = ended + 1 WHERE action_id = 'long'")
            writer.close()
        return await ask(key, version, offset)

    traces._ask = counted  # type: ignore[method-assign]
    return asked


def refusal(viewer: Viewer, traces: Any, key: TraceKey = LONG) -> str:
    with pytest.raises(TraceError) as found:
        viewer.do(traces.find(key))
    return str(found.value)


def test_it_says_why_there_are_no_traces(fleet: Fleet, viewer: Viewer) -> None:
    assert 'too large: 24.6 MB' in refusal(viewer, traces_of(viewer), LARGE)
    assert 'trace_file' in refusal(viewer, traces_of(viewer, 'two'))
    missing = viewer.node.create_client(GetTrace, '/nobody/world_model_bridge/get_trace')
    assert "no service '/nobody/" in refusal(viewer, RemoteTraces(viewer.node, missing, str))
    assert refusal(viewer, RemoteTraces(viewer.node, missing, lambda: 'it left')) == 'it left'


def test_requests_that_are_too_large_are_refused(fleet: Fleet, viewer: Viewer) -> None:
    client = viewer.node.create_client(GetTrace, '/one/world_model_bridge/get_trace')
    for fields in ({'flow_id': 'x' * 70_000}, {'action_id': 'x\x1b'}):
        answer = fleet.ask(client, GetTrace.Request(**fields))
        assert answer.error_msg.startswith(next(iter(fields))) and not answer.data


def page(**fields: Any) -> GetTrace.Response:
    return GetTrace.Response(version=7, **fields)


@pytest.mark.parametrize(('answers', 'fault'), [
    ([page(size=2**63)], 'too large'),
    ([page(size=100)], '0 bytes of a trace of 100'),
    ([page(size=10, data=array('B', b'x' * 20))], '20 bytes of a trace of 10'),
    ([page(size=30_000, data=array('B', b'x' * 20_000)), page(size=30_000)], '20000 bytes'),
    ([page(size=3000, data=array('B', b'x' * 3000))], 'get_trace: file is not a database'),
    ([page(size=5_000_000, data=array('B', bytes(5_000_000)))], 'invalid response: data'),
    ([page(error_code=6)], 'error code 6'),
    ([page(size=2000, data=array('B', b'x' * 1000)), GetTrace.Response(version=8, size=2000)] * 3,
     'changes faster'),
])
def test_hostile_answers_are_refused(
    fleet: Fleet, viewer: Viewer, answers: list[Any], fault: str
) -> None:
    left = list(answers)
    name = f'/hostile{abs(hash(fault))}/get_trace'
    server = fleet.node.create_service(GetTrace, name, lambda request, response: left.pop(0))
    client = viewer.node.create_client(GetTrace, name)
    fleet.until(client.service_is_ready, 20.0, name)
    assert fault in refusal(viewer, RemoteTraces(viewer.node, client, str))
    fleet.node.destroy_service(server)


def test_a_kill_while_it_is_read_is_an_error_and_it_comes_back(
    fleet: Fleet, viewer: Viewer, path: Path
) -> None:
    robot = viewer.robots['one']
    remote = traces_of(viewer)
    assert isinstance(remote, RemoteTraces)
    remote._known.clear()
    ask, asked = remote._ask, []

    async def killed_after_two(key: TraceKey, version: int, offset: int) -> Any:
        asked.append(offset)
        if len(asked) == 3:
            await asyncio.to_thread(fleet.kill, 'one', BRIDGE)
        return await ask(key, version, offset)

    remote._ask = killed_after_two  # type: ignore[method-assign]
    fault = refusal(viewer, remote)
    assert 'get_trace' in fault and len(asked) == 3
    remote._ask = ask  # type: ignore[method-assign]
    viewer.until_node('one', 'world_model_bridge', 'gone', 30.0)
    assert refusal(viewer, remote) == 'world_model_bridge is gone'
    fleet.start('one', BRIDGE, trace_file=path)
    viewer.until_node('one', 'world_model_bridge', 'active', 40.0)
    assert robot.record.source.traces is remote
    assert_same(viewer.do(remote.find(LONG)), TraceReader(path).trace(LONG))
