# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Verifies a journal: pages, index, hashes, sequence, and sequences of states."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
import os
from typing import Any, NamedTuple

from .compaction import digest
from .reader import JournalReader
from .row import JournalError, Row

MAX_FAULTS = 100


class JournalFault(NamedTuple):
    """A fault and its row (0: of the file)."""

    seq: int
    message: str

    def __str__(self) -> str:
        return f'row {self.seq}: {self.message}' if self.seq else self.message


def verify_journal(
    path: str | os.PathLike[str], limit: int | None = MAX_FAULTS
) -> list[JournalFault]:
    """
    Return the faults of a journal: damaged pages first, then bad rows in order, at most `limit`.

    The writer may run meanwhile. Rows removed at the end can't be detected in the file, only by
    the ledger of the fleet. Raises JournalError if there is no readable journal.
    """
    with _Verifier(path) as verifier:
        return list(islice(verifier.faults(), limit))


class _Verifier(JournalReader):

    def faults(self) -> Iterator[JournalFault]:
        """Yield all faults, in one read transaction."""
        try:
            self._ask('BEGIN')
            for text, in self._ask(f'PRAGMA integrity_check({MAX_FAULTS})'):
                if text != 'ok':
                    yield JournalFault(0, f'damaged: {text}')
            yield from self._row_faults()
            yield from self._index_faults()
        except JournalError as error:
            yield JournalFault(0, str(error).removeprefix(f'{self.path}: '))

    def _index_faults(self) -> Iterator[JournalFault]:
        """Yield the rows for which the index and `last_indexed` disagree."""
        for seq, in self._ask(
                'SELECT seq FROM entry NOT INDEXED, progress '
                f'WHERE indexed IS NOT (seq <= last_indexed) ORDER BY seq LIMIT {MAX_FAULTS}'):
            yield JournalFault(seq, "the index and its mark 'last_indexed' disagree on this row")

    def _row_faults(self) -> Iterator[JournalFault]:
        snapshot: dict[str, Any] = {
            'through': 0, 'anchor': '', 'kept': 0, 'kept_digest': digest([])}
        for row, fault in self._last_snapshot():
            if fault:
                yield JournalFault(row.seq, f'{fault}; it is the snapshot that verifies all '
                                   'gaps before it')
                return
            snapshot = row.data
        through: int = snapshot['through']
        kept: list[str] = []
        last_seq, last_hash = 0, ''
        walks: dict[tuple[str, str], Row] = {}
        for row, fault in self.checked_rows():
            if last_seq <= through < row.seq:
                if (len(kept), digest(kept)) != (snapshot['kept'], snapshot['kept_digest']):
                    yield JournalFault(through, f'up to here compaction kept {snapshot["kept"]} '
                                       f'rows; now there are {len(kept)}, or others')
                last_seq, last_hash = through, snapshot['anchor']
            if row.seq <= through:
                kept.append(str(row.hash))
            elif row.seq != last_seq + 1:
                yield JournalFault(last_seq + 1, f'missing; row {row.seq} follows {last_seq}')
            if fault:
                yield JournalFault(row.seq, fault)
            if row.seq == last_seq + 1 and row.prev_hash != last_hash:
                yield JournalFault(row.seq, f'does not continue row {last_seq}')
            if row.kind == 'transition' and not fault:
                yield from _walk_faults(walks, row)
            last_seq, last_hash = row.seq, row.hash


def _walk_faults(walks: dict[tuple[str, str], Row], row: Row) -> Iterator[JournalFault]:
    """Yield the faults of a transition compared with the last one of its action."""
    last = walks.get((row.flow_id, row.action_id))
    walks[row.flow_id, row.action_id] = row
    if last is None:
        return
    if row.attempt < last.attempt:
        yield JournalFault(row.seq, f'attempt {row.attempt} of {row.action_id} after attempt '
                           f'{last.attempt} (row {last.seq})')
    if row.from_state != last.to_state and (row.from_state or row.attempt == last.attempt):
        yield JournalFault(row.seq, f"{row.action_id} leaves '{row.from_state}', but row "
                           f"{last.seq} left it in '{last.to_state}'")
