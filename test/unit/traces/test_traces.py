# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Traces of attempts: recorded from a world model, stored, read, removed."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
from pathlib import Path
import signal
import sqlite3
import subprocess
import sys
import time
from types import SimpleNamespace

from action_lifecycle.traces import (
    Confirmed,
    TraceError,
    TraceKey,
    TraceReader,
    TraceRecorder,
)
from action_lifecycle.traces.export import export_traces
from action_lifecycle.traces.store import remove_traces, TraceStore
from action_lifecycle.traces.writer import TraceWriter
from action_lifecycle.world import Condition, parse_facts, WorldModel
import numpy as np
import pytest

from ..world import messages
from ..world.gripper import FACTS, gap

KEY = TraceKey('flow', 'grasp', 1)
HELD = Condition('confirm', 'gap > 0.01 and gap_mm < 50', 0.1, 1.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'robot.traces'


class Rig:
    """A recorder whose changes are written at once."""

    def __init__(self, path, limit=0):
        self.model = WorldModel(FACTS)
        self.store = TraceStore(path, limit)
        self.recorder = TraceRecorder(self.model, self._put)

    def _put(self, change):
        with self.store.transaction():
            change(self.store)

    def attempt(self, key=KEY, start=10.0, value=0.02, samples=40, verdict='confirmed'):
        recorder, model = self.recorder, self.model
        recorder.begin(key, [HELD], {'force': 3.0}, start)
        recorder.mark(key, start, 'motion_started', 'gripper')
        watch = model.confirm([HELD], start, lambda result: None, after=start - 1.0,
                              on_update=lambda watch: recorder.judged(key, watch))
        for index in range(samples):
            now = start + 0.01 * index
            gap(model, value if index > samples // 2 else 0.0, now - 0.002, now)
        watch.cancel()
        recorder.confirmed(key, Confirmed(
            start, start - 1.0, now, [HELD], {'force': 3.0}, verdict,
            [entry.as_dict() for entry in watch.evidence(now)]))


@pytest.fixture
def rig(path):
    return Rig(path)


def test_trace_has_every_sample_the_verdicts_and_the_confirmation(rig, path):
    rig.attempt()
    with TraceReader(path) as reader:
        assert reader.subjects() == [KEY]
        trace = reader.trace(KEY)
    curve = trace.curves['gap']
    assert (curve.unit, curve.topic, curve.kind) == ('m', 'joint_states', 'number')
    assert curve.values.tolist() == [0.0] * 21 + [0.02] * 19
    assert curve.times[1] - curve.stamps[1] == pytest.approx(0.002)
    assert trace.curves['gap_mm'].values.tolist() == [0.0] * 21 + [20.0] * 19
    assert [change.verdict for change in trace.changes] == ['unknown', 'false', 'true']
    (confirmation,) = trace.confirmations
    assert confirmation.conditions == [HELD] and confirmation.parameters == {'force': 3.0}
    assert (confirmation.verdict, confirmation.after) == ('confirmed', 9.0)
    assert confirmation.evidence[0]['facts'][0]['name'] == 'gap'
    assert [mark.name for mark in trace.marks] == ['motion_started']
    assert trace.started == 10.0 and trace.ended == pytest.approx(10.39)


def test_samples_of_facts_that_no_condition_reads_are_not_recorded(rig, path):
    rig.recorder.begin(KEY, [HELD], {}, 1.0)
    rig.model.ingest('present', messages.Message(data=True), 1.1)
    rig.recorder.end(KEY, 2.0)
    with TraceReader(path) as reader:
        assert set(reader.trace(KEY).curves) <= {'gap', 'gap_mm'}


def test_booleans_texts_and_arrays_come_back_as_they_were(rig, path):
    facts = Condition('confirm', 'present and near < 5 and tool[2] > 0', 0.0, 1.0)
    rig.recorder.begin(KEY, [facts], {}, 1.0)
    for index in range(5):
        rig.model.ingest('present', messages.Message(data=index % 2 == 0), 1.0 + index)
    rig.recorder.end(KEY, 9.0)
    with TraceReader(path) as reader:
        curve = reader.trace(KEY).curves['present']
    assert curve.kind == 'boolean' and curve.values.tolist() == [1.0, 0.0, 1.0, 0.0, 1.0]


def test_long_attempt_is_bounded(rig, path):
    rig.attempt(samples=50_000)
    with TraceReader(path) as reader:
        assert len(reader.trace(KEY).curves['gap'].times) <= 1024
    assert path.stat().st_size < 1_000_000


def test_next_attempt_ends_the_trace_of_the_one_before(rig, path):
    rig.recorder.begin(KEY, [HELD], {}, 1.0)
    rig.recorder.begin(KEY._replace(attempt=2), [HELD], {}, 5.0)
    rig.recorder.begin(TraceKey('flow', 'place', 1), [HELD], {}, 6.0)
    with TraceReader(path) as reader:
        ends = [(trace.key.attempt, trace.ended) for trace in reader.traces('flow', 'grasp')]
    assert ends == [(1, 5.0), (2, None)]


def test_motion_that_nobody_confirms_ends_its_trace(rig, path):
    rig.recorder.begin(KEY, [HELD], {}, 1.0)
    rig.recorder.waiting(KEY, 2.0, 'motion_ended', 'failed')
    rig.recorder.poll(11.9)
    assert rig.recorder.recording
    rig.recorder.poll(12.1)
    assert not rig.recorder.recording


def test_request_without_ids_is_not_recorded(rig, path):
    rig.recorder.begin(TraceKey('', '', 0), [HELD], {}, 1.0)
    assert not rig.recorder.recording


def test_condition_that_does_not_fit_the_facts_is_left_out(rig, path):
    rig.recorder.begin(KEY, [Condition('confirm', 'nonsense > 1'), HELD], {}, 1.0)
    gap(rig.model, 0.02, 1.1)
    rig.recorder.end(KEY, 2.0)
    with TraceReader(path) as reader:
        assert reader.trace(KEY).curves['gap'].values.tolist() == [0.02]


def test_time_that_jumps_back_ends_the_trace(rig, path):
    rig.recorder.begin(KEY, [HELD], {}, 100.0)
    gap(rig.model, 0.02, 100.1)
    gap(rig.model, 0.03, 5.0)
    rig.recorder.poll(5.1)
    with TraceReader(path) as reader:
        trace = reader.trace(KEY)
    assert trace.ended is not None
    assert [(mark.name, mark.detail) for mark in trace.marks] == [('cut', 'time jumped back')]


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


def test_export_has_every_point(rig, path):
    rig.attempt(samples=5)
    lines, table = io.StringIO(), io.StringIO()
    assert export_traces(path, 'jsonl', lines) == export_traces(path, 'csv', table) == 1
    entry = json.loads(lines.getvalue())
    assert [point[2] for point in entry['curves'][0]['points']] == [0, 0, 0, 0.02, 0.02]
    assert entry['confirmations'][0]['verdict'] == 'confirmed'
    header, first, *_ = table.getvalue().splitlines()
    assert header == 'flow_id,action_id,attempt,fact,unit,time,stamp,value'
    assert first == 'flow,grasp,1,gap,m,10.0,9.998,0.0'


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


def test_resumed_attempt_goes_on_in_the_same_trace(path):
    first = Rig(path)
    first.recorder.begin(KEY, [HELD], {}, 10.0)
    gap(first.model, 0.02, 10.1)
    first.recorder.poll(10.5)
    first.store.close()
    second = Rig(path)
    second.attempt(start=20.0, samples=10)
    with TraceReader(path) as reader:
        trace = reader.trace(KEY)
    assert trace.curves['gap'].times[0] == 10.1 and len(trace.curves['gap'].times) == 11
    assert [mark.name for mark in trace.marks] == ['cut', 'motion_started']
    assert trace.ended > 20.0


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


def test_facts_with_a_window_have_their_samples_too(path):
    facts = parse_facts("""
estop: none
facts:
  level: {topic: level, type: std_msgs/msg/Float64, field: data, reduce: mean, window: 0.5}
  place: {topic: place, type: geometry_msgs/msg/Point, field: x, max_age: 9.0}
""")
    rig = Rig(path)
    rig.model = WorldModel(facts)
    rig.recorder = TraceRecorder(rig.model, rig._put)
    rig.recorder.begin(KEY, [Condition('confirm', 'level > 1.0 and place > 0.0')], {}, 1.0)
    for index, value in enumerate((0.0, 4.0, 2.0)):
        rig.model.ingest('level', messages.Message(data=value), 1.1 + 0.1 * index)
        rig.model.ingest('place', messages.Message(x=1.0), 1.15 + 0.1 * index)
    rig.recorder.end(KEY, 2.0)
    with TraceReader(path) as reader:
        trace = reader.trace(KEY)
    assert trace.curves['level'].values.tolist() == [0.0, 2.0, 2.0]
    assert trace.samples['level'].values.tolist() == [0.0, 4.0, 2.0]
    assert trace.samples.keys() == {'level'} and trace.curves.keys() == {'level', 'place'}


LARGE = """
estop: none
facts:
  scan: {topic: scan, type: sensor_msgs/msg/LaserScan, field: ranges}
  text: {topic: text, type: std_msgs/msg/String, field: data}
"""


def test_facts_with_very_many_numbers_or_characters_are_left_out_and_named(path):
    rig = Rig(path)
    rig.model = WorldModel(parse_facts(LARGE))
    rig.recorder = TraceRecorder(rig.model, rig._put)
    rig.recorder.begin(KEY, [Condition('c', "min(scan) > 0 and text == 'a'")], {}, 1.0)
    for index in range(5):
        now = 1.0 + 0.1 * index
        rig.model.ingest('scan', SimpleNamespace(ranges=np.ones(640 * 480)), now)
        rig.model.ingest('text', SimpleNamespace(data='a' * (5000 if index > 2 else 10)), now)
    rig.recorder.end(KEY, now)
    with TraceReader(path) as reader:
        trace = reader.trace(KEY)
    assert {name: len(curve.times) for name, curve in trace.curves.items()} == {'text': 3}
    assert [(mark.name, mark.detail) for mark in trace.marks] == [
        ('not_recorded', "fact 'scan': 307200 numbers or characters, at most 4096"),
        ('not_recorded', "fact 'text': 5000 numbers or characters, at most 4096")]


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
