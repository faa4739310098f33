# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What no check sum covers in an MCAP file is compared with the summary at its end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import struct

from action_lifecycle.bags import read_bag
from action_lifecycle.documents.stamps import to_ns
import pytest

from .bag_files import by_mcap, FORMATS, rows

mcap = pytest.importorskip('mcap.writer')

ROWS = rows()
CHANNEL, MESSAGE, CHUNK = 4, 5, 6
OTHER = 0x81  # the opcode of a record that nobody knows
RECORD = struct.Struct('<BQ')
Damage = Callable[[bytearray], None]


def records(data: bytes, kind: int) -> list[int]:
    """Return the offsets of the contents of all records of a kind, outside of chunks."""
    found, offset = [], len(mcap.MCAP0_MAGIC)
    while offset + RECORD.size <= len(data):
        opcode, length = RECORD.unpack_from(data, offset)
        offset += RECORD.size
        if opcode == kind:
            found.append(offset)
        offset += length
    return found


def unknown(kind: int) -> Damage:
    """Return a damage that turns a record in the middle into one of an unknown kind."""
    def change(data: bytearray) -> None:
        offsets = records(data, kind)
        data[offsets[len(offsets) // 2] - RECORD.size] = OTHER
    return change


def put(kind: int, at: int, layout: str, value: int) -> Damage:
    """Return a damage that writes a number into a record in the middle."""
    def change(data: bytearray) -> None:
        offsets = records(data, kind)
        struct.pack_into(layout, data, offsets[len(offsets) // 2] + at, value)
    return change


def rename(data: bytearray) -> None:
    """Give the first channel another topic."""
    at = data.index(b'/gap', records(data, CHANNEL)[0])
    data[at:at + 4] = b'/gbp'


def move_message(data: bytearray) -> None:
    """Write another log time into a message in a chunk."""
    offset = records(data, CHUNK)[1]
    when = to_ns(ROWS[len(ROWS) // 2][1])
    at = data.index(struct.pack('<Q', when), offset + 40)
    struct.pack_into('<Q', data, at, when + 3_600 * 10**9)


def without_check_sums(path: Path) -> Path:
    return by_mcap(path, ROWS, chunk_size=1000, enable_crcs=False,
                   compression=mcap.CompressionType.NONE)


@pytest.mark.parametrize('make, damage, words', [
    (FORMATS['small zstd chunks'], put(CHUNK, 0, '<Q', 1), 'times are not those in the summary'),
    (FORMATS['small zstd chunks'], unknown(CHUNK), 'it has other chunks than its summary'),
    (FORMATS['without chunks'], unknown(MESSAGE), f'{len(ROWS) - 1} messages, and {len(ROWS)} by'),
    (FORMATS['without chunks'], rename, 'it has two definitions of channel'),
    (FORMATS['without chunks'], put(MESSAGE, 0, '<H', 99), 'channels that it does not declare'),
    (lambda path, data: without_check_sums(path), move_message,
     'its messages have other times than it says')])
def test_a_difference_is_noted_once_with_a_gap_where_messages_may_be_missing(
    make: Callable[..., Path], damage: Damage, words: str, tmp_path: Path
) -> None:
    path = make(tmp_path / 'run', ROWS)
    with read_bag(path) as bag:
        expected = {entry.log_time for entry in bag.messages()}
        assert not bag.notes and len(expected) == len({when for _, when, _ in ROWS})
    data = bytearray(path.read_bytes())
    damage(data)
    path.write_bytes(data)
    with read_bag(path) as bag:
        first = [(entry.topic, entry.log_time) for entry in bag.messages(['/gap', '/stamped'])]
        said = list(bag.notes), list(bag.gaps)
        assert [note for note in bag.notes if words in note], bag.notes
        for when in expected - {log_time for _, log_time in first}:
            assert any(gap.start <= to_ns(when) <= gap.end for gap in bag.gaps), when
        again = [(entry.topic, entry.log_time) for entry in bag.messages(['/gap', '/stamped'])]
        assert again == first and (bag.notes, bag.gaps) == said


def test_a_chunk_with_a_wrong_check_sum_is_noted_once_however_often_it_is_read(
    tmp_path: Path
) -> None:
    path = FORMATS['small zstd chunks'](tmp_path / 'run', ROWS)
    data = bytearray(path.read_bytes())
    offsets = records(data, CHUNK)
    data[offsets[len(offsets) // 2] + 20] ^= 255  # its check sum
    path.write_bytes(data)
    with read_bag(path) as bag:
        for _ in range(3):
            list(bag.messages())
            assert len(bag.notes) == len(bag.gaps) == 1, bag.notes
            assert bag.gaps[0].start > to_ns(ROWS[0][1]) and bag.gaps[0].end < to_ns(ROWS[-1][1])
