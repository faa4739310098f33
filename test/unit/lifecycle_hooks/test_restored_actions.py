# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What is refused of an action is refused after a restore, whatever it is restored from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import json
from pathlib import Path
from typing import Any

from action_lifecycle import lifecycle_hooks as hooks
from action_lifecycle.engine import LifecycleError
from action_lifecycle.fleet import RedisTasks, SmartLedger
from action_lifecycle.journal import Entry, Journal, verify_journal
from action_lifecycle.lifecycle_hooks import ActionState
import pytest

from unit.fleet.redis_server import RedisServer

from .sessions import Ledger, restart, SESSION, state_of

EVIDENCE = [{'expression': 'gap > 0.02', 'verdict': 'true'}]
STATES = [state.value for state in ActionState]
_VERIFIED = 'in_progress {}status_verification_requested '
WAYS = {
    'assigned': 'in_progress {}error terminated assigned',
    'in_progress': 'in_progress {}error in_progress',
    'executing_motion': 'in_progress executing_motion',
    'sensor_confirm': 'in_progress executing_motion sensor_confirm',
    'status_verification_requested': _VERIFIED,
    'pending': _VERIFIED + 'pending status_verification_requested pending',
    'completed': _VERIFIED + 'completed',
    'error': 'in_progress {}error',
    'fallback_requested': 'in_progress {}error fallback_requested',
    'fallback_received': 'in_progress {}error fallback_requested fallback_received',
    'recipe_requested': _VERIFIED + 'completed recipe_requested',
    'recipe_received': _VERIFIED + 'completed recipe_requested recipe_received',
    'terminated': _VERIFIED + 'completed terminated',
}
PLACES = ['status', 'memory', 'redis', 'journal', 'forgotten']
"""What an action is restored from: a ledger of statuses, SmartLedger, or the journal."""


@pytest.fixture(scope='module')
def redis_server() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server
    server.close()


@pytest.fixture
def ledger_of(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Any]]:
    """Return a function that makes the ledger of a place."""
    opened: list[RedisTasks] = []

    def make(place: str) -> Any:
        if place == 'redis':
            server = request.getfixturevalue('redis_server')
            server.client.flushall()
            opened.append(RedisTasks(server.url))
            return SmartLedger(SESSION, opened[-1])
        return SmartLedger(SESSION) if place == 'memory' else Ledger()
    yield make
    for tasks in opened:
        tasks.close()


def walk(action: str, state: str, moves: bool) -> None:
    """Bring an action to a state; one that moves has had a motion."""
    for step in WAYS[state].format('executing_motion sensor_confirm ' if moves else '').split():
        hooks.set_action_state(
            SESSION, action, step,
            evidence=EVIDENCE if step == 'status_verification_requested' else None)


def taken(action: str) -> dict[str, bool]:
    """Return which states are possible without evidence, with it, or by a forced path."""
    return {
        **{target: hooks.validate_state_transition(SESSION, action, target)
           for target in STATES if target != state_of(action)},
        'evidence': 'confirmed' in hooks._sessions.action(
            SESSION, action).machine.possible_events(evidence=EVIDENCE)}


def completes(action: str) -> bool:
    """Return whether the action gets to completed without any evidence."""
    before = state_of(action)
    found = before != 'completed' and hooks.force_state_through_valid_path(
        SESSION, action, 'completed', through_completed=True)
    assert found or state_of(action) == before
    return found


def restore(place: str, ledger: Any, journal: Path) -> Path:
    """Restore the session in the way of `place`; returns the journal that is used then."""
    if place == 'journal':
        restart(journal)
    hooks.forget_session(SESSION)
    if place in ('status', 'memory', 'redis'):
        journal = journal.with_name('another.journal')
        restart(journal)
    hooks.restore_action_states_from_ledger(SESSION, ledger)
    return journal


@pytest.mark.parametrize('place', PLACES)
@pytest.mark.parametrize('moves', [True, False])
@pytest.mark.parametrize('state', STATES)
def test_refused_before_a_restore_is_refused_after_it(
    state: str, moves: bool, place: str, journal: Path, ledger_of: Callable[[str], Any]
) -> None:
    ledger = ledger_of(place)
    hooks.register_ledger_for_session(SESSION, ledger)
    walk('a', state, moves)
    before, counted = taken('a'), hooks._sessions.action(SESSION, 'a').record()
    used = restore(place, ledger, journal)
    if place != 'status':
        assert state_of('a') == state
        assert taken('a') == before
        assert hooks._sessions.action(SESSION, 'a').record() == counted
    was_confirmed = place != 'status' and state in ('status_verification_requested', 'pending')
    if state == 'assigned' and place == 'status':
        return  # the status is that of an action that nobody has touched
    if not was_confirmed and (moves or place == 'status'):
        assert not completes('a')
        restart(used)
        assert not completes('a')
    assert not verify_journal(used)


def test_restored_from_statuses_it_completes_with_evidence(journal: Path) -> None:
    ledger = Ledger(checked='VALIDATING', blocked='BLOCKED', begun='IN_PROGRESS')
    assert hooks.restore_action_states_from_ledger(SESSION, ledger) == 3
    assert state_of('checked') == 'sensor_confirm'
    assert not hooks.safe_set_state(SESSION, 'checked', 'completed')
    assert not hooks.safe_set_state(SESSION, 'checked', 'status_verification_requested')
    hooks.set_action_state(
        SESSION, 'checked', 'status_verification_requested', evidence=EVIDENCE)
    hooks.set_action_state(SESSION, 'checked', 'completed')
    assert not hooks.validate_state_transition(SESSION, 'blocked', 'completed')
    assert not hooks.safe_set_state(SESSION, 'blocked', 'completed')
    hooks.set_action_state(SESSION, 'blocked', 'completed', evidence=EVIDENCE)
    hooks.set_action_state(SESSION, 'blocked', 'terminated')
    assert hooks.block_for_user_input(SESSION, 'begun') is False
    assert not hooks.safe_set_state(SESSION, 'begun', 'status_verification_requested')
    restart(journal)
    assert not hooks.safe_set_state(SESSION, 'begun', 'status_verification_requested')
    assert [state_of(name) for name in ('checked', 'blocked')] == ['completed', 'terminated']


def test_a_blocked_action_that_may_have_moved_goes_on_only_through_its_sensors() -> None:
    hooks.restore_action_states_from_ledger(SESSION, Ledger(a='BLOCKED'))
    assert hooks.resume_from_user_input(SESSION, 'a', 'go on')
    assert not completes('a')
    walk('a', 'sensor_confirm', True)
    assert not completes('a')
    hooks.set_action_state(SESSION, 'a', 'status_verification_requested', evidence=EVIDENCE)
    assert completes('a')


def test_a_second_restore_still_knows_that_it_may_have_moved(journal: Path) -> None:
    hooks.restore_action_states_from_ledger(SESSION, Ledger(a='IN_PROGRESS'))
    ledger = SmartLedger(SESSION)
    hooks.register_ledger_for_session(SESSION, ledger)
    hooks.set_action_state(SESSION, 'a', 'error')
    assert json.loads(ledger.tasks['a'].action)['motions'] == 0
    restore('memory', ledger, journal)
    assert state_of('a') == 'error' and not completes('a')


def test_actions_that_are_known_not_to_move_are_verified_as_before() -> None:
    ledger = Ledger(checked='VALIDATING', begun='IN_PROGRESS', blocked='BLOCKED')
    hooks.restore_action_states_from_ledger(SESSION, ledger, may_have_moved=False)
    assert state_of('checked') == 'status_verification_requested'
    assert all(completes(name) for name in ledger.tasks)


@pytest.mark.parametrize('event', ['restore', 'terminate'])
def test_rows_of_restores_of_an_older_version_may_hide_a_motion(
    event: str, journal: Path
) -> None:
    state = {'restore': 'status_verification_requested', 'terminate': 'terminated'}[event]
    hooks.configure()
    with Journal(journal) as writer:
        writer.append(Entry(
            'transition', SESSION, 'a', event=event, from_state='assigned', to_state=state,
            cause='restored from the ledger',
            data={'outcome': 'canceled'} if event == 'terminate' else {}))
    restart(journal)
    assert state_of('a') == state
    if event == 'terminate':
        hooks.set_action_state(SESSION, 'a', 'assigned')
    assert not completes('a')


def test_status_of_another_program_voids_the_record_of_the_action(journal: Path) -> None:
    ledger = SmartLedger(SESSION)
    hooks.register_ledger_for_session(SESSION, ledger)
    walk('a', 'completed', True)
    assert json.loads(ledger.tasks['a'].action)['motions'] == 1
    ledger.update_task_status('a', 'VALIDATING', 'checked once more')
    restore('memory', ledger, journal)
    assert state_of('a') == 'sensor_confirm' and not completes('a')


@pytest.mark.parametrize('record', [
    '{', '[]', '{"state": "completed"}', '{"state": "odd", "outcome": ""}'])
def test_record_that_can_not_be_used_is_told_with_the_task(record: str) -> None:
    ledger = SmartLedger(SESSION)
    ledger.update_task_status('a', 'COMPLETED', action=record)
    assert hooks.restore_action_states_from_ledger(SESSION, ledger) == 0
    with pytest.raises(LifecycleError, match="task 'a' of the ledger: the record of its action"):
        hooks.set_action_state(SESSION, 'a', 'in_progress')
