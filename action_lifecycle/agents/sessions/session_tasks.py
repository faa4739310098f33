# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a session of the agent node does, as the tasks of a `SmartLedger`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .hosted_graph import BY_USER
from .record import ACTION, CANCELED, ENDED, FAILED, KIND
from ...documents.errors import LifecycleError
from ...fleet.flow_tasks import happening, ReadOnlyTasks
from ...fleet.smart_ledger import Happening, LedgerTask
from ...graphs.loader import load_graph
from ...journal.row import Row
from ...lifecycle.states import LedgerTaskStatus as Status

_END = {ENDED: Status.COMPLETED, FAILED: Status.FAILED, CANCELED: Status.CANCELLED}


class SessionTasks(ReadOnlyTasks):
    """
    Tasks for a `SmartLedger` whose session is a session of the agent node.

    `reader`: of the ledger to which the journal of the agent node is synced. A task is a state
    that was entered, or a task of an invoker state: `STATE/PATH`.
    """

    what = "task '{task}' belongs to session '{session}'"

    def tasks(self, session: str) -> dict[str, LedgerTask]:
        return {task.task_id: task for task, _ in self._changes(session)}

    def history(self, session: str) -> list[Happening]:
        return [happening(task, self.reader.robot, run) for task, run in self._changes(session)]

    def _changes(self, session: str) -> Iterator[tuple[LedgerTask, int]]:
        """Yield each change of a task, and how often its state was entered so far."""
        known: dict[str, LedgerTask] = {}
        entries: dict[str, int] = {}
        types: Mapping[str, str] = {}
        state = ''
        for row in self.reader.subject_rows(session, KIND, ACTION):
            if row.kind != KIND:
                continue
            if row.event == 'opened':
                types = _types(row)
            for name, status, reason in _statuses(row, state, types, known):
                if name == row.to_state:
                    entries[name] = entries.get(name, 0) + 1
                known[name] = LedgerTask(name, status, reason, row.wall_time)
                yield known[name], entries.get(name.partition('/')[0], 0)
            if row.event in ('opened', 'moved'):
                state = row.to_state


def _statuses(
    row: Row, state: str, types: Mapping[str, str], known: Mapping[str, LedgerTask]
) -> Iterator[tuple[str, Status, str]]:
    """Yield the tasks that a row changes: id, status, reason; `state`: the one before the row."""
    data, event = row.data, row.event
    if event in ('opened', 'moved'):
        if event == 'moved':
            yield state, Status.COMPLETED, ''
        waits = types.get(row.to_state) in BY_USER
        yield row.to_state, *((Status.BLOCKED, 'input_required') if waits
                              else (Status.IN_PROGRESS, ''))
    elif event == 'paused':
        why = 'approval_required' if data.get('link') else 'input_required'
        yield state, Status.BLOCKED, f"{why}: {data.get('message', '')}"
    elif event == 'failed':
        yield state, Status.FAILED, str(data.get('error', ''))
    elif event == 'again':
        yield state, Status.IN_PROGRESS, ''
    elif event == 'task_sent':
        yield f"{state}/{data['task']}", Status.IN_PROGRESS, ''
    elif event == 'task_ended':
        error = str(data.get('error', ''))
        yield (f"{state}/{data['task']}", Status.FAILED if error else Status.COMPLETED, error)
    elif event == 'ended':
        status = _END.get(data.get('reason', ''), Status.FAILED)
        for name, task in list(known.items()):
            if name == state or task.status is Status.IN_PROGRESS:
                yield name, status, str(data.get('error_msg', ''))


def _types(opened: Row) -> Mapping[str, str]:
    """Return the types of the states of a session's graph; {} if one is not known here."""
    data = opened.data
    try:
        graph = load_graph(data['graph'], name=data['source'])
    except LifecycleError:
        return {}
    return {state.name: state.type for state in graph.states.values()}
