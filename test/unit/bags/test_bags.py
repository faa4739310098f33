# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bags of all formats are read alike; what is damaged is named, and the rest is read."""

from __future__ import annotations

import contextlib
from pathlib import Path
import sqlite3
import time
import tracemalloc
from types import SimpleNamespace

from action_lifecycle.bags import BagError, BagWriter, folder, mcap_file, read_bag
from action_lifecycle.bags.field_kinds import BagFieldKinds
from action_lifecycle.bags.replay.clock import SimulatedTime
from action_lifecycle.bags.storage import MESSAGE_LIMIT
from action_lifecycle.documents.stamps import from_ns, to_ns
from action_lifecycle.world.expressions.value_types import Kind
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from .bag_files import by_mcap, by_us, FORMATS, gap, mcap, one_db3, Row, rows, START

ROWS = rows()


def read(path: Path, topics: list[str] | None = None) -> tuple[list[tuple], list[str]]:
    with read_bag(path) as bag:
        found = [(entry.topic, entry.log_time, entry.message.x)
                 for entry in bag.messages(topics)]
        return found, bag.notes


def values(data: list[Row]) -> list[tuple[str, float]]:
    return [(topic, when) for topic, when, _ in data]


@pytest.mark.parametrize('name', FORMATS)
def test_all_formats_give_the_same(name: str, tmp_path: Path) -> None:
    path = FORMATS[name](tmp_path / 'run', ROWS)
    found, notes = read(path)
    assert notes == []
    assert [(topic, when) for topic, when, _ in found] == values(ROWS)
    assert [x for topic, _, x in found if topic == '/stamped'] == list(map(float, range(500)))
    with read_bag(path) as bag:
        assert {topic.name: topic.type for topic in bag.topics.values()} == {
            '/gap': 'cell_msgs/msg/Gap', '/stamped': 'cell_msgs/msg/Stamped'}
        assert next(bag.messages(['/gap'])).message.state == 'closed'


@pytest.mark.parametrize('name', ['folder, sqlite3', 'folder, mcap', 'compressed messages'])
def test_a_folder_without_metadata_is_read_with_a_note(name: str, tmp_path: Path) -> None:
    path = FORMATS[name](tmp_path / 'run', ROWS)
    (path / 'metadata.yaml').unlink()
    found, notes = read(path)
    assert len(found) == len(ROWS) and 'no metadata.yaml' in notes[0]


def test_an_open_recording_is_read_with_its_write_ahead_log(tmp_path: Path) -> None:
    path = one_db3(tmp_path / 'run', ROWS[:10])
    database = sqlite3.connect(path)
    database.execute('PRAGMA journal_mode=WAL')
    database.execute('INSERT INTO messages (topic_id, timestamp, data) VALUES (1, ?, ?)',
                     (to_ns(START + 9), gap(9.0)))
    database.commit()
    assert len(read(path)[0]) == 11
    database.close()


@pytest.mark.parametrize('name', ['ours', 'ours, not compressed', 'ours, lz4',
                                  'small zstd chunks', 'without an index', 'without chunks'])
def test_a_cut_off_file_is_read_up_to_the_cut(name: str, tmp_path: Path) -> None:
    whole = FORMATS[name](tmp_path / 'run', ROWS).read_bytes()
    cut = tmp_path / 'cut.mcap'
    counts = []
    for length in [*range(0, len(whole), len(whole) // 60 + 1), len(whole) - 20]:
        cut.write_bytes(whole[:length])
        try:
            with read_bag(cut) as bag:
                found = [entry.log_time for entry in bag.messages()]
                assert bag.notes and bag.gaps, length
        except BagError as error:
            assert str(cut) in str(error) and length < 500
            continue
        assert found == [when for _, when, _ in ROWS[:len(found)]]
        counts.append(len(found))
    assert counts == sorted(counts)
    assert counts[-1] == len(ROWS)
    if name not in ('ours', 'ours, lz4'):  # which have all messages in one chunk
        assert len(set(counts)) > 10


@settings(max_examples=150, suppress_health_check=list(HealthCheck), deadline=None)
@given(name=st.sampled_from(
    ['small zstd chunks', 'without an index', 'without chunks', 'db3']), flips=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=5))
def test_flipped_bytes_end_in_an_error_or_in_what_is_right(
    name: str, flips: list[tuple[float, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = _originals.setdefault(name, tmp_path_factory.mktemp('bags'))
    original = folder / 'bytes'
    if not original.exists():
        path = FORMATS[name](folder / 'run', ROWS[:100])
        original.write_bytes(path.read_bytes())
    data = bytearray(original.read_bytes())
    for where, value in flips:
        data[int(where * (len(data) - 1))] = value
    path = folder / ('flipped.db3' if name == 'db3' else 'flipped.mcap')
    path.write_bytes(data)
    before = time.monotonic()
    try:
        with read_bag(path) as bag:
            found = list(bag.messages())
            missing = len(found) < 100
            assert not missing or bag.notes or set(bag.topics) != {'/gap', '/stamped'} \
                or name in ('db3', 'without chunks')
    except BagError as error:
        assert str(path) in str(error)
    assert time.monotonic() - before < 5


_originals: dict[str, Path] = {}


def test_a_damaged_chunk_is_left_out_and_named(tmp_path: Path) -> None:
    path = by_mcap(tmp_path / 'run', ROWS, chunk_size=2000)
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 255
    path.write_bytes(data)
    with read_bag(path) as bag:
        found = [entry.log_time for entry in bag.messages()]
        notes, gaps = bag.notes, bag.gaps
    assert 'damaged' in notes[0] and len(notes) == 1
    missing = [when for _, when, _ in ROWS if when not in set(found)]
    assert 0 < len(missing) < 120
    assert gaps[0].start <= to_ns(missing[0]) and to_ns(missing[-1]) <= gaps[0].end


def with_schema(path: Path, topic: str, name: str, encoding: str) -> Path:
    """Write a bag with one message, an empty string, and a schema without a text."""
    with path.open('wb') as output:
        writer = mcap.Writer(output)
        writer.start(profile='ros2', library='another recorder')
        channel = writer.register_channel(
            topic=topic, message_encoding='cdr',
            schema_id=writer.register_schema(name=name, encoding=encoding, data=b''))
        writer.add_message(
            channel, to_ns(START), b'\x00\x01\x00\x00\x01\x00\x00\x00\x00', to_ns(START))
        writer.finish()
    return path


@pytest.mark.parametrize('encoding', ['ros2msg', 'ros2idl', ''])
def test_a_schema_without_a_text_is_no_definition(encoding: str, tmp_path: Path) -> None:
    path = with_schema(tmp_path / 'a.mcap', '/said', 'std_msgs/msg/String', encoding)
    with read_bag(path) as bag:
        entry, = bag.messages()
        assert entry.message.data == ''
    path = with_schema(tmp_path / 'b.mcap', '/said', 'cell_msgs/msg/Nothing', encoding)
    with read_bag(path) as bag:
        if encoding == 'ros2msg':  # a message without fields
            assert not bag.type_of('/said').table['cell_msgs/msg/Nothing'].fields
        else:
            with pytest.raises(BagError, match='is not defined in the bag'):
                list(bag.messages())


def test_a_clock_of_another_type_gives_no_simulated_time(tmp_path: Path) -> None:
    path = with_schema(tmp_path / 'a.mcap', '/clock', 'std_msgs/msg/String', 'ros2msg')
    with read_bag(path) as bag:
        assert SimulatedTime(bag).span() is None


def test_what_is_no_bag_is_refused(tmp_path: Path) -> None:
    for name, content, words in [
            ('empty.mcap', b'', 'not an MCAP file'), ('text.mcap', b'hello' * 9, 'not an MCAP'),
            ('empty.db3', b'', 'not a bag'), ('text.db3', b'hello' * 99, 'not a readable SQLite'),
            ('bag.txt', b'x', 'not a bag')]:
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(BagError, match=words) as caught:
            read_bag(path)
        assert name in str(caught.value)
    with pytest.raises(BagError, match='no such file'):
        read_bag(tmp_path / 'nothing.mcap')
    (tmp_path / 'folder').mkdir()
    with pytest.raises(BagError, match='no metadata.yaml'):
        read_bag(tmp_path / 'folder')
    for text, words in [('a: [', 'metadata.yaml:2'), ('a: 1', 'rosbag2_bagfile_information'),
                        ('rosbag2_bagfile_information: {relative_file_paths: 3}', 'file names'),
                        ('rosbag2_bagfile_information: {relative_file_paths: [a.db3]}',
                         'not there')]:
        (tmp_path / 'metadata.yaml').write_text(text)
        with pytest.raises(BagError, match=words):
            read_bag(tmp_path)


def test_huge_sparse_files_take_neither_memory_nor_time(tmp_path: Path) -> None:
    path = by_us(tmp_path / 'run', ROWS)
    with path.open('r+b') as file:
        file.truncate(2 << 30)
    (tmp_path / 'run.db3').write_bytes(b'SQLite format 3\0')
    with (tmp_path / 'run.db3').open('r+b') as file:
        file.truncate(2 << 30)
    before = time.monotonic()
    tracemalloc.start()
    try:
        assert len(read(path)[0]) == len(ROWS)
        with pytest.raises(BagError, match='not a'):
            read_bag(tmp_path / 'run.db3')
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    assert time.monotonic() - before < 10


def test_a_small_chunk_that_unpacks_to_very_much_is_left_out(tmp_path: Path) -> None:
    path = by_mcap(tmp_path / 'run', [('/gap', START, bytes(MESSAGE_LIMIT)), *ROWS])
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    try:
        found, notes = read(path)
        assert tracemalloc.get_traced_memory()[1] < MESSAGE_LIMIT
    finally:
        tracemalloc.stop()
    assert len(found) == len(ROWS) and f'at most {MESSAGE_LIMIT} are expected' in notes[0]


def test_chunks_that_overlap_in_time_do_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = [*ROWS[::2], *ROWS[1::2]]
    path = by_mcap(tmp_path / 'run', apart, chunk_size=2000)
    assert len(read(path)[0]) == len(ROWS)
    monkeypatch.setattr(mcap_file, '_WAITING_LIMIT', 100)
    with pytest.raises(BagError, match='chunks that overlap in time .* sort the bag'):
        read(path)


@pytest.mark.parametrize('change', [
    'CREATE VIEW messages AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) '
    "SELECT i AS id, 1 AS topic_id, i AS timestamp, x'00' AS data FROM n",
    'CREATE TABLE messages (id INTEGER, topic_id INTEGER, timestamp INTEGER, '
    'data BLOB AS (zeroblob(100000000)))'])
def test_a_bag_whose_tables_are_computed_is_refused(change: str, tmp_path: Path) -> None:
    path = one_db3(tmp_path / 'run', ROWS)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute('ALTER TABLE messages RENAME TO stored')
        database.execute(change)
    with pytest.raises(BagError, match="'messages' is not a table of stored values"):
        read_bag(path)


def test_a_compressed_file_does_not_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = FORMATS['compressed folder'](tmp_path / 'run', ROWS)
    monkeypatch.setattr(folder.shutil, 'disk_usage', lambda path: SimpleNamespace(free=20_000))
    with pytest.raises(BagError, match='more than half of the free space'):
        read_bag(path)


def test_a_type_with_very_many_empty_messages_takes_no_time(tmp_path: Path) -> None:
    path = tmp_path / 'empty.mcap'
    separator = '=' * 80 + '\nMSG: cell_msgs/'
    with BagWriter(path) as bag:
        bag.add_topic('/many', 'cell_msgs/msg/Many', 'Empty[2000000000] all\n' + separator
                      + 'Empty\n')
        bag.add_topic('/last', 'cell_msgs/msg/Last', 'bool x\nEmpty one\n' + separator + 'Empty\n')
        bag.write('/many', b'\x00\x01\x00\x00' + bytes(8), START)
        bag.write('/last', b'\x00\x01\x00\x00\x01', START)
    before = time.monotonic()
    with read_bag(path) as bag:
        assert [found.topic for found in bag.messages(['/many', '/last'])] == ['/last']
        assert bag.notes == [
            f'{path}: topic /many: 1 messages that do not fit their type are left out']
    assert time.monotonic() - before < 5


def test_a_bag_that_is_not_completed_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), BagWriter(tmp_path / 'run.mcap') as bag:
        bag.add_topic('/gap', 'cell_msgs/msg/Gap', 'float64 x')
        bag.write('/gap', gap(1.0), START)
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(BagError, match='nowhere'), BagWriter(tmp_path / 'nowhere' / 'a.mcap'):
        pass


def test_the_age_of_latched_messages(tmp_path: Path) -> None:
    path = tmp_path / 'run.mcap'
    with BagWriter(path) as bag:
        bag.add_topic('/gap', 'cell_msgs/msg/Gap', 'float64 x\nstring state', latched=True)
        bag.add_topic('/live', 'cell_msgs/msg/Gap', 'float64 x\nstring state')
        bag.write('/gap', gap(1.0), START, age=12.5)
        bag.write('/live', gap(1.0), START)
    with read_bag(path) as bag:
        ages = {entry.topic: (entry.age, entry.publish_time) for entry in bag.messages()}
    assert ages == {'/gap': (12.5, START - 12.5), '/live': (0.0, START)}


@given(st.floats(0, 4e9))
def test_times_survive(seconds: float) -> None:
    assert abs(from_ns(to_ns(seconds)) - seconds) <= 5.1e-10
    if seconds > 2 ** 23:  # where floats are coarser than ns
        assert from_ns(to_ns(seconds)) == seconds


def test_other_readers_open_our_bags(tmp_path: Path) -> None:
    from mcap.reader import make_reader
    from rosbags.rosbag2 import Reader
    path = by_us(tmp_path / 'run', ROWS)
    with path.open('rb') as file:
        messages = [(channel.topic, from_ns(message.log_time))
                    for _, channel, message in make_reader(
                        file, validate_crcs=True).iter_messages()]
    assert messages == values(ROWS)
    with Reader(path) as reader:
        assert [(connection.topic, from_ns(when))
                for connection, when, _ in reader.messages()] == values(ROWS)
        assert {connection.msgtype for connection in reader.connections} == {
            'cell_msgs/msg/Gap', 'cell_msgs/msg/Stamped'}


def test_other_encodings_in_the_file_do_no_harm(tmp_path: Path) -> None:
    """Recorders of several systems write JSON beside ROS messages, even of the same topic."""
    writer = pytest.importorskip('mcap.writer')
    path = tmp_path / 'run.mcap'
    with path.open('wb') as output:
        out = writer.Writer(output)
        out.start(profile='', library='another recorder')
        json = out.register_schema('cell_msgs/msg/Gap', 'jsonschema', b'{"type": "object"}')
        ros = out.register_schema('cell_msgs/msg/Gap', 'ros2msg', b'float64 x\nstring state\n')
        others = [out.register_channel(topic, 'json', json) for topic in ('/web', '/gap')]
        channel = out.register_channel('/gap', 'cdr', ros)
        for number in range(5):
            time = to_ns(START + number)
            for other in others:
                out.add_message(other, time, b'{"x": 1}', time)
            out.add_message(channel, time, gap(float(number)), time)
        out.finish()
    with read_bag(path) as bag:
        kinds = BagFieldKinds(bag)
        assert kinds('cell_msgs/msg/Gap', 'x') is Kind.NUMBER
        assert [entry.message.x for entry in bag.messages(['/gap'])] == [0, 1, 2, 3, 4]
        with pytest.raises(BagError, match="'/web' is serialized as 'json'; expected cdr"):
            list(bag.messages(['/web']))
