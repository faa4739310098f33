# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Operations may go where the reference table says, in either case, and nowhere else."""

from __future__ import annotations

from action_lifecycle.engine import load_graph
from action_lifecycle.fleet import OperationStateMachine
from action_lifecycle.fleet.operation_states import OperationState, predecessors
from action_lifecycle.graphs.packaged import config_file
import pytest

is_valid_transition = OperationStateMachine.is_valid_transition

REFERENCE = {
    'received': '',
    'preprocessing': 'received',
    'queued': 'received preprocessing retrying',
    'claimed': 'queued reclaimed',
    'pre_inference_gather': 'claimed',
    'inferring': 'pre_inference_gather tool_executing postprocessing',
    'tool_executing': 'inferring',
    'postprocessing': 'inferring',
    'delivering': 'postprocessing',
    'delivered': 'delivering',
    'completed': 'delivered errored',
    'errored': 'received preprocessing queued claimed pre_inference_gather inferring '
               'tool_executing postprocessing delivering delivered',
    'retrying': 'errored',
    'reclaimed': 'claimed pre_inference_gather inferring tool_executing postprocessing '
                 'delivering',
}


def test_table_is_that_of_the_reference() -> None:
    found = {state.value.lower(): {one.value.lower() for one in before}
             for state, before in predecessors().items()}
    assert found == {state: set(before.split()) for state, before in REFERENCE.items()}
    graph = load_graph(config_file('graphs/operation.yaml'))
    assert [state.value.lower() for state in OperationState] == list(graph.states)


@pytest.mark.parametrize('no_state', [None, '', 'none', 3, object()])
def test_what_is_no_state_has_no_transition(no_state: object) -> None:
    assert not is_valid_transition(no_state, 'CLAIMED')
    assert not is_valid_transition('CLAIMED', no_state)


def test_every_pair_is_judged_by_the_table_in_either_case() -> None:
    for target, before in REFERENCE.items():
        for current in REFERENCE:
            expected = current in before.split()
            assert is_valid_transition(current, target) is expected
            assert is_valid_transition(current.upper(), target.upper()) is expected


@pytest.mark.parametrize(('current', 'target', 'legal'), [
    ('RECEIVED', 'QUEUED', True),
    ('CLAIMED', 'INFERRING', False),
    ('CLAIMED', 'NOWHERE', False),
    ('NOWHERE', 'QUEUED', False),
    ('', '', False),
    ('DELIVERING', 'RECLAIMED', True),
    ('COMPLETED', 'ERRORED', False),
])
def test_single_steps(current: str, target: str, legal: bool) -> None:
    assert is_valid_transition(current, target) is legal


def test_claimed_to_completed_is_a_legal_walk() -> None:
    walk = ['CLAIMED', 'PRE_INFERENCE_GATHER', 'INFERRING', 'TOOL_EXECUTING', 'INFERRING',
            'POSTPROCESSING', 'DELIVERING', 'DELIVERED', 'COMPLETED']
    assert all(is_valid_transition(*step) for step in zip(walk, walk[1:], strict=False))
