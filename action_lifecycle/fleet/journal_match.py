# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Compares a journal with the rows of a ledger that does not continue it, and says what they share.

Each hash covers the row before it. So if both have a row with the same hash, they have the same
rows up to there, and belong to one journal.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
import os
import socket
from typing import NamedTuple

from .ledger import Rows
from ..journal.reader import JournalReader
from ..journal.row import JournalError, Row

SAMPLES = 200
"""Maximum number of rows before the last compaction that are looked up in the ledger."""


class Match(NamedTuple):
    """
    What a journal and a ledger share.

    `common`: the last row that both have, 0 if there is none; `differs`: whether they have a row
    of the same number with different hashes; `newest`: the last row of the ledger; `origin`: host
    and path of the journal that wrote it, if known; `own`: those of the compared journal.
    """

    common: int
    differs: bool
    newest: Row | None
    origin: tuple[str, str]
    own: tuple[str, str]

    def is_of_other_journal(self) -> bool:
        """Return whether another computer, or a journal at another path, wrote the ledger."""
        return any(theirs not in ('', ours)
                   for theirs, ours in zip(self.origin, self.own, strict=True))

    def writer(self) -> str:
        """Return a string that says whose rows the ledger has."""
        host, journal = self.origin
        parts = [f'host {host}'] if host else []
        parts += [f'journal {journal}'] if journal else []
        if self.newest is not None:
            parts.append(f'boot id {self.newest.boot_id}')
        return 'of ' + ', '.join(parts) if parts else 'of an unknown writer'

    def written(self) -> str:
        """Return a string that says when the last row of the ledger was written."""
        time = datetime.fromtimestamp(
            self.newest.wall_time if self.newest is not None else 0.0, timezone.utc)
        return f'the last one of {time:%Y-%m-%d %H:%M:%S} UTC'


def compare(reader: JournalReader, rows: Rows) -> Match:
    """Return what a journal and the rows of a ledger share; blocks. Raises LedgerUnavailable."""
    last, through, newest = reader.last_seq(), _through(reader), rows.newest_row()
    low, high = through + 1, min(last, newest.seq if newest is not None else 0)
    common, differs = 0, False
    while low <= high:
        middle = (low + high) // 2
        found = _compare_at(reader, rows, middle)
        if found is None:  # the ledger has no row from here up to the end of the journal
            high = middle - 1
        elif found > 0:
            common = found
            low = found + 1
        else:
            differs = True
            high = middle - 1
    if not common:
        common, kept_differ = _compare_kept(reader, rows, through)
        differs = differs or kept_differ
    return Match(common, differs, newest, rows.origin(), writer_of(reader.path))


def only_in_ledger(reader: JournalReader, rows: Rows) -> Iterator[Row]:
    """Yield the rows of a ledger that the journal does not have, in order."""
    ours = reader.rows()
    here = next(ours, None)
    for row in rows.readable_rows():
        while here is not None and here.seq < row.seq:
            here = next(ours, None)
        if here is None or (here.seq, here.hash) != (row.seq, row.hash):
            yield row


def writer_of(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Return host and path of a journal, which a ledger stores with its rows."""
    return socket.gethostname(), os.path.realpath(path)


def _compare_at(reader: JournalReader, rows: Rows, seq: int) -> int | None:
    """Return the first row of the ledger from `seq` on, negative if the journal's differs."""
    for theirs in rows.readable_rows(after=seq - 1, limit=1):
        for ours in reader.rows(after=theirs.seq - 1, limit=1):
            if ours.seq == theirs.seq:
                return theirs.seq if ours.hash == theirs.hash else -theirs.seq
    return None


def _compare_kept(reader: JournalReader, rows: Rows, through: int) -> tuple[int, bool]:
    """Return the last common row up to the last compaction, and whether another row differs."""
    differs = False
    kept = [row for row in reader.rows() if row.seq <= through] if through else []
    for row in kept[:-SAMPLES - 1:-1]:
        theirs = _row(rows, row.seq)
        if theirs is not None and theirs.hash == row.hash:
            return row.seq, differs
        differs = differs or theirs is not None
    return 0, differs


def _row(rows: Rows, seq: int) -> Row | None:
    """Return a row of the ledger; None if it is missing."""
    return next((row for row in rows.readable_rows(after=seq - 1, limit=1) if row.seq == seq),
                None)


def _through(reader: JournalReader) -> int:
    """Return the last row that compaction may have removed from the journal."""
    try:
        snapshot = reader.snapshot()
    except JournalError:
        return 0
    return int(snapshot.data['through']) if snapshot else 0
