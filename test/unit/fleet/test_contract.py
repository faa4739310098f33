# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What each backend of `fleet.Ledger` guarantees for rows of journals, and how it is found."""

from __future__ import annotations

import asyncio
import time

from action_lifecycle.engine import load_graph
from action_lifecycle.fleet import (
    LedgerError,
    LedgerRefused,
    LedgerUnavailable,
    open_ledger,
    register_ledger,
)
from action_lifecycle.fleet.journal_match import writer_of
from action_lifecycle.fleet.ledger import check_url, LEDGERS
from action_lifecycle.fleet.loop_thread import end
from action_lifecycle.fleet.rebuild import rebuild
from action_lifecycle.fleet.sync import Synchronizer
from action_lifecycle.graphs.packaged import config_file
from action_lifecycle.journal import Entry, Journal, Projection
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from .ledgers import with_ledger
from .test_sync import journal, WALK, write

__all__ = ['journal']  # a fixture


def apply(backend, rows, **options):
    return with_ledger(backend, lambda ledger: ledger.apply(rows, **options))


def kept(backend, robot='robot'):
    """Return the rows of the ledger, which are intact."""
    reader = open_ledger(backend.url, robot).reader()
    try:
        return list(reader.intact_rows())
    finally:
        reader.close()


# Rows


def test_ledger_knows_which_journal_has_written_its_last_row(journal, backend, tmp_path):
    def origin():
        reader = open_ledger(backend.url).reader()
        try:
            return reader.origin()
        finally:
            reader.close()
    write(journal, 0, 2)
    rows = list(journal.rows())
    assert origin() == ('', '')
    apply(backend, rows[:1])
    assert origin() == ('', '')  # the path is not known
    with_ledger(backend, lambda ledger: ledger.apply(rows), journal=journal.path)
    assert origin() == writer_of(journal.path)
    with_ledger(backend, lambda ledger: ledger.clear(), journal=journal.path)
    assert origin() == ('', '')


def test_batch_is_skipped_where_known_and_refused_with_a_gap(journal, backend):
    write(journal, 0, 2)
    rows = list(journal.rows())
    assert apply(backend, rows[:3]) == 3
    assert apply(backend, rows[:5]) == 5
    assert apply(backend, rows[:2]) == 5
    with pytest.raises(LedgerRefused, match='row 7 does not follow row 5'):
        apply(backend, rows[6:])
    with pytest.raises(LedgerRefused, match='another journal'):
        apply(backend, [rows[5]._replace(prev_hash='x')])
    assert len(kept(backend)) == 5


def test_action_from_a_state_it_is_not_in_is_refused_as_a_whole(journal, backend):
    write(journal, 0, 1, steps=1)
    journal.append(Entry('transition', 'flow', 'b', 1, 'start', 'assigned', 'in_progress'))
    journal.append(Entry('transition', 'flow', 'a0', 1, 'verified', 'pending', 'completed'))
    with pytest.raises(LedgerRefused, match="row 4: the action is in state 'in_progress'"):
        apply(backend, list(journal.rows()))
    assert kept(backend) == []
    assert with_ledger(backend, lambda ledger: ledger.open_subjects()) == []


def test_robots_do_not_share_rows_and_a_row_is_told_by_the_cursor(journal, backend):
    write(journal, 0, 2, steps=2)
    rows = list(journal.rows())
    assert with_ledger(backend, lambda ledger: ledger.apply(rows), robot='other') == 5
    assert kept(backend) == [] and kept(backend, 'other') == rows

    async def work(ledger):
        assert await ledger.cursor() == (0, '')
        await ledger.apply(rows[:3])
        assert await ledger.cursor() == (3, rows[2].hash)
        assert sorted(await ledger.open_subjects()) == sorted(
            {ledger.subject(row) for row in rows[:3]})
        assert await ledger.cursor(await ledger.open_subjects()) == (3, rows[2].hash)
    with_ledger(backend, work)


def test_subject_is_open_until_its_final_row(journal, backend):
    write(journal, 0, 1, steps=3)
    rows = list(journal.rows())

    async def work(ledger):
        await ledger.apply(rows)
        assert await ledger.open_subjects() == [ledger.subject(rows[0])]
        write(journal, 1, 1)
        journal.append(Entry('transition', 'flow', 'a0', 1, 'terminate', 'completed',
                             'terminated', final=True))
        await ledger.apply(list(journal.rows()))
        assert await ledger.open_subjects() == []
    with_ledger(backend, work)


def test_compacted_journal_fills_an_older_ledger_and_ends_what_it_swallowed(journal, backend):
    write(journal, 0, 1, steps=2)
    older = list(journal.rows())
    for event, source, target in WALK[2:]:
        journal.append(Entry('transition', 'flow', 'a0', 1, event, source, target,
                             final=target == 'terminated'))
    write(journal, 1, 1, steps=1)
    assert journal.compact(synced_to=journal.last_seq()) > 0
    rows = list(journal.rows())
    through = journal.snapshot().data['through']

    async def work(ledger):
        await ledger.apply(older)
        with pytest.raises(LedgerRefused, match='does not follow'):
            await ledger.apply(rows)
        await ledger.apply(rows, through=through, swallowed=[ledger.subject(older[0])])
        return await ledger.open_subjects()
    assert len(with_ledger(backend, work)) == 1
    assert kept(backend)[-1] == rows[-1]


def test_trim_spares_what_is_new_and_what_is_open(journal, backend):
    write(journal, 0, 5)
    write(journal, 5, 1, steps=1)
    write(journal, 6, 5)
    rows = list(journal.rows())
    first = next(journal.rows(action_id='a5')).seq

    async def work(ledger):
        await ledger.apply(rows)
        assert await ledger.trim(time.time() - 3600) == 0
        gone = 0
        while trimmed := await ledger.trim(time.time() + 3600):
            gone += trimmed
        assert await ledger.apply(rows) == rows[-1].seq
        return gone
    assert with_ledger(backend, work, retention=0.0) == first - 1
    assert kept(backend) == rows[first - 1:]


def test_cleared_ledger_is_empty_and_the_others_stay(journal, backend):
    write(journal, 0, 2, steps=2)
    rows = list(journal.rows())
    for robot in 'robot', 'other':
        with_ledger(backend, lambda ledger: ledger.apply(rows), robot=robot)
    assert with_ledger(backend, lambda ledger: ledger.clear()) > 0
    assert kept(backend) == [] and kept(backend, 'other') == rows
    assert with_ledger(backend, lambda ledger: ledger.cursor()) == (0, '')
    assert with_ledger(backend, lambda ledger: rebuild(journal.path, ledger)).last == 5
    assert kept(backend) == rows


def test_synchronizer_brings_all_rows_and_refuses_another_journal(journal, backend, tmp_path):
    def synced(path, wanted):
        async def work(ledger):
            statuses = []
            running = asyncio.ensure_future(Synchronizer(path, ledger, statuses.append).run())
            deadline = time.monotonic() + 20
            while not (statuses and wanted(statuses[-1])):
                assert time.monotonic() < deadline and not running.done(), statuses[-3:]
                await asyncio.sleep(0.01)
            await end(running)
            return statuses[-1]
        return with_ledger(backend, work)
    write(journal, 0, 300)
    last = journal.last_seq()
    status = synced(journal.path, lambda one: one.ledger_seq == last and one.connected)
    assert (status.backlog, status.last_error) == (0, '')
    assert kept(backend) == list(journal.rows())
    with Journal(tmp_path / 'other') as other:
        write(other, 0, 301)
        refused = synced(other.path, lambda one: one.refused)
    assert 'another journal' in refused.last_error
    assert "fill the ledger of robot 'robot'" in refused.last_error


STEPS = st.lists(st.tuples(st.sampled_from('fg'), st.sampled_from('abc'), st.booleans()),
                 max_size=40)


@settings(max_examples=25,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=STEPS, compact=st.booleans())
def test_any_history_gives_the_same_answers_from_journal_and_ledger(
        backend, tmp_path_factory, steps, compact):
    backend.clear()
    states = {}
    with Journal(tmp_path_factory.mktemp('answers') / 'journal') as journal:
        for flow_id, action_id, fails in steps:
            source = states.get((flow_id, action_id), 'assigned')
            if source == 'terminated':
                event, target, data = 'reassign', 'assigned', {}
            elif source == 'error' or (source == 'completed' and not fails):
                event, target = 'terminate', 'terminated'
                data = {'outcome': 'failed' if source == 'error' else 'succeeded'}
            elif fails and source not in ('assigned', 'completed'):
                event, target, data = 'fail', 'error', {'error_code': 'REFUTED'}
            else:
                event, target = next((event, target) for event, start, target in WALK
                                     if start == source)
                data = {'outcome': 'succeeded'} if event == 'terminate' else {}
            journal.append(Entry('transition', flow_id, action_id, 1, event, source, target,
                                 data=data, final=target == 'terminated'))
            states[flow_id, action_id] = target
        if compact:
            journal.compact(synced_to=journal.last_seq())
        snapshot = journal.snapshot()
        rows = list(journal.rows())
        if rows:
            apply(backend, rows, through=snapshot.data['through'] if snapshot else 0)
        graph = load_graph(config_file('graphs/action.yaml'))
        reader = open_ledger(backend.url).reader()
        here, there = Projection(journal, graph), Projection(reader, graph)

        def told(action):
            return action and (action.flow_id, action.action_id, action.state, action.outcome,
                               action.attempt, action.error_code, action.seq)
        for filters in ({}, {'flow_id': 'f'}, {'states': ['error', 'completed']},
                        {'outcomes': ['succeeded']}, {'open_only': True}):
            assert [told(one) for one in here.find(**filters)] == [
                told(one) for one in there.find(**filters)]
        for flow_id in ('', 'f', 'g'):
            for action_id in 'abc':
                assert told(here.get(flow_id, action_id)) == told(there.get(flow_id, action_id))
                query = {'flow_id': flow_id or None, 'action_id': action_id, 'after': 2,
                         'limit': 3}
                assert list(journal.rows(**query)) == list(reader.rows(**query))
        assert reader.last_seq() == journal.last_seq()
        reader.close()


# Backends


def test_unknown_backend_is_named_with_the_nearest_known_one():
    with pytest.raises(LedgerError, match="ledger URL 'reddis://….: expected one of redis://, "
                                          ".*rediss://, .*; did you mean 'redis'"):
        open_ledger('reddis://host')
    with pytest.raises(LedgerError, match="ledger URL '://…'"):
        check_url('nothing')
    with pytest.raises(LedgerError, match='memory://NAME'):
        check_url('memory://me:secret@x')


def test_backend_of_another_package_is_found_by_its_scheme():
    @register_ledger('testing')
    class Mine(LEDGERS.find('memory')):
        check_url = staticmethod(str)

    assert isinstance(open_ledger('testing://here', 'robot7'), Mine)


def test_server_that_is_away_is_an_error_of_the_ledger():
    async def work():
        ledger = open_ledger('unix:///nowhere/s')
        for call in (ledger.cursor, lambda: ledger.lease('42_100', 'a'),
                     lambda: ledger.operations.trace('t'), lambda: ledger.submit('s', {'a': 'b'}),
                     ledger.requests('s', 'g', 'w', 1.0).take):
            with pytest.raises(LedgerUnavailable, match='ledger: '):
                await call()
    asyncio.run(work())
