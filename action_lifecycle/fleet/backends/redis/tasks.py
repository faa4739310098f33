# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The tasks of sessions in Redis, shared by several processes and robots."""

from __future__ import annotations

from collections.abc import Mapping
import json
from typing import Any

from .connection import connect_blocking, ledger_errors, script_text
from .keys import session_history, session_lease, session_tasks
from ...smart_ledger import Happening, Lease, LedgerTask
from ....lifecycle.states import LedgerTaskStatus

KEEP = 30 * 86_400
"""Lifetime (s) of the keys of a session after its last change."""


class RedisTasks:
    """
    Tasks in the Redis server at `url`, whose clock determines when leases expire.

    Each call is one atomic round trip; it raises LedgerError if the server can't be reached.
    """

    def __init__(self, url: str) -> None:
        self._redis = connect_blocking(url)
        self._script = self._redis.register_script(script_text('tasks'))

    def claim(self, session: str, task_id: str, claimant: str, holder: str, lease: float) -> int:
        return self._run('claim', session, task_id, holder, claimant, int(lease * 1000))

    def heartbeat(self, session: str, task_id: str, holder: str, token: int, lease: float) -> bool:
        return self._run(
            'heartbeat', session, task_id, holder, token, int(lease * 1000)) == 1

    def release(self, session: str, task_id: str, holder: str, token: int, reason: str) -> bool:
        return self._run('release', session, task_id, holder, token, reason) == 1

    def put(
        self, session: str, task_id: str, holder: str, status: LedgerTaskStatus, reason: str
    ) -> bool:
        return self._run('put', session, task_id, holder, status.value, reason) == 1

    def lease(self, session: str, task_id: str) -> tuple[Lease, float] | None:
        with ledger_errors():
            found = self._redis.hgetall(session_lease(session, task_id))
            return valid_lease(found, self._redis.time())

    def tasks(self, session: str) -> dict[str, LedgerTask]:
        with ledger_errors():
            found = self._redis.hgetall(session_tasks(session))
        tasks = {}
        for task_id, text in found.items():
            status, reason, updated = json.loads(text)
            tasks[task_id] = LedgerTask(task_id, LedgerTaskStatus(status), reason, updated)
        return tasks

    def history(self, session: str) -> list[Happening]:
        with ledger_errors():
            found = self._redis.xrange(session_history(session))
        return [Happening(line['task_id'], line['event'], line['claimant'], int(line['token']),
                          line['reason'], int(number.partition('-')[0]) / 1000)
                for number, line in found]

    def close(self) -> None:
        """Close the connections."""
        self._redis.connection_pool.disconnect()

    def _run(self, what: str, session: str, task_id: str, *values: Any) -> int:
        keys = [session_lease(session, task_id), session_tasks(session), session_history(session)]
        with ledger_errors():
            return int(self._script(keys=keys, args=[what, task_id, *values, KEEP]))


def valid_lease(
    found: Mapping[str, str], now: tuple[int, int]
) -> tuple[Lease, float] | None:
    """Return a claim and the time (s) until it lapses, or None; `now`: server time (s, µs)."""
    if 'holder' not in found:
        return None
    left = int(found['until']) / 1000 - now[0] - now[1] * 1e-6
    if left <= 0:
        return None
    return Lease(found['claimant'], found['holder'], int(found['token'])), left
