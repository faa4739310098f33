# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Confirmations judged again from a bag have the verdicts and the evidence that were recorded."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from action_lifecycle.bags import read_bag
from action_lifecycle.bags.field_kinds import BagFieldKinds
from action_lifecycle.bags.replay import Comparison, recorded_in_bag, replay, Status, TopicNames
from action_lifecycle.documents.stamps import to_ns
from action_lifecycle.world import parse_facts
import pytest

from .replay_rig import Answer, CONFIRMATIONS, FACTS, SteppedBridge, verdicts

mcap_reader = pytest.importorskip('mcap.reader')
mcap_writer = pytest.importorskip('mcap.writer')
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
    bridge = SteppedBridge(path, seed=1)
    events = bridge.run(1000)
    found = replayed(path, tolerance=0.0)
    assert [(one.recorded.name, one.reason, one.differences, one.verdict, one.ended)
            for one in found if one.status is not Status.SAME] == []
    assert len(found) == 1000 and answers(found) == bridge.answers
    assert min(Counter(verdicts(events)).values()) >= 20 and len(Counter(verdicts(events))) == 4


class Run(NamedTuple):
    """A run of the stepped bridge, and its bag."""

    bag: Path
    bridge: SteppedBridge


def run_of(path: Path, seed: int, count: int) -> Run:
    bridge = SteppedBridge(path, seed)
    bridge.run(count)
    return Run(path, bridge)


@pytest.fixture(scope='module')
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_of(tmp_path_factory.mktemp('bags') / 'run.mcap', 2, 150).bag


@pytest.fixture(scope='module', params=[150, pytest.param(1000, marks=pytest.mark.long)])
def original(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_of(tmp_path_factory.mktemp('bags') / 'run.mcap', 3, request.param)


def by_mcap(source: Path, target: Path, start: int = 0, **options: Any) -> Path:
    """Read a bag with mcap's reader and write it, from `start` (ns) on, with mcap's writer."""
    with source.open('rb') as file, target.open('wb') as output:
        writer = mcap_writer.Writer(output, **options)
        writer.start(profile='ros2', library='another')
        schemas: dict[int, int] = {}
        channels: dict[int, int] = {}
        for schema, channel, message in mcap_reader.make_reader(
                file, validate_crcs=True).iter_messages():
            if message.log_time < start:
                continue
            if schema.id not in schemas:
                schemas[schema.id] = writer.register_schema(
                    name=schema.name, encoding=schema.encoding, data=schema.data)
            if channel.id not in channels:
                channels[channel.id] = writer.register_channel(
                    topic=channel.topic, message_encoding=channel.message_encoding,
                    schema_id=schemas[schema.id], metadata=channel.metadata)
            writer.add_message(channels[channel.id], message.log_time, message.data,
                               message.publish_time, message.sequence)
        writer.finish()
    return target


def by_rosbags(source: Path, target: Path, plugin: str, mode: str = 'NONE') -> Path:
    """Read a bag with rosbags' reader and write it with rosbags' writer."""
    writer = rosbag2.Writer(
        target, version=9, storage_plugin=getattr(rosbag2.StoragePlugin, plugin))
    writer.set_compression(
        getattr(rosbag2.CompressionMode, mode), rosbag2.CompressionFormat.ZSTD)
    with rosbag2.Reader(source) as reader, writer:
        connections = {connection.id: writer.add_connection(
            connection.topic, connection.msgtype, msgdef=connection.msgdef.data,
            rihs01=connection.digest or 'RIHS01_' + '0' * 64,
            serialization_format=connection.ext.serialization_format,
            offered_qos_profiles=connection.ext.offered_qos_profiles)
            for connection in reader.connections}
        for connection, time, data in reader.messages():
            writer.write(connections[connection.id], time, data)
    return target


def answers(found: list[Comparison]) -> dict[str, Answer]:
    """Return what was judged again, by action."""
    return {one.recorded.action_id: Answer(one.verdict, one.ended, list(one.evidence))
            for one in found if not one.reason}


@pytest.mark.timeout(600)
@pytest.mark.parametrize('options', [
    {'compression': mcap_writer.CompressionType.LZ4, 'chunk_size': 3000},
    {'compression': mcap_writer.CompressionType.ZSTD, 'chunk_size': 200_000}],
    ids=['lz4', 'zstd'])
def test_a_bag_that_mcap_read_and_wrote_gives_the_same(
    options: dict[str, Any], original: Run, tmp_path: Path
) -> None:
    """Also the ages of latched messages, which follow from publish times and QoS profiles."""
    path = by_mcap(original.bag, tmp_path / 'again.mcap', **options)
    assert path.read_bytes() != original.bag.read_bytes()
    found = replayed(path, tolerance=0.0)
    assert [one.differences or one.reason for one in found if one.status is not Status.SAME] == []
    assert answers(found) == original.bridge.answers
    assert len(found) == len(original.bridge.events) in (150, 1000)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(('plugin', 'mode'), [
    ('SQLITE3', 'NONE'), ('SQLITE3', 'MESSAGE'), ('MCAP', 'NONE'), ('MCAP', 'STORAGE')])
def test_a_bag_that_rosbags_read_and_wrote_gives_the_same_but_for_ages(
    plugin: str, mode: str, original: Run, tmp_path: Path
) -> None:
    """
    Rosbags drops publish times, and with them the ages of latched messages.

    So what rests on no latched message is as recorded, and the rest as if each had just been sent.
    """
    found = replayed(by_rosbags(original.bag, tmp_path / 'again', plugin, mode), tolerance=0.0)
    bridge = original.bridge
    assert len(found) == len(bridge.events) in (150, 1000)
    assert answers(found) == bridge.ageless
    assert {one.reason for one in found} <= {'', 'the bag ends before the verdict'}
    live = [one for one in found if not any('present' in condition.expression
                                            for condition in one.conditions)]
    assert [one.differences or one.reason for one in live if one.status is not Status.SAME] == []
    assert {name: answer for name, answer in bridge.answers.items() if name in answers(live)} \
        == answers(live)
    assert len(found) / 2 < len(live) < len(found)
    assert bridge.ageless != bridge.answers  # the ages of this run matter


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
    part = by_mcap(run, tmp_path / 'later.mcap', to_ns((first + last) / 2))
    reasons = Counter(one.reason[:14] for one in replayed(part))
    assert set(reasons) == {'', 'the bag begins'}
