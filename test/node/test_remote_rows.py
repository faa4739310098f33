# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rows read over get_rows are those of the file, column for column."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
import threading

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.journal import Entry, Journal, JournalError
from action_lifecycle.nodes.shared.background_worker import ANSWERS, Apart
from action_lifecycle.nodes.shared.row_queries import LARGEST
from action_lifecycle.nodes.web.remote_rows import RemoteRows
from action_lifecycle.viewer.record.sources import LocalRows
from action_lifecycle.viewer.record.trace_sources import FileTraces
from action_lifecycle_msgs.srv import GetRows
import pytest

from .web_rig import Fleet, LEDGER, Viewer

TEXT = 'tab\t, escape \x1b, "quotes", ünï, 𝄞, \\, \u202e'
NO_TRACES = FileTraces('no.traces')
LARGE = 'x' * (LARGEST // 2)


@pytest.fixture(scope='module')
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    # of the robot, only the ledger node runs
    fleet = Fleet(tmp_path_factory.mktemp('rows'), {'one': 1.0})
    with Journal(fleet.journal('one')) as journal:
        for number in range(70):
            flow = f'flow-{number}'
            journal.append_many([
                Entry(kind='flow', flow_id=flow, event='accepted', to_state='START', cause=TEXT,
                      data={'name': flow, 'text': TEXT}, ros_time=number / 3 if number else None),
                *(Entry(kind='transition', flow_id=inner, action_id='a', attempt=1, event='start',
                        actor=TEXT, data={'number': number / 7})
                  for inner in (flow, f'{flow}/pick', f'{flow}/pick.2') for _ in range(20)),
                Entry(kind='flow', flow_id=flow, event='finish', to_state='FINISH', final=True)])
        for _ in range(5):
            journal.append(Entry(kind='note', flow_id='flow-3', event='large',
                                 data={'text': LARGE}))
        journal.append(Entry(kind='plan', action_id='wanted', event='requested'))
    fleet.start('one', LEDGER)
    yield fleet
    fleet.close()


@pytest.fixture(scope='module')
def viewer(fleet: Fleet) -> Iterator[Viewer]:
    viewer = Viewer(fleet, {'one': fleet.folder / 'no.journal'})
    viewer.until_node('one', 'ledger', 'active', 40.0)
    yield viewer
    viewer.close()


@pytest.fixture(scope='module')
def remote(viewer: Viewer) -> RemoteRows:
    client = viewer.node.create_client(GetRows, '/one/ledger/get_rows')
    return RemoteRows(viewer.node, 'one', [client], NO_TRACES)


def test_they_are_equal(fleet: Fleet, viewer: Viewer, remote: RemoteRows) -> None:
    local = LocalRows(fleet.journal('one'))
    assert viewer.do(remote.last_seq()) == asyncio.run(local.last_seq()) > 4000
    for query in ({}, {'flow_id': 'flow-3'}, {'flow_id': 'flow-3/pick'}, {'flow_id': 'none'}):
        for limit in (7, 500, 2000):
            there, here = [], []
            for source, rows, run in (
                    (remote, there, viewer.do), (local, here, asyncio.run)):
                after = 0
                while page := run(source.rows(after=after, limit=limit, **query)):
                    assert len(page) <= limit
                    rows += page
                    after = page[-1].seq
                    if limit == 7 and len(rows) > 70:
                        break
            if limit == 7:
                assert there[:70] == here[:70]
            else:
                assert there == here
    assert all(row.intact() for row in there)


def test_the_newest_flows_are_equal(
    fleet: Fleet, viewer: Viewer, remote: RemoteRows
) -> None:
    local = LocalRows(fleet.journal('one'))
    for before, limit in ((None, 50), (None, 3), (1500, 20), (1, 5), (None, 500)):
        there = viewer.do(remote.flows(before=before, limit=limit))
        assert there == asyncio.run(local.flows(before=before, limit=limit))
    assert len(there) == 2 * 70 + 1


def test_a_page_is_not_larger_than_its_limit(
    viewer: Viewer, remote: RemoteRows, fleet: Fleet
) -> None:
    client = viewer.node.create_client(GetRows, '/one/ledger/get_rows')
    fleet.until(client.service_is_ready, 20.0, 'get_rows')
    found = fleet.ask(client, GetRows.Request(flow_id='flow-3', after_seq=500, limit=1000))
    assert found.more and sum(map(len, found.rows_json)) <= LARGEST
    page = fleet.ask(client, GetRows.Request(
        flow_id='flow-3', after_seq=found.next_seq, limit=1000))
    assert len(page.rows_json) == 1  # the next one would not fit
    last = fleet.ask(client, GetRows.Request(after_seq=2**64 - 1))
    assert not last.rows_json and not last.more and not last.error_code


def test_rows_are_compacted_while_they_are_read(
    fleet: Fleet, viewer: Viewer, remote: RemoteRows
) -> None:
    before = viewer.do(remote.rows(limit=50))
    with Journal(fleet.journal('one')) as journal:
        last = journal.append(Entry(kind='note', event='last')).seq
        assert journal.compact(synced_to=last - 1000) > 100
    rows, after = list(before), before[-1].seq
    while page := viewer.do(remote.rows(after=after, limit=500)):
        rows += page
        after = page[-1].seq
    assert [row.seq for row in rows] == sorted({row.seq for row in rows})
    here, after = [], before[-1].seq
    local = LocalRows(fleet.journal('one'))
    while page := asyncio.run(local.rows(after=after, limit=500)):
        here += page
        after = page[-1].seq
    assert rows[50:] == here and last in [row.seq for row in here]
    assert viewer.do(remote.last_seq()) == here[-1].seq
    assert viewer.do(remote.flows(limit=100)) == asyncio.run(local.flows(limit=100))


def test_only_some_requests_wait(fleet: Fleet, viewer: Viewer) -> None:
    apart, go, said = Apart(viewer.node), threading.Event(), []

    async def ask() -> None:
        try:
            await apart.answer(go.wait)
            said.append('')
        except LifecycleError as error:
            said.append(str(error))

    for _ in range(ANSWERS + 3):
        viewer.node.spawn(ask)
    fleet.until(lambda: len(said) == 3, 10.0, 'refusals')
    assert set(said) == {f'busy: {ANSWERS} requests wait; ask again later'}
    go.set()
    fleet.until(lambda: len(said) == ANSWERS + 3, 10.0, 'answers')
    assert said.count('') == ANSWERS
    apart.close()


def test_a_missing_journal_is_an_error_that_names_the_robot(
    viewer: Viewer, fleet: Fleet, tmp_path: Path
) -> None:
    client = viewer.node.create_client(GetRows, '/nobody/ledger/get_rows')
    absent = RemoteRows(viewer.node, 'nobody', [client], NO_TRACES)
    with pytest.raises(JournalError, match='nobody: no node'):
        viewer.do(absent.last_seq())
