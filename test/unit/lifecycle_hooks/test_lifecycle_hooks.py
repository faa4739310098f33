# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recorded action states: which transitions are taken, forced, counted and waited for."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle import lifecycle_hooks as hooks
from action_lifecycle.engine import StateTransitionError
from action_lifecycle.lifecycle_hooks import (
    ActionRetryTracker,
    ActionState,
    FlowLifecycleState,
    FlowState,
)
import pytest

from unit.engine.action_edges import EDGES

from .sessions import Ledger, put, restart, rows, SESSION, state_of

NEEDS_DETAILS = {('assigned', 'terminated'), ('sensor_confirm', 'status_verification_requested')}


def test_action_that_nobody_has_touched_is_assigned() -> None:
    assert hooks.get_action_state(SESSION, 7) is ActionState.ASSIGNED


@pytest.mark.parametrize('source', EDGES)
def test_exactly_the_edges_of_the_design_are_taken(source: str, journal: Path) -> None:
    for number, target in enumerate(state.value for state in ActionState):
        action = f'{source}_{number}'
        put(source, action)
        before = len(rows(journal))
        edge = source, target
        legal = source == target or (target in EDGES[source].split()
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
    (source, target) for source, targets in EDGES.items() for target in targets.split()
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


def test_outcome_succeeded_is_for_a_completed_attempt_only() -> None:
    put('error')
    with pytest.raises(StateTransitionError, match='would be failed or canceled, not succeeded'):
        hooks.set_action_state(SESSION, 'a', 'terminated', outcome='succeeded')
    hooks.set_action_state(SESSION, 'a', 'terminated', outcome='canceled')
    put('completed', 'b')
    with pytest.raises(StateTransitionError, match='would be succeeded, not failed'):
        hooks.set_action_state(SESSION, 'b', 'terminated', outcome='failed')
    hooks.set_action_state(SESSION, 'b', 'terminated')


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
