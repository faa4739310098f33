# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows that the journal has in part: cut, refused, only requested, or of an earlier version."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path
from unittest.mock import patch

from action_lifecycle.journal import Entry, Journal
from action_lifecycle.traces import TraceKey
from action_lifecycle.viewer.record import LocalRows, RobotRecord
from action_lifecycle.viewer.record.shown import STRUCTURE

from .records import compare_moments, loaded
from ..flow.changes import FLOW as CHAIN
from ..flow.robot import Clock, Process, Start
from ..flow.test_earlier_journal import WRITTEN
from ..flow.test_planning import Life, Service, YES

run = asyncio.run


def record_of(process: Process) -> RobotRecord:
    return RobotRecord(LocalRows(process.journal.path))


def test_a_flow_that_compaction_has_cut(start: Start, clock: Clock) -> None:
    process = start()
    process.submit(CHAIN)
    clock.run()
    last = next(row.seq for row in process.journal.rows(action_id='b'))
    assert process.journal.compact(synced_to=last - 1)

    async def look() -> None:
        record = record_of(process)
        (head,) = await record.heads()
        assert (head.flow_id, head.state) == ('f', 'FINISH')
        flow = await record.flow('f')
        assert flow.fault and list(flow.nodes()) == ['b'] and not flow.nodes()['b'].after
        assert flow.shown('b').outcome == 'succeeded' and len(flow.attempts('b')) == 1
        assert flow.action('b').outcome is not None and flow.text() == flow.text('b') == ''

    run(look())


def test_each_moment_of_a_flow_that_compaction_has_cut(start: Start, clock: Clock) -> None:
    process = start()
    process.submit(CHAIN)
    clock.run()
    assert process.journal.compact(synced_to=6)
    flow = compare_moments(process.journal.path, 'f')
    first = next(row.seq for row in flow.history() if row.action_id == 'b')
    assert list(flow.nodes(first - 1)) == ['a'] and list(flow.nodes(first)) == ['a', 'b']


def test_a_flow_whose_text_is_in_several_rows(start: Start, clock: Clock) -> None:
    process = start()
    with patch('action_lifecycle.flow.run.recorder.TEXT_PART', 40):
        process.submit(CHAIN)
    clock.run()
    flow = compare_moments(process.journal.path, 'f')
    texts = [row.seq for row in process.journal.rows() if row.event in ('accepted', 'text')]
    assert len(texts) > 2 and flow.nodes(texts[-1]).keys() == {'a', 'b'}
    assert not flow.nodes(texts[-2]) and CHAIN.startswith(flow.text(seq=texts[0]))


def test_a_text_that_this_version_refuses(start: Start, clock: Clock) -> None:
    process = start()
    process.submit(CHAIN)
    clock.run()
    rows = list(process.journal.rows())
    copy = Path(process.journal.path).with_name('copy')
    with Journal(copy, clock=clock) as journal:
        for row in rows:
            data = row.data
            if row.event == 'accepted':
                data['text'] = data['text'].replace('motion', 'telekinesis')
            journal.append(Entry(*row[1:10], data, bool(row.final), row.ros_time))
    flow = loaded(copy, 'f')
    assert 'telekinesis' in flow.fault and 'telekinesis' in flow.text()
    assert list(flow.nodes()) == ['a', 'b'] and flow.flow().total == 2
    assert flow.shown('b').outcome == 'succeeded' and flow.attempts('a')[0].ended == 'completed'


def test_a_request_that_has_no_flow_yet(start: Start, clock: Clock) -> None:
    life = Life(start(), Service(clock, YES))
    life.begin()

    async def follow() -> None:
        record = record_of(life.process)
        await record.update()
        assert [(head.flow_id, head.state) for head in await record.heads()] == [('f', 'START')]
        flow = await record.flow('f')
        assert not flow.nodes() and flow.flow().planning == 'asked: pick it'
        clock.run()
        update = await record.update()
        assert update.new_flows and STRUCTURE in update.flows['f']
        assert flow.nodes().keys() == {'pick'} and flow.flow().planning == ''
        assert [(head.name, head.state) for head in await record.heads()] == [('one', 'FINISH')]

    run(follow())


def test_a_request_that_fails(start: Start, clock: Clock) -> None:
    life = Life(start(), Service(clock))
    life.begin()
    life.planner.cancel('f', 'ann')
    flow = loaded(life.process.journal.path, 'f')
    assert (flow.head.state, flow.flow().error_code) == ('FAIL', 'CANCELED')
    assert flow.head.ended is not None and 'ann' in flow.flow().error_msg


def test_a_journal_of_an_earlier_version(tmp_path: Path) -> None:
    path = tmp_path / 'journal'
    path.write_bytes(gzip.decompress(WRITTEN.read_bytes()))

    async def look() -> None:
        record = RobotRecord(LocalRows(path))
        assert not (await record.update()).lost
        heads = {head.flow_id: head for head in await record.heads()}
        assert heads['moving'].ended is None and len(record.questions()) == 1
        for flow_id in heads:
            flow = await record.flow(flow_id)
            assert not flow.fault and flow.nodes()
            for name in flow.nodes():
                flow.attempts(name)
        flow = await record.flow('moving')
        assert {name: flow.shown(name).state for name in flow.nodes()} == {
            'look': 'terminated', 'pick': 'executing_motion', 'place': 'assigned',
            'later': 'assigned', 'check': 'assigned'}
        assert flow.nodes()['place'].description == 'softly'
        edited = next(row.seq for row in flow.history() if row.event == 'edited')
        assert flow.nodes(edited - 1)['place'].description != 'softly'

    run(look())


def test_there_need_not_be_traces(start: Start) -> None:
    process = start()
    assert run(LocalRows(process.journal.path).traces.find(TraceKey('f', 'a', 1))) is None
