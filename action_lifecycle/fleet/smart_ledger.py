# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The tasks of a session: statuses, claims and history.

Claims are leases that expire if they are not renewed. Each new lease has a higher fencing token,
so a holder whose lease has lapsed can no longer write. `MemoryTasks` keeps the tasks of this
process, `RedisTasks` those of a fleet.
"""

from __future__ import annotations

import threading
import time
from typing import NamedTuple, Protocol
import uuid

from ..journal.clock import boot_time
from ..lifecycle.states import BLOCKED_REASONS, LedgerTaskStatus

LEASE = 30.0
"""Time (s) after which a claim expires without a heartbeat."""

_ENDED = frozenset({LedgerTaskStatus.COMPLETED, LedgerTaskStatus.FAILED,
                    LedgerTaskStatus.CANCELLED, LedgerTaskStatus.SKIPPED})


class LedgerTask(NamedTuple):
    """
    A task in the ledger; `updated` in s since 1970.

    `waits`: one of BLOCKED_REASONS, why an action of a robot waits whatever its status is.
    `action`: the record of an action of `lifecycle_hooks` for its restore, '' without one.
    """

    task_id: str
    status: LedgerTaskStatus
    reason: str
    updated: float
    waits: str = ''
    action: str = ''

    @property
    def blocked_reason(self) -> str:
        """
        Return why a task is blocked or waits, one of BLOCKED_REASONS; '' if it does not.

        A task that is PENDING may have the reason `dependency`.
        """
        if self.waits:
            return self.waits
        named = self.reason.partition(':')[0].strip()
        if self.status is LedgerTaskStatus.PENDING:
            return named if named == 'dependency' else ''
        if self.status is not LedgerTaskStatus.BLOCKED:
            return ''
        return named if named in BLOCKED_REASONS else 'input_required'


class Lease(NamedTuple):
    """A valid claim: its session, the ledger object that holds it, and its fencing token."""

    claimant: str
    holder: str
    token: int


class Owner(NamedTuple):
    """The session that holds a claim."""

    user_id: str
    prompt_id: str


class Happening(NamedTuple):
    """An event of the history: claimed, released, lapsed or a status; `time` in s since 1970."""

    task_id: str
    event: str
    claimant: str
    token: int
    reason: str
    time: float


class Tasks(Protocol):
    """The storage of the tasks of sessions; `session` is the key of a session."""

    def claim(self, session: str, task_id: str, claimant: str, holder: str, lease: float) -> int:
        """Claim a task for `lease` s; returns the fencing token, 0 if another holder has it."""

    def heartbeat(self, session: str, task_id: str, holder: str, token: int, lease: float) -> bool:
        """Renew a claim for `lease` s; False if it lapsed or was released."""

    def release(self, session: str, task_id: str, holder: str, token: int, reason: str) -> bool:
        """Release a claim; False if it lapsed or was released before."""

    def put(
        self, session: str, task_id: str, holder: str, status: LedgerTaskStatus, reason: str,
        token: int = 0, action: str = '',
    ) -> bool:
        """
        Store a status; False if another holder has the claim, or had one after `token`.

        `token`: of the last claim of this holder, 0 if it had none. `action`: see LedgerTask.
        """

    def lease(self, session: str, task_id: str) -> tuple[Lease, float] | None:
        """Return the valid claim of a task and the time (s) until it lapses, or None."""

    def tasks(self, session: str) -> dict[str, LedgerTask]:
        """Return the tasks by id."""

    def history(self, session: str) -> list[Happening]:
        """Return the last HISTORY events, in order."""


class SmartLedger:
    """
    The ledger of the session `user_prompt`, which is `f'{user_id}_{prompt_id}'`.

    Each object is a separate claim holder, also within one session. By default, the tasks are kept
    in this object; ledgers with the same `tasks` share them. With `FlowTasks`, the session is a
    flow of a robot, and its tasks can only be read.
    """

    keeps_actions = True  #: see `journal.sessions.SessionLedger`

    def __init__(
        self, user_prompt: str, tasks: Tasks | None = None, *, claimant: str = '',
        lease: float = LEASE,
    ) -> None:
        self.user_prompt = user_prompt
        self.user_id, _, self.prompt_id = user_prompt.rpartition('_')
        self._tasks: Tasks = tasks if tasks is not None else MemoryTasks()
        self._claimant = claimant or user_prompt
        self._holder = uuid.uuid4().hex
        self._lease = lease
        self._tokens: dict[str, int] = {}

    @property
    def tasks(self) -> dict[str, LedgerTask]:
        """Return the current tasks by id."""
        return self._tasks.tasks(self.user_prompt)

    def claim(self, task_id: str | int) -> bool:
        """Claim a task for the duration of a lease; False if another holder has it."""
        token = self._tasks.claim(
            self.user_prompt, str(task_id), self._claimant, self._holder, self._lease)
        if token:
            self._tokens[str(task_id)] = token
        return token > 0

    def heartbeat(self, task_id: str | int) -> bool:
        """Renew the claim; False if it has lapsed: then do not start a motion."""
        token = self._tokens.get(str(task_id), 0)
        return token > 0 and self._tasks.heartbeat(
            self.user_prompt, str(task_id), self._holder, token, self._lease)

    def release(self, task_id: str | int, reason: str = '') -> bool:
        """Release a task; False if this object does not hold it."""
        token = self._tokens.get(str(task_id), 0)  # kept: it fences later changes, too
        return token > 0 and self._tasks.release(
            self.user_prompt, str(task_id), self._holder, token, reason)

    def token(self, task_id: str | int) -> int:
        """Return the fencing token of this object's claim, to send with changes; 0 if none."""
        held = self._held(task_id)
        return held.token if held is not None and held.holder == self._holder else 0

    def owner(self, task_id: str | int) -> Owner | None:
        """Return the session that has claimed a task, or None."""
        held = self._held(task_id)
        if held is None:
            return None
        user_id, _, prompt_id = held.claimant.rpartition('_')
        return Owner(user_id, prompt_id)

    def _held(self, task_id: str | int) -> Lease | None:
        found = self._tasks.lease(self.user_prompt, str(task_id))
        return None if found is None else found[0]

    def update_task_status(
        self, task_id: str | int, status: LedgerTaskStatus | str, reason: str = '', *,
        action: str = '',
    ) -> bool:
        """
        Update the status of a task; IN_PROGRESS claims the task, a final status releases it.

        Returns False and changes nothing if another holder has claimed the task, also if that
        claim has ended since. `action`: the record of an action of `lifecycle_hooks`.
        """
        task_id, status = str(task_id), LedgerTaskStatus(status)
        if status is LedgerTaskStatus.IN_PROGRESS and not self.claim(task_id):
            return False
        if not self._tasks.put(self.user_prompt, task_id, self._holder, status, reason,
                               self._tokens.get(task_id, 0), action):
            return False
        if status in _ENDED:
            self.release(task_id, status.value)
        return True

    def history(self, task_id: str | int | None = None) -> list[Happening]:
        """Return the events of a task, or of all tasks, in order."""
        return [one for one in self._tasks.history(self.user_prompt)
                if task_id is None or one.task_id == str(task_id)]


HISTORY = 10_000
"""Maximum number of history events per session."""


class MemoryTasks:
    """Tasks in the memory of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._leases: dict[tuple[str, str], tuple[Lease, float]] = {}
        self._last_tokens: dict[tuple[str, str], int] = {}
        self._kept: dict[str, dict[str, LedgerTask]] = {}
        self._history: dict[str, list[Happening]] = {}

    def claim(self, session: str, task_id: str, claimant: str, holder: str, lease: float) -> int:
        key = session, task_id
        with self._lock:
            held = self._valid(key)
            if held is not None and held.holder != holder:
                return 0
            if held is None:
                self._last_tokens[key] = self._last_tokens.get(key, 0) + 1
                held = Lease(claimant, holder, self._last_tokens[key])
                self._note(key, 'claimed', held)
            self._leases[key] = held, boot_time() + lease
            return held.token

    def heartbeat(self, session: str, task_id: str, holder: str, token: int, lease: float) -> bool:
        key = session, task_id
        with self._lock:
            held = self._held_by(key, holder, token)
            if held is not None:
                self._leases[key] = held, boot_time() + lease
            return held is not None

    def release(self, session: str, task_id: str, holder: str, token: int, reason: str) -> bool:
        key = session, task_id
        with self._lock:
            held = self._held_by(key, holder, token)
            if held is not None:
                del self._leases[key]
                self._note(key, 'released', held, reason)
            return held is not None

    def put(
        self, session: str, task_id: str, holder: str, status: LedgerTaskStatus, reason: str,
        token: int = 0, action: str = '',
    ) -> bool:
        key = session, task_id
        with self._lock:
            held = self._valid(key)
            if held is not None and held.holder != holder \
                    or token not in (0, self._last_tokens.get(key)):
                return False
            self._kept.setdefault(session, {})[task_id] = LedgerTask(
                task_id, status, reason, time.time(), action=action)
            self._note(key, status.value, held, reason)
            return True

    def lease(self, session: str, task_id: str) -> tuple[Lease, float] | None:
        key = session, task_id
        with self._lock:
            held = self._valid(key)
            return None if held is None else (held, self._leases[key][1] - boot_time())

    def tasks(self, session: str) -> dict[str, LedgerTask]:
        with self._lock:
            return dict(self._kept.get(session, {}))

    def history(self, session: str) -> list[Happening]:
        with self._lock:
            return list(self._history.get(session, []))

    def _held_by(self, key: tuple[str, str], holder: str, token: int) -> Lease | None:
        held = self._valid(key)
        return held if held is not None and (held.holder, held.token) == (holder, token) else None

    def _valid(self, key: tuple[str, str]) -> Lease | None:
        """Return the valid lease; a lapsed one is recorded in the history and removed."""
        held, until = self._leases.get(key, (None, 0.0))
        if held is not None and boot_time() >= until:
            del self._leases[key]
            self._note(key, 'lapsed', held)
            return None
        return held

    def _note(self, key: tuple[str, str], event: str, lease: Lease | None, reason: str = ''
              ) -> None:
        lines = self._history.setdefault(key[0], [])
        lines.append(Happening(key[1], event, lease.claimant if lease else '',
                               lease.token if lease else 0, reason, time.time()))
        del lines[:-HISTORY]
