# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recorded action states on a journal, on a full disk, and in memory only."""

from __future__ import annotations

import logging
from pathlib import Path
import subprocess
import sys
from typing import Any

from action_lifecycle import lifecycle_hooks as hooks
from action_lifecycle.engine import LifecycleError, StateTransitionError
from action_lifecycle.journal import Entry, Journal
from action_lifecycle.lifecycle_hooks import ActionRetryTracker, ActionState
import pytest

from unit.engine.action_edges import EDGES

from .sessions import Ledger, put, restart, rows, SESSION, state_of


def test_change_that_can_not_be_saved_is_refused_and_says_so(journal: Path) -> None:
    put('in_progress')
    hooks._sessions.journal.close()  # type: ignore[union-attr]
    with pytest.raises(StateTransitionError, match='journal') as caught:
        hooks.set_action_state(SESSION, 'a', 'error')
    assert isinstance(caught.value.__cause__, LifecycleError)
    assert not hooks.force_state_through_valid_path(SESSION, 'a', 'terminated')
    assert hooks.get_action_state(SESSION, 'new') is ActionState.ASSIGNED
    assert not hooks.safe_set_state(SESSION, 'new', 'in_progress')
    assert (state_of(), state_of('new')) == ('in_progress', 'assigned')
    assert rows(journal) == [('assigned', 'in_progress')]


FULL_DISK = """
import resource, signal, sys
from action_lifecycle import lifecycle_hooks as hooks
from action_lifecycle.engine import StateTransitionError
from action_lifecycle.journal import JournalReader

hooks.configure(journal=sys.argv[1])
hooks.set_action_state('s', 'a', 'in_progress')
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, resource.RLIM_INFINITY))
taken = 1
try:
    for state in ('error', 'in_progress') * 500:
        hooks.set_action_state('s', 'a', state, 'x' * 500)
        taken += 1
except StateTransitionError as error:
    print(error)
with JournalReader(sys.argv[1]) as reader:
    rows = list(reader.rows(kind='transition'))
assert 1 < taken == len(rows) < 1000, (taken, len(rows))
assert rows[-1].to_state == hooks.get_action_state('s', 'a').value
print('agree')
"""


def test_full_disk_refuses_and_memory_and_disk_agree(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, '-c', FULL_DISK, str(tmp_path / 'full')], timeout=60,
        capture_output=True, text=True, cwd=Path(__file__).parents[3], check=False)
    assert done.stdout.strip().endswith('agree'), done.stderr
    assert 'no transition from' in done.stdout


def test_states_and_counters_survive_a_restart(journal: Path) -> None:
    for number, state in enumerate(EDGES):
        put(state, f'a{number}')
    tracker = ActionRetryTracker()
    put('status_verification_requested')
    tracker.increment_pending(SESSION, 'a')
    restart(journal)
    for number, state in enumerate(EDGES):
        assert state_of(f'a{number}') == state
    assert tracker.count(SESSION, 'a') == 1
    ledger = Ledger()
    hooks.register_ledger_for_session(SESSION, ledger)
    assert ledger.tasks['a6'] == 'COMPLETED'
    assert ledger.tasks['a12'] == 'FAILED'


def test_states_without_a_journal_are_kept_in_memory_and_it_is_said_once(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    hooks.configure()
    with caplog.at_level(logging.WARNING):
        put('completed')
    assert caplog.text.count('in memory only') == 1
    assert state_of() == 'completed'
    with pytest.raises(LifecycleError, match='before the first state'):
        hooks.configure(journal=tmp_path / 'late')
    hooks.forget_session(SESSION)
    assert state_of() == 'assigned'
    hooks.configure(journal=tmp_path / 'late')


def test_questions_keep_nothing_in_memory() -> None:
    for action in range(100):
        hooks.get_action_state(SESSION, action)
        hooks.validate_state_transition(SESSION, action, 'error')
        hooks.safe_set_state(SESSION, action, 'completed')
    assert not hooks._sessions.actions


@pytest.mark.parametrize(('event', 'state', 'data'), [
    ('execute', 'executing_motion', {}), ('fail', 'error', {'error_code': 'ODD'}),
    ('terminate', 'terminated', {'outcome': 3}), ('start', 'nowhere', {}),
    ('motion_done', 'sensor_confirm', {'ended': 'soon'}),
    ('receive_recipe', 'recipe_received', {'fragment': 5})])
def test_an_action_that_can_not_be_read_back_is_set_aside_and_the_others_are_read(
    journal: Path, caplog: pytest.LogCaptureFixture, event: str, state: str,
    data: dict[str, Any]
) -> None:
    put('completed', 'good')
    put('in_progress', 'bad')
    hooks.configure()
    with Journal(journal) as writer:
        writer.append(Entry(kind='transition', flow_id=SESSION, action_id='bad', event=event,
                            from_state='in_progress', to_state=state, data=data))
    restart(journal)
    assert state_of('good') == 'completed'
    assert f'action bad of session {SESSION} is set aside: row' in caplog.text
    with pytest.raises(StateTransitionError, match='set aside'):
        state_of('bad')
    assert not hooks.safe_set_state(SESSION, 'bad', 'completed')
    assert hooks.restore_action_states_from_ledger(SESSION, Ledger(bad='COMPLETED')) == 0
    put('in_progress', 'new')
