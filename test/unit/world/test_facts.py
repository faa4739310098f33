# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The facts file: what loads, and what each fault says."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.documents.errors import DocumentError, LifecycleError
from action_lifecycle.lifecycle.ports import Condition
from action_lifecycle.world import compile_condition, load_facts, parse_facts
from action_lifecycle.world.expressions.value_types import Kind
from action_lifecycle.world.facts.loader import any_field
import pytest

JOINT = 'topic: joint_states, type: sensor_msgs/msg/JointState'


def test_a_file_with_every_kind_of_fact_loads(tmp_path: Path) -> None:
    path = tmp_path / 'facts.yaml'
    path.write_text(f"""
estop: {{topic: estop, type: std_msgs/msg/Bool, field: data}}
safety: [{{topic: scan, type: sensor_msgs/msg/LaserScan, max_age: 1.0}}]
facts:
  gap_mm: {{expression: finger_gap * 1000, unit: mm}}
  finger_gap: {{{JOINT}, field: 'position[name=gripper]', unit: m, max_age: 0.2}}
  load: {{{JOINT}, field: 'effort[name=gripper]', reduce: mean, window: 0.5}}
  tool: {{tf: {{target: world, source: tool0}}}}
  home: {{constant: [0, 0, 0.3]}}
limits:
  control_msgs/action/GripperCommand: {{command.max_effort: [0, 40]}}
stopped:
  control_msgs/action/GripperCommand: {{condition: finger_gap < 1, hold: 0.2, max_age: 0.1}}
  /arm/move: load < 3
  lamp: none
""")
    facts = load_facts(path)
    assert set(facts) == {'gap_mm', 'finger_gap', 'load', 'tool', 'home'}
    assert facts.topics(['gap_mm']) == {'joint_states'}
    assert facts.topics(['gap_mm', 'tool', 'home']) == {'joint_states', '/tf', '/tf_static'}
    assert facts.topic_types()['/tf'] == 'tf2_msgs/msg/TFMessage'
    assert facts.safety[0].label == 'e-stop' and facts.safety[0].spec.max_age == 0.5
    assert facts.limits['control_msgs/action/GripperCommand']['command.max_effort'] == (0.0, 40.0)
    assert facts.stopped == {
        'control_msgs/action/GripperCommand': Condition(
            'stopped', 'finger_gap < 1', hold=0.2, within=0.2, max_age=0.1),
        '/arm/move': Condition('stopped', 'load < 3'), 'lamp': None}


def test_a_wrong_type_is_told_once_where_it_stands() -> None:
    right, wrong = (f'{{topic: t, type: {name}, field: data}}' for name in (
        'std_msgs/msg/Float32', 'std_msgs/msg/Float64'))
    with pytest.raises(DocumentError) as caught:
        parse_facts(f'estop: none\nfacts:\n  a: {wrong}\n  b: {right}\n  c: {right}\n', 'f')
    assert str(caught.value) == ("f:3:17: topic 't' is std_msgs/msg/Float32 elsewhere in this "
                                 'file, std_msgs/msg/Float64 here')


def test_no_estop_has_to_be_written_out() -> None:
    assert parse_facts('estop: none').safety == ()
    with pytest.raises(DocumentError, match=r"missing field 'estop'; .*write `estop: none`"):
        parse_facts('facts: {}')


@pytest.mark.parametrize(('entry', 'message'), [
    (f'{{{JOINT}, feild: x}}', "unknown field 'feild'; did you mean 'field'?"),
    (f'{{{JOINT}}}', "a topic needs 'field'"),
    ('{topic: t, field: data}', "a topic needs 'type'"),
    ('{unit: m}', 'expected one of topic, tf, constant, expression, got none'),
    ('{constant: 1, expression: a}', 'got constant and expression'),
    (f"{{{JOINT}, field: 'position[name'}}", "'[' is not closed"),
    (f"{{{JOINT}, field: 'position[a b]'}}", 'neither an index'),
    (f"{{{JOINT}, field: 'a..b'}}", 'expected the name of a field'),
    (f'{{{JOINT}, field: position, reduce: maxx}}', "did you mean 'max'?"),
    (f'{{{JOINT}, field: position, reduce: rate}}', 'it needs a window'),
    (f'{{{JOINT}, field: position, reduce: norm, window: 1}}', '[norm, max]'),
    (f'{{{JOINT}, field: position, reduce: rate, window: 1, max_rate: 5}}', 'max_rate'),
    (f'{{{JOINT}, field: position, max_age: 0}}', 'max_age'),
    ('{topic: joint_states, type: std_msgs/msg/Bool, field: data}', 'elsewhere in this file'),
    ('{expression: other + unknown_one}', "unknown name 'unknown_one'"),
    ('{expression: bad + 1}', 'needs itself'),
    ('{expression: first.x}', 'attribute'),
    ('{constant: {a: 1}}', 'expected a number, a boolean, a text'),
    ('{constant: .nan}', 'NaN is no value'),
    (f'{{constant: {10 ** 50}}}', 'beyond 64 bits'),
    ('{topic: a b, type: std_msgs/msg/Bool, field: data}', "'a b' is no name of a topic"),
    ('{topic: "", type: std_msgs/msg/Bool, field: data}', "'' is no name of a topic"),
    ('{topic: /1x, type: std_msgs/msg/Bool, field: data}', 'no digit after a /'),
    ('{tf: {target: "", source: x}}', 'facts.bad.tf.target'),
    ('{expression: ""}', 'column 1 of the expression: is empty'),
    (f"{{{JOINT}, field: 'position[::0]'}}", 'a step of 0'),
])
def test_a_fault_names_line_and_field(entry: str, message: str) -> None:
    text = f"""estop: none
facts:
  other: {{{JOINT}, field: position}}
  first: {{constant: 1}}
  bad: {entry}
"""
    with pytest.raises(DocumentError) as caught:
        parse_facts(text, 'facts.yaml')
    assert message in str(caught.value)
    assert {(fault.file, fault.line) for fault in caught.value.faults} == {('facts.yaml', 5)}


@pytest.mark.parametrize('name', ['max', 'and', '1st', 'a-b', 'true', '_x'])
def test_a_name_that_expressions_can_not_say_is_refused(name: str) -> None:
    with pytest.raises(DocumentError, match="can't be the name of a fact"):
        parse_facts(f'{{estop: none, facts: {{"{name}": {{constant: 1}}}}}}')


@pytest.mark.parametrize(('text', 'message'), [
    ('limits: {a: {x: [2, 1]}}', 'expected [least, greatest]'),
    ('limits: {a: {x..y: [1, 2]}}', 'expected the name of a field'),
    ("limits: {a: {'x|number': [1, 2]}}", 'limits are of numbers of a goal'),
    ('limits: {a b: {x: [1, 2]}}', "neither the type of an action nor a server's name"),
    ('limits: {a: {x: [.nan, 2]}}', 'expected [least, greatest]'),
    ('estop: {topic: e e, type: std_msgs/msg/Bool, field: data}', 'is no name of a topic'),
    ('facts: {t: {topic: /tf, type: std_msgs/msg/Bool, field: data}, '
     'p: {tf: {target: a, source: b}}}', "topic '/tf' is tf2_msgs/msg/TFMessage elsewhere"),
    ('estop: {topic: e, type: std_msgs/msg/Bool}', "the e-stop needs a 'field'"),
])
def test_limits_and_estop_are_checked(text: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_facts(text if text.startswith('estop') else 'estop: none\n' + text)
    assert message in str(caught.value)


@pytest.mark.parametrize(('key', 'given', 'column', 'message'), [
    ('a b', 'gap > 1', 3, "neither the type of an action nor a server's name"),
    ('a', 'gapp > 1', 3, "did you mean 'gap'?"),
    ('a', 'gap >', 3, 'column 5: invalid syntax'),
    ('a', 'True or gap > 1', 3, 'true while all its facts are unknown'),
    ('a', '{condition: home > 0}', 7, 'true while all its facts are unknown'),
    ('a', '{condition: gap > 1, hold: -1}', 27, 'at least 0'),
    ('a', '{condition: gap > 1, within: 1}', 27, "unknown field 'within'"),
    ('a', '{hold: 1}', 3, "missing field 'condition'"),
    ('a', '[gap > 1]', 3, 'expected a text'),
    ('a', 'true', 3, 'expected a text'),
    ('no_msgs/action/Go', 'gap > 1', 3, 'no_msgs/action/Go'),
])
def test_what_shows_a_standstill_is_checked(
    key: str, given: str, column: int, message: str
) -> None:
    def kind(type_name: str, path: str) -> Kind:
        if type_name.startswith('no_msgs'):
            raise LifecycleError(f'{type_name} is not installed')
        return any_field(type_name, path)

    kind.constants = any_field.constants  # type: ignore[attr-defined]
    with pytest.raises(DocumentError) as caught:
        parse_facts(f"""\
estop: none
facts: {{gap: {{{JOINT}, field: 'position[0]'}}, home: {{constant: 1}}}}
stopped:
  {key}: {given}
""", 'f.yaml', kind)  # type: ignore[arg-type]
    fault, = caught.value.faults
    assert message in fault.message
    assert (fault.line, fault.column) == (4, column), fault


def test_every_fault_is_reported_at_once() -> None:
    with pytest.raises(DocumentError) as caught:
        parse_facts('estop: none\nfacts:\n  a: {unit: m}\n  b: {expression: c}\n  max: {tf: 1}\n')
    assert len(caught.value.faults) >= 1
    with pytest.raises(DocumentError) as caught:
        parse_facts('estop: none\nfacts:\n  a: {unit: m}\n  b: {expression: c}\n')
    assert [fault.line for fault in caught.value.faults] == [3, 4]


def test_a_name_can_not_be_fact_and_parameter() -> None:
    facts = parse_facts('{estop: none, facts: {gap: {constant: 1}}}')
    assert compile_condition('gap > least', facts, {'least': 1.0}).names == ('gap', 'least')
    with pytest.raises(DocumentError, match="'gap' is both a fact and a parameter"):
        compile_condition('gap > 1', facts, {'gap': 1.0})
