# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Finds the newest flows of a large journal, and all rows of a flow, without reading other rows.

The flows of indexed rows are found by a few look-ups in the index for each. They are remembered,
so that later calls read new rows only.
"""

from __future__ import annotations

import bisect
from collections import OrderedDict
import os

from .flow_rows import PLAN
from .reader import CheckedRow, JournalReader
from .row import Row
from .sqlite.schema import COLUMNS, LAST_INDEXED

# The next flow id after one, and after those that nest in it: '0' follows '/'.
_INDEXED = """
WITH RECURSIVE found(id) AS (
    SELECT min(flow_id) FROM entry WHERE indexed = 1 AND flow_id > ''
    UNION ALL
    SELECT (SELECT min(flow_id) FROM entry WHERE indexed = 1 AND flow_id >= iif(
        instr(id, '/'), substr(id, 1, instr(id, '/') - 1) || '0', id || char(1)))
    FROM found WHERE id IS NOT NULL
)
SELECT id, 'flow', (SELECT min(seq) FROM entry WHERE indexed = 1 AND flow_id = id
                    AND action_id = '' AND kind = 'flow') FROM found WHERE instr(id, '/') = 0
UNION ALL
SELECT action_id, kind, min(seq) FROM entry
WHERE indexed = 1 AND flow_id = '' AND kind = :plan GROUP BY action_id
"""
_NEW = """
SELECT iif(kind = 'flow', flow_id, action_id), kind, seq FROM entry NOT INDEXED
WHERE seq > :after AND kind IN ('flow', :plan) AND instr(flow_id, '/') = 0 ORDER BY seq
"""
_LAST = f"""
SELECT {COLUMNS} FROM entry WHERE seq = (SELECT max(seq) FROM (
    SELECT max(seq) AS seq FROM entry WHERE indexed = 1
    AND flow_id = :flow_id AND action_id = :action_id AND kind = :kind
    UNION ALL
    SELECT max(seq) FROM entry NOT INDEXED WHERE seq > {LAST_INDEXED}
    AND flow_id = :flow_id AND action_id = :action_id AND kind = :kind))
"""
_SEQS = f"""
SELECT seq FROM entry WHERE indexed = 1 AND seq > :after AND flow_id = :flow_id
UNION ALL
SELECT seq FROM entry WHERE indexed = 1 AND seq > :after
AND flow_id > :flow_id || '/' AND flow_id < :flow_id || '0'
UNION ALL
SELECT seq FROM entry WHERE indexed = 1 AND seq > :after
AND flow_id = '' AND action_id = :flow_id AND kind = :plan
UNION ALL
SELECT seq FROM entry NOT INDEXED WHERE seq > max(:after, {LAST_INDEXED}) AND (
    flow_id = :flow_id OR flow_id > :flow_id || '/' AND flow_id < :flow_id || '0'
    OR flow_id = '' AND action_id = :flow_id AND kind = :plan)
ORDER BY seq
"""
LISTS = 4
"""Number of flows whose rows are known by their numbers, while their pages are fetched."""


class FlowReader(JournalReader):
    """A reader that also finds the newest flows, and requests to a planner without a flow."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self._known: dict[str, tuple[str, int]] = {}  #: kind and seq of the first row, by flow
        self._order: list[tuple[int, str]] = []  #: the same by seq, with the flow
        self._through = -1  #: seq up to which all rows are known; -1: none
        self._seqs: OrderedDict[str, tuple[int, list[int]]] = OrderedDict()
        #: by flow: a row, and all rows above it, while pages are fetched

    def newest_flows(self, before: int | None = None, limit: int = 50) -> list[Row]:
        """
        Return the first and the last row of kind 'flow' of each flow, the newest flow first.

        The first is 'accepted', unless compaction has removed it. `limit`: number of flows;
        `before`: only those whose first row has a lower number. A request to a planner without a
        flow has rows of kind 'plan' instead. Damaged rows are left out.
        """
        self._update()
        end = len(self._order) if before is None else bisect.bisect_left(
            self._order, (before, ''))
        found: list[Row] = []
        for _, flow_id in reversed(self._order[:end]):
            if limit <= 0:
                break
            rows = self._ends(flow_id, '', 'flow') or self._ends('', flow_id, PLAN)
            found += rows
            limit -= bool(rows)
        return found

    def flow_rows(self, flow_id: str, after: int, limit: int) -> list[CheckedRow]:
        """
        Return the next `limit` rows above `after` of a flow, in order, each with its fault.

        With the rows of the flows in it, and of its request to a planner. Fewer rows only if there
        are no more. Page by page, the index is read once. An empty id: the rows of all flows.
        """
        if not flow_id:
            return list(self.checked_rows(after=after, limit=limit))
        first, seqs = self._seqs.pop(flow_id, (0, []))
        found: list[CheckedRow] = []
        while len(found) < limit:
            start = bisect.bisect_right(seqs, after)
            if after < first or start == len(seqs):
                first, start, seqs = after, 0, [seq for seq, in self._ask(
                    _SEQS, {'flow_id': flow_id, 'after': after, 'plan': PLAN})]
            page = seqs[start:start + limit - len(found)]
            if not page:
                return found
            found += [CheckedRow(row, row.fault()) for row in map(Row._make, self._ask(
                f"SELECT {COLUMNS} FROM entry WHERE seq IN ({','.join(map(str, page))}) "
                'ORDER BY seq'))]  # compaction may have removed some of them meanwhile
            after = page[-1]
        if after != seqs[-1]:
            self._seqs[flow_id] = first, seqs
            if len(self._seqs) > LISTS:
                self._seqs.popitem(last=False)
        return found

    def _update(self) -> None:
        """Add the flows that the journal has since the last call."""
        last_seq = self.last_seq()
        found: list[tuple[str, str, int | None]] = []
        if self._through < 0:
            self._through = self._ask(f'SELECT {LAST_INDEXED}')[0][0]
            found += self._ask(_INDEXED, {'plan': PLAN})
        found += self._ask(_NEW, {'plan': PLAN, 'after': self._through})
        self._through = max(self._through, last_seq)
        for flow_id, kind, seq in found:
            before = self._known.get(flow_id)
            if seq is None or before is not None and (before[0] == 'flow' or kind == PLAN):
                continue
            if before is not None:  # the flow of a request
                self._order.remove((before[1], flow_id))
            self._known[flow_id] = kind, seq
            bisect.insort(self._order, (seq, flow_id))

    def _ends(self, flow_id: str, action_id: str, kind: str) -> list[Row]:
        """Return the first and the last row of a subject, without damaged ones."""
        subject = {'flow_id': flow_id, 'action_id': action_id, 'kind': kind}
        first = next(self.checked_rows(
            flow_id=flow_id, action_id=action_id, kind=kind, limit=1), None)
        if first is None:
            return []
        rows = {first.row.seq: first.row} if not first.fault else {}
        for row in map(Row._make, self._ask(_LAST, subject)):
            if row.intact():
                rows.setdefault(row.seq, row)
        return list(rows.values())
