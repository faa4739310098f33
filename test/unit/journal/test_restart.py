# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every state of an action is read back as it was: state, attempts, counts, outcome, evidence."""

from __future__ import annotations

from typing import Any

from action_lifecycle.engine import load_graph
from action_lifecycle.graphs.packaged import config_file
from action_lifecycle.journal import Journal
from action_lifecycle.journal.sessions import SessionAction, Sessions
from action_lifecycle.lifecycle.states import ActionState, ErrorCode
import pytest

GRAPH = load_graph(config_file('graphs/action.yaml'))
EVIDENCE = [{'condition': 'confirm', 'verdict': 'true', 'stamp': 12.5}]

# A first attempt that moved and failed, so that there is something to be forgotten or kept.
FAILED = 'in_progress executing_motion sensor_confirm executing_motion error'
WAYS = {
    'assigned': f'{FAILED} terminated assigned',
    'in_progress': f'{FAILED} in_progress',
    'executing_motion': f'{FAILED} in_progress executing_motion',
    'sensor_confirm': f'{FAILED} in_progress executing_motion sensor_confirm',
    'status_verification_requested':
        f'{FAILED} in_progress executing_motion sensor_confirm status_verification_requested',
    'pending':
        f'{FAILED} in_progress executing_motion sensor_confirm status_verification_requested '
        'pending status_verification_requested pending',
    'completed':
        f'{FAILED} in_progress executing_motion sensor_confirm status_verification_requested '
        'completed',
    'error': f'{FAILED} in_progress error',
    'fallback_requested': f'{FAILED} fallback_requested',
    'fallback_received': f'{FAILED} fallback_requested fallback_received in_progress error '
                         'fallback_requested fallback_received',
    'recipe_requested': f'{FAILED} recipe_requested',
    'recipe_received': f'{FAILED} recipe_requested recipe_received',
    'terminated': f'{FAILED} terminated',
}


def facts(action: SessionAction) -> dict[str, Any]:
    """Return all that an action knows of itself."""
    return {'state': action.state, 'status': action.ledger_status,
            'possible': list(action.machine.possible_events()),
            **{name: value for name, value in vars(action).items()
               if name not in ('machine', 'recorder', 'spec')}}


@pytest.mark.parametrize('state', [state.value for state in ActionState])
def test_state_is_read_back_with_all_that_belongs_to_it(path, state):
    with Journal(path) as journal:
        sessions = Sessions(GRAPH, journal)
        action = sessions.action('s', 'a')
        for step in WAYS[state].split():
            sessions.set_state(
                action, step, f'to {step}', error_code=ErrorCode.REFUTED,
                evidence=EVIDENCE if step == 'status_verification_requested' else None)
        before = facts(action)
    with Journal(path) as journal:
        assert facts(Sessions(GRAPH, journal).action('s', 'a')) == before
    assert before['state'] == state
    expected_attempts = {'assigned': 1, 'fallback_requested': 1, 'recipe_requested': 1,
                         'recipe_received': 1, 'terminated': 1}
    assert before['attempt'] == expected_attempts.get(state, 2)
    if state == 'pending':
        assert before['pendings'] == 2 and before['evidence'] == EVIDENCE
    if state in ('error', 'terminated'):
        assert before['error_code'] is ErrorCode.REFUTED
