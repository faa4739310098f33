# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flow files: what is wrong is told with file and line, before anything moves."""

from __future__ import annotations

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.flow import parse_flow
from action_lifecycle.flow.files.uses import check_names
from action_lifecycle.world.expressions.value_types import Kind
import pytest

FLOW = """\
flow: fetch
parameters:
  force: {default: 10.0, min: 1, max: 50, unit: N}
  part: {default: part_a}
defaults:
  resources: [arm]
actions:
  place:
    after: pick
    motion: {server: arm, type: a/action/B, goal: {target: home}}
    confirm: '{{ part }}_z < 0.1'
  pick:
    parameters: {grip: '{{ force }}'}
    require: '{{ part }}_z < 0.1'
    motion:
      - server: gripper
        type: a/action/B
        goal: {effort: '{{ grip }}', label: 'to {{ part }}', z: {expr: '{{ part }}_z + 0.1'}}
    confirm: {condition: '{{ part }}_z > 0.1', hold: 0.5, within: 2}
    fallback:
      - strategy: retry
        parameters: {grip: '{{ force * 3 }}'}
      - give_up
"""


def faults_of(text: str, **parameters: object) -> str:
    with pytest.raises(DocumentError) as caught:
        parse_flow(text, 'f.yaml', parameters)
    return str(caught.value)


def test_a_condition_may_read_a_list_of_numbers_but_no_object() -> None:
    action = ('flow: f\nactions:\n  a:\n    parameters: {{target: {}}}\n'
              '    confirm: norm(q - target) < 1\n')
    parse_flow(action.format('[1, 2.5]'), 'f.yaml')
    told = faults_of(action.format('{x: 1}'))
    assert told.startswith("f.yaml:5:5: action 'a', confirm 'norm(q - target) < 1': parameter "
                           "'target' has no value that a condition can read: expected a number"
                           ), told


def test_templates_keep_the_type_of_a_single_expression() -> None:
    flow = parse_flow(FLOW, 'f.yaml')
    pick = flow.actions['pick']
    assert list(flow.actions) == ['pick', 'place']
    assert pick.motion[0].goal == {
        'effort': 10.0, 'label': 'to part_a', 'z': {'expr': 'part_a_z + 0.1'}}
    assert pick.confirm[0].condition == 'part_a_z > 0.1'
    assert pick.resources == ['arm']
    assert flow.actions['place'].after == {'pick': 'success'}


def test_a_fallback_changes_the_goal_through_the_parameters() -> None:
    flow = parse_flow(FLOW, 'f.yaml', {'force': 12.0})
    retry = flow.actions['pick'].fallback[0]
    assert retry.parameters == {'grip': 36.0}
    assert flow.render('pick', retry.parameters).motion[0].goal['effort'] == 36.0


@pytest.mark.parametrize(('old', 'new', 'message'), [
    ("confirm: '{{ part }}_z < 0.1'", 'priority: 1',
     "f.yaml:8:3: action 'place' has no 'confirm'"),
    ('server: gripper', 'sever: gripper',
     "f.yaml:16:9: unknown field 'sever'; did you mean 'server'?"),
    ('after: pick', 'after: pik',
     "f.yaml:9:5: action 'place' waits for 'pik', which the flow does not have; "
     "did you mean 'pick'?"),
    ('after: pick', 'after: {pick: 5}', "f.yaml:9:13: '5' is no kind of dependency"),
    ('after: pick', 'after: {pick: null}', "'None' is no kind of dependency"),
    ('after: pick', 'after: {pick: [[]]}', "'[[]]' is no kind of dependency"),
    ("label: 'to {{ part }}'", "label: '{{ prat }}'", 'f.yaml:18:'),
    ("label: 'to {{ part }}'", "label: '{{ prat }}'", "'prat' is undefined"),
    ('{{ part }}_z > 0.1', '{{ part }}_z > (', 'f.yaml:19:'),
    ('hold: 0.5', 'hold: -1', "field 'confirm.hold'"),
    ('strategy: retry', 'strategy: pray', 'f.yaml:21:'),
    ("parameters: {grip: '{{ force * 3 }}'}", 'parameters: {grop: 1}',
     "f.yaml:22:22: action 'pick': the action has no parameter 'grop'; did you mean 'grip'?"),
    ("effort: '{{ grip }}'", 'effort: .nan',
     "f.yaml:18:16: field 'goal.effort': expected a finite number, got nan"),
    ('confirm: {cond', 'verify: [{by: service}]\n    confirm: {cond',
     "f.yaml:19:14: action 'pick': a verifier by service needs 'service'"),
    ('flow: fetch', 'flow: ../etc', "f.yaml:1:1: '../etc' is not a name"),
    ('  place:', '  pla/ce:', 'is not a name'),
    ('resources: [arm]', 'resources: ["a b"]', 'is not a name of a resource'),
])
def test_a_fault_names_its_line_and_what_was_expected(old: str, new: str, message: str) -> None:
    assert old in FLOW
    assert message in faults_of(FLOW.replace(old, new))


def test_all_faults_come_at_once() -> None:
    text = FLOW.replace('after: pick', 'after: pik').replace('hold: 0.5', 'hold: x')
    assert len(faults_of(text).splitlines()) == 2


def test_a_cycle_is_named() -> None:
    text = FLOW.replace('  pick:\n', '  pick:\n    after: place\n')
    assert 'actions wait for one another' in faults_of(text)
    assert 'pick' in faults_of(text)


@pytest.mark.parametrize(('value', 'message'), [
    (60, 'expected at most 50, got 60'), (0.5, 'expected at least 1'),
    ('much', "expected a number, got 'much'"), (True, 'got True'),
    (float('nan'), 'expected a finite number'),
])
def test_a_parameter_outside_its_limits_is_refused(value: object, message: str) -> None:
    assert message in faults_of(FLOW, force=value)


def test_an_unknown_parameter_names_the_nearest() -> None:
    assert "no parameter 'forse'; did you mean 'force'?" in faults_of(FLOW, forse=1)


def test_an_unknown_parameter_lists_those_that_there_are() -> None:
    assert "the flow has no parameter 'speed' (known: force, part)" in faults_of(FLOW, speed=1)
    plain = 'flow: x\nactions: {a: {confirm: z > 0}}\n'
    assert "the flow has no parameter 'speed' (known: none)" in faults_of(plain, speed=1)
    many = ', '.join(f'p{number}: {{default: 1}}' for number in range(80))
    assert 'p49 and 30 more)' in faults_of(
        f'flow: x\nparameters: {{{many}}}\nactions: {{a: {{confirm: z > 0}}}}\n', speed=1)


def test_a_fault_of_the_defaults_names_them_and_their_line() -> None:
    text = ('flow: x\ndefaults:\n  maintain: z < 9\nactions:\n  look: {confirm: z > 0}\n'
            '  own: {maintain: z < 8, confirm: z > 0}\n')
    assert faults_of(text).splitlines() == [
        "f.yaml:3:3: action 'look' has 'maintain' but no 'motion' that it could stop; "
        "'maintain: []' leaves it out (from 'defaults')",
        "f.yaml:6:9: action 'own' has 'maintain' but no 'motion' that it could stop; "
        "'maintain: []' leaves it out"]
    parse_flow(text.replace('  look: {', '  look: {maintain: [], ').replace(
        'own: {maintain: z < 8', 'own: {maintain: []'), 'f.yaml')


@pytest.mark.parametrize('template', [
    "{{ ''.__class__.__mro__ }}", '{{ part.__init__.__globals__ }}', '{{ range(10) }}',
    '{{ part * 10 ** 10 }}', '{{ 9 ** 99 }}', '{{ [0] * 10 ** 8 }}', "{% include 'x' %}",
])
def test_a_template_that_reaches_out_is_refused(template: str) -> None:
    text = FLOW.replace("label: 'to {{ part }}'", f'label: "{template}"')
    assert 'f.yaml:18:' in faults_of(text)


def test_an_unknown_fact_names_the_nearest_and_its_line() -> None:
    flow = parse_flow(FLOW, 'f.yaml')
    check_names(flow, {'part_a_z': Kind.NUMBER})
    with pytest.raises(DocumentError) as caught:
        check_names(flow, {'part_b_z': Kind.NUMBER})
    text = str(caught.value)
    assert 'f.yaml:19:15:' in text and 'part_a_z' in text and "did you mean 'part_b_z'?" in text


def test_thousand_actions_load() -> None:
    actions = ''.join(f'  a{i}: {{confirm: x > {i}{f", after: a{i - 1}" if i else ""}}}\n'
                      for i in range(1000))
    flow = parse_flow(f'flow: many\nactions:\n{actions}', 'f.yaml')
    assert list(flow.actions)[-1] == 'a999'


@pytest.mark.parametrize(('spec', 'value', 'message'), [
    ('{type: number}', 'x', "expected a number, got 'x'"),
    ('{type: number}', True, 'expected a number, got True'),
    ('{type: number}', None, 'must be given'),
    ('{type: integer}', 1.5, 'expected a whole number, got 1.5'),
    ('{type: text}', 3, 'expected a text, got 3'),
    ('{type: boolean}', 1, 'expected true or false, got 1'),
    ('{type: list, default: []}', {}, 'expected a list, got {}'),
    ('{type: integer, default: 1.5}', None, 'expected a whole number, got 1.5'),
    ('{default: 1, min: 0, max: 5}', 7, 'expected at most 5, got 7'),
    ('{default: 1}', 1.5, ''),
    ('{type: mapping}', {'a': 1}, ''),
])
def test_parameters_have_types_and_limits(spec: str, value: object, message: str) -> None:
    text = f'flow: f\nparameters:\n  p: {spec}\nactions:\n  a: {{confirm: z > 0}}\n'
    given = {} if value is None else {'p': value}
    if not message:
        assert parse_flow(text, 'f.yaml', given).parameters == {'p': value}
        return
    with pytest.raises(DocumentError) as caught:
        parse_flow(text, 'f.yaml', given)
    assert f"f.yaml:3:3: parameter 'p': {message}" in str(caught.value)
