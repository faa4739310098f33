# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bags that were recorded in wall time while the bridge used simulated time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from action_lifecycle.bags import BagWriter, read_bag
from action_lifecycle.bags.replay import Comparison, Recorded, replay, TopicNames
from action_lifecycle.lifecycle.ports import Condition
from action_lifecycle.ros.conversions.basic import to_time
from action_lifecycle.ros.interfaces.definitions import message_definition
from action_lifecycle.world import parse_facts
import pytest
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Float64

pytest.importorskip('mcap')
pytest.importorskip('rosbags')

FACTS = 'estop: none\nfacts:\n' \
    '  gap: {topic: gap, type: std_msgs/msg/Float64, field: data, max_age: 0.5, unit: m}\n'
WALL = 1_700_000_000.0
TYPES = {'/clock': 'rosgraph_msgs/msg/Clock', '/gap': 'std_msgs/msg/Float64'}


def write_bag(path: Path, samples: Iterable[tuple[float, float]]) -> None:
    """Write a bag with these gaps by simulated time; it runs at a tenth of the real speed."""
    with BagWriter(path, compression='none', chunk=100) as bag:
        for topic, kind in TYPES.items():
            bag.add_topic(topic, kind, message_definition(kind))
        for number, (now, gap) in enumerate(samples):
            wall = WALL + number
            bag.write('/clock', bytes(serialize_message(Clock(clock=to_time(now)))), wall)
            bag.write('/gap', bytes(serialize_message(Float64(data=gap))), wall + 0.5)


def judge(path: Path, *confirmed: tuple[float, str]) -> list[Comparison]:
    """Replay confirmations that began at these simulated times."""
    with read_bag(path) as bag:
        return replay(bag, parse_facts(FACTS), [
            Recorded('pick', f'at{started}', 1, started, started + 0.3, started - 0.1,
                     [Condition('confirm', 'gap > 0.01', 0.1, 0.3)], verdict)
            for started, verdict in confirmed], TopicNames())


def test_after_a_reset_times_are_not_unique(tmp_path: Path) -> None:
    path = tmp_path / 'run.mcap'
    steps = [0.1 * number for number in range(1, 100)]
    write_bag(path, [*((now, 0.02) for now in steps), *((now, 0.001) for now in steps)])
    one, = judge(path, (5.05, 'refuted'))  # in the second part
    assert 'jumps back' in one.reason and not one.verdict


@pytest.mark.parametrize('chunk', [1, 100, 10_000])
@pytest.mark.parametrize('back', [True, False])
def test_log_times_of_a_reset_are_not_unique(tmp_path: Path, chunk: int, back: bool) -> None:
    """As `ros2 bag record --use-sim-time` writes them; topic after topic is no reset."""
    path = tmp_path / 'run.mcap'
    with BagWriter(path, compression='none', chunk=chunk) as bag:
        for topic in ('/gap', '/other'):
            bag.add_topic(topic, TYPES['/gap'], message_definition(TYPES['/gap']))
        for topic, gap in (('/gap', 0.02), ('/gap' if back else '/other', 0.001)):
            for number in range(1, 100):
                bag.write(topic, bytes(serialize_message(Float64(data=gap))), 0.1 * number)
    with read_bag(path) as bag:
        assert len(list(bag.messages())) == len(list(bag.messages())) == 198
        assert bag.time_went_back() == back
    one, = judge(path, (5.05, 'confirmed'))
    assert ('jumps back' in one.reason, one.verdict) == (back, '' if back else 'confirmed')


def test_a_damaged_part_is_found_in_simulated_time(tmp_path: Path) -> None:
    path = tmp_path / 'run.mcap'
    write_bag(path, [(0.1 * number, 0.02) for number in range(1, 100)])
    assert [one.verdict for one in judge(path, (2.05, 'confirmed'), (5.05, 'confirmed'))] == [
        'confirmed', 'confirmed']
    data = bytearray(path.read_bytes())
    at = data.index(serialize_message(Clock(clock=to_time(5.1))))
    data[at + 4] ^= 255
    path.write_bytes(data)
    early, damaged = judge(path, (2.05, 'confirmed'), (5.05, 'confirmed'))
    assert not early.reason
    assert 'damaged' in damaged.reason
