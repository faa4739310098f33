# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What a robot runs, as the tasks of a session of a `SmartLedger`: the actions of a flow.

They are read from the rows that the robot's ledger node has synced, so nothing is stored twice.
"""

from __future__ import annotations

from typing import NoReturn

from .errors import LedgerRefused
from .ledger import Rows
from .smart_ledger import Happening, Lease, LedgerTask
from ..journal.action_rows import concerns_action, status_after
from ..journal.row import Row
from ..lifecycle.states import LedgerTaskStatus


class ReadOnlyTasks:
    """
    Tasks that are read from the rows of a robot's ledger and can't be changed.

    A subclass returns them; `what`: what the id of a task and that of its session name. Calls
    block; they raise LedgerError if the ledger can't be read.
    """

    what = "task '{task}' of session '{session}'"

    def __init__(self, reader: Rows) -> None:
        self.reader = reader

    def lease(self, session: str, task_id: str) -> tuple[Lease, float] | None:
        """Return None: a robot needs no claim for its own work."""

    def claim(self, session: str, task_id: str, claimant: str, holder: str, lease: float) -> int:
        self._refuse(session, task_id)

    def heartbeat(self, session: str, task_id: str, holder: str, token: int, lease: float) -> bool:
        self._refuse(session, task_id)

    def release(self, session: str, task_id: str, holder: str, token: int, reason: str) -> bool:
        self._refuse(session, task_id)

    def put(
        self, session: str, task_id: str, holder: str, status: LedgerTaskStatus, reason: str,
        token: int = 0, action: str = '',
    ) -> bool:
        self._refuse(session, task_id)

    def _refuse(self, session: str, task_id: str) -> NoReturn:
        raise LedgerRefused(
            f'{self.what.format(task=task_id, session=session)} of robot '
            f"'{self.reader.robot}', whose journal is its only source: to change it, give an "
            'order to the node of the robot that runs it')


class FlowTasks(ReadOnlyTasks):
    """
    Tasks for a `SmartLedger` whose session is the id of a flow; `reader`: of the robot's ledger.

    Actions that have not begun are PENDING.
    """

    what = "task '{task}' is an action of flow '{session}'"

    def tasks(self, session: str) -> dict[str, LedgerTask]:
        tasks: dict[str, LedgerTask] = {}
        for row in self.reader.subject_rows(session):
            if row.kind == 'flow':
                _apply_flow(tasks, row)
            elif (task := _task(row)) is not None:
                tasks[row.action_id] = task
        return tasks

    def history(self, session: str) -> list[Happening]:
        return [happening(task, self.reader.robot, row.attempt)
                for row in self.reader.subject_rows(session) if (task := _task(row)) is not None]


def happening(task: LedgerTask, robot: str, attempt: int) -> Happening:
    """Return the event of the history that gave a task its status."""
    return Happening(task.task_id, task.status.value, robot, attempt, task.reason, task.updated)


def _apply_flow(tasks: dict[str, LedgerTask], row: Row) -> None:
    """Add and remove the tasks that a row of the flow adds and removes."""
    if row.event not in ('accepted', 'edited'):
        return
    data = row.data
    for name in data.get('removed', ()):
        tasks.pop(name, None)
    for name in data.get('action_names' if row.event == 'accepted' else 'added', ()):
        tasks.setdefault(name, LedgerTask(name, LedgerTaskStatus.PENDING, '', row.wall_time))


def _task(row: Row) -> LedgerTask | None:
    """Return the task after a row about an action; None for other rows."""
    if not concerns_action(row):
        return None
    status, blocked = status_after(row)
    if not status:
        return None
    reason = row.cause
    if blocked and reason.partition(':')[0].strip() != blocked:
        reason = f'{blocked}: {reason}' if reason else blocked
    return LedgerTask(row.action_id, LedgerTaskStatus(status), reason, row.wall_time, blocked)
