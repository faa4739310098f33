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

"""The graph of the action lifecycle has the states and edges of the design."""

from action_lifecycle.engine.loader import load_graph
from action_lifecycle.engine.resources import config_file
from action_lifecycle.lifecycle.states import ActionState, LEDGER_STATUS

EDGES = {
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
