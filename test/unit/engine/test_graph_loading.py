# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Graph files: both shapes load, and every fault of a bad one is reported with its place."""

from __future__ import annotations

from pathlib import Path
import time

from action_lifecycle.engine import graph_schema, GraphError, LifecycleError, load_graph, State
from action_lifecycle.graphs.packaged import config_file
from action_lifecycle.graphs.state_types import REGISTRY, StateRegistry
import pytest

DATA = Path(__file__).parent / 'data'
FURTHER = ('planner', 'executor', 'verifier', 'skill_builder')
SHIPPED = ('action', 'flow', 'constellation', 'operation')


def faults_of(text: str) -> list[str]:
    built_in = StateRegistry({name: cls for name, cls in REGISTRY.items()
                              if cls.__module__.startswith('action_lifecycle.agents')
                              and name not in FURTHER})
    built_in._group = ''  # whatever is installed
    with pytest.raises(GraphError) as caught:
        load_graph(text, name='g.yaml', types=built_in)
    return [str(fault) for fault in caught.value.faults]


def fewer_types() -> StateRegistry:
    return StateRegistry({name: cls for name, cls in REGISTRY.items() if name not in FURTHER})


def seed_types() -> StateRegistry:
    types = fewer_types()
    for name in FURTHER:
        types.register_type(type('Seed', (State,), {'type': name}))
    return types


def test_flat_graph_starts_in_its_first_state() -> None:
    graph = load_graph(DATA / 'state_graph.yaml')
    assert graph.initial == 'ask_user'
    assert list(graph.states) == ['ask_user', 'agent_reply', 'use_tool']
    assert [edge.target for edge in graph.transitions_from('agent_reply')] \
        == ['ask_user', 'use_tool']
    assert graph.states['use_tool'].type == 'tool'
    assert graph.states['use_tool'].description == 'Execute a specific tool'


def test_flat_graph_as_printed_names_the_wrong_indentation() -> None:
    with pytest.raises(GraphError) as caught:
        load_graph(DATA / 'state_graph_as_printed.yaml')
    fault, = caught.value.faults
    assert (fault.line, fault.column) == (7, 3)
    assert 'indented by 2 spaces' in fault.message
    assert 'line 1, indented by 1' in fault.message


def test_every_unknown_type_of_a_graph_is_named() -> None:
    with pytest.raises(GraphError) as caught:
        load_graph(DATA / 'complete_state_graph.yaml', types=fewer_types())
    assert [(fault.line, fault.message.split(' (')[0]) for fault in caught.value.faults] == [
        (26, "state 'autonomous_plan': unknown state type 'planner'"),
        (32, "state 'execute_step': unknown state type 'executor'"),
        (38, "state 'verify_progress': unknown state type 'verifier'"),
        (45, "state 'learn_skill': unknown state type 'skill_builder'"),
    ]
    assert 'agent, confirm, decision' in caught.value.faults[0].message


def test_graph_without_final_state_loads_with_a_warning() -> None:
    graph = load_graph(DATA / 'complete_state_graph.yaml', types=seed_types())
    assert graph.initial == 'agent_reply'
    assert len(graph.states) == 7
    warning, = graph.warnings
    assert 'no state is final' in warning.message


def test_trap_beside_a_final_state_is_an_error() -> None:
    assert faults_of("""\
initial: a
states:
  a: {transition: {next: [b, end]}}
  b: {transition: {next: [c]}}
  c: {transition: {next: [b]}}
  end: {final: true}
""") == ["g.yaml:4:3: state 'b' is a trap: no way leads from it to a final state",
         "g.yaml:5:3: state 'c' is a trap: no way leads from it to a final state"]


def test_terminal_type_is_final() -> None:
    graph = load_graph('a: {type: user, transition: {next: [b]}}\nb: {type: terminal}\n')
    assert graph.states['b'].final
    assert not graph.warnings


def test_all_faults_come_at_once() -> None:
    assert faults_of("""\
initial: strat
states:
  start: {type: usr, transition: {next: [middle, endd]}}
  middle: {transition: {next: []}, descripton: x}
  trap: {transition: {next: [trap]}}
  end: {final: true}
transitions:
  - {event: go, from: start, to: end}
  - {event: go, from: start, to: middle}
invariants:
  end: {must_pass: nowhere}
""") == [
        "g.yaml:1:1: initial: no state 'strat'; did you mean 'start'?",
        "g.yaml:3:11: state 'start': unknown state type 'usr'; did you mean 'user'? (known: "
        'agent, confirm, decision, motion, terminal, tool, user)',
        "g.yaml:3:50: to: no state 'endd'; did you mean 'end'?",
        "g.yaml:4:3: state 'middle' is a trap: no way leads from it to a final state",
        "g.yaml:4:25: state 'middle' has an empty list of next states",
        "g.yaml:4:36: unknown field 'descripton'; did you mean 'description'?",
        "g.yaml:5:3: state 'trap' is a trap: no way leads from it to a final state",
        "g.yaml:9:5: event 'go' leaves state 'start' twice without a guard: to 'end' and to "
        "'middle'",
        "g.yaml:11:3: invariant of 'end': no state 'nowhere'",
    ]


@pytest.mark.parametrize(('text', 'expected'), [
    ('states: {a: {final: true}}', "g.yaml:1:1: missing field 'initial'"),
    ('initial: a\nstates: {}', 'g.yaml:2:1: no states'),
    ('[]', 'g.yaml:1:1: expected a mapping of states'),
    ('initial: a\nstates: [a]', 'g.yaml:2:1: no states'),
    ('a: {final: true}\nb: {final: true}',
     "g.yaml:2:1: state 'b' can't be reached from the initial state 'a'"),
    ('a: 3', 'g.yaml:1:1: expected a mapping'),
    ('a: {final: true}\na: {final: true}',
     "g.yaml:2:1: duplicate key 'a', first in line 1"),
    ('a: {transition: {next: [b, b]}}\nb: {final: true}',
     "g.yaml:1:28: event 'b' leaves state 'a' twice without a guard: to 'b' and to 'b'"),
    ('a: {transition: {next: [b], default: c}}\nb: {final: true}',
     "g.yaml:1:29: default 'c' is none of the next states"),
    ('a: {transition: {next: [b]}}\nb: *c',
     "g.yaml:2:4: alias '*c' names no anchor; a text that begins with '*' must be put in quotes"),
    ('a:\n\tfinal: true',
     'g.yaml:2:1: a tab indents this line; YAML indents with spaces'),
    ('state: {final: true}',
     "g.yaml:1:1: 'state' can't name a state: on_enter_state is the hook of every state"),
    ('a: {transition: {next: [transition]}}\ntransition: {final: true}',
     "g.yaml:1:25: 'transition' can't name an event: on_transition is another hook already"),
    ('initial: a\nstates: {a: {final: true}}\n'
     'transitions: [{event: enter_a, from: a, to: a}]',
     "g.yaml:3:15: 'enter_a' can't name an event: on_enter_a is another hook already"),
    ('initial: a\nfields: {level: [1, 2]}\nstates: {a: {final: true, level: 3}}',
     "g.yaml:3:27: field 'level': expected one of 1, 2, got 3"),
    ('initial: a\nstates: {a: {final: true}}\ntransitions: {a: b}',
     'g.yaml:3:1: expected a list of transitions'),
    ('initial: a\nstates: {a: {final: true}}\n'
     'transitions: [{event: go, from: [], to: a}]',
     "g.yaml:3:27: an empty list of states in 'from'"),
    ('initial: a\nstates: {a: {final: true}, b: {final: true}}\n'
     'transitions: [{event: go, from: a, to: b, default: true},'
     '{event: on, from: a, to: a, default: true}]',
     "g.yaml:3:58: state 'a' has two default transitions: to 'b' and to 'a'"),
    ('a: {type: confirm, condition: x, confirmed: bb, transition: {next: [b]}}\n'
     'b: {final: true}',
     "g.yaml:1:34: field 'confirmed': 'bb' is none of the next states; did you mean 'b'?"),
    ('a: {type: confirm, transition: {next: [b]}}\nb: {final: true}',
     "g.yaml:1:1: missing field 'condition'"),
    ('a: {type: terminal, greeting: 5}', "g.yaml:1:21: unknown field 'greeting'"),
])
def test_bad_graph_has_a_place_and_a_reason(text: str, expected: str) -> None:
    assert faults_of(text) == [expected]


@pytest.mark.parametrize(('field', 'value'), [
    ('event', '5'), ('from', '[a, 5]'), ('to', '[b]'), ('cond', '{a: b}'), ('default', 'maybe'),
    ('priority', 'high'),
])
def test_wrong_type_names_the_field(field: str, value: str) -> None:
    fields = {'event': 'go', 'from': 'a', 'to': 'b', field: value}
    written = ', '.join(f'{key}: {text}' for key, text in fields.items())
    faults = faults_of(f'initial: a\nstates: {{a: {{}}, b: {{final: true}}}}\n'
                       f'transitions:\n  - {{{written}}}\n')
    assert all(fault.startswith('g.yaml:4:') and f"field '{field}" in fault for fault in faults)


def test_file_that_is_not_utf8_is_a_graph_error(tmp_path: Path) -> None:
    path = tmp_path / 'latin.yaml'
    path.write_bytes(b'a: {final: true}\nb: \xff')
    with pytest.raises(GraphError, match=r'latin\.yaml:2:4: byte 0xff is not valid UTF-8'):
        load_graph(path)


def test_missing_file_is_a_graph_error(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r'none\.yaml:1:1: can not be read'):
        load_graph(tmp_path / 'none.yaml')


def test_invariant_that_is_evaded_is_an_error() -> None:
    text = """\
initial: a
states: {a: {}, check: {}, done: {final: true}}
transitions:
  - {event: go, from: a, to: check}
  - {event: ok, from: check, to: done}
  - {event: skip, from: a, to: done, unless: strict}
invariants:
  done: {must_pass: check, given: [strict]}
"""
    assert load_graph(text).invariants[0].must_pass == 'check'
    assert faults_of(text.replace(', given: [strict]', '')) \
        == ["g.yaml:2:28: state 'done' can be reached without passing 'check'"]


@pytest.mark.parametrize('edge', [
    '{event: x, from: in_progress, to: completed}',
    '{event: x, from: executing_motion, to: status_verification_requested}',
    '{event: x, from: in_progress, to: status_verification_requested, cond: anything}',
    '{event: x, from: assigned, to: pending}',
])
def test_action_graph_refuses_edges_around_its_checks(edge: str) -> None:
    text = config_file('graphs/action.yaml').read_text()
    text = text.replace('transitions:\n', f'transitions:\n  - {edge}\n')
    assert any('can be reached without passing' in fault for fault in faults_of(text))


def test_example_of_the_documentation_loads() -> None:
    page = config_file('graphs/action.yaml').parents[2] / 'docs' / 'graphs.md'
    example = page.read_text().split('```yaml\n')[1].split('```')[0]
    assert len(load_graph(example).transitions) == 4


@pytest.mark.parametrize('name', SHIPPED)
def test_shipped_graph_loads_without_warnings(name: str) -> None:
    graph = load_graph(config_file(f'graphs/{name}.yaml'))
    assert graph.name == name
    assert not graph.warnings
    assert all(state.description for state in graph.states.values())


def test_graph_can_not_be_changed() -> None:
    graph = load_graph(DATA / 'state_graph.yaml')
    with pytest.raises(AttributeError):
        graph.initial = 'use_tool'  # type: ignore[misc]
    with pytest.raises(TypeError):
        graph.table['ask_user']['x'] = ()  # type: ignore[index]
    with pytest.raises(AttributeError):
        graph.transitions[0].target = 'x'  # type: ignore[misc]


def test_path_is_the_shortest_over_what_is_allowed() -> None:
    graph = load_graph(config_file('graphs/action.yaml'))
    path = graph.path('error', 'recipe_received')
    assert path is not None
    assert [step.event for step in path] == ['request_recipe', 'receive_recipe']
    assert graph.path('error', 'error') == ()
    assert graph.path('assigned', 'completed', lambda edge: edge.target != 'pending'
                      and edge.event not in ('request_verification', 'execute')) is None
    with pytest.raises(LifecycleError, match="no state 'eror'; did you mean 'error'"):
        graph.path('assigned', 'eror')


def test_ten_megabyte_graph_loads() -> None:
    words = 'x' * 100_000
    text = ''.join(f'  s{n}: {{description: {words}, transition: {{next: [s{n + 1}]}}}}\n'
                   for n in range(100))
    graph = load_graph(f'initial: s0\nstates:\n{text}  s100: {{final: true}}\n')
    assert len(graph.states) == 101


def test_ten_thousand_states_load_and_their_faults_are_found() -> None:
    count = 10_000
    lines = [f'  s{n}: {{transition: {{next: [s{n + 1}, s{n * 7 % count}]}}}}'
             for n in range(count)]
    good = 'initial: s0\nstates:\n' + '\n'.join(lines) + f'\n  s{count}: {{final: true}}\n'
    began = time.process_time()
    assert len(load_graph(good).states) == count + 1
    assert time.process_time() - began < 30
    bad = good.replace('s5000, s', 's5000x, s')
    faults = faults_of(bad)
    assert faults[0].startswith('g.yaml:5002:') and "no state 's5000x'" in faults[0]


def test_schema_is_the_callers_own() -> None:
    first = graph_schema()
    first.clear()
    assert graph_schema() == graph_schema() != {}


def test_schema_takes_what_loads_and_refuses_what_does_not() -> None:
    jsonschema = pytest.importorskip('jsonschema')
    yaml = pytest.importorskip('yaml')
    schema = graph_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    accepts = jsonschema.Draft202012Validator(schema).is_valid
    for name in SHIPPED:
        assert accepts(yaml.safe_load(config_file(f'graphs/{name}.yaml').read_text()))
    for name in ('state_graph', 'complete_state_graph'):
        assert accepts(yaml.safe_load((DATA / f'{name}.yaml').read_text()))
    assert not accepts({'a': {'transition': {'nxt': ['b']}}, 'b': {'final': True}})
    assert not accepts({'states': {'a': {'final': True}}})
    assert not accepts({'a': {'type': 'confirm', 'final': True}})
    assert accepts({'a': {'type': 'confirm', 'condition': 'x', 'final': True}})
    assert not accepts({'initial': 'a', 'states': {'a': {'final': True}},
                        'transitions': [{'event': 'go', 'from': 'a'}]})
