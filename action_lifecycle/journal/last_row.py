# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The note of the last row of a journal, in its lock file.

It is written at each barrier, so before each motion, and tells at the next start whether rows are
missing: the WAL was deleted, or an older copy or the journal of another robot was put in place.
"""

from __future__ import annotations

import logging
import os
import re

from .reader import JournalReader
from ..documents.file_lock import HOLDER_BYTES
from ..documents.input_file import open_input

NOTE_BYTES = 128
_NOTE = re.compile(r'row (\d{1,19}) ([0-9a-f]{8,128}) *\n\Z')
_log = logging.getLogger('action_lifecycle.journal')


def note_last_row(lock: int, seq: int, row_hash: str) -> None:
    """Write the note; `lock`: descriptor of the lock file. It is not synced."""
    text = f'row {seq} {row_hash}' if seq else ''
    try:
        os.pwrite(lock, f'{text:{NOTE_BYTES - 1}}\n'.encode(), HOLDER_BYTES)
    except OSError as error:  # the row itself is safe
        _log.warning('the last row can not be noted in the lock file: %s', error.strerror)


def noted_last_row(path: str) -> tuple[int, str] | None:
    """Return number and hash of the row that was the last one of the journal at `path`, if any."""
    try:
        with open_input(path + '.lock') as file:
            file.seek(HOLDER_BYTES)
            found = _NOTE.match(file.read(NOTE_BYTES).decode('ascii', 'replace'))
    except OSError:
        return None
    return (int(found[1]), found[2]) if found else None


def missing_rows(journal: JournalReader, noted: tuple[int, str] | None) -> str:
    """Return why a journal is not the one, or not all of it, in which a row was noted."""
    if noted is None:
        return ''
    seq, row_hash = noted
    last = journal.last_seq()
    if last < seq:
        return f'row {seq} was written, but the last one is {last}'
    row = next(iter(journal.rows(after=seq - 1)), None)
    if row is not None and row.seq == seq and row.hash != row_hash:
        return f'row {seq} is not the one that was written'
    return ''  # a row that is not there was removed by a compaction, which appends one
