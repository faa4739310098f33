# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Recorded action states: what is legal, what the ledger is told, what survives a restart."""

from __future__ import annotations

from collections.abc import Iterator
import logging
from pathlib import Path
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any

from action_lifecycle import lifecycle_hooks as hooks
from action_lifecycle.engine import LifecycleError, StateTransitionError
from action_lifecycle.ledger import JournalReader, verify_journal
from action_lifecycle.lifecycle_hooks import (
    ActionRetryTracker,
    ActionState,
    FlowLifecycleState,
    FlowState,
    LedgerTaskStatus,
)
import pytest

SESSION = '42_100'
LEGAL = {
    'assigned': 'in_progress error terminated',
    'in_progress': 'executing_motion status_verification_requested error',
    'executing_motion': 'sensor_confirm error',
    'sensor_confirm': 'status_verification_requested executing_motion error',
    'status_verification_requested': 'completed pending error',
    'pending': 'completed status_verification_requested in_progress error',
    'completed': 'terminated recipe_requested fallback_requested',
    'error': 'in_progress fallback_requested recipe_requested terminated',
    'fallback_requested': 'fallback_received error',
    'fallback_received': 'in_progress recipe_requested error',
    'recipe_requested': 'recipe_received fallback_requested terminated error',
    'recipe_received': 'terminated',
    'terminated': 'assigned',
}
NEEDS_DETAILS = {('assigned', 'terminated'), ('sensor_confirm', 'status_verification_requested')}


class Ledger:
    """Keeps what it is told."""

    def __init__(self, **tasks: Any) -> None:
        self.tasks: dict[str, Any] = tasks
        self.told: list[tuple[str, str, str]] = []

    def update_task_status(self, task_id: str, status: LedgerTaskStatus, reason: str) -> None:
        self.tasks[task_id] = status
        self.told.append((task_id, status.value, reason))


@pytest.fixture(autouse=True)
def journal(tmp_path: Path) -> Iterator[Path]:
    hooks.configure(journal=tmp_path / 'journal')
    yield tmp_path / 'journal'
    hooks.configure()
    hooks.forget_session(SESSION)


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


def test_action_that_nobody_has_touched_is_assigned() -> None:
    assert hooks.get_action_state(SESSION, 7) is ActionState.ASSIGNED


@pytest.mark.parametrize('source', LEGAL)
def test_exactly_the_edges_of_the_design_are_taken(source: str, journal: Path) -> None:
    for number, target in enumerate(state.value for state in ActionState):
        action = f'{source}_{number}'
        put(source, action)
        before = len(rows(journal))
        edge = source, target
        legal = source == target or (target in LEGAL[source].split()
                                     and edge not in NEEDS_DETAILS)
        assert hooks.validate_state_transition(SESSION, action, target) is legal, edge
        assert hooks.safe_set_state(SESSION, action, target) is legal, edge
        assert state_of(action) == (target if legal else source)
        assert len(rows(journal)) == before + (legal and source != target)


def test_assigned_to_completed_raises_and_changes_nothing() -> None:
    with pytest.raises(StateTransitionError) as caught:
        hooks.set_action_state(SESSION, 'a', ActionState.COMPLETED)
    assert str(caught.value) == (
        "42_100/a: no transition from 'assigned' to 'completed': possible: in_progress, error, "
        'terminated')
    assert state_of() == 'assigned'
    assert hooks.safe_set_state(SESSION, 'a', 'completed') is False


def test_unknown_state_names_the_nearest() -> None:
    with pytest.raises(StateTransitionError, match="did you mean 'in_progress'"):
        hooks.set_action_state(SESSION, 'a', 'in_progres')
    assert not hooks.validate_state_transition(SESSION, 'a', 'in_progres')
    assert not hooks.force_state_through_valid_path(SESSION, 'a', 'in_progres')


@pytest.mark.parametrize(('outcome', 'taken'), [
    (None, False), ('succeeded', False), ('failed', False), ('skipped', True),
    ('canceled', True)])
def test_action_that_never_started_ends_only_as_skipped_or_canceled(
    outcome: str | None, taken: bool
) -> None:
    assert hooks.safe_set_state(SESSION, 'a', 'terminated', outcome=outcome) is taken
    assert state_of() == ('terminated' if taken else 'assigned')


def test_setting_the_present_state_does_nothing(journal: Path) -> None:
    ledger = Ledger()
    hooks.register_ledger_for_session(SESSION, ledger)
    put('in_progress')
    before = rows(journal), list(ledger.told)
    hooks.set_action_state(SESSION, 'a', ActionState.IN_PROGRESS)
    hooks.set_action_state(SESSION, 'b', 'assigned')
    assert (rows(journal), ledger.told) == before


def test_sensor_confirm_is_left_for_verification_only_with_evidence() -> None:
    put('sensor_confirm')
    with pytest.raises(StateTransitionError, match="guard 'has_evidence' does not hold"):
        hooks.set_action_state(SESSION, 'a', 'status_verification_requested')
    hooks.set_action_state(SESSION, 'a', 'status_verification_requested',
                           evidence=[{'condition': 'held', 'verdict': 'true'}])
    assert state_of() == 'status_verification_requested'


def test_action_that_has_moved_can_not_skip_its_sensors() -> None:
    put('executing_motion')
    for state in ('error', 'in_progress'):
        hooks.set_action_state(SESSION, 'a', state)
    assert not hooks.validate_state_transition(SESSION, 'a', 'status_verification_requested')
    assert not hooks.safe_set_state(SESSION, 'a', 'status_verification_requested')
    assert not hooks.force_state_through_valid_path(
        SESSION, 'a', 'completed', through_completed=True)
    assert state_of() == 'in_progress'


def test_force_enters_completed_only_when_told_to(journal: Path) -> None:
    assert not hooks.force_state_through_valid_path(SESSION, 'a', 'completed')
    assert rows(journal) == []
    assert hooks.force_state_through_valid_path(
        SESSION, 'a', 'completed', 'imported', through_completed=True)
    assert [target for _, target in rows(journal)] == [
        'in_progress', 'status_verification_requested', 'completed']


@pytest.mark.parametrize(('source', 'target'), [
    (source, target) for source, targets in LEGAL.items() for target in targets.split()
    if (source, target) not in NEEDS_DETAILS and target != 'completed'])
def test_force_takes_every_legal_edge_in_one_step(
    source: str, target: str, journal: Path
) -> None:
    put(source)
    before = len(rows(journal))
    assert hooks.force_state_through_valid_path(SESSION, 'a', target)
    assert state_of() == target
    assert len(rows(journal)) == before + 1


def test_force_never_supplies_evidence_or_an_outcome() -> None:
    put('sensor_confirm')
    assert not hooks.force_state_through_valid_path(SESSION, 'a', 'pending')
    assert state_of() == 'sensor_confirm'
    assert hooks.force_state_through_valid_path(SESSION, 'b', 'terminated')
    assert hooks._sessions.action(SESSION, 'b').outcome == 'failed'


def test_terminated_action_only_starts_anew() -> None:
    put('terminated')
    for state in ('in_progress', 'completed'):
        assert not hooks.safe_set_state(SESSION, 'a', state)
        assert not hooks.force_state_through_valid_path(
            SESSION, 'a', state, through_completed=True)
    hooks.set_action_state(SESSION, 'a', 'assigned')
    put('completed')
    assert state_of() == 'completed'


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


def test_outcome_succeeded_is_for_a_completed_attempt_only() -> None:
    put('error')
    with pytest.raises(StateTransitionError, match='would be failed or canceled, not succeeded'):
        hooks.set_action_state(SESSION, 'a', 'terminated', outcome='succeeded')
    hooks.set_action_state(SESSION, 'a', 'terminated', outcome='canceled')
    put('completed', 'b')
    with pytest.raises(StateTransitionError, match='would be succeeded, not failed'):
        hooks.set_action_state(SESSION, 'b', 'terminated', outcome='failed')
    hooks.set_action_state(SESSION, 'b', 'terminated')


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
from action_lifecycle.ledger import JournalReader

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
    for number, state in enumerate(LEGAL):
        put(state, f'a{number}')
    tracker = ActionRetryTracker()
    put('status_verification_requested')
    tracker.increment_pending(SESSION, 'a')
    restart(journal)
    for number, state in enumerate(LEGAL):
        assert state_of(f'a{number}') == state
    assert tracker.count(SESSION, 'a') == 1
    ledger = Ledger()
    hooks.register_ledger_for_session(SESSION, ledger)
    assert ledger.tasks['a6'] == 'COMPLETED'
    assert ledger.tasks['a12'] == 'FAILED'


def test_fourth_pending_is_an_error(journal: Path) -> None:
    tracker = ActionRetryTracker()
    put('status_verification_requested')
    for count in (1, 2):
        assert not tracker.increment_pending(SESSION, 'a')
        assert (state_of(), tracker.count(SESSION, 'a')) == (
            'status_verification_requested', count)
    restart(journal)
    assert not tracker.increment_pending(SESSION, 'a')
    assert tracker.increment_pending(SESSION, 'a', 'still not')
    assert state_of() == 'error'
    assert hooks._sessions.action(SESSION, 'a').error_code.name == 'RETRY_EXHAUSTED'
    hooks.set_action_state(SESSION, 'a', 'in_progress')
    assert tracker.count(SESSION, 'a') == 0


@pytest.mark.parametrize(('source', 'blocked'), [
    ('assigned', 'pending'), ('in_progress', 'pending'),
    ('status_verification_requested', 'pending'), ('pending', 'pending'),
    ('error', 'fallback_requested'), ('completed', 'fallback_requested'),
    ('recipe_requested', 'fallback_requested'), ('fallback_requested', 'fallback_requested'),
    ('fallback_received', 'pending'), ('executing_motion', None), ('recipe_received', None),
])
def test_blocked_action_waits_for_its_user_and_goes_on(source: str, blocked: str | None) -> None:
    ledger = Ledger()
    hooks.register_ledger_for_session(SESSION, ledger)
    put(source)
    assert hooks.block_for_user_input(SESSION, 'a', 'which door?') is (blocked is not None)
    assert state_of() == (blocked or source)
    assert hooks.resume_from_user_input(SESSION, 'a', 'the left one') is (blocked is not None)
    if blocked:
        assert state_of() == 'in_progress'
        assert 'BLOCKED' in [status for _, status, _ in ledger.told]
        if source != blocked:
            assert ('a', 'BLOCKED', 'input_required: which door?') in ledger.told


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
    with pytest.raises(LifecycleError, match="task 'odd' of the ledger: unknown status 'LOST'"):
        hooks.restore_action_states_from_ledger(SESSION, Ledger(odd='LOST'))


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


def test_flow_goes_on_one_step_at_a_time() -> None:
    flow = FlowLifecycleState('42_100')
    assert flow.state is FlowState.DEPENDENCY_ANALYSIS
    with pytest.raises(StateTransitionError):
        flow.set_state(FlowState.FLOW_RECIPE_CREATION)
    for state in FlowState:
        flow.set_state(state)
        assert flow.state is state
    with pytest.raises(StateTransitionError):
        flow.set_state('dependency_analysis')
