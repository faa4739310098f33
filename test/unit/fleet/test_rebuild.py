# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A ledger that is begun anew from the journal, whatever somebody has done to its keys."""

from __future__ import annotations

import asyncio
import subprocess
import sys

from action_lifecycle.cli import main
from action_lifecycle.fleet import LedgerError, LedgerRefused, RedisLedger, RedisReader
from action_lifecycle.fleet.backends.redis.ledger import REBUILDING
import pytest

from .test_changed_keys import change, content, EVENTS, META, OPEN, SUBJECTS
from .test_sync import apply, assert_same, journal, sync, write

__all__ = ['journal', 'sync']  # fixtures


def rebuild(journal, server, *options):
    return main(['ledger', 'rebuild', journal.path, '--url', server.url, '--robot', 'robot',
                 *options])


@pytest.mark.parametrize(('key', 'how'), [
    (META, 'delete'), (META, 'list'), (META, 'hash'), (EVENTS, 'delete'), (EVENTS, 'xadd'),
    (EVENTS, 'set'), (EVENTS, 'xdel'), (OPEN, 'string'), (OPEN, 'delete'),
    (SUBJECTS[0], 'zset'), (SUBJECTS[0], 'delete')])
def test_rebuild_mends_each_changed_key(journal, redis_server, capsys, key, how):
    write(journal, 0, 3)
    write(journal, 3, 2, steps=2)
    apply(redis_server, list(journal.rows()), journal.path)
    whole = content(redis_server.client)
    change(redis_server.client, key, how)
    assert rebuild(journal, redis_server) == 0
    assert content(redis_server.client) == whole
    assert_same(journal, redis_server)
    assert capsys.readouterr().out == (
        f"ledger of robot 'robot': {len(whole) - (how == 'delete')} keys removed, filled from "
        f'{journal.path} up to row {journal.last_seq()}\n')


def test_command_in_the_sentence_of_a_refusal_mends_the_ledger(journal, sync, redis_server):
    write(journal, 0, 2, steps=2)
    syncing = sync()
    syncing.until_synced()
    change(redis_server.client, EVENTS, 'xadd')
    refused = syncing.until(lambda one: one.refused).last_error
    command = refused.partition('run `action_lifecycle ')[2].partition('`')[0]
    done = subprocess.run(
        [sys.executable, '-c', 'import sys; from action_lifecycle.cli import main; '
         'sys.exit(main(sys.argv[1:]))', *command.split()],
        capture_output=True, text=True, timeout=60.0)
    assert done.returncode == 0, done.stderr
    syncing.until_synced()
    write(journal, 2, 1)
    syncing.until_synced()
    assert_same(journal, redis_server)


def test_nobody_fills_the_ledger_while_its_keys_are_removed(
        journal, redis_server, monkeypatch):
    write(journal, 0, 3, steps=2)
    rows = list(journal.rows())
    apply(redis_server, rows[:4])
    refusals = []

    async def clear():
        ledger, other = (RedisLedger(redis_server.url) for _ in range(2))
        remove = ledger._remove

        async def remove_late(mark, keys):
            try:
                await other.apply(rows)
            except LedgerRefused as refused:
                refusals.append(str(refused))
            return await remove(mark, keys)

        monkeypatch.setattr(ledger, '_remove', remove_late)
        try:
            return await ledger.clear()
        finally:
            await ledger.close()
            await other.close()

    assert asyncio.run(clear()) == 5
    assert content(redis_server.client) == {}
    assert len(refusals) == 2 and all('were removed to rebuild it' in one for one in refusals)


def test_rebuild_that_was_cut_short_is_told_and_can_be_run_again(journal, redis_server):
    write(journal, 0, 2, steps=2)
    apply(redis_server, list(journal.rows()))
    redis_server.client.delete(EVENTS, META)
    redis_server.client.hset(META, 'seq', REBUILDING)
    with pytest.raises(LedgerRefused, match='removed to rebuild it; .* run `action_lifecycle'):
        apply(redis_server, list(journal.rows()))
    with pytest.raises(LedgerError, match='it is being rebuilt'):
        RedisReader(redis_server.url).last_seq()
    assert rebuild(journal, redis_server) == 0
    assert_same(journal, redis_server)


def test_keys_of_others_stay(journal, redis_server):
    write(journal, 0, 1)
    client = redis_server.client
    for key in ('al:{robot2}:meta', 'al:session:{42}:tasks', 'sg:trace:{1}', 'al:{robo}:meta'):
        client.set(key, 'theirs')
    before = content(client)
    assert rebuild(journal, redis_server, '--robot', 'robot') == 0
    after = content(client)
    assert {key: after[key] for key in before} == before


def test_damaged_journal_removes_nothing(journal, redis_server, capsys):
    write(journal, 0, 2)
    apply(redis_server, list(journal.rows()))
    before = content(redis_server.client)
    journal._writer.execute("UPDATE entry SET cause = 'x' WHERE seq = 4")
    assert rebuild(journal, redis_server) == 2
    assert 'row 4' in (told := capsys.readouterr().err) and 'nothing was removed' in told
    assert content(redis_server.client) == before


def test_missing_journal_or_server_or_bad_url_says_so(journal, redis_server, capsys, tmp_path):
    write(journal, 0, 1)
    named = '--robot', 'robot'
    assert main(['ledger', 'rebuild', str(tmp_path / 'none'), '--url', redis_server.url,
                 *named]) == 2
    assert str(tmp_path / 'none') in capsys.readouterr().err
    assert main(['ledger', 'rebuild', journal.path, '--url', f'unix://{tmp_path}/none',
                 *named]) == 3
    assert f'the server at {tmp_path}/none' in capsys.readouterr().err
    assert main(['ledger', 'rebuild', journal.path, '--url', 'http://x', *named]) == 2
    assert 'expected one of redis://' in capsys.readouterr().err
