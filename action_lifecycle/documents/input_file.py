# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Opens files that somebody names.

What is no regular file is refused before it is opened: a FIFO or a terminal would block, a device
may never end.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from typing import BinaryIO

MAX_TEXT = 64 << 20
"""Maximum size (bytes) of a file of text that has no limit of its own."""
_KINDS = {stat.S_IFIFO: 'a FIFO', stat.S_IFCHR: 'a device', stat.S_IFBLK: 'a device',
          stat.S_IFSOCK: 'a socket', stat.S_IFDIR: 'a folder'}


def require_regular(path: str | os.PathLike[str]) -> None:
    """Raise OSError unless there is a regular file at `path`, also through links."""
    try:
        _require(os.stat(path).st_mode, path)
    except ValueError as error:  # a NUL in the name
        raise OSError(errno.EINVAL, str(error), os.fspath(path)) from error


def open_input(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; raises OSError, and never blocks."""
    require_regular(path)  # first: opening a FIFO would let its writer go on
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        _require(os.fstat(descriptor).st_mode, path)  # it may be another one by now
        return os.fdopen(descriptor, 'rb')
    except BaseException:
        os.close(descriptor)
        raise


def read_text(path: str | os.PathLike[str], encoding: str = 'utf-8') -> str:
    """Return the text of a regular file; raises OSError, or UnicodeDecodeError."""
    with open_input(path) as file:
        content = file.read(MAX_TEXT + 1)
    if len(content) > MAX_TEXT:
        raise OSError(
            errno.EFBIG, f'larger than the limit of {MAX_TEXT} bytes', os.fspath(path))
    return io.IncrementalNewlineDecoder(None, translate=True).decode(
        content.decode(encoding), final=True)


def _require(mode: int, path: str | os.PathLike[str]) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), 'something else')
        raise OSError(errno.EINVAL, f'expected a regular file, not {kind}', os.fspath(path))
