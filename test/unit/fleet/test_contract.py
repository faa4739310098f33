# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What `fleet.Ledger` guarantees, tested with each of its backends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time

from action_lifecycle.engine import load_graph
from action_lifecycle.fleet import (
    LedgerError,
    LedgerRefused,
    LedgerUnavailable,
    MemoryTasks,
    open_ledger,
    register_ledger,
    SmartLedger,
)
from action_lifecycle.fleet.checkpoints import CheckpointError
from action_lifecycle.fleet.claim_watch import ClaimWatch
from action_lifecycle.fleet.consumer import OperationConsumer, submit
from action_lifecycle.fleet.ledger import check_url, LEDGERS
from action_lifecycle.fleet.loop_thread import end
from action_lifecycle.fleet.operation_states import OperationState as State
from action_lifecycle.fleet.operation_states import predecessors
from action_lifecycle.fleet.sync import rebuild, Synchronizer
from action_lifecycle.graphs.packaged import config_file
from action_lifecycle.journal import Entry, Journal, Projection
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from .test_consumer import IDLE, Work
from .test_sync import journal, WALK, write

__all__ = ['journal']  # a fixture

OUTPUT = {'facts': [1, 2.5, None, 'ä'], 'nested': {'text': 'x' * 1000}}


def with_ledger(backend, work, **options):
    """Return the result of a coroutine that uses a ledger."""
    async def run():
        ledger = open_ledger(backend.url, **options)
        try:
            return await work(ledger)
        finally:
            await ledger.close()
    return asyncio.run(run())


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
    assert 'another hash' in refused.last_error
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


# Operations


def test_operation_goes_where_the_table_says(backend):
    async def work(ledger):
        operations = ledger.operations
        assert await operations.trace('t') == {}
        assert not await operations.move('t', State.QUEUED, {'x': 1})
        assert await operations.receive('t', {'stream': 'requests', 'retry': False})
        assert not await operations.receive('t', {'stream': 'other'})
        found = await operations.trace('t')
        assert (found['state'], found['stream'], found['retry']) == ('RECEIVED', 'requests',
                                                                     'false')
        assert float(found['created_at']) <= time.time()
        for number, current in enumerate(State):
            for target in State:
                name = f'{number}{target.value}'
                await operations.receive(name, {'state': 'NONSENSE'})
                path = route(current)
                for state in path:
                    assert await operations.move(name, state, {'state': 'NONSENSE'})
                before = await operations.trace(name)
                assert before['state'] == current.value
                allowed = current in predecessors()[target]
                assert await operations.move(name, target, {'x': 1}) is allowed
                assert allowed or await operations.trace(name) == before
    with_ledger(backend, work)


def route(target):
    """Return states that lead from RECEIVED to a state."""
    routes = {State.RECEIVED: []}
    while target not in routes:
        for state, sources in predecessors().items():
            for source in sources & routes.keys():
                routes.setdefault(state, [*routes[source], state])
    return routes[target]


async def received(ledger, state, metadata=None):
    await ledger.operations.receive('t', metadata or {})
    for one in route(state):
        assert await ledger.operations.move('t', one)


def test_one_of_two_writers_wins_and_a_lost_fence_changes_nothing(backend):
    async def work(ledger):
        operations = ledger.operations
        await received(ledger, State.QUEUED)
        assert sorted(await asyncio.gather(
            operations.move('t', State.CLAIMED, {'fence': 'a'}),
            operations.move('t', State.CLAIMED, {'fence': 'a'}))) == [False, True]
        before = await operations.trace('t')
        assert not await operations.move('t', State.PRE_INFERENCE_GATHER, {'x': 1}, fence='b',
                                         saved={'y': 1}, outcome='1')
        assert await operations.trace('t') == before
        assert await operations.checkpoint('t') is None and backend.result('t') is None
        assert await operations.move('t', State.PRE_INFERENCE_GATHER, fence='a')
    with_ledger(backend, work)


def test_checkpoint_comes_with_its_state_or_not_at_all(backend):
    async def work(ledger):
        operations = ledger.operations
        await received(ledger, State.CLAIMED)
        assert not await operations.move('t', State.INFERRING, saved=OUTPUT)
        assert await operations.checkpoint('t') is None
        await operations.move('t', State.PRE_INFERENCE_GATHER)
        for content in {'x': object()}, {'x': float('nan')}:
            with pytest.raises(CheckpointError):
                await operations.move('t', State.INFERRING, saved=content)
        assert await operations.move('t', State.INFERRING, saved=OUTPUT)
        await operations.renew('t')
        await operations.renew('missing')
        assert await operations.trace('missing') == {}
        found = await operations.checkpoint('t')
        assert found.content == OUTPUT and abs(time.time() - found.stamp) < 60
    with_ledger(backend, work)


def test_first_result_stays(backend):
    async def work(ledger):
        await received(ledger, State.INFERRING)
        for outcome in '1', '2':
            await ledger.operations.move('t', State.POSTPROCESSING, outcome=outcome)
            await ledger.operations.move('t', State.ERRORED, outcome=outcome)
    with_ledger(backend, work)
    assert backend.result('t') == '1'


# Requests


def test_request_is_held_by_one_worker_until_it_is_done(backend):
    async def work(ledger):
        first, second = (ledger.requests('requests', 'robots', name, 60.0) for name in 'ab')
        for number in 'xy':
            await ledger.submit('requests', {'text': number})
        await first.join()
        await first.join()
        (one, fields), = await first.take()
        (other, _), = await second.take()
        assert fields == {'text': 'x'} and one != other
        assert (await first.tries(one), await second.tries(one)) == (1, 0)
        assert await first.retake() == [(one, fields)]
        assert await first.tries(one) == 2 and await first.renew(one)
        assert not await second.renew(one)
        assert 0 <= await first.age(one) < 60
        await first.done(one)
        assert not await first.bury(one, {'error': 'no'})
        assert await second.bury(other, {'error': 'no'})
        assert not await second.bury(other, {'error': 'no'})
        assert (await first.retake(), await second.retake()) == ([], [])
        assert await first.tries(one) == await second.tries(other) == 0
        another = ledger.requests('requests', 'others', 'a', 60.0)
        await another.join()  # each group has all requests
        assert [one, other] == [entry for _ in range(2) for entry, _ in await another.take()]
    with_ledger(backend, work)
    assert backend.dead_letters('requests') == [{'error': 'no'}]


def test_abandoned_request_is_taken_by_another_worker(backend):
    async def work(ledger):
        first, second = (ledger.requests('requests', 'robots', name, 0.05) for name in 'ab')
        await ledger.submit('requests', {'text': 'x'})
        await first.join()
        (one, fields), = await first.take()
        deadline = time.monotonic() + 10
        while not (taken := await second.take()):
            assert time.monotonic() < deadline
        assert taken == [(one, fields)]
        assert (await first.tries(one), await second.tries(one)) == (0, 2)
        assert not await first.renew(one) and await second.renew(one)
    with_ledger(backend, work)


def consume(backend, works, until, *texts, name=''):
    """Let workers work until something is so; return the trace ids."""
    async def work(ledger):
        traces = [await submit(ledger, 'requests', {'text': text}) for text in texts]
        workers = [asyncio.ensure_future(OperationConsumer(
            ledger, 'requests', 'robots', one, name=name, min_idle=IDLE).run()) for one in works]
        deadline = time.monotonic() + 20
        while not until(traces):
            assert time.monotonic() < deadline
            for worker in workers:
                assert not worker.done(), worker.exception()
            await asyncio.sleep(0.02)
        for trace_id in traces:
            deadline = time.monotonic() + 5
            while (await ledger.operations.trace(trace_id))['state'] not in (
                    'COMPLETED', 'ERRORED'):
                assert time.monotonic() < deadline
                await asyncio.sleep(0.02)
        await end(*workers)
        return traces
    return with_ledger(backend, work)


def test_each_request_is_done_once_and_its_result_kept(backend):
    works = [Work(), Work()]
    traces = consume(backend, works, lambda traces: all(map(backend.result, traces)), *'abcdef')
    assert sum(work.performed for work in works) == 6
    assert [json.loads(backend.result(trace)) for trace in traces] == [
        {'did': text} for text in 'abcdef']


def test_request_that_always_fails_is_one_dead_letter_after_three_tries(backend):
    works = [Work(), Work()]

    def buried(traces):
        with contextlib.suppress(KeyError):
            return backend.dead_letters('requests')
    trace, = consume(backend, works, buried, 'fail')
    assert sum(work.performed for work in works) == 3
    assert sum(work.gathered for work in works) == 1
    letter, = backend.dead_letters('requests')
    assert (letter['trace_id'], str(letter['attempt'])) == (trace, '3')
    assert json.loads(letter['data'])['text'] == 'fail' and 'no' in letter['error']


def test_same_trace_twice_is_worked_on_once(backend):
    async def twice(ledger):
        for _ in range(2):
            await submit(ledger, 'requests', {'text': 'a'}, 't')
    with_ledger(backend, twice)
    work = Work()
    consume(backend, [work], lambda traces: backend.result(traces[0]), 'b')
    assert work.performed == 2


# Claims


def test_claim_is_seen_by_its_session_until_it_lapses(journal, backend):
    ledger = open_ledger(backend.url, 'robot7')
    tasks = ledger.tasks()
    mine = SmartLedger('42_100', tasks, claimant='robot7', lease=60.0)
    short = SmartLedger('42_100', tasks, claimant='robot7', lease=0.01)
    theirs = SmartLedger('42_100', tasks, claimant='robot8')
    assert mine.claim('mine') and short.claim('short') and theirs.claim('theirs')
    for name in 'mine', 'short', 'theirs', 'none':
        journal.append(Entry('flow', f'flow {name}', event='start', to_state='RUN',
                             data={'origin': {'lease': f'42_100/{name}'}}))
    time.sleep(0.02)

    async def work(ledger):
        lease, left = await ledger.lease('42_100', 'mine')
        assert (lease.claimant, lease.token) == ('robot7', mine.token('mine'))
        assert 0 < left <= 60
        assert await ledger.lease('42_100', 'short') is None
        watch = ClaimWatch(ledger, lambda: journal, tuple)
        running = asyncio.ensure_future(watch.run())
        deadline = time.monotonic() + 10
        while not watch.held:
            assert time.monotonic() < deadline and not running.done()
            await asyncio.sleep(0.01)
        await end(running)
        assert [(one.flow_id, one.name) for one in watch.held] == [('flow mine', '42_100/mine')]
    with_ledger(backend, work, robot='robot7')
    if not isinstance(tasks, MemoryTasks):
        tasks.close()


# Backends


def test_unknown_backend_is_named_with_the_nearest_known_one():
    with pytest.raises(LedgerError, match="ledger URL 'reddis://….: expected one of redis://, "
                                          "rediss://, .*; did you mean 'redis'"):
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
