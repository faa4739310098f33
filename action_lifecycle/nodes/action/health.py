# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Diagnostics of the action node: journal, actions and safety."""

from __future__ import annotations

from collections import Counter
import os
import shutil

from action_lifecycle_msgs import msg

from ...flow.orchestrator import Orchestrator
from ...journal.journal import Journal
from ...journal.row import JournalError
from ...lifecycle.states import ActionOutcome, ActionState, ErrorCode
from ...ros.node.diagnostics import ERROR, Health, OK, WARN

LITTLE_DISK = 100.0
"""Free disk space (MB) below which diagnostics warn; below a tenth, they report an error."""
_SAFETY = {
    msg.SafetyState.NOT_READY: (WARN, 'not ready'), msg.SafetyState.READY: (OK, 'ready'),
    msg.SafetyState.STOPPED: (ERROR, 'stopped')}


def journal_health(journal: Journal) -> Health:
    """Return the health of the journal's file and its disk."""
    path = journal.path
    try:
        journal.check_files()
        rows = journal.last_seq()
        size = os.stat(path).st_size  # no stat of the -wal file: it slows its next fdatasync
        free = shutil.disk_usage(path).free / 1e6
    except JournalError as error:
        return Health(ERROR, f'no motion starts: {error}')
    except OSError as error:
        return Health(ERROR, f'{path}: {error.strerror}')
    values = {'path': path, 'rows': rows, 'size (MB)': round(size / 1e6, 1),
              'free (MB)': round(free)}
    if free < LITTLE_DISK:
        return Health(ERROR if free < LITTLE_DISK / 10 else WARN,
                      f'{free:.0f} MB of disk are left', values)
    return Health(OK, 'writing', values)


def actions_health(orchestrator: Orchestrator | None, questions: int) -> Health:
    """Return the health of the open actions; WARN or ERROR if a person is needed."""
    if orchestrator is None:
        return Health(OK, 'not active')
    runs = [run for run in orchestrator.runs.values() if not run.ended]
    states = Counter(action.state for run in runs for action in run.actions
                     if action.state is not ActionState.TERMINATED)
    failed = sum(action.outcome is ActionOutcome.FAILED for run in runs for action in run.actions)
    locked = list(orchestrator.resources.locked)
    values = {'flows': len(runs), 'open actions': sum(states.values()),
              'failed actions': failed, 'questions to people': questions,
              'locked resources': ', '.join(locked),
              **{state.value: count for state, count in sorted(states.items())}}
    if locked:
        return Health(ERROR, f"locked until clear_stop: {', '.join(locked)}", values)
    if questions:
        return Health(WARN, f'{questions} questions wait for a person', values)
    return Health(OK, f'{len(runs)} flows run' if runs else 'no flow runs', values)


def safety_health(state: msg.SafetyState, bridge_there: bool) -> Health:
    """Return the health of safety, as the bridge publishes it."""
    if not bridge_there:
        return Health(ERROR, 'the world model bridge is not there')
    level, word = _SAFETY[state.state]
    return Health(level, state.reason or word, {
        'topic': state.topic, 'error code': ErrorCode(state.error_code).name})
