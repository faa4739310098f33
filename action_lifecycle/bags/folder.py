# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Finds the files of a recording of rosbag2, and unpacks those compressed as a whole."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path, PurePath
import shutil
import tempfile
from typing import Any

from .errors import BagError, library
from ..documents.errors import DocumentError
from ..documents.input_file import open_input
from ..documents.yaml_document import read_document

_METADATA_LIMIT = 16 << 20
_HEADER = 18  #: bytes; the largest header of a zstd frame
_PART = 1 << 20  #: bytes that are unpacked at once
_SUFFIXES = ('.mcap', '.db3')
_PACKED = tuple(f'{suffix}.zstd' for suffix in _SUFFIXES)  #: compression mode FILE of rosbag2


def folder_files(
    folder: Path, notes: list[str], stack: ExitStack
) -> list[Path]:
    """
    Return the files of a recording in their order.

    Without metadata.yaml (a recorder that crashed), all bags of the folder; `notes` says so. Files
    compressed as a whole are unpacked into a folder that `stack` removes.
    """
    metadata = folder / 'metadata.yaml'
    if not metadata.exists():
        found = sorted(path for path in folder.iterdir() if path.name.endswith(
            (*_SUFFIXES, *_PACKED)))
        # A recorder removes a file when its compressed one is complete.
        found = [path for path in found
                 if not (is_packed(path) and path.with_suffix('') in found)]
        if not found:
            raise BagError(f'{folder}: not a bag: no metadata.yaml, and no .mcap or .db3 file')
        notes.append(f'{folder}: no metadata.yaml (the recorder has not ended); its '
                     f'{len(found)} files are read')
        return [unpacked_file(path, notes, stack) if is_packed(path) else path for path in found]
    information = _information(metadata)
    names = information.get('relative_file_paths')
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BagError(f'{metadata}: relative_file_paths: expected a list of file names')
    mode = str(information.get('compression_mode') or '').lower()
    if mode not in ('', 'none', 'file', 'message') or (
            mode in ('file', 'message') and information.get('compression_format') != 'zstd'):
        raise BagError(f"{metadata}: compression '{information.get('compression_format')}' by "
                       f"'{mode}': expected zstd by file or message")
    paths = [folder / PurePath(name).name for name in names]
    for path in paths:
        if not path.is_file():
            raise BagError(f'{path}: named in metadata.yaml, but not there')
    return [unpacked_file(path, notes, stack) for path in paths] if mode == 'file' else paths


def is_packed(path: Path) -> bool:
    """Whether a bag file is compressed as a whole."""
    return path.name.endswith(_PACKED)


def unpacked_file(path: Path, notes: list[str], stack: ExitStack) -> Path:
    """
    Return the unpacked copy of a file, in a folder that `stack` removes.

    `notes` says if the file is cut off, so that the copy is not complete.
    """
    target = _unpacked(path, Path(stack.enter_context(
        tempfile.TemporaryDirectory(prefix='bag_'))))
    zstandard = library('zstandard')
    try:
        with open_input(path) as file:
            size = zstandard.frame_content_size(file.read(_HEADER))
    except zstandard.ZstdError as error:
        raise BagError(f'{path}: not a readable zstd file: {error}') from error
    if size > target.stat().st_size:
        notes.append(f'{path}: damaged: cut off; {target.stat().st_size} of {size} bytes are '
                     'unpacked')
    return target


def _information(metadata: Path) -> dict[str, Any]:
    try:
        data = read_document(metadata, max_bytes=_METADATA_LIMIT).data
    except DocumentError as error:
        raise BagError(str(error)) from error
    found = data.get('rosbag2_bagfile_information') if isinstance(data, dict) else None
    if not isinstance(found, dict):
        raise BagError(f"{metadata}: expected 'rosbag2_bagfile_information' at the top")
    return found


def _unpacked(path: Path, folder: Path) -> Path:
    zstandard = library('zstandard')
    target = folder / path.stem
    try:
        with open_input(path) as source, target.open('wb') as output:
            reader = zstandard.ZstdDecompressor().stream_reader(source)
            most = shutil.disk_usage(folder).free // 2
            while part := reader.read(_PART):
                most -= len(part)
                if most < 0:
                    raise BagError(f'{path}: unpacked, it would take more than half of the free '
                                   f'space of {folder.parent}; unpack it where there is more '
                                   '(TMPDIR)')
                output.write(part)
    except (OSError, zstandard.ZstdError) as error:
        raise BagError(f'{path}: not a readable zstd file: {error}') from error
    return target
