# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The file of traces: its limit, other writers, kills, a full disk, damage."""

from __future__ import annotations

import contextlib
import io
import math
import os
from pathlib import Path
import signal
import sqlite3
import subprocess
import sys
import time

from action_lifecycle.traces import TraceError, TraceKey, TraceReader, TraceRecorder
from action_lifecycle.traces.export import export_traces
from action_lifecycle.traces.store import remove_traces, TraceStore
from action_lifecycle.traces.writer import TraceWriter
from action_lifecycle.world import WorldModel
import pytest

from .rig import HELD, KEY, Rig
from ..world.gripper import FACTS, gap


def test_file_stays_below_its_limit_and_loses_the_oldest(path):
    rig = Rig(path, limit=400_000)
    for number in range(60):
        rig.attempt(TraceKey('flow', f'a{number}', 1), start=10.0 + 20 * number, samples=900)
    rig.store.vacuum()
    with TraceReader(path) as reader:
        kept = [key.action_id for key in reader.subjects()]
    assert kept == [f'a{number}' for number in range(60 - len(kept), 60)] and 3 < len(kept) < 40
    rig.store.close()
    assert path.stat().st_size < 500_000


def test_traces_of_an_action_are_removed_while_the_bridge_writes(rig, path):
    rig.attempt()
    rig.attempt(TraceKey('flow', 'place', 1), start=30.0)
    rig.recorder.begin(TraceKey('flow', 'grasp', 2), [HELD], {}, 60.0)
    assert remove_traces(path, [('flow', 'grasp'), ('flow', 'never')]) == 2
    gap(rig.model, 0.02, 60.1)
    rig.recorder.end(TraceKey('flow', 'grasp', 2), 61.0)
    with TraceReader(path) as reader:
        assert reader.subjects() == [TraceKey('flow', 'place', 1)]


WRITER = """
import sys, time
from action_lifecycle.traces import TraceRecorder, TraceKey
from action_lifecycle.traces.writer import TraceWriter
from action_lifecycle.world import Condition, parse_facts, WorldModel
from unit.world.gripper import FACTS, gap
writer = TraceWriter(sys.argv[1])
model = WorldModel(FACTS)
recorder = TraceRecorder(model, writer.put)
recorder.begin(TraceKey('flow', 'grasp', 1), [Condition('confirm', 'gap > 0.01')], {}, 1.0)
for index in range(10**9):
    gap(model, 0.001 * index, 1.0 + 0.001 * index)
    if index % 50 == 49:
        recorder.poll(model.now)
        time.sleep(0.001)
"""


def test_killed_writer_loses_only_the_last_moments(path, tmp_path):
    tests = Path(__file__).parents[2]
    process = subprocess.Popen([sys.executable, '-c', WRITER, str(path)], env={
        **os.environ, 'PYTHONPATH': f"{tests.parent}:{tests}:{os.environ.get('PYTHONPATH', '')}"})
    try:
        limit = time.monotonic() + 30
        while time.monotonic() < limit:
            with contextlib.suppress(TraceError), TraceReader(path) as reader:
                if len(reader.trace(KEY).curves.get('gap', NOTHING).times) > 300:
                    break
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    with TraceReader(path) as reader:
        trace = reader.trace(KEY)
    values = trace.curves['gap'].values
    assert len(values) > 300 and trace.ended is None
    assert values == pytest.approx([time - 1.0
                                    for time in trace.curves['gap'].times])
    TraceStore(path).close()  # the next bridge
    with TraceReader(path) as reader:
        trace = reader.trace(KEY)
    assert trace.ended is not None and trace.marks[-1].name == 'cut'


class NOTHING:
    times = ()


def test_full_disk_is_logged_and_nothing_else_happens(path, caplog):
    writer = TraceWriter(path)
    recorder = TraceRecorder(WorldModel(FACTS), writer.put)
    with contextlib.closing(sqlite3.connect(path)) as other:
        writer.put(lambda store: store._writer.execute('PRAGMA max_page_count = 1').fetchall())
        for number in range(200):
            recorder.begin(TraceKey('flow', f'a{number}', 1), [HELD], {}, 1.0)
            recorder.mark(TraceKey('flow', f'a{number}', 1), 1.0, 'motion_started', 'x' * 5000)
        recorder.close(2.0)
        writer.close()
        assert other.execute('SELECT count(*) FROM trace').fetchone()[0] < 200
    assert writer.lost
    assert any('disk is full' in record.message for record in caplog.records)
    assert len(caplog.records) < 20


def test_attempt_that_begins_while_the_disk_is_full_is_recorded_later(path):
    writer = TraceWriter(path)
    full = [True]

    def begin(store):
        if full:
            raise sqlite3.OperationalError('database or disk is full')
        store.begin(KEY, 1.0)

    writer.put(begin)
    writer.put(lambda store: store.event(KEY, 2.0, 'mark', 'motion_started', ''))
    limit = time.monotonic() + 10
    while not writer.fault and time.monotonic() < limit:
        time.sleep(0.01)
    assert 'full' in writer.fault
    full.clear()
    writer.close()
    assert (writer.fault, writer.lost) == ('', 0)
    with TraceReader(path) as reader:
        assert [mark.name for mark in reader.trace(KEY).marks] == ['motion_started']


def test_writer_goes_on_after_what_can_not_be_written(path):
    writer = TraceWriter(path)
    writer.put(lambda store: store.begin(TraceKey('flow', 'lone surrogate \ud800', 1), 1.0))
    writer.put(lambda store: 1 / 0)
    limit = time.monotonic() + 10
    while not writer.fault and time.monotonic() < limit:
        time.sleep(0.01)
    writer.put(lambda store: store.begin(KEY, 1.0))
    writer.close()
    with TraceReader(path) as reader:
        assert reader.subjects() == [KEY]


@pytest.mark.parametrize(('content', 'said'), [
    (b'', 'not a file of evidence traces'), (b'hello' * 1000, 'not a database')])
def test_other_files_are_refused(path, content, said):
    path.write_bytes(content)
    with pytest.raises(TraceError, match=said):
        TraceReader(path)


def test_second_writer_is_refused_by_name_of_file_and_process(path):
    first = TraceStore(path)
    link = path.with_name('link.traces')
    link.symlink_to(path)
    for name in (path, link):
        with pytest.raises(TraceError, match=rf'{path}: already open .*pid {os.getpid()} on host'):
            TraceWriter(name)
    assert remove_traces(path, [('flow', 'grasp')]) == 0  # by the journal, beside the writer
    first.close()
    first.close()
    TraceStore(path).close()


def test_missing_file_says_how_to_record_traces(path):
    with pytest.raises(TraceError, match='trace_file'):
        TraceReader(path)


def test_damaged_file_gives_an_error_or_what_is_there(rig, path):
    for number in range(5):
        rig.attempt(TraceKey('flow', f'a{number}', 1), start=10.0 + 20 * number)
    rig.store._writer.execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchall()
    rig.store.close()
    whole = path.read_bytes()
    refused = 0
    for offset in range(0, len(whole), 97):
        path.write_bytes(whole[:offset] + bytes([whole[offset] ^ 0xFF]) + whole[offset + 1:])
        try:
            with TraceReader(path) as reader:
                for trace in reader.traces():
                    assert math.isfinite(len(trace.curves))
        except TraceError as error:
            assert os.fspath(path) in str(error)
            refused += 1
    assert refused
    for size in range(0, len(whole), 1013):
        path.write_bytes(whole[:size])
        with contextlib.suppress(TraceError), TraceReader(path) as reader:
            list(reader.traces())


BIG = '1' + '0' * 400
LOOSE = ('PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(replace('
         "sql, ' STRICT', ''), ', WITHOUT', ' WITHOUT')")


@pytest.mark.parametrize('damage', [
    f'UPDATE event SET data_json = \'{{"after": {BIG}, "started": 1}}\' '
    "WHERE kind = 'confirmed'",
    'UPDATE event SET time = 9e999',
    'UPDATE trace SET started = 9e999',
    *(f"UPDATE chunk SET width = 0, points = CAST('{points}' AS BLOB)"
      for points in ('[[1]]', '[{}]', '5', f'[[{BIG}, 1, 1]]')),
    f"{LOOSE};; UPDATE event SET name = x'ff'",
    f"{LOOSE};; UPDATE trace SET ended = 'soon'",
    f"{LOOSE};; UPDATE curve SET unit = x'ff'",
])
@pytest.mark.parametrize('form', ['jsonl', 'csv'])
def test_values_of_other_kinds_are_damage(rig, path, damage, form):
    rig.attempt()
    rig.store.close()
    for part in damage.split(';; '):
        with contextlib.closing(sqlite3.connect(path)) as writer:
            writer.executescript(part)
    with pytest.raises(TraceError, match='damaged'):
        export_traces(path, form, io.StringIO())
