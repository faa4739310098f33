# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parts of the black box: the messages it keeps, its folder, definitions, killed writers."""

from __future__ import annotations

import array
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

from action_lifecycle.nodes.bridge.black_box.folder import BoxFolder
from action_lifecycle.nodes.bridge.black_box.rings import (
    child_frames,
    KEYS,
    one_key,
    Rings,
    size_of,
)
from action_lifecycle.ros.interfaces import definitions
from action_lifecycle.ros.interfaces.types import installed_types, message_class
from geometry_msgs.msg import PoseArray
from hypothesis import given
from hypothesis import strategies as st
import pytest
from sensor_msgs.msg import Image
from std_msgs.msg import Float64MultiArray

#: topic, time step (s), size (bytes) of a message
ARRIVALS = st.lists(st.tuples(
    st.integers(0, 2), st.floats(0.0, 3.0), st.integers(0, 3000)), min_size=1, max_size=300)


@given(ARRIVALS, st.floats(0.1, 20.0), st.integers(5_000, 100_000))
def test_rings_keep_the_last_seconds_in_bounded_memory(
    arrivals: list[Any], seconds: float, limit: int
) -> None:
    rings, sent, now = Rings(seconds, limit), [], 100.0
    topics = [rings.open(f'/t{n}', 'std_msgs/msg/String', key=one_key) for n in range(3)]
    for topic, step, size in arrivals:
        now += step
        message = bytes(size)
        rings.add(topics[topic], message, now)
        sent.append((f'/t{topic}', now, message))
        assert rings.bytes == sum(ring.bytes for ring in topics) == sum(
            entry[3] for ring in topics for entry in (*ring.entries, *ring.before.values()))
    start = now - seconds
    found = {excerpt.topic: excerpt for excerpt in rings.since(start)}
    for topic in {topic for topic, *_ in sent}:
        excerpt, cut = found[topic], found[topic].cut
        of_topic = [(time, message) for name, time, message in sent if name == topic]
        later = [entry for entry in of_topic if entry[0] >= start]
        kept = [(entry[0], entry[2]) for entry in excerpt.entries]
        assert kept == later[len(later) - len(kept):]
        if cut < start:  # nothing was dropped for lack of memory
            assert kept == later
            earlier = [entry for entry in of_topic if entry[0] < start]
            assert [(entry[0], entry[2]) for entry in excerpt.before] == earlier[-1:]
        assert kept or excerpt.before


def test_memory_that_is_full_costs_the_largest_topic() -> None:
    rings = Rings(100.0, 100_000)
    large = rings.open('/large', 't', key=one_key)
    small = rings.open('/small', 't', key=one_key)
    for number in range(200):
        rings.add(large, bytes(10_000), number * 0.1)
        rings.add(small, bytes(10), number * 0.1)
    assert rings.bytes <= 100_000 and len(small.entries) == 200 and 1 <= len(large.entries) < 10
    assert large.cut > 0 > small.cut


def test_memory_is_bounded_if_messages_become_larger() -> None:
    """A camera whose first image is empty, and lists of detections that grow."""
    rings = Rings(1000.0, 1_000_000)
    ring = rings.open('/image', 'sensor_msgs/msg/Image', key=one_key)
    for number in range(90):  # only the first one is measured by its number
        data = array.array('B', bytes(100_000 if number else 0))
        rings.add(ring, Image(data=data), float(number))
    assert sum(len(entry[2].data) for entry in ring.entries) <= 1_000_000
    assert len(ring.entries) >= 5
    before = rings.bytes
    rings.add(ring, Image(), 100.0)
    assert rings.bytes - before < 10_000


def test_what_a_confirmation_needs_is_kept_longer() -> None:
    rings = Rings(1.0, 1_000_000)
    ring = rings.open('/t', 't', key=one_key)
    release = rings.keep(2.0)
    for number in range(10):
        rings.add(ring, b'', float(number))
    assert [entry[0] for entry in ring.entries] == [2, 3, 4, 5, 6, 7, 8, 9]
    release()
    rings.add(ring, b'', 10.0)
    assert [entry[0] for entry in ring.entries] == [9, 10]


def test_a_reset_of_simulated_time_drops_all() -> None:
    rings = Rings(10.0, 1_000_000)
    ring, other = (rings.open(name, 't', key=one_key) for name in ('/a', '/b'))
    rings.add(other, b'', 99.0)
    rings.add(ring, b'', 100.0)
    rings.add(ring, b'', 5.0)
    assert [entry[0] for entry in ring.entries] == [5.0] and not other.entries
    assert rings.bytes == ring.bytes


def test_the_number_of_kept_keys_is_bounded() -> None:
    from geometry_msgs.msg import TransformStamped
    from tf2_msgs.msg import TFMessage
    rings = Rings(0.5, 100_000_000)
    ring = rings.open('/tf', 't', key=child_frames)
    for number in range(KEYS + 100):
        rings.add(ring, TFMessage(transforms=[
            TransformStamped(child_frame_id=str(number))]), float(number))
    assert len(ring.before) == KEYS
    assert ring.bytes == sum(e[3] for e in (*ring.entries, *ring.before.values()))


@pytest.mark.parametrize(('message', 'least'), [
    (Image(data=array.array('B', bytes(100_000))), 100_000),
    (Float64MultiArray(data=[0.0] * 1000), 8000),
    (PoseArray(poses=[PoseArray()] * 0), 100)])
def test_the_size_of_a_message_is_its_memory(message: Any, least: int) -> None:
    assert least <= size_of(message) < 1.5 * least + 2000


def test_names_are_safe_and_the_oldest_boxes_go_first(tmp_path: Path) -> None:
    folder = BoxFolder(tmp_path / 'boxes', 250)
    folder.prepare()
    paths = [folder.new_path(1e9 + n, '../../etc/x', 'a' * 300, '3', 'refuted') for n in range(4)]
    assert paths[0].parent == folder.path and len(paths[0].name) < 200
    assert paths[0].name.startswith('20010909T014640.000Z-.._.._etc_x-aaa')
    for path in paths:
        path.write_bytes(bytes(100))
    other = folder.path / 'mine.mcap'
    other.write_bytes(bytes(1000))
    folder.drop_oldest(paths[-1])
    assert [path.exists() for path in paths] == [False, False, True, True] and other.exists()
    folder.limit = 10
    folder.drop_oldest(paths[-1])
    assert [path.exists() for path in paths] == [False, False, False, True]


def test_definitions_are_complete_for_every_installed_type(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    typesys = pytest.importorskip('rosbags.typesys')
    names = [name for name in installed_types('msg')
             if 'wstring' not in definitions.message_definition(name)]
    assert len(names) > 100
    for name in names:
        parsed = typesys.get_types_from_msg(definitions.message_definition(name), name)
        assert [field for field, _ in parsed[name][1]] == [
            field for field in message_class(name).get_fields_and_field_types()
            if field != 'structure_needs_at_least_one_member'], name
    with monkeypatch.context() as patched:  # as of a package that has IDL files only
        patched.setattr(definitions, '_installed', lambda name: None)
        for name in names[::7]:
            generated = definitions.message_definition.__wrapped__(name)
            fields = [{key: str(value[1]).replace("'char'", "'uint8'") for key, value in
                       typesys.get_types_from_msg(text, name).items()}
                      for text in (generated, definitions.message_definition(name))]
            assert fields[0] == fields[1], name


WRITER = """
import sys
from pathlib import Path
from action_lifecycle.nodes.bridge.black_box.rings import one_key, Rings
from action_lifecycle.nodes.bridge.black_box.writing import Box, Incident, Pace, write_box
from sensor_msgs.msg import JointState
rings = Rings(1e6, 10**9)
ring = rings.open('/joints', 'sensor_msgs/msg/JointState', key=one_key)
for n in range(100_000):
    rings.add(ring, JointState(name=['a'], position=[float(n)]), 1000.0 + n)
print('begins', flush=True)
write_box(Path(sys.argv[1]), Box(Incident('refuted', ''), 0.0, 2e5, rings.since(0.0), '', {}),
          Pace())
"""


def test_a_killed_writer_leaves_no_box_and_its_file_is_removed(tmp_path: Path) -> None:
    pytest.importorskip('mcap')
    folder = BoxFolder(tmp_path, 10**9)
    path = folder.new_path(time.time(), 'flow', 'refuted')
    process = subprocess.Popen(
        [sys.executable, '-c', WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == 'begins\n'
        end = time.monotonic() + 60.0
        while not any(file.stat().st_size > 100_000 for file in tmp_path.iterdir()):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.01)
        folder.prepare()
        assert len(os.listdir(tmp_path)) == 1  # it is still being written
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert [file.suffix for file in tmp_path.iterdir()] == ['.part']
    folder.prepare()
    assert not os.listdir(tmp_path)


def test_what_is_no_box_stays_and_does_no_harm(tmp_path: Path) -> None:
    """Names of boxes at what is no file, and a part file with a number that is no process."""
    folder = BoxFolder(tmp_path, 1)
    odd = [tmp_path / f'20261123T22153{number}.123Z-mine.mcap' for number in range(2)]
    odd[0].symlink_to(tmp_path / 'archive')
    odd[1].mkdir()
    (tmp_path / f'.{odd[0].name}.{10 ** 30}.part').touch()
    newest = tmp_path / '20261123T221539.123Z-pick-refuted.mcap'
    newest.write_bytes(bytes(10))
    folder.prepare()
    assert folder.drop_oldest(newest) == 0
    assert sorted(tmp_path.iterdir()) == [*odd, newest]
