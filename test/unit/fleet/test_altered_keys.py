# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shared work, claims and reports whose keys were trimmed, changed or have unusual names."""

from __future__ import annotations

import asyncio

from action_lifecycle.fleet import LedgerError, RedisLedger, SmartLedger
from action_lifecycle.fleet.backends.redis.keys import (
    dead_letters,
    operation_keys,
    resent_letter,
    trace_id_of,
    trimmed_requests,
)
from action_lifecycle.fleet.fleet_view import stream_names
from action_lifecycle.fleet.robot_status import report_from, RobotReport
from action_lifecycle.fleet.work_status import dead_letter
from action_lifecycle.journal import Entry
from action_lifecycle.viewer.fleet_words import claims_words, sync_words
import pytest
from redis.crc import key_slot

from .ledgers import with_ledger
from .test_consumer import IDLE, run, Work
from .test_sync import apply, journal, sync, write

__all__ = ['journal', 'sync']  # fixtures

STREAM, DEAD = 'requests', '{requests}:dead'
META = 'al:{robot}:meta'


# Requests that were trimmed from their stream


def pending(server):
    return server.client.xpending(STREAM, 'robots')['pending']


def test_trimmed_request_is_done_by_the_worker_that_holds_it(redis_server):
    client = redis_server.client

    class Trimmed(Work):
        async def perform(self, operation, gathered):
            await operation.start_motion()
            client.xtrim(STREAM, maxlen=0, approximate=False)
            await asyncio.sleep(4 * IDLE)
            return await super().perform(operation, gathered)
    works = [Trimmed(), Trimmed()]

    def over():
        return client.exists(STREAM) and client.xlen(STREAM) == 0 and pending(redis_server) == 0
    trace, = run(redis_server, works, over, 'x')
    assert client.hget(f'sg:trace:{trace}', 'state') == 'COMPLETED'
    assert sum(work.performed for work in works) == 1
    assert not client.exists(DEAD)


def test_trimmed_request_of_a_lost_worker_becomes_one_dead_letter(redis_server):
    client = redis_server.client
    work = Work()

    async def lose(ledger):
        lost = ledger.requests(STREAM, 'robots', 'lost', IDLE)
        await lost.join()
        await ledger.submit(STREAM, {'text': 'x'})
        (request_id, _), = await lost.take()
        client.xdel(STREAM, request_id)
        assert await lost.renew(request_id)
        other = ledger.requests(STREAM, 'robots', 'other', IDLE)
        assert await other.take() == [] and not client.exists(DEAD)  # it is held
        return request_id
    request_id = with_ledger(redis_server, lose)
    run(redis_server, [work, Work()], lambda: client.xlen(DEAD))
    (_, letter), = client.xrange(DEAD)
    assert letter['error'] == 'it was trimmed from its stream'
    assert (letter['original_stream'], letter['original_id']) == (STREAM, request_id)
    assert pending(redis_server) == work.performed == 0


# Rows


def test_subject_that_opens_again_after_a_compaction_stays_open(journal, backend):
    lock = Entry('lock', '', 'arm', 1, 'lock', 'free', 'locked')
    journal.append(lock)
    older = list(journal.rows())
    with_ledger(backend, lambda ledger: ledger.apply(older))
    journal.append(Entry('lock', '', 'arm', 1, 'unlock', 'locked', 'free', final=True))
    journal.append(Entry('note', 'flow', event='beside', final=True))
    through = journal.last_seq()
    assert journal.compact(synced_to=through) > 0
    journal.append(lock)

    async def work(ledger):
        subject = ledger.subject(older[0])
        await ledger.apply(list(journal.rows()), through=through, swallowed=[subject])
        assert await ledger.open_subjects() == [subject]
        await ledger.cursor([subject])
    with_ledger(backend, work)


# Names

ODD_NAMES = ['t', '}x', '%7Dx', '%257Dx', 'a}b', '{}x', '}', '{', '%', '%x', '%7D', '%25']


@pytest.mark.parametrize('stream', ['flows', 'a{b', '{a}b', 'a{b}c', 'a}{b}'])
def test_keys_of_a_stream_are_in_its_slot(stream):
    for key in dead_letters(stream), resent_letter(stream, '1-0'), trimmed_requests(stream):
        assert key_slot(key.encode()) == key_slot(stream.encode()), key


@pytest.mark.parametrize('name', ['a}b', '{}x', '}', 'x{}y}', ''])
def test_name_that_can_have_no_keys_in_its_slot_is_refused_everywhere(backend, name):
    async def use(ledger):
        view = ledger.fleet
        for call in (lambda: ledger.submit(name, {'text': 'x'}),
                     lambda: view.work(name, 'robots'), lambda: view.dead_letters(name),
                     lambda: view.resend(name, '1-1', 'ann')):
            with pytest.raises(LedgerError, match='^(stream|name of a stream).*expected'):
                await call()
        with pytest.raises(LedgerError, match='expected'):
            ledger.requests(name, 'robots', 'a', 60.0)
        await ledger.fleet.report(RobotReport(
            'connected', streams=(name, 'flows'), group='robots'))
        assert stream_names(await view.robots()) == {('flows', 'robots')}
    with_ledger(backend, use)


def test_keys_of_an_operation_are_in_one_slot_and_only_its_own():
    names = ODD_NAMES
    keys = [operation_keys(name, True) for name in names]
    assert all(len({key_slot(key.encode()) for key in of_one}) == 1 for of_one in keys)
    assert len({key for of_one in keys for key in of_one}) == 3 * len(names)
    assert keys[0].trace == 'sg:trace:{t}'
    assert [trace_id_of(one.trace) for one in keys] == names


def test_operations_of_odd_names_are_listed_by_a_cluster_under_those(cluster_group):
    async def work(ledger):
        for name in ODD_NAMES:
            await ledger.operations.receive(name, {'name': name})
        page = await ledger.operations.find()
        assert page.total == len(ODD_NAMES)
        assert {one.trace_id: one.metadata['name'] for one in page.operations} == {
            name: name for name in ODD_NAMES}
        for one in page.operations:
            assert await ledger.operations.trace(one.trace_id)
    with_ledger(cluster_group, work)


# A rebuild


def test_ledger_with_removed_keys_stays_closed_when_the_next_rebuild_fails(
        journal, sync, redis_server, monkeypatch):
    write(journal, 0, 3, steps=2)
    apply(redis_server, list(journal.rows()))
    client = redis_server.client

    async def clear(fails_at_removal):
        ledger = RedisLedger(redis_server.url)
        remove = ledger._remove

        async def interrupted(mark, keys):
            await remove(mark, [key for key in keys if 'transition' in key])
            raise OSError('interrupted')

        def full():
            raise OSError('disk full')
        try:
            if fails_at_removal:
                monkeypatch.setattr(ledger, '_remove', interrupted)
                await ledger.clear()
            await ledger.clear(full)
        finally:
            await ledger.close()
    before = client.hgetall(META)
    with pytest.raises(OSError, match='disk full'):
        asyncio.run(clear(False))
    assert client.hgetall(META) == before
    with pytest.raises(OSError, match='interrupted'):
        asyncio.run(clear(True))
    with pytest.raises(OSError, match='disk full'):
        asyncio.run(clear(False))
    assert 'removed to rebuild it' in sync().until(lambda one: one.refused).last_error


# Reports and claims


def test_robot_with_a_key_of_another_type_does_not_hide_the_others(redis_server):
    client = redis_server.client
    for robot in 'ab':
        with_ledger(redis_server, lambda ledger: ledger.fleet.report(RobotReport('connected')),
                    robot=robot)
    for key in 'al:{a}:status', 'al:{a}:open', 'al:{a}:meta':
        client.delete(key)
        client.set(key, 'x')
    client.hset('al:{b}:meta', 'seq', '9' * 5000)
    client.zadd('al:{b}:open', {'al:{b}:flow:f:': 1})
    client.set('al:{b}:flow:f:', 'x')
    robots = with_ledger(redis_server, lambda ledger: ledger.fleet.robots())
    assert [(one.robot, one.report, one.seq, one.activities) for one in robots] == [
        ('a', None, 0, ()), ('b', RobotReport('connected'), 0, ())]
    assert [one.fault for one in robots] == [
        'key al:{a}:status is of type string, expected hash', '']


@pytest.mark.parametrize('claims', [
    '[[1, "f", 1, true]]', '[[null, "f", 1, true]]', '[["a", "f", "1", true]]',
    '[["a", "f", 1, "x"]]', '[["a"]]', '7', '{"a": 1}'])
def test_claims_of_a_wrong_type_are_told_with_their_key(claims, redis_server):
    with_ledger(redis_server, lambda ledger: ledger.fleet.report(
        RobotReport('connected')), robot='a')
    redis_server.client.hset('al:{a}:status', 'claims', claims)
    robot, = with_ledger(redis_server, lambda ledger: ledger.fleet.robots())
    assert robot.report is None
    assert claims_words(robot) == ''
    assert sync_words(robot) == robot.fault == (
        f"key al:{{a}}:status: field 'claims' has another type than expected: {claims}")


@pytest.mark.parametrize('fields', [
    {'journal_seq': '1e999'}, {'lag': '1' + '0' * 400}, {'claims': '[' * 100_000}])
def test_report_that_is_no_report_is_none(fields):
    assert report_from({'state': 'connected', **fields}) is None


def test_dead_letter_with_an_endless_attempt_is_listed():
    assert dead_letter('flows', '1-0', {'attempt': '9' * 5000, 'data': '[' * 100_000}).attempt == 0


@pytest.mark.parametrize('text', ['junk', '1', '["BAD", "", 1]', '["PENDING", "", "x"]'])
def test_task_that_is_no_task_is_named(redis_server, text):
    redis_server.client.hset('al:session:{s}:tasks', 't', text)

    async def read(ledger):
        tasks = ledger.tasks()
        try:
            with pytest.raises(LedgerError, match=r"key al:session:\{s\}:tasks: task 't' is "):
                tasks.tasks('s')
        finally:
            tasks.close()
    with_ledger(redis_server, read)


@pytest.mark.parametrize('fields', [
    {'x': 'y'}, {'task_id': 't', 'event': 'claimed', 'claimant': 'c', 'token': 'x', 'reason': ''}])
def test_entry_of_a_history_that_is_no_event_is_named(redis_server, fields):
    client = redis_server.client

    def run(work):
        async def use(ledger):
            tasks = ledger.tasks()
            try:
                return work(SmartLedger('42_1', tasks))
            finally:
                tasks.close()
        return with_ledger(redis_server, use)
    run(lambda session: session.claim('t'))
    entry = client.xadd('al:session:{42_1}:history', fields)
    with pytest.raises(LedgerError, match=rf'al:session:.*: entry {entry} has .*XDEL'):
        run(lambda session: session.history())
    client.xdel('al:session:{42_1}:history', entry)
    assert [one.event for one in run(lambda session: session.history())] == ['claimed']


@pytest.mark.parametrize('field', ['claimant', 'token', 'until'])
def test_claim_without_a_field_is_named(redis_server, field):
    fields = {'holder': 'h', 'claimant': 'c', 'token': '1', 'until': '9999999999999'}
    del fields[field]
    redis_server.client.hset('al:session:{s}:lease:t', mapping=fields)

    async def read(ledger):
        with pytest.raises(LedgerError, match=rf"key al:session:\{{s\}}:lease:t has {field} ''"):
            await ledger.lease('s', 't')
    with_ledger(redis_server, read)
