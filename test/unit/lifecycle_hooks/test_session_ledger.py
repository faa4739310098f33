# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the ledger of a session is told, and what is taken from it."""

from __future__ import annotations

from pathlib import Path
import threading
from types import SimpleNamespace

from action_lifecycle import lifecycle_hooks as hooks
from action_lifecycle.engine import LifecycleError
from action_lifecycle.journal import JournalReader, verify_journal
from action_lifecycle.lifecycle_hooks import ActionState, LedgerTaskStatus
import pytest

from .sessions import Ledger, put, restart, rows, SESSION, state_of


def test_setting_the_present_state_does_nothing(journal: Path) -> None:
    ledger = Ledger()
    hooks.register_ledger_for_session(SESSION, ledger)
    put('in_progress')
    before = rows(journal), list(ledger.told)
    hooks.set_action_state(SESSION, 'a', ActionState.IN_PROGRESS)
    hooks.set_action_state(SESSION, 'b', 'assigned')
    assert (rows(journal), ledger.told) == before


def test_of_two_threads_one_wins_and_state_journal_and_ledger_agree(journal: Path) -> None:
    ledger = Ledger()
    hooks.register_ledger_for_session(SESSION, ledger)
    for round_ in range(50):
        action = f'a{round_}'
        put('status_verification_requested', action)
        barrier = threading.Barrier(2)
        taken: list[str] = []

        def race(
            state: str, action: str = action, barrier: threading.Barrier = barrier,
            taken: list[str] = taken,
        ) -> None:
            barrier.wait(10)
            if hooks.safe_set_state(SESSION, action, state):
                taken.append(state)

        threads = [threading.Thread(target=race, args=(state,), daemon=True)
                   for state in ('completed', 'error')]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert taken == [state_of(action)]
        assert rows(journal)[-1] == ('status_verification_requested', state_of(action))
        assert ledger.tasks[action] == ('COMPLETED' if taken == ['completed'] else 'FAILED')
    assert not list(verify_journal(journal))


@pytest.mark.parametrize(('walk', 'status'), [
    ('in_progress status_verification_requested pending completed terminated', 'COMPLETED'),
    ('error in_progress status_verification_requested completed terminated', 'COMPLETED'),
    ('in_progress status_verification_requested completed recipe_requested recipe_received',
     'COMPLETED'),
    ('in_progress error terminated', 'FAILED'),
    ('in_progress error recipe_requested recipe_received', 'FAILED'),
    ('in_progress error recipe_requested recipe_received terminated', 'FAILED'),
    ('in_progress status_verification_requested completed fallback_requested fallback_received '
     'in_progress error terminated', 'FAILED'),
    ('in_progress status_verification_requested pending', 'BLOCKED'),
])
def test_ledger_s_status_follows_the_outcome(walk: str, status: str) -> None:
    ledger = Ledger()
    hooks.register_ledger_for_session(SESSION, ledger)
    assert hooks.get_registered_ledger(SESSION) is ledger
    for state in walk.split():
        hooks.set_action_state(SESSION, 'a', state, f'to {state}')
    assert ledger.told[-1] == ('a', status, f'to {walk.split()[-1]}')


def test_ledger_that_fails_does_not_undo_the_change(caplog: pytest.LogCaptureFixture) -> None:
    ledger = Ledger()
    ledger.update_task_status = lambda *args: 1 / 0  # type: ignore[method-assign,assignment]
    hooks.register_ledger_for_session(SESSION, ledger)
    hooks.set_action_state(SESSION, 'a', 'in_progress')
    assert state_of() == 'in_progress'
    assert 'did not take IN_PROGRESS of action a' in caplog.text
    late = Ledger()
    hooks.register_ledger_for_session(SESSION, late)
    assert late.told == [('a', 'IN_PROGRESS', 'registered')]


def test_ledger_may_set_states_itself() -> None:
    class Eager(Ledger):

        def update_task_status(self, task_id: str, status: LedgerTaskStatus, reason: str) -> None:
            super().update_task_status(task_id, status, reason)
            if status is LedgerTaskStatus.IN_PROGRESS:
                hooks.set_action_state(SESSION, task_id, 'error', 'not today')

    ledger = Eager()
    hooks.register_ledger_for_session(SESSION, ledger)
    hooks.set_action_state(SESSION, 'a', 'in_progress')
    assert state_of() == 'error'
    assert [status for _, status, _ in ledger.told] == ['IN_PROGRESS', 'FAILED']


def test_without_a_ledger_transitions_work_and_are_journaled(journal: Path) -> None:
    assert hooks.get_registered_ledger(SESSION) is None
    hooks.set_action_state(SESSION, 3, 'in_progress', 'asked for')
    with JournalReader(journal) as reader:
        row, = reader.rows(kind='transition')
    assert (row.flow_id, row.action_id, row.event, row.cause, row.attempt) == (
        SESSION, '3', 'start', 'asked for', 1)


def test_states_are_restored_from_a_ledger_once(journal: Path) -> None:
    put('error', 'known')
    ledger = Ledger(known='COMPLETED', new=LedgerTaskStatus.PENDING,
                    working=SimpleNamespace(status='IN_PROGRESS'), done='completed',
                    blocked=LedgerTaskStatus.BLOCKED, dropped='SKIPPED')
    assert hooks.restore_action_states_from_ledger(SESSION, ledger) == 4
    assert hooks.restore_action_states_from_ledger(SESSION, ledger) == 0
    found = [state_of(action) for action in ledger.tasks]
    assert found == ['error', 'assigned', 'in_progress', 'completed', 'pending', 'terminated']
    restart(journal)
    assert [state_of(action) for action in ledger.tasks] == found
    hooks.set_action_state(SESSION, 'done', 'terminated')
    hooks.register_ledger_for_session(SESSION, ledger)
    assert (ledger.tasks['done'], ledger.tasks['dropped']) == ('COMPLETED', 'SKIPPED')


def test_a_task_of_unknown_status_keeps_no_other_one_from_being_restored(journal: Path) -> None:
    ledger = Ledger(one='IN_PROGRESS', odd='LOST', two='completed')
    assert hooks.restore_action_states_from_ledger(SESSION, ledger) == 2
    assert (state_of('one'), state_of('two')) == ('in_progress', 'completed')
    with pytest.raises(LifecycleError, match="task 'odd' of the ledger: unknown status 'LOST'"):
        hooks.set_action_state(SESSION, 'odd', 'in_progress')
    ledger.tasks['odd'] = 'FAILED'
    hooks.forget_session(SESSION)
    assert hooks.restore_action_states_from_ledger(SESSION, ledger) == 1
    assert state_of('odd') == 'error'
