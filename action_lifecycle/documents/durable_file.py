# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writes files that must be complete or absent after a crash or power failure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """
    Yield the path of a new file, which replaces `path` at the end.

    If the code inside fails, the new file is removed and `path` stays as it is. Raises OSError.
    """
    path = Path(path)
    part = path.with_name(f'.{path.name}.{os.getpid()}.part')
    try:
        yield part
        _sync(part, os.O_RDONLY)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(path)


def sync_folder(path: str | Path) -> None:
    """Write the folder of a file to the disk, after the file was created or removed."""
    _sync(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
