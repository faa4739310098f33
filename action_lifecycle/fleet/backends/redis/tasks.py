# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The tasks of sessions in Redis, shared by several processes and robots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import shlex
from typing import Any

from .connection import close_blocking, connect_blocking, ledger_errors
from .keys import session_history, session_lease, session_tasks
from .replication import BlockingReplication
from .scripts import script
from ...errors import LedgerError
from ...smart_ledger import Happening, Lease, LedgerTask
from ...work_status import id_time
from ....documents.errors import LifecycleError
from ....documents.json_text import read_json
from ....lifecycle.states import LedgerTaskStatus

KEEP = 30 * 86_400
"""Lifetime (s) of the keys of a session after its last change."""
LEASE_SCRIPT = script('types', 'lease')
_ACKNOWLEDGED = ('claim', 'heartbeat')
_SCRIPT = script('types', 'tasks')


class RedisTasks:
    """
    Tasks in the Redis server at `url`, whose clock determines when leases expire.

    Each call is one atomic round trip; it raises LedgerError if the server can't be reached, and
    `claim` and `heartbeat` also if the replicas of the URL do not acknowledge the claim.
    """

    def __init__(self, url: str) -> None:
        self._redis = connect_blocking(url)
        self._replication = BlockingReplication(self._redis, url)

    def claim(self, session: str, task_id: str, claimant: str, holder: str, lease: float) -> int:
        return self._run('claim', session, task_id, holder, claimant, int(lease * 1000))

    def heartbeat(self, session: str, task_id: str, holder: str, token: int, lease: float) -> bool:
        return self._run(
            'heartbeat', session, task_id, holder, token, int(lease * 1000)) == 1

    def release(self, session: str, task_id: str, holder: str, token: int, reason: str) -> bool:
        return self._run('release', session, task_id, holder, token, reason) == 1

    def put(
        self, session: str, task_id: str, holder: str, status: LedgerTaskStatus, reason: str,
        token: int = 0, action: str = '',
    ) -> bool:
        return self._run(
            'put', session, task_id, holder, status.value, reason, token, action) == 1

    def lease(self, session: str, task_id: str) -> tuple[Lease, float] | None:
        key = session_lease(session, task_id)
        with ledger_errors(self._redis, key):
            return lease_from(LEASE_SCRIPT.run_blocking(self._redis, [key], ['']))

    def tasks(self, session: str) -> dict[str, LedgerTask]:
        key = session_tasks(session)
        with ledger_errors(self._redis, key):
            found = self._redis.hgetall(key)
        tasks = {}
        for task_id, text in found.items():
            try:
                status, reason, updated, *action = read_json(text, task_id)
                tasks[task_id] = LedgerTask(
                    task_id, LedgerTaskStatus(status), str(reason), float(updated),
                    action=str(action[0]) if action else '')
            except (TypeError, ValueError, OverflowError, LifecycleError) as error:
                raise LedgerError(
                    f"key {key}: task '{task_id}' is {text[:200]!r}, expected a JSON list of "
                    'status, reason, time and action: something else wrote to it') from error
        return tasks

    def history(self, session: str) -> list[Happening]:
        key = session_history(session)
        with ledger_errors(self._redis, key):
            found = self._redis.xrange(key)
        return [_happening(key, entry, fields) for entry, fields in found]

    def close(self) -> None:
        """Close the connections."""
        self._replication.close()
        close_blocking(self._redis)

    def _run(self, what: str, session: str, task_id: str, *values: Any) -> int:
        keys = [session_lease(session, task_id), session_tasks(session), session_history(session)]
        arguments = [what, task_id, *values, KEEP]
        with ledger_errors(self._redis):
            if what in _ACKNOWLEDGED:
                return int(self._replication.run(_SCRIPT, keys, arguments))
            return int(_SCRIPT.run_blocking(self._redis, keys, arguments))


def _happening(key: str, entry: str, fields: Mapping[str, str]) -> Happening:
    """Return the event of an entry of a history; raises LedgerError if it is none."""
    try:
        return Happening(
            fields['task_id'], fields['event'], fields['claimant'], int(fields['token']),
            fields['reason'], id_time(entry))
    except (KeyError, ValueError) as error:
        raise LedgerError(
            f'key {key}: entry {entry} has {str(dict(fields))[:200]}, expected the fields '
            'task_id, event, claimant, token (a number) and reason: something else wrote to it; '
            f'remove it by `redis-cli XDEL {shlex.quote(key)} {entry}`') from error


def touched(replicas: int) -> str:
    """Return the argument of LEASE_SCRIPT; `replicas`: number that must acknowledge a claim."""
    return str(KEEP) if replicas else ''


def lease_from(found: Sequence[Any]) -> tuple[Lease, float] | None:
    """Return the result of LEASE_SCRIPT: a claim and the time (s) until it lapses, or None."""
    if not found:
        return None
    holder, claimant, token, left = found
    return Lease(claimant, holder, int(token)), int(left) / 1000
