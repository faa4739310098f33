# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What is recorded, in which order, and how it is found again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
import enum
import logging
import os
import sqlite3
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.journal import (
    elapsed,
    Entry,
    Journal,
    JournalError,
    JournalReader,
    SystemClock,
    verify_journal,
)
from action_lifecycle.journal import journal as journal_module
from action_lifecycle.journal.sqlite import barrier as barrier_module
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8)
TEXT = st.text(st.characters(exclude_characters='\x1f', exclude_categories=['Cs']), max_size=20)


def wait_until_indexed(journal):
    journal._checkpoints.request()
    journal._checkpoints.request()
    deadline = threading.Event()
    for _ in range(500):
        if journal._ask('SELECT last_indexed FROM progress')[0][0] == journal.last_seq():
            return
        deadline.wait(0.01)
    raise AssertionError('the index was not brought up to date')


def test_appended_row_is_found_as_it_was_written(journal, clock):
    entry = Entry('transition', 'flow-1', 'pick', 2, 'start', 'assigned', 'in_progress', 'plan',
                  'operator', {'goal_id': 'ab', 'evidence': [1, 2.5, None]}, ros_time=12.5)
    row = journal.append(entry)
    assert list(journal.rows()) == [row]
    assert (row.seq, row.action_id, row.attempt, row.ros_time) == (1, 'pick', 2, 12.5)
    assert row.data == {'goal_id': 'ab', 'evidence': [1, 2.5, None]}
    assert not row.final
    assert row.intact()


def test_rows_are_numbered_and_chained_without_a_gap_also_across_a_restart(path):
    with Journal(path) as journal:
        first = [journal.append(Entry('note')) for _ in range(3)]
    with Journal(path) as journal:
        second = [journal.append(Entry('note')) for _ in range(3)]
    rows = first + second
    assert [row.seq for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row.prev_hash for row in rows] == ['', *(row.hash for row in rows[:-1])]
    assert verify_journal(path) == []


def test_rows_carry_the_times_of_both_clocks(path, clock):
    with Journal(path, clock=clock) as journal:
        clock.now, clock.wall = 7.25, 1234.5
        row = journal.append(Entry('note'))
    assert (row.boot_id, row.boot_time, row.wall_time) == ('boot-1', 7.25, 1234.5)


def test_elapsed_time_within_a_boot_ignores_the_wall_clock(path, clock):
    with Journal(path, clock=clock) as journal:
        row = journal.append(Entry('note'))
        clock.now += 5.0
        clock.wall -= 3600.0
        assert journal.elapsed_since(row) == 5.0
        later = journal.append(Entry('note'))
    assert later.wall_time < row.wall_time
    assert verify_journal(path) == []


def test_elapsed_time_across_boots_is_the_wall_difference_and_never_negative(path, clock):
    with Journal(path, clock=clock) as journal:
        row = journal.append(Entry('note'))
    clock.boot_id, clock.now = 'boot-2', 1.0
    with Journal(path, clock=clock) as journal:
        clock.wall += 60.0
        assert journal.elapsed_since(row) == 60.0
        clock.wall -= 3600.0
        assert journal.elapsed_since(row) == 0.0


def test_system_clock_is_of_this_boot():
    clock = SystemClock()
    assert elapsed(clock, clock.boot_id, clock.boot_time(), clock.wall_time()) < 60.0
    assert clock.boot_id == SystemClock().boot_id


def test_append_many_records_all_or_nothing(journal):
    with pytest.raises(JournalError, match='attempt'):
        journal.append_many([Entry('note'), Entry('note', attempt='one')])
    assert journal.last_seq() == 0
    rows = journal.append_many([Entry('note', event=str(number)) for number in range(5)])
    assert list(journal.rows()) == rows
    assert journal.append(Entry('note')).seq == 6
    assert journal.append_many([]) == []


def test_rows_are_filtered_and_paged_in_order(journal, monkeypatch):
    monkeypatch.setattr('action_lifecycle.journal.reader.PAGE', 7)
    for number in range(100):
        journal.append(Entry('note' if number % 3 else 'transition', f'flow-{number % 2}',
                             f'action-{number % 5}', event=str(number)))
    for indexed in (False, True):
        if indexed:
            wait_until_indexed(journal)
        everything = list(journal.rows())
        assert [row.event for row in everything] == [str(number) for number in range(100)]
        assert list(journal.rows(after=40, limit=20)) == everything[40:60]
        assert list(journal.rows(limit=0)) == []
        for wanted in ({'flow_id': 'flow-1'}, {'action_id': 'action-2'}, {'kind': 'transition'},
                       {'flow_id': 'flow-0', 'action_id': 'action-4', 'kind': 'note'}):
            expected = [row for row in everything
                        if all(getattr(row, name) == value for name, value in wanted.items())]
            assert expected
            assert list(journal.rows(**wanted)) == expected
            assert list(journal.rows(**wanted, after=50)) == [
                row for row in expected if row.seq > 50]
            assert list(journal.rows(**wanted, limit=3)) == expected[:3]


def test_open_actions_are_the_last_transitions_of_what_is_not_closed(journal, walk):
    journal.append(Entry('flow', 'flow', to_state='START'))
    for action, steps in (('done', 6), ('moving', 2), ('waiting', 4)):
        journal.append_many(walk(action, steps))
        journal.append(Entry('note', 'flow', action, event='not a transition'))
    for _ in ('not indexed', 'indexed'):
        assert [(row.action_id, row.to_state) for row in journal.open_actions()] == [
            ('moving', 'executing_motion'), ('waiting', 'status_verification_requested')]
        assert [row.to_state for row in journal.open_flows()] == ['START']
        wait_until_indexed(journal)
    journal.append(Entry('transition', 'flow', 'done', 2, 'reassign', 'terminated', 'assigned'))
    journal.append(Entry('flow', 'flow', from_state='START', to_state='FINISH', final=True))
    assert [row.action_id for row in journal.open_actions()] == ['moving', 'waiting', 'done']
    assert journal.open_flows() == []


def test_same_action_name_in_two_flows_are_two_actions(journal, walk):
    journal.append_many(walk('pick', 6, flow_id='first'))
    journal.append_many(walk('pick', 2, flow_id='second'))
    assert [row.flow_id for row in journal.open_actions()] == ['second']


@settings(max_examples=60,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.dictionaries(TEXT, JSON, max_size=4), texts=st.lists(TEXT, min_size=7, max_size=7),
       attempt=st.integers(0, 2**40), ros_time=st.none() | st.floats(0, 2e9), final=st.booleans())
def test_any_json_survives_and_keeps_the_hash(tmp_path, data, texts, attempt, ros_time, final):
    path = tmp_path / 'any.journal'
    with Journal(path) as journal:
        row = journal.append(Entry(
            'kind', texts[0], texts[1], attempt, *texts[2:], data, final, ros_time))
        [found] = journal.rows(after=row.seq - 1)
    assert found == row
    assert found.intact()
    assert found.data == data
    assert (found.flow_id, found.actor, found.attempt) == (texts[0], texts[6], attempt)


@pytest.mark.parametrize(('entry', 'message'), [
    (Entry('note', data={'a': {'b': [1, float('nan')]}}), r'data\.a\.b\[1\]: nan is not a JSON'),
    (Entry('note', data={'a': float('inf')}), r'data\.a: inf is not a JSON number'),
    (Entry('note', data={'a': object()}), r'data\.a: object is not a JSON value'),
    (Entry('note', data={'a': {1: 2, 'b': 3}}), r'data\.a: expected texts as keys, got 1'),
    (Entry('note', data=[1]), 'data: expected a mapping, got list'),
    (Entry('note', data={'a': '\ud800'}), r'data\.a: a lone surrogate'),
    (Entry('note', data={'a': 'x' * 2_000_000}), r'data: 20000\d\d characters of JSON, at most'),
    (Entry('note', cause='x' * 70_000), 'text fields: 70004 characters together, at most'),
    (Entry('note', cause='a\x1fb'), r'cause: U\+001F'),
    (Entry('note', actor='\udcff'), 'actor: .*surrogates'),
    (Entry('note', actor=7), 'actor: expected a text, got 7'),
    (Entry('note', attempt=True), 'attempt: expected an integer of .* got True'),
    (Entry('note', attempt=2**70), 'attempt: expected an integer of 0 to'),
    (Entry('note', attempt=-1), 'attempt: expected an integer of 0 to'),
    (Entry('note', ros_time=float('nan')), 'ros_time: expected a finite number'),
    (Entry('note', ros_time='now'), 'ros_time: expected a finite number'),
    (Entry(''), 'kind: must not be empty'),
    (Entry('snapshot'), "kind 'snapshot' is the journal's own"),
])
def test_what_can_not_be_recorded_is_refused_with_the_field_named(journal, entry, message):
    with pytest.raises(JournalError, match=message):
        journal.append(entry)
    with pytest.raises(JournalError, match=message):
        journal.append_many([Entry('note'), entry])
    assert journal.append(Entry('note')).seq == 1


def test_endless_data_is_refused(journal):
    endless = {}
    endless['again'] = endless
    with pytest.raises(JournalError, match='nested deeper'):
        journal.append(Entry('note', data=endless))


def test_states_given_as_text_enums_are_recorded_as_their_values(journal):
    state = enum.Enum('state', {'MOVING': 'executing_motion'}, type=str)
    row = journal.append(Entry('note', to_state=state.MOVING, data={'was': state.MOVING}))
    [found] = journal.rows()
    assert found == row
    assert type(found.to_state) is str
    assert found.data == {'was': 'executing_motion'}
    assert found.intact()


def test_many_threads_append_without_a_gap(journal, path):
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda number: journal.append(Entry('note', event=str(number))),
                             range(400)))
    assert sorted(row.seq for row in rows) == list(range(1, 401))
    assert verify_journal(path) == []


def test_closed_journal_refuses_and_can_be_closed_again(path):
    journal = Journal(path)
    journal.append(Entry('note'))
    journal.close()
    journal.close()
    for use in (lambda: journal.append(Entry('note')), lambda: journal.append_many([Entry('a')]),
                journal.barrier, lambda: list(journal.rows()),
                lambda: journal.compact(synced_to=0)):
        with pytest.raises(JournalError, match='closed'):
            use()
    assert not os.path.exists(f'{path}-wal')


def test_second_writer_is_refused_by_name_of_file_and_process(path, journal, start_writer):
    with pytest.raises(JournalError, match=rf'{path}: already open .*pid {os.getpid()} on host'):
        Journal(path)
    link = path.with_name('link.journal')
    link.symlink_to(path)
    with pytest.raises(JournalError, match='already open'):
        Journal(link)
    code = f'from action_lifecycle.ledger import Journal; Journal({str(path)!r})'
    refused = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                             env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)})
    assert f'already open for writing by pid {os.getpid()}' in refused.stderr
    journal.append(Entry('note'))
    journal.close()
    Journal(path).close()


def test_barrier_tells_up_to_where_all_is_safe(journal):
    row = journal.append(Entry('note'))
    assert journal.barrier().result(5) == row.seq
    told = threading.Event()
    journal.append(Entry('note'))
    journal.barrier(lambda future: future.result() == 2 and told.set())
    assert told.wait(5)


def test_barrier_syncs_the_wal_once_for_all_who_wait_and_not_again_for_nothing(
        journal, monkeypatch):
    synced, started, go = [], threading.Event(), threading.Event()

    def fdatasync(descriptor):
        started.set()
        assert go.wait(5)
        os.fdatasync(descriptor)
        synced.append(os.readlink(f'/proc/self/fd/{descriptor}'))

    monkeypatch.setattr(barrier_module, 'os', SimpleNamespace(
        fdatasync=fdatasync, access=os.access, F_OK=os.F_OK, close=os.close))
    journal.append(Entry('note'))
    first = journal.barrier()
    assert started.wait(5)
    journal.append(Entry('note'))
    waiting = [journal.barrier() for _ in range(10)]
    assert not first.done()
    go.set()
    assert first.result(5) == 1
    assert {future.result(5) for future in waiting} == {2}
    assert journal.barrier().result(5) == 2
    assert synced == [f'{journal.path}-wal'] * 2


def test_canceled_barrier_does_not_disturb_the_others(journal, monkeypatch):
    go = threading.Event()
    monkeypatch.setattr(barrier_module, 'os', SimpleNamespace(
        fdatasync=lambda descriptor: go.wait(5), access=os.access, F_OK=os.F_OK, close=os.close))
    journal.append(Entry('note'))
    first = journal.barrier()
    second = journal.barrier()
    assert second.cancel()
    go.set()
    assert first.result(5) == 1
    assert journal.barrier().result(5) == 1


def test_exception_in_a_callback_does_not_stop_the_barriers(journal, caplog):
    with caplog.at_level(logging.CRITICAL, 'concurrent.futures'):
        journal.append(Entry('note'))
        journal.barrier(lambda future: 1 / 0).result(5)
        journal.append(Entry('note'))
        assert journal.barrier().result(5) == 2


def test_closing_waits_for_the_barriers(path):
    journal = Journal(path)
    journal.append(Entry('note'))
    futures = [journal.barrier() for _ in range(5)]
    journal.close()
    assert [future.result(0) for future in futures] == [1] * 5


def test_interrupt_right_after_the_commit_does_not_lose_count(journal, path):
    execute = journal._execute

    def interrupted(sql, *values):
        execute(sql, *values)
        if sql.startswith('INSERT'):
            journal._execute = execute
            raise KeyboardInterrupt

    journal._execute = interrupted
    with pytest.raises(KeyboardInterrupt):
        journal.append(Entry('note'))
    assert journal.append(Entry('note')).seq == 2
    assert verify_journal(path) == []


def test_wal_stays_small_under_load(path, monkeypatch):
    monkeypatch.setattr(journal_module, 'CHECKPOINT_BYTES', 200_000)
    with Journal(path) as journal:
        largest = since = number = 0  # a checkpoint that comes late lets it grow once
        deadline = time.monotonic() + 60
        while number < 4000 or since < 1000:
            assert time.monotonic() < deadline and largest < 2**30, (number, largest)
            journal.append(Entry('transition', 'flow', f'action-{number % 9}', to_state='a'))
            size = os.path.getsize(f'{path}-wal')
            largest, since = max(largest, size), since + 1 if size <= largest else 0
            number += 1


def test_no_append_waits_for_a_checkpoint(journal):
    assert journal._writer.execute('PRAGMA wal_autocheckpoint').fetchone() == (0,)
    assert journal._writer.execute('PRAGMA synchronous').fetchone() == (1,)


def test_reader_sees_each_row_at_once_and_the_writer_never_waits_for_it(journal, path):
    row = journal.append(Entry('note'))
    with JournalReader(path) as reader:
        assert list(reader.rows()) == [row]
        slow = reader.rows()
        next(slow)
        more = [journal.append(Entry('note')) for _ in range(10)]
        assert list(reader.rows(after=row.seq)) == more
        assert reader.last_seq() == 11
        with pytest.raises(JournalError, match='readonly|read-only'):
            reader._ask('DELETE FROM entry')


def test_reader_refuses_what_is_not_there(tmp_path):
    with pytest.raises(JournalError, match=r'nothing\.journal: '):
        JournalReader(tmp_path / 'nothing.journal')
    assert list(tmp_path.iterdir()) == []


def test_errors_belong_to_the_package():
    assert issubclass(JournalError, LifecycleError)
    assert sqlite3.sqlite_version_info >= (3, 37)
