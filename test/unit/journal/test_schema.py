# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A file whose tables are not those of a journal is refused, before it is read."""

from __future__ import annotations

import contextlib
from pathlib import Path
import sqlite3

from action_lifecycle.journal import Journal, JournalError, JournalReader
import pytest

ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT'


@pytest.mark.parametrize('change', [
    f'ALTER TABLE entry RENAME TO stored; CREATE VIEW entry AS {ENDLESS} i AS seq FROM n',
    'ALTER TABLE progress RENAME TO p; '
    f'CREATE VIEW progress AS {ENDLESS} i AS last_indexed FROM n',
    f'CREATE TRIGGER t AFTER INSERT ON entry BEGIN INSERT INTO progress {ENDLESS} i FROM n; END',
    'ALTER TABLE entry ADD COLUMN more BLOB AS (zeroblob(300000000))',
    'DROP TABLE progress; CREATE TABLE progress (last_indexed BLOB)',
    'DROP TABLE entry; CREATE TABLE entry (seq BLOB, kind BLOB)'])
def test_other_tables_are_refused(change: str, tmp_path: Path) -> None:
    path = tmp_path / 'a.journal'
    Journal(path).close()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(change)
    for look in (JournalReader, Journal):
        with pytest.raises(JournalError, match='has the tables entry and progress'):
            look(path)
