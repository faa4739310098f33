# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compaction keeps what is open and what isn't synced, and the journal stays verifiable."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time

from action_lifecycle.journal import Entry, Journal, JournalError, JournalReader, verify_journal
from action_lifecycle.traces import trace_path, TraceKey, TraceReader
from action_lifecycle.traces.store import TraceStore
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from .test_journal import wait_until_indexed


def seqs(journal):
    return [row.seq for row in journal.rows()]


def test_closed_and_synced_rows_go_and_open_and_unsynced_ones_stay(journal, path, walk):
    closed = journal.append_many(walk('closed'))
    half = journal.append_many(walk('open', 3))
    journal.append(Entry('note', event='robot-wide'))
    unsynced = journal.append_many(walk('unsynced'))
    assert journal.compact(synced_to=unsynced[0].seq - 1) == len(closed) + 1
    rows = list(journal.rows())
    assert rows[:-1] == half + unsynced
    assert (rows[-1].kind, rows[-1].seq) == ('snapshot', unsynced[-1].seq + 1)
    assert journal.open_actions() == [half[-1]]
    assert verify_journal(path) == []


def test_traces_of_actions_without_rows_go_with_them(journal, path, walk):
    traces = TraceStore(trace_path(path))
    for action_id in ('closed', 'open', 'unsynced'):
        traces.begin(TraceKey('flow', action_id, 1), 1.0)
    traces.begin(TraceKey('', 'of another program', 1), 1.0)
    journal.append_many(walk('closed'))
    journal.append_many(walk('open', 3))
    unsynced = journal.append_many(walk('unsynced'))
    journal.compact(synced_to=unsynced[0].seq - 1)
    with TraceReader(trace_path(path)) as reader:
        assert [key.action_id for key in reader.subjects()] == [
            'open', 'unsynced', 'of another program']


KILLED = """
import os, signal, sys
from action_lifecycle.journal import Journal, trace_removal
trace_removal.remove_traces = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
Journal(sys.argv[1]).compact(synced_to=int(sys.argv[2]))
"""


def test_traces_of_rows_that_went_before_a_kill_go_with_the_next_compaction(path, walk):
    traces = TraceStore(trace_path(path))
    with Journal(path) as journal:
        for action_id in ('closed', 'open'):
            traces.begin(TraceKey('flow', action_id, 1), 1.0)
        traces.begin(TraceKey('flow', 'of another program', 1), 1.0)
        last = journal.append_many(walk('closed'))[-1].seq
        journal.append_many(walk('open', 3))
    done = subprocess.run([sys.executable, '-c', KILLED, path, str(last)],
                          env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)})
    assert done.returncode == -signal.SIGKILL
    with Journal(path) as journal, TraceReader(trace_path(path)) as reader:
        assert {row.action_id for row in journal.rows()} == {'open', ''}
        assert len(reader.subjects()) == 3
        journal.compact(synced_to=last)
        assert [key.action_id for key in reader.subjects()] == ['open', 'of another program']
        journal.compact(synced_to=last)
    assert [file.name for file in path.parent.iterdir() if 'removing' in file.name] == []


@pytest.mark.parametrize('note', ['', 'no JSON', '{}', '[1]', '[["flow"]]', '[' * 100_000])
def test_a_damaged_note_of_traces_to_remove_is_left_out(journal, path, walk, note):
    TraceStore(trace_path(path)).begin(TraceKey('flow', 'closed', 1), 1.0)
    path.with_name(trace_path(path).name + '.removing').write_text(note)
    journal.append_many(walk('closed'))
    assert journal.compact(synced_to=journal.last_seq()) == 6
    with TraceReader(trace_path(path)) as reader:
        assert reader.subjects() == []


def test_damaged_traces_do_not_stop_a_compaction(journal, path, walk):
    trace_path(path).write_text('no database')
    journal.append_many(walk('closed'))
    assert journal.compact(synced_to=journal.last_seq()) == 6


def test_all_of_an_open_flow_stays_and_goes_with_its_end(journal, path, walk):
    kept = [journal.append(Entry('flow', 'flow', to_state='START')),
            *journal.append_many(walk('closed')),
            journal.append(Entry('note', 'flow', event='edit'))]
    journal.append_many(walk('closed', flow_id='other'))
    assert journal.compact(synced_to=journal.last_seq()) == 6
    assert list(journal.rows())[:-1] == kept
    journal.append(Entry('flow', 'flow', from_state='START', to_state='FINISH', final=True))
    journal.compact(synced_to=journal.last_seq())
    assert [row.kind for row in journal.rows()] == ['snapshot']
    assert verify_journal(path) == []


def test_open_subject_of_any_kind_keeps_its_last_row(journal):
    journal.append(Entry('safety', to_state='ok'))
    stopped = journal.append(Entry('safety', to_state='stopped'))
    lock = journal.append(Entry('lock', action_id='arm', cause='STOP_UNCONFIRMED'))
    journal.append(Entry('lock', action_id='gripper'))
    journal.append(Entry('lock', action_id='gripper', final=True))
    journal.compact(synced_to=journal.last_seq())
    assert list(journal.rows())[:-1] == [stopped, lock]
    assert journal.open_rows('lock') == [lock]
    assert journal.open_rows('safety') == [stopped]


def test_sequence_and_chain_go_on_behind_a_snapshot_across_restarts(path, walk):
    with Journal(path) as journal:
        journal.append_many(walk('a'))
        before = journal.append(Entry('note', event='last before'))
        journal.compact(synced_to=6)
        snapshot = journal.snapshot()
    assert snapshot.seq == before.seq + 1
    assert snapshot.prev_hash == before.hash
    assert (snapshot.data['through'], snapshot.data['anchor']) == (6, before.prev_hash)
    with Journal(path) as journal:
        row = journal.append(Entry('note'))
        assert (row.seq, row.prev_hash) == (snapshot.seq + 1, snapshot.hash)
        assert journal.compact(synced_to=row.seq) == 3
        assert journal.snapshot().data['through'] == row.seq
        assert len(seqs(journal)) == 1
    assert verify_journal(path) == []


def test_nothing_to_remove_writes_nothing(journal, walk):
    assert journal.compact(synced_to=0) == 0
    journal.append_many(walk('open', 3))
    assert journal.compact(synced_to=3) == 0
    assert seqs(journal) == [1, 2, 3]
    assert journal.snapshot() is None


def test_ledger_that_is_ahead_of_the_journal_is_refused(journal):
    with pytest.raises(JournalError, match='synced to row 5, but the last one is 0'):
        journal.compact(synced_to=5)


def test_batches_remove_the_same_as_one_go(tmp_path, walk):
    left = []
    for batch in (1, 7, 1000):
        with Journal(tmp_path / f'{batch}.journal') as journal:
            for number in range(30):
                journal.append_many(walk(f'action-{number}', 6 if number % 3 else 2))
            journal.compact(synced_to=100, batch=batch)
            left.append([row.seq for row in journal.rows() if row.kind != 'snapshot'])
            assert verify_journal(journal.path) == []
    assert left[0] == left[1] == left[2]


def test_action_that_was_taken_up_again_during_compaction_keeps_its_rows(
        journal, path, walk, monkeypatch):
    rows = journal.append_many([*walk('again'), *walk('closed')])
    plan = JournalReader.plan_removal

    def planned(*arguments):
        found = plan(*arguments)
        monkeypatch.undo()
        journal.append(
            Entry('transition', 'flow', 'again', 2, 'reassign', 'terminated', 'assigned'))
        return found

    monkeypatch.setattr(JournalReader, 'plan_removal', planned)
    journal.compact(synced_to=journal.last_seq())
    assert [row.seq for row in journal.rows(action_id='again')] == [
        *(row.seq for row in rows[:6]), 13]
    assert list(journal.rows(action_id='closed')) == []
    assert verify_journal(path) == []


def test_appends_go_on_during_compaction(journal, path, walk, monkeypatch):
    for number in range(300):
        journal.append_many(walk(f'action-{number}'))
    done = threading.Event()
    synced = journal.last_seq()
    plan = JournalReader.plan_removal

    def planned(*arguments):
        before, deadline = journal.last_seq(), time.monotonic() + 30
        while journal.last_seq() == before:
            assert time.monotonic() < deadline, 'appends wait for the end'
            time.sleep(0.001)
        return plan(*arguments)

    def compact():
        try:
            journal.compact(synced_to=synced, batch=50)
        finally:
            done.set()

    monkeypatch.setattr(JournalReader, 'plan_removal', planned)
    thread = threading.Thread(target=compact)
    thread.start()
    during = 0
    while not done.is_set():
        journal.append(Entry('note'))
        during += 1
    thread.join()
    assert during > 0
    assert [row for row in journal.rows() if row.seq <= synced] == []
    assert verify_journal(path) == []


def test_failed_compaction_changes_nothing(journal, path, walk):
    rows = journal.append_many(walk('closed'))
    stranger = sqlite3.connect(path, isolation_level=None)
    stranger.execute('BEGIN IMMEDIATE')
    with pytest.raises(JournalError, match='nothing was recorded'):
        journal.compact(synced_to=6)
    stranger.execute('ROLLBACK')
    stranger.close()
    assert list(journal.rows()) == rows
    assert verify_journal(path) == []


def test_row_missing_among_the_kept_ones_is_noticed(path, walk):
    with Journal(path) as journal:
        journal.append_many([*walk('open', 4), *walk('closed')])
        journal.compact(synced_to=10)
    assert verify_journal(path) == []
    connection = sqlite3.connect(path)
    connection.execute('DELETE FROM entry WHERE seq = 2')
    connection.commit()
    connection.close()
    assert 'up to here compaction kept 4 rows; now there are 3' in str(verify_journal(path)[-1])


class Model:
    """What the journal has to hold, kept the obvious way."""

    def __init__(self):
        self.rows = []

    def open_subjects(self):
        last = {}
        for row in self.rows:
            last[row.kind, row.flow_id, row.action_id] = row
        return {key: row for key, row in last.items()
                if not row.final and key[0] not in ('note', 'snapshot')}

    def compact(self, synced_to):
        still = self.open_subjects()
        actions = {key[1:] for key in still if key[2]}
        flows = {key[1] for key in still if key[0] == 'flow'}
        self.rows = [row for row in self.rows if row.seq > synced_to
                     or (row.flow_id, row.action_id) in actions or row.flow_id in flows
                     or row in still.values()]


APPENDS = st.tuples(
    st.sampled_from(['transition', 'flow', 'note', 'lock']), st.sampled_from(['', 'f', 'g']),
    st.sampled_from(['', 'a', 'b']), st.booleans())
STEPS = st.lists(APPENDS | st.floats(0, 1) | st.just('restart') | st.just('index'), max_size=40)


@settings(max_examples=40,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=STEPS, batch=st.sampled_from([1, 3, 1000]))
def test_any_history_keeps_what_is_open_and_stays_verifiable(tmp_path_factory, steps, batch):
    path = tmp_path_factory.mktemp('any') / 'any.journal'
    model = Model()
    journal = Journal(path)
    try:
        for step in steps:
            if step == 'restart':
                journal.close()
                journal = Journal(path)
            elif step == 'index':
                wait_until_indexed(journal)
            elif isinstance(step, float):
                synced = int(journal.last_seq() * step)
                removed = journal.compact(synced_to=synced, batch=batch)
                before = len(model.rows)
                model.compact(synced)
                assert removed == before - len(model.rows)
                model.rows += [row for row in journal.rows()
                               if row.kind == 'snapshot' and row not in model.rows]
            else:
                kind, flow, action, final = step
                model.rows.append(journal.append(
                    Entry(kind, flow, action, event='e', final=final)))
        assert list(journal.rows()) == model.rows
        for kind in ('transition', 'flow', 'lock'):
            assert journal.open_rows(kind) == sorted(
                (row for key, row in model.open_subjects().items() if key[0] == kind),
                key=lambda row: row.seq)
        for flow in ('f', ''):
            assert list(journal.rows(flow_id=flow, action_id='a')) == [
                row for row in model.rows if (row.flow_id, row.action_id) == (flow, 'a')]
    finally:
        journal.close()
    assert verify_journal(path) == []
    with JournalReader(path) as reader:
        assert list(reader.rows()) == model.rows
