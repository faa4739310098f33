# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Journals the work of a session's invoker states."""

from __future__ import annotations

from typing import Any

from ...invoke import Outcome, Progress, RunLog, RunSuspended, to_json_data
from ...journal.row import EntryRefused, JournalError


class SessionWorkLog:
    """The rows of the work of a session; `begun` is called in the loop of the session."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def begun(self, run_id: str, before: Progress) -> None:
        """Record new work, before its first task is sent."""
        self._session.write('work', {'run': run_id, 'before': list(before)})

    def of_run(self, run_id: str) -> RunLog:
        """Return the log of the tasks of one work."""
        return _TaskLog(self._session, run_id)


class _TaskLog:
    """The tasks of one work; its methods are called in threads of the engine."""

    def __init__(self, session: Any, run_id: str) -> None:
        self._session = session
        self._run_id = run_id

    def sent(self, path: str) -> None:
        """Record that a task is about to be given to a worker."""
        self._write('task_sent', {'run': self._run_id, 'task': path})

    def ended(self, path: str, outcome: Outcome) -> None:
        """Record the outcome of a task before it is used."""
        data: dict[str, Any] = {'run': self._run_id, 'task': path}
        if outcome.error:
            data['error'] = outcome.error
        else:
            data['value'] = to_json_data(outcome.value)
        try:
            self._write('task_ended', data)
        except EntryRefused:
            self._write('task_ended', {
                'run': self._run_id, 'task': path, 'error': 'its output is too large to record'})
            raise

    def _write(self, event: str, data: dict[str, Any]) -> None:
        """
        Journal an event of the session, then apply it.

        If the journal refuses it, the session is closed, and goes on later from its rows.
        """
        try:
            self._session.write(event, data)
        except EntryRefused:
            raise
        except JournalError as error:
            self._session.refuse_soon(error)
            raise RunSuspended(str(error)) from error
