# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Removing rows that nothing open needs and that the ledger of the fleet has.

Sequence numbers are never reused and rows never rewritten, so a compacted journal has gaps. The
last 'snapshot' row vouches for them: all rows up to its `through` that are still there are
counted and digested in it, and the chain goes on from `anchor`, the hash of row `through`.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
import sqlite3
from typing import Any, NamedTuple

from .journal_row import damaged
from .journal_schema import LAST_INDEXED, LAST_OF_EACH

SNAPSHOT = 'snapshot'
PLANNED = 20  # batches planned at once: to see what is open takes a look at the whole index

LAST_SNAPSHOT = f"""(SELECT max(seq) FROM (
    SELECT max(seq) AS seq FROM entry
    WHERE indexed = 1 AND flow_id = '' AND action_id = '' AND kind = '{SNAPSHOT}'
    UNION ALL
    SELECT max(seq) FROM entry NOT INDEXED WHERE seq > {LAST_INDEXED} AND kind = '{SNAPSHOT}'
))"""

_OPENS = f"final = 0 AND kind NOT IN ('note', '{SNAPSHOT}')"

_REMOVABLE = f"""
WITH open AS MATERIALIZED (
    SELECT seq, kind, flow_id, action_id FROM entry
    WHERE {_OPENS} AND seq IN ({LAST_OF_EACH})
)
SELECT seq, flow_id, action_id FROM entry
WHERE seq <= ?
AND seq NOT IN (SELECT seq FROM open)
AND (flow_id, action_id) NOT IN (SELECT flow_id, action_id FROM open WHERE action_id <> '')
AND flow_id NOT IN (SELECT flow_id FROM open WHERE kind = 'flow')
ORDER BY seq LIMIT ?
"""


class Removal(NamedTuple):
    """Rows to remove (seq, flow_id, action_id), as seen when `last_seq` was the last row."""

    rows: list[tuple[int, str, str]]
    last_seq: int


def plan_removal(reader: sqlite3.Connection, synced_to: int, limit: int) -> Removal:
    """Return the first `limit` rows up to `synced_to` that can go."""
    reader.execute('BEGIN')
    try:
        last_seq: int = reader.execute('SELECT ifnull(max(seq), 0) FROM entry').fetchone()[0]
        return Removal(reader.execute(_REMOVABLE, (synced_to, limit)).fetchall(), last_seq)
    finally:
        reader.execute('ROLLBACK')


def remove(
    writer: sqlite3.Connection, removal: Removal, before: Mapping[str, Any], path: str
) -> dict[str, Any] | None:
    """
    Delete the planned rows, but not those of actions and flows that were opened since.

    `before` is the data of the snapshot row before, {} if there was none; `path` is for errors. To
    be called in a write transaction; returns the data of the snapshot row, to be appended in the
    same one, or None if nothing was deleted.
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
        anchor = writer.execute('SELECT hash FROM entry WHERE seq = ?', (through,)).fetchone()[0]
    writer.executemany('DELETE FROM entry WHERE seq = ?', [(seq,) for seq in doomed])
    kept = [found for found, in writer.execute(
        'SELECT CAST(hash AS TEXT) FROM entry WHERE seq <= ? ORDER BY seq', (through,))]
    if None in kept:
        raise damaged(path, f'a row up to {through} has no hash')
    return {'through': through, 'anchor': anchor, 'removed': len(doomed), 'kept': len(kept),
            'kept_digest': digest(kept)}


def digest(hashes: list[str]) -> str:
    """Return the digest of the rows that a compaction has kept, in order."""
    return blake2b(''.join(hashes).encode(), digest_size=16).hexdigest()
