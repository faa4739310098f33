# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Traces of attempts: recorded from a world model, stored, read, removed."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

from action_lifecycle.traces import TraceKey, TraceReader, TraceRecorder
from action_lifecycle.traces.export import export_traces
from action_lifecycle.world import Condition, parse_facts, WorldModel
import numpy as np
import pytest

from .rig import HELD, KEY, Rig
from ..world import messages
from ..world.gripper import gap


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
