# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Confirmations judged again from a bag have the verdicts and the evidence that were recorded."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from action_lifecycle.bags import read_bag
from action_lifecycle.bags.field_kinds import BagFieldKinds
from action_lifecycle.bags.replay import Comparison, recorded_in_bag, replay, Status, TopicNames
from action_lifecycle.documents.stamps import to_ns
from action_lifecycle.world import parse_facts
import pytest

from .replay_rig import CONFIRMATIONS, FACTS, SteppedBridge, verdicts

mcap = pytest.importorskip('mcap.writer')
rosbag2 = pytest.importorskip('rosbags.rosbag2')

NAMES = TopicNames('/robot/world_model_bridge')


def replayed(path: Path, facts: str = FACTS, **options: Any) -> list[Comparison]:
    with read_bag(path) as bag:
        found = replay(bag, parse_facts(facts, field_kind=BagFieldKinds(bag)),
                       recorded_in_bag(bag, CONFIRMATIONS), NAMES, **options)
        assert bag.notes == []
        return found


def test_a_thousand_confirmations_are_repeated_exactly(tmp_path: Path) -> None:
    path = tmp_path / 'run.mcap'
    events = SteppedBridge(path, seed=1).run(1000)
    found = replayed(path, tolerance=0.0)
    assert [(one.recorded.name, one.reason, one.differences, one.verdict, one.ended)
            for one in found if one.status is not Status.SAME] == []
    assert len(found) == 1000
    assert min(Counter(verdicts(events)).values()) >= 20 and len(Counter(verdicts(events))) == 4


def registered(writer: Any, channel: Any) -> int:
    """Return the number of a channel in an MCAP file."""
    schema = writer.register_schema(
        name=channel.type, encoding='ros2msg', data=channel.definition.text.encode())
    number: int = writer.register_channel(
        topic=channel.topic, message_encoding='cdr', schema_id=schema)
    return number


def rewritten(source: Path, folder: Path, how: str) -> Path:
    """Write a bag again by a tool of others."""
    with read_bag(source) as bag:
        file, = bag._files
        channels = file.channels
        messages = list(file.messages(channels))
    if how == 'mcap':
        path = folder / 'again.mcap'
        with path.open('wb') as output:
            writer = mcap.Writer(output, chunk_size=3000, compression=mcap.CompressionType.LZ4)
            writer.start(profile='ros2', library='another')
            ids = {number: registered(writer, channel) for number, channel in channels.items()}
            for entry in messages:
                writer.add_message(ids[entry.channel], entry.log_time, entry.data,
                                   entry.publish_time)
            writer.finish()
        return path
    path = folder / 'again'
    plugin = getattr(rosbag2.StoragePlugin, how.upper())
    with rosbag2.Writer(path, version=9, storage_plugin=plugin) as writer:
        connections = {number: writer.add_connection(
            channel.topic, channel.type, msgdef=channel.definition.text,
            rihs01='RIHS01_' + '0' * 64) for number, channel in channels.items()}
        for entry in messages:
            writer.write(connections[entry.channel], entry.log_time, entry.data)
    return path


@pytest.fixture(scope='module')
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('bags') / 'run.mcap'
    SteppedBridge(path, seed=2, latched=False).run(150)
    return path


@pytest.mark.parametrize('how', ['mcap', 'sqlite3', 'MCAP'])
def test_a_bag_that_other_tools_wrote_again_gives_the_same(
    how: str, run: Path, tmp_path: Path
) -> None:
    found = replayed(rewritten(run, tmp_path, how), tolerance=0.0)
    assert [one.differences or one.reason for one in found if one.status is not Status.SAME] == []
    assert len(found) == 150


def test_a_changed_fact_changes_what_depends_on_it(run: Path) -> None:
    found = replayed(run, FACTS.replace("'position[name=gripper]',\n        max_age: 0.3",
                                        "'position[name=arm]',\n        max_age: 0.3"))
    differ = [one for one in found if one.status is not Status.SAME]
    assert differ
    assert any(one.differs for one in differ)
    for one in found:
        if not any('gap' in condition.expression for condition in one.conditions):
            assert one.status is Status.SAME


def test_what_cannot_be_judged_says_why(run: Path, tmp_path: Path) -> None:
    with read_bag(run) as bag:
        facts = parse_facts(FACTS, field_kind=BagFieldKinds(bag))
        recorded = recorded_in_bag(bag, CONFIRMATIONS)
        elsewhere = replay(bag, facts, recorded, TopicNames('/other/world_model_bridge'))
        other = parse_facts(FACTS.replace('std_msgs/msg/Bool', 'std_msgs/msg/String'))
        types = replay(bag, other, recorded, NAMES)
        gone = replay(bag, parse_facts(FACTS.replace('  state:', '  stat:')), recorded, NAMES)
        first, last = bag.span() or (0.0, 0.0)
    reasons = Counter(one.reason for one in elsewhere)
    assert reasons["topic '/other/joint_states' is not in the bag"] > 5
    assert ("topic '/part/present' carries std_msgs/msg/Bool; the facts file says "
            'std_msgs/msg/String') in {one.reason for one in types}
    assert any("unknown name 'state'" in one.reason for one in gone)
    # a bag that begins later
    part = rewritten_from(run, tmp_path, to_ns((first + last) / 2))
    reasons = Counter(one.reason[:14] for one in replayed(part))
    assert set(reasons) == {'', 'the bag begins'}


def rewritten_from(source: Path, folder: Path, start: int) -> Path:
    path = folder / 'later.mcap'
    with read_bag(source) as bag, path.open('wb') as output:
        file, = bag._files
        writer = mcap.Writer(output)
        writer.start(profile='ros2', library='another')
        ids = {number: registered(writer, channel)
               for number, channel in file.channels.items()}
        for entry in file.messages(file.channels):
            if entry.log_time >= start:
                writer.add_message(ids[entry.channel], entry.log_time, entry.data,
                                   entry.publish_time)
        writer.finish()
    return path
