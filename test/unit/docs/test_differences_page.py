# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the table of differences says of names and states is so."""

from __future__ import annotations

import re

from action_lifecycle import lifecycle_hooks
from action_lifecycle.agents.builtin_states import AgentState
from action_lifecycle.dialogue import Persistence
from action_lifecycle.dialogue.dialogue import DEFAULTS
from action_lifecycle.fleet import OperationStateMachine, SmartLedger
from action_lifecycle.lifecycle.states import ActionState, LedgerTaskStatus

from .pages import ROOT

ROWS = [[cell.strip() for cell in line.strip('|\n').split('|')]
        for line in (ROOT / 'docs/differences.md').read_text(encoding='utf-8').splitlines()
        if line.startswith('|')][2:]


def row(interface: str) -> list[str]:
    """Return the first row of an interface."""
    return next(cells for cells in ROWS if cells[0].startswith(f'`{interface}`'))


def names(text: str) -> list[str]:
    return re.findall(r'`(\w+)`', text)


def test_every_row_has_four_cells() -> None:
    assert len(ROWS) > 25
    assert [cells for cells in ROWS if len(cells) != 4 or not all(cells[1:3])] == []


def test_the_ledger_has_what_the_table_says_and_lacks_the_rest() -> None:
    _, there, here, _ = row('SmartLedger')
    assert len(names(there)) > 15 and [name for name in names(there) if hasattr(
        SmartLedger, name)] == []
    assert names(here) and [name for name in names(here) if not hasattr(
        SmartLedger('1_1'), name)] == []
    public = {name for name in dir(SmartLedger) if name[0] != '_'} - {'keeps_actions'}
    assert public == set(names(here))


def test_states_of_newer_originals_are_named_as_missing() -> None:
    text = '\n'.join(map(str, ROWS))
    for state in ('PREVIEW_PENDING', 'PREVIEW_APPROVED'):
        assert state in text and not hasattr(ActionState, state)
    assert 'FLOW_COMPLETED' in text and not hasattr(lifecycle_hooks.FlowState, 'FLOW_COMPLETED')
    _, there, _, _ = row('TaskStatus')
    known = {status.value.lower() for status in LedgerTaskStatus}
    first, *others = names(there)
    assert first in known and others and not known & set(others)


def test_statuses_in_lower_case_are_restored_and_others_set_aside() -> None:
    session = 'differences_1'

    class Theirs:
        tasks = {'a': 'completed', 'b': 'paused'}

    try:
        assert lifecycle_hooks.restore_action_states_from_ledger(session, Theirs()) == 1
        assert lifecycle_hooks.get_action_state(session, 'a') is ActionState.COMPLETED
    finally:
        lifecycle_hooks.forget_session(session)


def test_other_rows_of_the_table_are_so() -> None:
    assert DEFAULTS['user', 'user'] is Persistence.RENDERED
    assert not OperationStateMachine.is_valid_transition('CLAIMED', 'COMPLETED')
    assert OperationStateMachine.is_valid_transition('delivering', 'RECLAIMED')
    assert AgentState.type == 'agent'
