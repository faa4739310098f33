# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""One trace as bytes for another machine: equal to the file, bounded, and not trusted."""

from __future__ import annotations

import contextlib
import random
import sqlite3

from action_lifecycle.documents import database_input
from action_lifecycle.traces import image as module
from action_lifecycle.traces import TraceError, TraceKey, TraceReader
from action_lifecycle.traces.image import trace_image
from action_lifecycle.traces.store import remove_traces, TABLES
import pytest

from .rig import assert_same, KEY, long_trace

if not module.CAN_SERIALIZE:
    pytest.skip(module.NEEDED, allow_module_level=True)


def test_it_has_one_trace_and_is_equal_to_the_file(rig, path):
    rig.attempt()
    rig.attempt(TraceKey('flow', 'place', 1), start=30.0)
    image = trace_image(path, KEY)
    with TraceReader('robot', image) as there, TraceReader(path) as here:
        assert there.subjects() == [KEY]
        assert_same(there.trace(KEY), here.trace(KEY))
        assert len(there.trace(KEY).curves['gap'].times) == 40


def test_it_changes_only_if_the_trace_changes(rig, path):
    rig.attempt()
    first = trace_image(path, KEY)
    rig.attempt(TraceKey('flow', 'place', 1), start=30.0)
    assert trace_image(path, KEY) == first
    rig.recorder.begin(KEY, [], {}, 60.0)
    assert trace_image(path, KEY) != first


def test_there_need_not_be_a_trace(rig, path, tmp_path):
    assert trace_image(path, KEY) is None
    rig.attempt()
    for key in (('flow', 'grasp', 2), ('', '', 0), ("x' OR 1", 'grasp', 2**32 - 1)):
        assert trace_image(path, TraceKey(*key)) is None
    remove_traces(path, [('flow', 'grasp')])
    assert trace_image(path, KEY) is None
    with pytest.raises(TraceError, match='other.traces'):
        trace_image(tmp_path / 'other.traces', KEY)
    (tmp_path / 'no.traces').write_bytes(b'x' * 9000)
    with pytest.raises(TraceError, match='no.traces'):
        trace_image(tmp_path / 'no.traces', KEY)


def test_a_trace_that_is_too_large_is_refused(path):
    long_trace(path, KEY, width=1000, facts=3)
    long_trace(path, TraceKey('flow', 'grasp', 2), width=1000)
    with pytest.raises(TraceError, match=r'too large: 24\.6 MB; at most 16\.8 MB'):
        trace_image(path, KEY)
    image = trace_image(path, TraceKey('flow', 'grasp', 2))
    assert 8_000_000 < len(image) < 9_000_000


def damaged(image):
    generator = random.Random(7)
    yield b''
    yield b'no file at all' * 1000
    yield image[:5000]
    yield image[:-4096]
    for _ in range(300):
        found = bytearray(image)
        for _ in range(generator.choice((1, 5, 200))):
            found[generator.randrange(len(found))] = generator.randrange(256)
        yield bytes(found)


def test_damaged_bytes_are_an_error_or_a_trace(rig, path):
    rig.attempt()
    refused = 0
    for image in damaged(trace_image(path, KEY)):
        try:
            with TraceReader('robot', image) as reader:
                reader.find(KEY)
        except TraceError as error:
            refused += 1
            assert 'robot' in str(error)
    assert refused > 100


ENDLESS = ('WITH RECURSIVE endless(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM endless) '
           "SELECT id, '' AS fact, '' AS unit, '' AS topic, 1 AS trace FROM endless")


@pytest.mark.parametrize('statements', [
    ['DROP TABLE curve', f'CREATE VIEW curve AS {ENDLESS}'],
    ['CREATE TABLE more (a)'],
    ['CREATE TRIGGER t AFTER INSERT ON trace BEGIN DELETE FROM event; END'],
    ['PRAGMA user_version = 7'],
    ['PRAGMA application_id = 7'],
])
def test_other_tables_are_refused(statements):
    with contextlib.closing(sqlite3.connect(':memory:')) as made:
        for statement in (*TABLES, *statements):
            made.execute(statement)
        made.commit()
        image = made.serialize()
    with pytest.raises(TraceError, match='robot'):
        TraceReader('robot', image).find(KEY)


def test_reading_ends_in_time(rig, path, monkeypatch):
    rig.attempt()
    monkeypatch.setattr(module, 'LONGEST', -1.0)
    monkeypatch.setattr(database_input, '_STEPS', 1)
    with pytest.raises(TraceError, match='interrupted|takes too long'):
        TraceReader('robot', trace_image(path, KEY))
