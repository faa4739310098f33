# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Keys of the ledger that something else changed: said by name, and no batch is half applied."""

from __future__ import annotations

import asyncio

from action_lifecycle.fleet import LedgerError, LedgerRefused, RedisLedger, RedisReader
from action_lifecycle.journal import Entry, Journal
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from .test_sync import apply, assert_same, journal, sync, write

EVENTS, META, OPEN = (f'al:{{robot}}:{name}' for name in ('events', 'meta', 'open'))
SUBJECTS = tuple(f'al:{{robot}}:transition:flow:a{number}' for number in range(4))

__all__ = ['journal', 'sync']  # fixtures


def change(client, key, how):
    """Do to a key what somebody does who takes it for his own."""
    if how in ('xdel', 'xadd', 'xtrim'):
        if client.type(key) != 'stream':
            return
        if how == 'xadd':
            client.xadd(key, {'foreign': 'entry'})
        elif how == 'xtrim':
            client.xtrim(key, maxlen=1, approximate=False)
        else:
            client.xdel(key, *[entry for entry, _ in client.xrange(key, count=2)][1:])
        return
    client.delete(key)
    {'delete': lambda: None, 'string': lambda: client.set(key, 'x'),
     'list': lambda: client.rpush(key, 'x'), 'set': lambda: client.sadd(key, 'x'),
     'zset': lambda: client.zadd(key, {'x': 1.0}), 'hash': lambda: client.hset(key, 'seq', 'x'),
     'stream': lambda: client.xadd(key, {'foreign': 'entry'})}[how]()


def content(client):
    """Return everything that the server holds."""
    get = {'string': client.get, 'hash': client.hgetall, 'set': client.smembers,
           'list': lambda key: client.lrange(key, 0, -1),
           'zset': lambda key: client.zrange(key, 0, -1, withscores=True),
           'stream': lambda key: client.xrange(key)}
    return {key: (client.type(key), get[client.type(key)](key)) for key in client.keys('*')}


@pytest.mark.parametrize(('key', 'how', 'said'), [
    (OPEN, 'string', f'key {OPEN} is of type string, expected zset: something else wrote to it'),
    (OPEN, 'delete', f'key {OPEN} has 0 subjects, but {META} says 2: something else removed'),
    (META, 'list', f'key {META} is of type list, expected hash'),
    (META, 'hash', f"key {META} has seq 'x', expected a number"),
    (META, 'delete', f'key {EVENTS} ends with entry 5-0, but {META} says 0-0'),
    (EVENTS, 'set', f'key {EVENTS} is of type set, expected stream'),
    (EVENTS, 'delete', f'key {EVENTS} ends with entry 0-0, but {META} says 5-0'),
    (EVENTS, 'xadd', f'key {EVENTS} ends with entry '),
    (EVENTS, 'xdel', f'key {EVENTS} has 4 entries, but {META} says 5'),
    (EVENTS, 'xtrim', f'key {EVENTS} has 1 entries, but {META} says 5'),
    (SUBJECTS[0], 'zset', f'key {SUBJECTS[0]} is of type zset, expected hash'),
    (SUBJECTS[0], 'delete', f'key {SUBJECTS[0]} is gone, but {OPEN} lists it as open'),
])
def test_changed_key_is_named_and_nothing_is_written(journal, redis_server, key, how, said):
    write(journal, 0, 2, steps=2)
    apply(redis_server, list(journal.rows()))
    journal.append(Entry('note'))
    journal.append(Entry('transition', 'flow', 'b', 1, 'start', 'assigned', 'in_progress'))
    journal.append(Entry('transition', 'flow', 'a0', 1, 'verified',
                         'status_verification_requested', 'completed'))
    change(redis_server.client, key, how)
    before = content(redis_server.client)
    with pytest.raises(LedgerRefused, match='.*') as refused:
        apply(redis_server, list(journal.rows()))
    assert said in str(refused.value)
    assert ("fill the ledger of robot 'robot' from its journal again, run "
            '`action_lifecycle ledger rebuild JOURNAL --url ') in str(refused.value)
    assert content(redis_server.client) == before
    redis_server.client.flushall()
    assert apply(redis_server, list(journal.rows())) == 8
    assert_same(journal, redis_server)


TYPES = {EVENTS: 'stream', META: 'hash', OPEN: 'zset', **{
    f'al:{{robot}}:{name}': 'hash' for name in (
        'transition:flow:open', 'flow:flow:', 'lock::hand', 'job:j1:', 'job_order:f2:',
        'recipe:r1:', 'plan:p1:')}}


@pytest.mark.parametrize(('key', 'how'), [
    (key, how) for key in TYPES
    for how in ('delete', 'string', 'list', 'set', 'zset', 'hash', 'stream') if how != TYPES[key]])
def test_each_key_that_was_removed_or_replaced_is_named(journal, redis_server, key, how):
    for kind, flow_id, action_id in (
            ('flow', 'flow', ''), ('lock', '', 'hand'), ('job', 'j1', ''), ('job_order', 'f2', ''),
            ('recipe', 'r1', ''), ('plan', 'p1', '')):
        journal.append(Entry(kind, flow_id, action_id, to_state='begun'))
    journal.append(Entry('transition', 'flow', 'open', 1, 'start', 'assigned', 'in_progress'))
    apply(redis_server, list(journal.rows()))
    client = redis_server.client
    whole = content(client)
    assert {name: kind for name, (kind, _) in whole.items()} == TYPES
    change(client, key, how)
    before = content(client)

    async def check():
        ledger = RedisLedger(redis_server.url)
        try:
            with pytest.raises(LedgerRefused) as refused:
                await ledger.cursor([name for name, _ in whole[OPEN][1]])
            return str(refused.value)
        finally:
            await ledger.close()
    told = asyncio.run(check())
    assert f'key {key} ' in told or (how == 'delete' and key == META and META in told)
    assert 'run `action_lifecycle ledger rebuild' in told
    assert content(client) == before


@pytest.mark.parametrize(('key', 'how'), [
    (OPEN, 'string'), (META, 'delete'), (EVENTS, 'delete'), (EVENTS, 'xadd'),
    (SUBJECTS[0], 'delete')])
def test_synchronizer_with_nothing_to_bring_notices_it_too(
        journal, sync, redis_server, monkeypatch, key, how):
    monkeypatch.setattr('action_lifecycle.fleet.sync.TRIM', 0.2)
    write(journal, 0, 2, steps=2)
    syncing = sync()
    syncing.until_synced()
    change(redis_server.client, key, how)
    status = syncing.until(lambda one: one.refused)
    assert key in status.last_error
    assert f'ledger rebuild {journal.path} --url' in status.last_error
    redis_server.client.flushall()
    syncing.until_synced()
    assert_same(journal, redis_server)


def test_key_that_is_put_right_again_goes_on_with_the_next_row(journal, sync, redis_server):
    write(journal, 0, 2, steps=2)
    syncing = sync()
    syncing.until_synced()
    saved = redis_server.client.zrange(OPEN, 0, -1, withscores=True)
    change(redis_server.client, OPEN, 'string')
    write(journal, 2, 2, steps=2)
    syncing.until(lambda one: one.refused and OPEN in one.last_error)
    redis_server.client.delete(OPEN)
    redis_server.client.zadd(OPEN, dict(saved))
    syncing.until_synced()
    assert_same(journal, redis_server)


def test_command_that_the_acl_forbids_is_named_and_nothing_is_written(journal, redis_server):
    write(journal, 0, 2, steps=2)
    client = redis_server.client
    client.execute_command('ACL', 'SETUSER', 'default', '-zadd')
    try:
        with pytest.raises(LedgerError, match='may not use ZADD on key'):
            apply(redis_server, list(journal.rows()))
        assert content(client) == {}
    finally:
        client.execute_command('ACL', 'SETUSER', 'default', '+@all')
    assert apply(redis_server, list(journal.rows())) == 5


def test_damaged_row_of_the_journal_is_not_brought(journal, sync, redis_server):
    write(journal, 0, 2, steps=2)
    journal._writer.execute("UPDATE entry SET cause = 'x' WHERE seq = 4")
    status = sync().until(lambda one: one.last_error)
    assert 'damaged: row 4 does not have the content' in status.last_error
    assert RedisReader(redis_server.url).last_seq() == 3


CHANGES = st.lists(st.tuples(
    st.sampled_from((EVENTS, META, OPEN, *SUBJECTS)),
    st.sampled_from(('delete', 'string', 'list', 'set', 'zset', 'hash', 'stream', 'xdel', 'xadd',
                     'xtrim'))), min_size=1, max_size=3)


@pytest.fixture(scope='module')
def history(tmp_path_factory):
    """Return rows of actions that go on, end and begin after the first part."""
    with Journal(tmp_path_factory.mktemp('history') / 'journal') as journal:
        write(journal, 0, 2, steps=2)
        write(journal, 2, 1)
        part = journal.last_seq()
        for event, source, target in (
                ('verified', 'status_verification_requested', 'completed'),
                ('terminate', 'completed', 'terminated')):
            journal.append(Entry('transition', 'flow', 'a0', 1, event, source, target,
                                 final=target == 'terminated'))
        write(journal, 3, 1, steps=3)
        journal.append(Entry('lock', action_id='hand'))
        return list(journal.rows()), part


@settings(max_examples=150, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(changes=CHANGES)
def test_batch_is_applied_whole_or_not_at_all(redis_server, history, changes):
    rows, part = history
    client = redis_server.client

    async def work():
        ledger = RedisLedger(redis_server.url)
        try:
            await ledger.apply(rows[:part])
            for key, how in changes:
                change(client, key, how)
            before = content(client)
            try:
                last = await ledger.apply(rows)
            except LedgerError:
                assert content(client) == before
                return
            after = content(client)
            assert last == rows[-1].seq == int(after[META][1]['seq'])
            assert after[META][1]['hash'] == rows[-1].hash
            new = [row for row in rows if row.seq > part or EVENTS not in before]
            entries = dict(after[EVENTS][1])
            opened = dict(after[OPEN][1])
            for row in new:
                assert entries[f'{row.seq}-0']['hash'] == row.hash
                subject = ledger.subject(row)
                if subject != META:
                    final = {ledger.subject(one): one for one in new}[subject]
                    assert after[subject][1]['hash'] == final.hash
                    assert (subject in opened) is not bool(final.final)
        finally:
            await ledger.close()
    client.flushall()
    asyncio.run(work())
