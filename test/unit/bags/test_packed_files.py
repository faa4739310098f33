# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Files that rosbag2 has compressed as a whole are read, also alone or without metadata.yaml."""

from __future__ import annotations

from pathlib import Path
import shutil

from action_lifecycle.bags import BagError, read_bag
import pytest

from .bag_files import by_us, FORMATS, Row, rows

zstandard = pytest.importorskip('zstandard')
ROWS = rows(200)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Return a folder in the compression mode FILE."""
    folder = FORMATS['compressed folder'](tmp_path / 'run', ROWS)
    assert [path.name for path in sorted(folder.iterdir())] == [
        'metadata.yaml', 'run.db3.zstd']
    return folder


def read(path: Path) -> tuple[list[float], list[str]]:
    with read_bag(path) as bag:
        return [entry.log_time for entry in bag.messages()], bag.notes


def times(data: list[Row]) -> list[float]:
    return [when for _, when, _ in data]


def test_without_metadata_and_alone(recording: Path) -> None:
    assert read(recording / 'run.db3.zstd') == (times(ROWS), [])
    (recording / 'metadata.yaml').unlink()
    found, notes = read(recording)
    assert found == times(ROWS)
    assert len(notes) == 1 and 'no metadata.yaml' in notes[0] and 'its 1 files' in notes[0]


def test_mcap_files_too(tmp_path: Path) -> None:
    whole = by_us(tmp_path / 'run', ROWS).read_bytes()
    packed = tmp_path / 'other.mcap.zstd'
    packed.write_bytes(zstandard.ZstdCompressor().compress(whole))
    assert read(packed) == (times(ROWS), [])


def test_a_file_that_was_being_compressed_is_read_once(recording: Path) -> None:
    """The recorder was killed while it wrote the compressed file, and the other one is there."""
    packed = recording / 'run.db3.zstd'
    whole = packed.read_bytes()
    (recording / 'run.db3').write_bytes(zstandard.ZstdDecompressor().decompress(
        whole, max_output_size=100_000_000))
    packed.write_bytes(whole[:len(whole) // 2])
    (recording / 'metadata.yaml').unlink()
    assert read(recording)[0] == times(ROWS)


def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    whole = by_us(tmp_path / 'run', rows(20_000), compression='none').read_bytes()
    packed = tmp_path / 'cut.mcap.zstd'
    data = zstandard.ZstdCompressor().compress(whole)
    packed.write_bytes(data[:len(data) // 2])
    found, notes = read(packed)
    assert 0 < len(found) < 40_000
    assert any(f'{packed}: damaged: cut off' in note for note in notes)
    for content in (b'this is no frame', b''):
        packed.write_bytes(content)
        with pytest.raises(BagError, match=r'cut\.mcap\.zstd: not a readable zstd file'):
            read_bag(packed)
    shutil.copy(tmp_path / 'run.mcap', tmp_path / 'run.mcap.gz')
    with pytest.raises(BagError, match=r'run\.mcap\.gz: not a bag: expected \.mcap, \.db3'):
        read_bag(tmp_path / 'run.mcap.gz')
