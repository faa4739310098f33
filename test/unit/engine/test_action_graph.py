# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The graph of the action lifecycle has the edges and guards of the design."""

from __future__ import annotations

import tracemalloc
from typing import Any

from action_lifecycle.engine import load_graph, Machine, TransitionNotAllowed
from action_lifecycle.graphs.packaged import config_file
from action_lifecycle.lifecycle.states import ActionState, LEDGER_STATUS
import pytest

from .action_edges import EDGES

GRAPH = load_graph(config_file('graphs/action.yaml'))


def test_states_are_the_action_states():
    assert list(GRAPH.states) == list(EDGES)
    assert set(GRAPH.states) == {state.value for state in ActionState}
    assert GRAPH.initial == 'assigned'
    assert [name for name, state in GRAPH.states.items() if state.final] == ['terminated']


def test_edges_are_those_of_the_design():
    found = {name: {edge.target for edge in GRAPH.transitions_from(name)} for name in GRAPH.states}
    assert found == {name: set(targets.split()) for name, targets in EDGES.items()}


def test_ledger_status_of_each_state_is_in_the_file():
    for state in ActionState:
        said = GRAPH.states[state.value].config['ledger']
        known = LEDGER_STATUS.get(state)
        assert said == (known.value if known else 'by_outcome')


class Action:
    """What the action graph asks about a physical action."""

    physical = True

    def has_evidence(self, evidence: Any = None) -> bool:
        return bool(evidence)

    def outcome_without_work(self, outcome: str = '') -> bool:
        return outcome in ('skipped', 'canceled')


def action(**options: Any) -> Machine:
    return Machine(GRAPH, listeners=[Action()], **options)


def test_action_is_completed_only_through_evidence_and_verification() -> None:
    machine = action()
    assert machine.state == 'assigned'
    assert 'request_verification' not in machine.possible_events()
    machine.fire('start')
    with pytest.raises(TransitionNotAllowed):
        machine.fire('request_verification')
    machine.fire('execute')
    machine.fire('motion_done')
    with pytest.raises(TransitionNotAllowed):
        machine.fire('confirmed', evidence=[])
    machine.fire('confirmed', evidence=['gripper holds'])
    machine.fire('verified')
    machine.fire('terminate')
    assert machine.state == 'terminated'


def test_assigned_action_ends_only_with_an_outcome_that_needs_no_work() -> None:
    machine = action()
    for outcome in ('', 'succeeded', 'failed'):
        with pytest.raises(TransitionNotAllowed):
            machine.fire('terminate', outcome=outcome)
    machine.fire('terminate', outcome='skipped')
    assert machine.state == 'terminated'


def test_terminated_action_only_starts_anew() -> None:
    machine = action(state='terminated')
    assert machine.possible_events() == ('reassign',)


def test_a_thousand_machines_share_one_graph() -> None:
    listener = Action()
    tracemalloc.start()
    machines = [Machine(GRAPH, listeners=[listener]) for _ in range(1_000)]
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert all(machine.graph is GRAPH for machine in machines)
    assert used / len(machines) < 1_000
