# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Begins the ledger of a robot anew from its journal.

Rows that only the ledger has are saved to a file before anything is removed. A rebuild that was
interrupted can be repeated; until then the ledger is either unchanged, or refuses rows, or has the
first rows of the journal, which the ledger node continues.
"""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import chain
import os
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from .errors import LedgerRefused
from .journal_match import only_in_ledger
from .ledger import Ledger
from .sync import bring, match_with, mismatch
from ..documents.durable_file import replacing
from ..journal.export import json_line
from ..journal.reader import JournalReader
from ..journal.row import JournalError
from ..journal.verify import verify_journal


class Rebuilt(NamedTuple):
    """The result: removed keys, last row, last compacted row, rows saved and their file."""

    removed: int
    last: int
    compacted: int  #: 0: the journal was not compacted
    saved: int = 0
    file: str = ''  #: '' if the ledger had no other rows than the journal


async def rebuild(
    path: str | os.PathLike[str], ledger: Ledger, *, other_journal: bool = False,
    folder: str | os.PathLike[str] | None = None,
) -> Rebuilt:
    """
    Remove all keys of a ledger's robot and fill it from the journal at `path`.

    Rows that only the ledger has are saved in `folder` (default: that of the journal). The ledger
    node may be running; no row is written twice. Raises, before anything is removed: JournalError
    if the journal is damaged or the rows can't be saved; LedgerRefused if the ledger is of another
    journal, unless `other_journal` is given.
    """
    with JournalReader(path) as reader:
        last = reader.last_seq()
        if faults := verify_journal(path):
            raise JournalError(f'{path}: {faults[0]}; nothing was removed')
        match = await match_with(reader, ledger)
        if match.newest is not None and not match.common and not other_journal and (
                match.differs or match.is_of_other_journal() or match.newest.seq > last):
            raise LedgerRefused(mismatch(match, match.newest.seq, last, path, ledger)
                                + '; nothing was removed')
        saved = _SavedRows(Path(folder) if folder else Path(reader.path).parent, ledger)
        removed = await ledger.clear(lambda: saved.write(reader))
        cursor = await ledger.cursor()
        while cursor.seq < last:
            await bring(reader, ledger, cursor)
            cursor = await ledger.cursor()
        match = await match_with(reader, ledger)
        if last and match.common < last:
            raise LedgerRefused(mismatch(match, cursor.seq, last, path, ledger))
        snapshot = reader.snapshot()
    return Rebuilt(removed, last, int(snapshot.data['through']) if snapshot else 0,
                   saved.count, saved.file)


class _SavedRows:
    """Saves the rows that only the ledger has to a new file in `folder`, as JSON lines."""

    def __init__(self, folder: Path, ledger: Ledger) -> None:
        self.count = 0
        self.file = ''
        self._folder = folder
        self._ledger = ledger

    def write(self, reader: JournalReader) -> None:
        """Write the file, if there is such a row; raises JournalError."""
        rows = self._ledger.reader()
        now = datetime.now(timezone.utc)
        path = self._folder / (f"{quote(self._ledger.robot, safe='')}.ledger-rows-"
                               f'{now:%Y%m%dT%H%M%S.%fZ}.jsonl')
        try:
            found = only_in_ledger(reader, rows)
            first = next(found, None)
            if first is None:
                return
            with replacing(path) as part, open(
                    part, 'w', encoding='utf-8') as file:
                for row in chain((first,), found):
                    file.write(json_line(row))
                    self.count += 1
            self.file = str(path)
        except OSError as error:
            raise JournalError(
                f"{path}: can't save the rows that only the ledger has: "
                f'{error.strerror or error}; nothing was removed') from error
        finally:
            rows.close()
