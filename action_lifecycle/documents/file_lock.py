# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Allows one writer of a file."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket

from .errors import LifecycleError

HOLDER_BYTES = 256
"""Size of the text about the holder, at the begin of the lock file; what follows it is kept."""


def take_lock(path: str, error: type[LifecycleError]) -> int:
    """
    Lock `path`.lock for this process; the kernel releases it when the process ends.

    Returns the descriptor to close. Raises `error`, with pid and host of the holder, if another
    writer has the lock; or OSError.
    """
    name = path + '.lock'
    with contextlib.ExitStack() as undo:
        lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        undo.callback(os.close, lock)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(lock, HOLDER_BYTES).decode(errors='replace').strip() \
                or 'another process'
            raise error(f'{path}: already open for writing by {holder} (lock file {name})'
                        ) from None
        holder = f'pid {os.getpid()} on host {socket.gethostname()}'
        os.pwrite(lock, f'{holder:{HOLDER_BYTES - 1}}\n'.encode(), 0)
        undo.pop_all()
    return lock
