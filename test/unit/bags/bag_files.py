# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writes the same recording in each format, by our writer and by the tools of others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import struct
from typing import Any

from action_lifecycle.bags import BagWriter
from action_lifecycle.documents.stamps import to_ns
import pytest

mcap = pytest.importorskip('mcap.writer')
rosbag2 = pytest.importorskip('rosbags.rosbag2')

START = 1_700_000_000.0
STAMPED = 'builtin_interfaces/Time stamp\nfloat64 x\n' + '=' * 80 \
    + '\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n'
TYPES = {'/gap': ('cell_msgs/msg/Gap', 'float64 x\nstring state\n'),
         '/stamped': ('cell_msgs/msg/Stamped', STAMPED)}
Row = tuple[str, float, bytes]


def gap(x: float, state: str = 'open') -> bytes:
    """Return the CDR of a message of /gap."""
    text = state.encode() + b'\0'
    return b'\x00\x01\x00\x00' + struct.pack('<dI', x, len(text)) + text


def stamped(stamp: float, x: float) -> bytes:
    """Return the CDR of a message of /stamped."""
    sec, nanosec = divmod(to_ns(stamp), 10 ** 9)
    return b'\x00\x01\x00\x00' + struct.pack('<iId', sec, nanosec, x)


def rows(count: int = 500) -> list[Row]:
    """Return a recording of two topics at 100 Hz."""
    return [row for index in range(count) for time in [START + index * 0.01] for row in (
        ('/gap', time, gap(0.001 * index, 'open' if index % 3 else 'closed')),
        ('/stamped', time + 0.003, stamped(time, float(index))))]


def by_us(path: Path, data: list[Row], compression: str = 'zstd') -> Path:
    path = path.with_suffix('.mcap')
    with BagWriter(path, compression=compression) as bag:
        for topic, (name, definition) in TYPES.items():
            bag.add_topic(topic, name, definition)
        for topic, time, cdr in data:
            bag.write(topic, cdr, time)
    return path


def by_mcap(path: Path, data: list[Row], **options: Any) -> Path:
    path = path.with_suffix('.mcap')
    with path.open('wb') as output:
        writer = mcap.Writer(output, **options)
        writer.start(profile='ros2', library='another recorder')
        channels = {topic: writer.register_channel(
            topic=topic, message_encoding='cdr', schema_id=writer.register_schema(
                name=name, encoding='ros2msg', data=definition.encode()))
            for topic, (name, definition) in TYPES.items()}
        for topic, time, cdr in data:
            writer.add_message(channels[topic], to_ns(time), cdr, to_ns(time))
        writer.finish()
    return path


def by_rosbags(
    path: Path, data: list[Row], plugin: Any,
    mode: Any = None,
) -> Path:
    writer = rosbag2.Writer(path, version=9, storage_plugin=plugin)
    if mode is not None:
        writer.set_compression(mode, rosbag2.CompressionFormat.ZSTD)
    with writer:
        topics = {topic: writer.add_connection(
            topic, name, msgdef=definition, rihs01='RIHS01_' + '0' * 64)
            for topic, (name, definition) in TYPES.items()}
        for topic, time, cdr in data:
            writer.write(topics[topic], to_ns(time), cdr)
    return path


def one_db3(path: Path, data: list[Row]) -> Path:
    return next(by_rosbags(path, data, rosbag2.StoragePlugin.SQLITE3).glob('*.db3'))


FORMATS: dict[str, Callable[[Path, list[Row]], Path]] = {
    'ours': by_us,
    'ours, lz4': lambda path, data: by_us(path, data, 'lz4'),
    'ours, not compressed': lambda path, data: by_us(path, data, 'none'),
    'small zstd chunks': lambda path, data: by_mcap(path, data, chunk_size=1000),
    'small lz4 chunks': lambda path, data: by_mcap(
        path, data, chunk_size=1000, compression=mcap.CompressionType.LZ4),
    'without an index': lambda path, data: by_mcap(
        path, data, chunk_size=1000, index_types=mcap.IndexType.NONE, repeat_channels=False,
        repeat_schemas=False, use_statistics=False, use_summary_offsets=False),
    'without chunks': lambda path, data: by_mcap(
        path, data, use_chunking=False, compression=mcap.CompressionType.NONE),
    'not in order': lambda path, data: by_mcap(path, data[::-1], chunk_size=5000),
    'folder, sqlite3': lambda path, data: by_rosbags(path, data, rosbag2.StoragePlugin.SQLITE3),
    'folder, mcap': lambda path, data: by_rosbags(path, data, rosbag2.StoragePlugin.MCAP),
    'compressed folder': lambda path, data: by_rosbags(
        path, data, rosbag2.StoragePlugin.SQLITE3, rosbag2.CompressionMode.FILE),
    'compressed messages': lambda path, data: by_rosbags(
        path, data, rosbag2.StoragePlugin.SQLITE3, rosbag2.CompressionMode.MESSAGE),
    'db3': one_db3,
}
