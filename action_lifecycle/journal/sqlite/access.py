# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Finds out why the file of a journal can't be opened.

The file itself is not opened for that: closing it would drop SQLite's locks in this process.
"""

from __future__ import annotations

import os
import pwd
import stat

from ..row import damaged, JournalError, NoJournal

REFUSALS = ('unable to open database file', 'attempt to write a readonly database')
"""Messages of SQLite that do not say which file or folder is the reason."""


def require_file(path: str, *, is_new: bool = False) -> None:
    """
    Raise NoJournal unless there is a file at `path` that this user may read.

    `is_new`: the file may be missing, but not its folder.
    """
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        what = _missing_folder(path)
        if is_new and not what:
            return
        raise NoJournal(f'{path}: there is no journal at this path{what}') from None
    except PermissionError:
        folder = _closed_folder(path)
        raise NoJournal(f"{path}: user '{_user()}' has no permission to look for a journal in the "
                        f'folder {folder}') from None
    if stat.S_ISDIR(found.st_mode):
        raise NoJournal(f'{path}: is a folder; expected the file of a journal')
    if not stat.S_ISREG(found.st_mode):
        raise NoJournal(f'{path}: is not a regular file; expected the file of a journal')
    if not _may(path, os.R_OK):
        raise NoJournal(f"{path}: user '{_user()}' has no permission to read this file")


def require_content(path: str) -> None:
    """Raise JournalError for an empty file with a nonempty WAL, which SQLite would delete."""
    if os.path.exists(path) and _size(path) == 0 < _size(path + '-wal'):
        raise damaged(path, 'the file is empty, but its WAL is not')


def refused(path: str, text: str) -> JournalError:
    """Return the error for one of REFUSALS, with the file or folder that is the reason."""
    for name in (path, path + '-wal', path + '-shm'):
        if os.path.exists(name) and not _may(name, os.R_OK):
            return JournalError(
                f"{path}: {text}: user '{_user()}' has no permission to read {name}")
    folder = os.path.dirname(path)
    if not os.path.exists(path + '-shm') and not _may(folder, os.W_OK):
        return JournalError(
            f"{path}: {text}: user '{_user()}' can't write to the folder {folder}, where SQLite "
            'needs a file beside the journal; copy the journal to another folder')
    if not _may(path, os.W_OK):
        return JournalError(f"{path}: {text}: user '{_user()}' can't write to this file")
    return JournalError(f'{path}: {text}')


def _missing_folder(path: str) -> str:
    """Say which folder on the way to `path` is none; '' if only the last part is missing."""
    folder = os.path.dirname(path)
    if os.path.isdir(folder):
        return ''
    while not os.path.lexists(folder):
        path, folder = folder, os.path.dirname(folder)
    return f': there is no folder {path}' if os.path.isdir(folder) else \
        f': {folder} is not a folder'


def _closed_folder(path: str) -> str:
    """Return the outermost folder of `path` that this user may not search."""
    folder = os.path.dirname(path)
    while folder != (outer := os.path.dirname(folder)) and not _may(outer, os.X_OK):
        folder = outer
    return folder


def _may(path: str, mode: int) -> bool:
    """Return whether the effective user, by which the kernel decides, has this permission."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _user() -> str:
    """Return the name of this user, or the number if there is no name, as in some containers."""
    user = os.geteuid()
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
