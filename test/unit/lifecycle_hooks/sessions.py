# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Actions of one session, brought into states, and a ledger that keeps what it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from action_lifecycle import lifecycle_hooks as hooks
from action_lifecycle.journal import JournalReader
from action_lifecycle.lifecycle_hooks import LedgerTaskStatus

SESSION = '42_100'


class Ledger:
    """Keeps what it is told."""

    def __init__(self, **tasks: Any) -> None:
        self.tasks: dict[str, Any] = tasks
        self.told: list[tuple[str, str, str]] = []

    def update_task_status(self, task_id: str, status: LedgerTaskStatus, reason: str) -> None:
        self.tasks[task_id] = status
        self.told.append((task_id, status.value, reason))


def restart(journal: Path) -> None:
    """Read everything back, as another process would."""
    hooks.configure(journal=journal)


def put(state: str, action: str = 'a') -> None:
    """Bring an action into a state by legal steps."""
    ways = {
        'assigned': '', 'in_progress': 'in_progress',
        'executing_motion': 'in_progress executing_motion',
        'sensor_confirm': 'in_progress executing_motion sensor_confirm',
        'status_verification_requested': 'in_progress status_verification_requested',
        'pending': 'in_progress status_verification_requested pending',
        'completed': 'in_progress status_verification_requested completed',
        'error': 'error', 'fallback_requested': 'error fallback_requested',
        'fallback_received': 'error fallback_requested fallback_received',
        'recipe_requested': 'error recipe_requested',
        'recipe_received': 'error recipe_requested recipe_received',
        'terminated': 'error terminated',
    }
    for step in ways[state].split():
        hooks.set_action_state(SESSION, action, step)


def rows(journal: Path) -> list[tuple[str, str]]:
    with JournalReader(journal) as reader:
        return [(row.from_state, row.to_state) for row in reader.rows(kind='transition')]


def state_of(action: str | int = 'a') -> str:
    return hooks.get_action_state(SESSION, action).value
