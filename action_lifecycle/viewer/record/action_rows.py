# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The rows of one action: what it was at each of them, and its times as bars."""

from __future__ import annotations

import bisect
from collections.abc import Iterator

from .shown import Bar, Shown
from ...journal.action_rows import BLOCKED, UNBLOCKED
from ...journal.row import Row
from ...lifecycle.action import ATTEMPT_EVENTS
from ...lifecycle.states import ActionState, blocked_text

ASSIGNED, TERMINATED = ActionState.ASSIGNED.value, ActionState.TERMINATED.value
NOTHING = Shown()
BY_PEOPLE = 'approval_required'
QUESTION_EVENTS = ('question_asked', 'question_answered', 'question_expired')


class ActionRows:
    """
    The rows of one action, in order.

    `rows`: all that name it, also notes about its questions and steps.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.rows: list[Row] = []
        self.now = NOTHING
        self._seqs: list[int] = []
        self._shown: list[Shown] = []
        self._bars: list[tuple[Bar, int]] = []  #: with the row that ends it, 0: none
        self._open: dict[str, int] = {}  #: index in `_bars` of what goes on
        self._drawn = 0  #: number of rows that are in `_bars`

    def take(self, row: Row) -> bool:
        """Take a row; returns whether it changes what is shown."""
        self.rows.append(row)
        if row.kind == 'transition':
            outcome = ''
            if row.to_state == TERMINATED:
                outcome = _text(row, 'outcome')
            failed = row.to_state == ActionState.ERROR and row.from_state != ActionState.ERROR
            self.now = Shown(row.to_state, outcome, row.attempt, row.wall_time, '', row.seq,
                             self.now.failures + failed)
        elif row.kind == 'note' and row.event in (BLOCKED, UNBLOCKED):
            self.now = self.now._replace(
                waits_for=blocked_text(row.cause) if row.event == BLOCKED else '', seq=row.seq)
        else:
            return False
        self._seqs.append(row.seq)
        self._shown.append(self.now)
        return True

    def at(self, seq: int | None) -> Shown:
        """Return what it was after the rows up to `seq`; None: now."""
        if seq is None:
            return self.now
        index = bisect.bisect_right(self._seqs, seq)
        return self._shown[index - 1] if index else NOTHING

    def until(self, seq: int | None) -> list[Row]:
        """Return the rows up to `seq`."""
        if seq is None or not self.rows or self.rows[-1].seq <= seq:
            return list(self.rows)
        return self.rows[:bisect.bisect_right(self.rows, seq, key=lambda row: row.seq)]

    def bars(self, seq: int | None = None) -> Iterator[Bar]:
        """Yield its states and waits up to `seq`; what goes on then has no end."""
        for row in self.rows[self._drawn:]:
            self._draw(row)
        self._drawn = len(self.rows)
        for bar, ended in self._bars:
            if seq is None or ended <= seq and bar.seq <= seq:
                yield bar
            elif bar.seq <= seq:
                yield bar._replace(end=None, outcome='')

    def _draw(self, row: Row) -> None:
        shown = self.at(row.seq)
        if row.kind == 'transition':
            self._end(row, *self._open, outcome=shown.outcome)
            if row.event in ATTEMPT_EVENTS and '"waited"' in row.data_json:
                waited = _number(row, 'waited')
                if waited > 0.0:
                    self._bars.append((Bar(
                        self.path, 'wait', 'resources', row.wall_time - waited, row.wall_time,
                        row.attempt, row.seq), row.seq))
            if row.to_state not in (ASSIGNED, TERMINATED):
                self._begin(row, shown, 'state', row.to_state)
        elif row.event in (BLOCKED, UNBLOCKED):
            self._end(row, 'wait')
            if row.event == BLOCKED:
                by_people = row.cause.startswith(BY_PEOPLE)
                self._begin(row, shown, 'wait', 'paused' if by_people else 'locked')
        elif row.event in QUESTION_EVENTS:
            key = f"question {_text(row, 'id')}"
            self._end(row, key)
            if row.event == 'question_asked':
                self._begin(row, shown, 'question', 'operator', key)

    def _begin(self, row: Row, shown: Shown, kind: str, name: str, key: str = '') -> None:
        self._open[key or kind] = len(self._bars)
        self._bars.append((Bar(
            self.path, kind, name, row.wall_time, None, shown.attempt, row.seq), 0))

    def _end(self, row: Row, *keys: str, outcome: str = '') -> None:
        for key in keys:
            index = self._open.pop(key, None)
            if index is not None:
                bar, _ = self._bars[index]
                self._bars[index] = bar._replace(
                    end=max(bar.start, row.wall_time),
                    outcome=outcome if bar.kind == 'state' else ''), row.seq


def _text(row: Row, name: str) -> str:
    value = row.data_or_empty.get(name, '')
    return value if isinstance(value, str) else ''


def _number(row: Row, name: str) -> float:
    value = row.data_or_empty.get(name)
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e12 else 0.0
