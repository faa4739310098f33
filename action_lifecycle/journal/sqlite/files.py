# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Checks that the paths of an open journal still lead to its files.

A file that was deleted, renamed or replaced still accepts writes, but its rows can't be found by
the path.
"""

from __future__ import annotations

import os

WHAT_TO_DO = ('nothing is recorded any more; end this process, put the files back if they were '
              'moved, then start it again')


def identity(path: str) -> tuple[int, int]:
    """Return device and inode of the file at `path`."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


class JournalFiles:
    """
    Detects that the database or its WAL was deleted, renamed or replaced; sets `lost`.

    `lost` stays set until the journal is opened again, since rows appended before the check may be
    missing in the file at the path.
    """

    def __init__(self, path: str) -> None:
        self.lost = ''  #: what happened and what to do
        self._path = path
        self._wal = path + '-wal'
        self._database = identity(path)
        self.wal = os.open(self._wal, os.O_RDWR | os.O_CLOEXEC)  #: a descriptor of the WAL file
        self._link = f'/proc/self/fd/{self.wal}'
        self._name = self._name_of_wal()

    def check(self) -> str:
        """Check the paths and return `lost`."""
        if not self.lost and (what := self._what_is_lost()):
            self.lost = f'{what}; {WHAT_TO_DO}'
        return self.lost

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.wal)

    def _what_is_lost(self) -> str:
        try:
            if identity(self._path) != self._database:
                return f'{self._path}: the file was replaced by another one while in use'
            name = self._name_of_wal()
        except OSError as error:
            return (f'{self._path}: the file was deleted or renamed while in use '
                    f'({error.strerror})')
        if name != self._name:
            return f'{self._wal}: the file was deleted, renamed or replaced while in use'
        return ''

    def _name_of_wal(self) -> str:
        """
        Return the current path of the WAL file; ends with ' (deleted)' if it was deleted.

        stat is not used: after it, the next write must update the file's times, and the sync waits
        for the journal of the file system (since Linux 6.13).
        """
        try:
            return os.readlink(self._link)
        except OSError:  # no /proc here
            return self._wal if os.access(self._wal, os.F_OK) else ''
