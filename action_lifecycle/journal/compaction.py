# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Removes rows that no open subject needs and that the ledger has.

Sequence numbers are never reused and rows are never rewritten, so a compacted journal has gaps.
The last 'snapshot' row verifies them: it has the count and the digest of all remaining rows up to
`through`, and `anchor`, the hash of row `through`, from which the chain continues.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
import sqlite3
from typing import Any, NamedTuple

from .row import damaged
from .sqlite.schema import LAST_INDEXED, LAST_OF_EACH

SNAPSHOT = 'snapshot'
PLANNED = 20  # batches planned at once, as finding the open rows scans the whole index

LAST_SNAPSHOT = f"""(SELECT max(seq) FROM (
    SELECT max(seq) AS seq FROM entry
    WHERE indexed = 1 AND flow_id = '' AND action_id = '' AND kind = '{SNAPSHOT}'
    UNION ALL
    SELECT max(seq) FROM entry NOT INDEXED WHERE seq > {LAST_INDEXED} AND kind = '{SNAPSHOT}'
))"""

_OPENS = f"final = 0 AND kind NOT IN ('note', '{SNAPSHOT}')"

REMOVABLE = f"""
WITH open AS MATERIALIZED (
    SELECT seq, kind, flow_id, action_id FROM entry
    WHERE {_OPENS} AND seq IN ({LAST_OF_EACH})
)
SELECT seq, flow_id, action_id FROM entry
WHERE seq <= :synced_to
AND seq NOT IN (SELECT seq FROM open)
AND (flow_id, action_id) NOT IN (SELECT flow_id, action_id FROM open WHERE action_id <> '')
AND flow_id NOT IN (SELECT flow_id FROM open WHERE kind = 'flow')
ORDER BY seq LIMIT :limit
"""


class Removal(NamedTuple):
    """Rows to remove (seq, flow_id, action_id), planned after `last_seq` was the last row."""

    rows: list[tuple[int, str, str]]
    last_seq: int


def remove(
    writer: sqlite3.Connection, removal: Removal, before: Mapping[str, Any], path: str
) -> dict[str, Any] | None:
    """
    Delete the planned rows, except those of actions and flows opened since.

    `before`: data of the last snapshot row, {} if there is none; `path` is for errors. Must be
    called in a write transaction. Returns the data of the new snapshot row, which must be appended
    in the same transaction, or None if nothing was deleted.
    """
    recent = writer.execute(
        f'SELECT flow_id, action_id, kind FROM entry WHERE seq > ? AND {_OPENS}',
        (removal.last_seq,)).fetchall()
    subjects = {(flow_id, action_id) for flow_id, action_id, _ in recent if action_id}
    flows = {flow_id for flow_id, _, kind in recent if kind == 'flow'}
    doomed = [seq for seq, flow_id, action_id in removal.rows
              if (flow_id, action_id) not in subjects and flow_id not in flows]
    if not doomed:
        return None
    through, anchor = before.get('through', 0), before.get('anchor', '')
    if doomed[-1] > through:
        through = doomed[-1]
        (anchor,) = writer.execute('SELECT CAST(hash AS TEXT) FROM entry WHERE seq = ?',
                                   (through,)).fetchone() or (None,)
        if anchor is None:
            raise damaged(path, f'row {through} has no hash')
    writer.executemany('DELETE FROM entry WHERE seq = ?', [(seq,) for seq in doomed])
    kept = [found for found, in writer.execute(
        'SELECT CAST(hash AS TEXT) FROM entry WHERE seq <= ? ORDER BY seq', (through,))]
    if None in kept:
        raise damaged(path, f'a row up to {through} has no hash')
    return {'through': through, 'anchor': anchor, 'removed': len(doomed), 'kept': len(kept),
            'kept_digest': digest(kept)}


def digest(hashes: list[str]) -> str:
    """Return the digest of the remaining rows, from their hashes in order."""
    return blake2b(''.join(hashes).encode(), digest_size=16).hexdigest()
