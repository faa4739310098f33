# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The words of the lifecycle: one meaning in Python, in the graph file and on the topics."""

from __future__ import annotations

from pathlib import Path
import re

from action_lifecycle.engine import load_graph
from action_lifecycle.lifecycle.states import (
    ActionOutcome,
    ActionState,
    ErrorCode,
    LEDGER_STATUS,
    ledger_status,
    LedgerTaskStatus,
)
import pytest

ROOT = Path(__file__).parents[3]
MESSAGES = ROOT / 'action_lifecycle_msgs' / 'msg'


def constants(message: str) -> dict[str, str]:
    text = (MESSAGES / f'{message}.msg').read_text()
    return dict(re.findall(r'^(?:string|uint16) ([A-Z_]+)="?([^"\s]*)"?', text, re.MULTILINE))


def test_the_message_has_every_state_outcome_and_status() -> None:
    expected = {
        **{state.name: state.value for state in ActionState},
        **{f'OUTCOME_{o.name}': o.value for o in ActionOutcome},
        **{f'LEDGER_{status.name}': status.value for status in LedgerTaskStatus}}
    del expected['LEDGER_BLOCKED']
    found = constants('ActionState')
    assert found.pop('LEDGER_BLOCKED') == 'BLOCKED'
    assert found == expected


def test_the_message_has_every_error_code() -> None:
    assert constants('ErrorCode') == {code.name: str(code.value) for code in ErrorCode}


def test_the_graph_file_has_every_state_and_its_ledger_status() -> None:
    graph = load_graph(ROOT / 'config' / 'graphs' / 'action.yaml')
    assert set(graph.states) == {state.value for state in ActionState}
    for state, status in LEDGER_STATUS.items():
        assert graph.states[state.value].config['ledger'] == status.value


@pytest.mark.parametrize('state', [ActionState.TERMINATED, ActionState.RECIPE_RECEIVED])
@pytest.mark.parametrize(('outcome', 'status'), [
    (ActionOutcome.SUCCEEDED, 'COMPLETED'), (ActionOutcome.FAILED, 'FAILED'),
    (ActionOutcome.CANCELED, 'CANCELLED'), (ActionOutcome.SKIPPED, 'SKIPPED'), (None, 'FAILED')])
def test_an_ended_action_is_booked_by_its_outcome(
    state: ActionState, outcome: ActionOutcome | None, status: str
) -> None:
    assert ledger_status(state, outcome).value == status


def test_no_interface_has_an_empty_constant() -> None:
    """Readers of bags, such as rosbags, do not parse `string NAME=""`."""
    files = [file for kind in ('msg', 'srv', 'action')
             for file in (MESSAGES.parent / kind).iterdir()]
    assert len(files) > 30
    assert [file.name for file in files if re.search(r'=\s*(""|\'\')', file.read_text())] == []
