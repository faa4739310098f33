# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Checks that the paths of an open journal still lead to its files, and that these have its rows.

A file that was deleted, renamed or replaced still accepts writes, but its rows can't be found by
the path. A file that was truncated or overwritten does, too, and SQLite may not notice, as it
keeps pages in memory.
"""

from __future__ import annotations

from collections.abc import Callable
import os
import sqlite3
import struct
import sys
import threading
from urllib.parse import quote

from .schema import said, SQLITE_ERRORS

WHAT_TO_DO = ('nothing is recorded any more; end this process, put the files back if they were '
              'moved, or a good copy, then start it again')
DATABASE = b'SQLite format 3\0'
WAL = (b'\x37\x7f\x06\x82', b'\x37\x7f\x06\x83')
"""The first bytes of the files (https://www.sqlite.org/fileformat.html)."""
WAL_HEADER, FRAME_HEADER = 32, 24  # bytes
INDEX_VERSION = 3007000
_INDEX = struct.Struct('=I12xI4x8s8s')
"""
The header of the wal-index (https://www.sqlite.org/walformat.html): version, number of the last
frame, its checksum and the salts of the WAL.
"""
BUSY_S = 1.0  # maximum time (s) that a check waits for a foreign lock on the file


def identity(path: str) -> tuple[int, int]:
    """Return device and inode of the file at `path`."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


class JournalFiles:
    """
    Detects that database or WAL were deleted, renamed, replaced or overwritten; sets `lost`.

    `lost` stays set until the journal is opened again, since rows appended before the check may be
    missing in the file at the path. `database` and `index`: descriptors of the database and of its
    wal-index. `last_row()` returns sequence number and hash of the row that was written last; it
    is constant while `appending` is held.
    """

    def __init__(
        self, path: str, database: int, index: int, last_row: Callable[[], tuple[int, str]],
        appending: threading.Lock,
    ) -> None:
        self.lost = ''  #: what happened and what to do
        self._path = path
        self._descriptor, self._index = database, index
        self._last_row = last_row
        self._appending = appending
        self._size = 0  #: of the database at the last check
        self._frame = b'', 0  #: salts of the WAL and number of its last frame at the last check
        self._checking = threading.Lock()
        self._wal = path + '-wal'
        self._database = identity(path)
        self.wal = os.open(self._wal, os.O_RDWR | os.O_CLOEXEC)  #: a descriptor of the WAL file
        self._link = f'/proc/self/fd/{self.wal}'
        self._name = self._name_of_wal()
        self._connection = sqlite3.connect(
            f'file:{quote(os.fsencode(path))}?mode=ro', uri=True, timeout=BUSY_S,
            isolation_level=None, check_same_thread=False)

    def check(self, *, rows: bool = True) -> str:
        """Check the paths and, with `rows`, that the last row is there; returns `lost`."""
        with self._checking:
            if not self.lost and (what := self._what_is_lost() or (
                    self._what_is_overwritten() if rows else '')):
                self.lost = f'{what}; {WHAT_TO_DO}'
        return self.lost

    def close(self) -> None:
        """Close the descriptor and the connection."""
        self._connection.close()
        os.close(self.wal)

    def _what_is_overwritten(self) -> str:
        """
        Compare the files with what was written last, past all that SQLite has in memory.

        A database never shrinks but by a VACUUM of another program, after which its header is
        that of its size; while pages are copied into it, its header may be ahead.
        """
        while not self._frames_are_there(index := os.pread(self._index, _INDEX.size, 0)):
            if index == os.pread(self._index, _INDEX.size, 0):  # else rows were written meanwhile
                return f'{self._wal}: the file was overwritten or truncated while in use'
        header = os.pread(self._descriptor, 100, 0)
        size, self._size = self._size, os.fstat(self._descriptor).st_size
        pages = int.from_bytes(header[28:32], 'big') * int.from_bytes(header[16:18], 'big')
        if not header.startswith(DATABASE) or self._size < min(size, pages):
            return f'{self._path}: the file was overwritten or truncated while in use'
        seq, fault = self._last_row_fault()
        if fault:  # a row may be removed between its commit and `last_row`
            with self._appending:
                seq, fault = self._last_row_fault()
        return f'{self._path}: the file was overwritten or truncated while in use: row {seq}, ' \
            f'the last one, {fault}' if fault else ''

    def _frames_are_there(self, index: bytes) -> bool:
        """
        Return whether the WAL has its last frame, and the one that was the last before.

        `index`: the header of the wal-index. A file that was cut and appended to since has zeros
        where the frame before was.
        """
        version, last, checksum, salts = _INDEX.unpack(index)
        if version != INDEX_VERSION or not last:  # without a frame, the row of the database tells
            return True
        header = os.pread(self.wal, WAL_HEADER, 0)
        size = FRAME_HEADER + int.from_bytes(header[8:12], 'big')

        def frame(number: int) -> bytes:
            start = WAL_HEADER + (number - 1) * size
            found = os.pread(self.wal, FRAME_HEADER, start)
            return found if os.pread(self.wal, 1, start + size - 1) else b''

        written = b''.join(
            int.from_bytes(checksum[at:at + 4], sys.byteorder).to_bytes(4, 'big') for at in (0, 4))
        if header[:4] not in WAL or header[16:24] != salts or frame(last)[8:24] != salts + written:
            return False
        before, self._frame = self._frame, (salts, last)
        return bool(before[0] != salts or frame(before[1])[8:16] == salts)

    def _last_row_fault(self) -> tuple[int, str]:
        """Return the number of the last row, and why it is not there, '' if it is."""
        last = self._last_row()
        try:
            self._connection.execute('PRAGMA shrink_memory').fetchall()  # to read the file itself
            found = self._connection.execute(
                'SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1').fetchall()
        except sqlite3.OperationalError as error:
            if 'locked' in str(error):  # by another program; nothing is known
                return last[0], ''
            return last[0], f'can not be read: {said(error)}'
        except SQLITE_ERRORS as error:
            return last[0], f'can not be read: {said(error)}'
        if found == ([last] if last[0] else []):
            return last[0], ''
        return last[0], 'is not there as it was written'

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
