# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads the ledger of one robot in Redis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import contextlib
from typing import Any

from .connection import close_blocking, connect_blocking, ledger_errors
from .keys import robot_events, robot_meta, robot_subject
from ...errors import LedgerError
from ...ledger import Rows
from ....journal.row import Row

PAGE = 500
FOREIGN = 20  # entries that are looked at together for the last row

_COLUMN_TYPES: dict[str, Any] = {
    'seq': int, 'attempt': int, 'final': lambda text: text == '1',
    'ros_time': lambda text: float(text) if text else None, 'boot_time': float, 'wall_time': float}


class RedisReader(Rows):
    """
    Reads the ledger with the methods of JournalReader that a Projection needs.

    Calls block and raise LedgerError if the server can't be reached.
    """

    def __init__(self, url: str, robot: str = 'robot') -> None:
        self._redis = connect_blocking(url)
        self.robot = robot

    def last_seq(self) -> int:
        """Return the sequence number of the last row; 0 if there is none."""
        key = robot_meta(self.robot)
        with ledger_errors(self._redis, key):
            found = self._redis.hget(key, 'seq') or '0'
        if not found.isdecimal():
            raise LedgerError(
                f"ledger of robot '{self.robot}': key {key} has seq '{found}', expected a "
                'number: it is being rebuilt, or something else wrote to it')
        return int(found)

    def rows(
        self, *, flow_id: str | None = None, action_id: str | None = None,
        kind: str | None = None, after: int = 0, limit: int | None = None,
    ) -> Iterator[Row]:
        """Yield the matching rows with a sequence number above `after`, in order."""
        wanted = {name: value for name, value in (
            ('flow_id', flow_id), ('action_id', action_id), ('kind', kind)) if value is not None}
        while True:
            with ledger_errors(self._redis, robot_events(self.robot)):
                page = self._redis.xrange(robot_events(self.robot), f'{after + 1}-0', count=PAGE)
            for entry, fields in page:
                row = self._row(entry, fields)
                after = row.seq
                if any(fields[name] != value for name, value in wanted.items()):
                    continue
                if limit is not None:
                    limit -= 1
                    if limit < 0:
                        return
                yield row
            if len(page) < PAGE:
                return

    def readable_rows(self, *, after: int = 0, limit: int | None = None) -> Iterator[Row]:
        key = robot_events(self.robot)
        with ledger_errors(self._redis, key):
            if self._redis.type(key) != 'stream':
                return
        start = f'{after + 1}-0'
        while limit is None or limit > 0:
            with ledger_errors(self._redis, key):
                page = self._redis.xrange(key, start, count=min(limit or PAGE, PAGE))
            for entry, fields in page:
                start = f'({entry}'
                with contextlib.suppress(LedgerError):
                    yield self._row(entry, fields)
                    if limit is not None:
                        limit -= 1
            if not page:
                return

    def newest_row(self) -> Row | None:
        key, end = robot_events(self.robot), '+'
        while True:
            with ledger_errors(self._redis, key):
                page = self._redis.xrevrange(key, end, count=FOREIGN) \
                    if self._redis.type(key) == 'stream' else []
            for entry, fields in page:
                end = f'({entry}'
                with contextlib.suppress(LedgerError):
                    return self._row(entry, fields)
            if not page:
                return None

    def origin(self) -> tuple[str, str]:
        key = robot_meta(self.robot)
        with ledger_errors(self._redis, key):
            if self._redis.type(key) != 'hash':
                return '', ''
            host, journal = self._redis.hmget(key, 'host', 'journal')
        return host or '', journal or ''

    def subject_rows(
        self, flow_id: str, kind: str = 'flow', action_id: str = ''
    ) -> Iterator[Row]:
        """Yield the rows of a subject, without a search before its first and behind its last."""
        with ledger_errors(self._redis):
            first, last, final = self._redis.hmget(
                robot_subject(self.robot, kind, flow_id, action_id), 'opened', 'seq', 'final')
        for row in self.rows(flow_id=flow_id, after=int(first or 1) - 1):
            yield row
            if final == '1' and row.seq >= int(last):
                return

    def record(self, flow_id: str, action_id: str) -> Mapping[str, str]:
        with ledger_errors(self._redis):
            found: Mapping[str, str] = self._redis.hgetall(
                robot_subject(self.robot, 'transition', flow_id, action_id))
        return found

    def _row(self, entry: str, fields: Mapping[str, str]) -> Row:
        try:
            row = Row._make(
                _COLUMN_TYPES.get(name, str)(fields[name]) for name in Row._fields)
            if entry == f'{row.seq}-0':
                return row
        except (KeyError, ValueError):
            pass
        raise LedgerError(f'ledger: entry {entry} of key {robot_events(self.robot)} is no row of '
                          'a journal: something else has written it')

    def close(self) -> None:
        """Close the connections."""
        close_blocking(self._redis)
