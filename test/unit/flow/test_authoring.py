# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows written in Python: the same document and the same checks as a flow file."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
import functools
import inspect
from pathlib import Path
import re
from types import SimpleNamespace
from typing import Any

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.documents.yaml_document import parse_document
from action_lifecycle.flow import authoring, load_flow, parse_flow
from action_lifecycle.flow.authoring import (
    ask,
    call,
    checker,
    condition,
    contains,
    facts,
    facts_of,
    Flow,
    fn,
    instead,
    job,
    motion,
    nested,
    parameter,
    publish,
    retry_with,
    tool,
    verifier,
    when,
    work,
)
from action_lifecycle.flow.files.spec import FlowSpec, ParameterSpec
from action_lifecycle.lifecycle.checkers import register_checker
from action_lifecycle.lifecycle.spec import ActionSpec, ConditionSpec, FallbackSpec, WhenSpec
from action_lifecycle.lifecycle.verifiers import Verdict
from action_lifecycle.lifecycle.work import WORK
from action_lifecycle.world.expressions.expression import compile_expression
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest


class Mode(str, Enum):
    AUTO = 'auto'


GRIP = 'control_msgs/action/GripperCommand'
ROOT = Path(__file__).parents[3]
BUILT_IN = ('motion', 'call', 'publish', 'job', 'tool', 'graph', 'flow')
FUNCTION = {'flow': 'nested'}
x, y = parameter('x'), parameter('y')


def grip(flow: Flow, **fields: Any) -> Any:
    return flow.action('grip', motion('gripper', GRIP, {'command': {'position': 0.01}}),
                       **{'confirm': facts.gap < 0.02, **fields})


def line_of(text: str) -> int:
    """Return the line in this file that contains a text."""
    lines = Path(__file__).read_text(encoding='utf-8').splitlines()
    found = [number for number, line in enumerate(lines, 1)
             if text in line and 'line_of' not in line]
    assert len(found) == 1
    return found[0]


def faults_of(flow: Flow, **parameters: Any) -> list[Any]:
    with pytest.raises(DocumentError) as raised:
        flow.load(**parameters)
    return list(raised.value.faults)


# -- what is written

@pytest.mark.parametrize(('value', 'text'), [
    (facts.gap > 0.02, 'gap > 0.02'),
    ((facts.gap > 0.02) & (facts.speed < 0.1) & ~facts.held,
     'gap > 0.02 and speed < 0.1 and (not held)'),
    ((facts.a > 1) & ((facts.b > 1) | (facts.c > 1)), 'a > 1 and (b > 1 or c > 1)'),
    (fn.dist(facts.at[:2], [x, y - 1]) < 0.25, 'dist(at[:2], [x, y - 1]) < 0.25'),
    (2 - (facts.a - 1) * 3, '2 - (a - 1) * 3'),
    (-facts.a ** 2, '-a ** 2'), ((-facts.a) ** 2, '(-a) ** 2'),
    (abs(facts.a - 0.5) < x / 2, 'abs(a - 0.5) < x / 2'),
    (facts.label == 'red', "label == 'red'"),
    (contains(facts.label, 'red'), "'red' in label"),
    (facts.held == True, 'held == true'),  # noqa: E712
    (facts.a[-1] + 1, 'a[-1] + 1'), (facts.a % 3 // 2 != 1, 'a % 3 // 2 != 1'),
    (facts.mode == Mode.AUTO, "mode == 'auto'"), (+facts.a, 'a'),
    (facts.open == np.True_, 'open == true'), (facts.at[np.int64(1)], 'at[1]'),
    (fn.dist(facts.at, np.array([1.0, 2.0])) < 1, 'dist(at, [1.0, 2.0]) < 1'),
    (np.float64(2.0) - facts.a, '2.0 - a'),
    (1 < facts.a, 'a > 1'),  # noqa: SIM300
])
def test_operators_write_expressions(value: Any, text: str) -> None:
    assert value.expression == text
    compile_expression(text, None)


numbers = st.one_of(
    st.integers(-1000, 1000), st.floats(-1e6, 1e6, allow_nan=False).map(lambda n: round(n, 6)))
OPERATORS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b,
    lambda a, b: a // b, lambda a, b: a % b, lambda a, b: -a - b, lambda a, b: abs(b) + a]
COMPARISONS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b, lambda a, b: a >= b,
    lambda a, b: a == b, lambda a, b: a != b]


@given(st.lists(st.tuples(st.sampled_from(OPERATORS), numbers, st.booleans()), max_size=8),
       st.sampled_from(COMPARISONS), numbers, numbers)
def test_an_expression_has_the_value_that_python_gives(
    steps: Any, compare: Any, start: Any, limit: Any
) -> None:
    def value(of: Any) -> Any:
        for operator, number, swapped in steps:
            of = operator(number, of) if swapped else operator(of, number)
        return compare(of, limit)

    try:
        text = value(facts.v).expression
        wanted = value(float(start))
    except (ZeroDivisionError, OverflowError):  # in Python
        return
    found = compile_expression(text, ('v',), condition=True)
    assert found.names == ('v',)
    assert found.evaluate([float(start)]) is wanted


def test_many_conditions_are_one_chain() -> None:
    chain = facts.f0 > 0
    for number in range(1, 60):
        chain = chain & (parameter(f'p{number}') > 0)
    compile_expression(chain.expression, None, condition=True)


def test_values_are_written_as_each_field_needs_them() -> None:
    flow = Flow('f')
    width = flow.parameter('width', 0.03, unit='m', min=0, max=0.08)
    look = flow.action('look', call('look', 'std_srvs/srv/Trigger'))
    flow.action(
        'grip', motion('gripper', GRIP, {'command': {
            'position': width / 2, 'max_effort': facts.mass * 20}}, timeout=width * 100),
        after=look, parameters={'part': look.result.parts[0].name, 'high': facts.height + 1},
        require=look.outcome.attempts < 2,
        confirm=[condition(facts.gap < width, hold=0.3), facts.held],
        fallback=[ask(f'{width} m: retry?', {'smaller': retry_with(width=0.01)})])
    written = parse_document(flow.to_yaml(), 'f').data
    assert written['parameters'] == {
        'width': {'default': 0.03, 'min': 0, 'max': 0.08, 'unit': 'm'}}
    assert written['actions']['grip'] == {
        'parameters': {'part': '{{ results.look.result.parts[0].name }}',
                       'high': '{{ facts.height + 1 }}'},
        'after': 'look', 'require': '{{ results.look.attempts }} < 2',
        'motion': {'server': 'gripper', 'type': GRIP, 'timeout': '{{ width * 100 }}',
                   'goal': {'command': {'position': '{{ width / 2 }}',
                                        'max_effort': {'expr': 'mass * 20'}}}},
        'confirm': [{'condition': 'gap < width', 'hold': 0.3}, 'held'],
        'fallback': [{'strategy': 'ask', 'question': '{{ width }} m: retry?', 'options': {
            'smaller': {'strategy': 'retry', 'parameters': {'width': 0.01}}}}]}


def test_facts_in_requests_are_read_when_physical_work_is_sent_and_else_at_its_start() -> None:
    flow = Flow('f')
    flow.action('a', call('s', 's/srv/Set', {'v': facts.v, 'w': facts.v + 1}, physical=True),
                confirm=facts.v > 1)
    flow.action('b', call('s', 's/srv/Set', {'v': facts.v, 'condition': facts.v + 1}))
    flow.action('c', publish('t', 'p/msg/M', {'v': x}, rate=10, until=facts.v > 1,
                             last={'v': 0.0}), parameters={'x': 1.0})
    actions = parse_document(flow.to_yaml(), 'f').data['actions']
    assert actions['a']['call']['request'] == {'v': {'fact': 'v'}, 'w': {'expr': 'v + 1'}}
    assert actions['b']['call']['request'] == {
        'v': '{{ facts.v }}', 'condition': '{{ facts.v + 1 }}'}
    assert actions['c']['publish']['until'] == 'v > 1'
    assert actions['c']['publish']['finally'] == {'v': 0.0}
    flow.load()


def test_where_a_value_stands_says_how_it_is_written_whatever_the_field_is_called() -> None:
    flow = Flow('f', defaults={'require': {'condition': facts.ready, 'within': x}})
    flow.parameter('x', 3.0)
    flow.action('parameters', tool('say', {'reason': x, 'until': [x], 'condition': x}),
                confirm=facts.gap > x, retry={'delay': x})
    flow.action('b', job('my.tasks:a', input={'success': x}), repeat={
        'times': 3, 'until': {'condition': facts.gap > x, 'within': x}},
        after={'parameters': {'condition': facts.gap < x}})
    written = parse_document(flow.to_yaml(), 'f').data
    assert written['defaults'] == {'require': {'condition': 'ready', 'within': '{{ x }}'}}
    first, second = written['actions']['parameters'], written['actions']['b']
    assert first['tool']['arguments'] == {
        'reason': '{{ x }}', 'until': ['{{ x }}'], 'condition': '{{ x }}'}
    assert (first['confirm'], first['retry']) == ('gap > x', {'delay': '{{ x }}'})
    assert second['job']['input'] == {'success': '{{ x }}'}
    assert second['repeat'] == {
        'times': 3, 'until': {'condition': 'gap > x', 'within': '{{ x }}'}}
    assert second['after'] == {'parameters': {'condition': 'gap < x'}}


def test_the_flow_file_of_a_python_flow_is_the_same_flow() -> None:
    flow = Flow('drive', description='Drive there.', max_motions=1, deadline=60)
    to_x = flow.parameter('x', 4.0)
    go = flow.action('go', motion('nav', 'nav2_msgs/action/NavigateToPose', {
        'pose': {'pose': {'position': {'x': to_x}}}}, timeout=30),
        confirm=condition(fn.dist(facts.at[0], to_x) < 0.25, within=3), retry={'times': 1})
    flow.action('back', work('motion', server='nav', type='nav2_msgs/action/NavigateToPose'),
                tool('log', {'text': 'back'}), after={go: when('attempts < 2', unknown='fail')},
                confirm='at[0] < 0.2', verify=[verifier('operator', question='There?')])
    loaded, parsed = flow.load(x=2.0), parse_flow(flow.to_yaml(), 'drive.yaml', {'x': 2.0})
    assert loaded.actions == parsed.actions
    assert [step.kind for step in loaded.actions['back'].steps] == ['motion', 'tool']
    assert (loaded.name, loaded.deadline, loaded.parameters) == ('drive', 60.0, {'x': 2.0})
    assert loaded.text == flow.to_yaml()


def test_flows_nest() -> None:
    inner = Flow('inner')
    inner.parameter('speed', 0.1)
    grip(inner)
    outer = Flow('outer')
    outer.action('one', nested(inner, {'speed': 0.2}))
    inner.action('later', tool('log'), after='grip')
    assert [name for name, _ in outer.load().named_actions()] == [
        'one', 'one/grip', 'one/later']
    itself = Flow('itself')
    itself.action('a', nested(itself))
    assert 'does a flow nest itself?' in faults_of(itself)[0].message
    long = Flow('long')
    grip(long, confirm=functools.reduce(lambda total, one: total + one, range(3000), facts.a) > 1)
    assert 'the expression is nested too deeply' in faults_of(long)[0].message


def test_functions_stand_for_their_names() -> None:
    @register_checker('of_this_test')
    def quiet(request: Any) -> Verdict:
        return Verdict('completed')

    flow = Flow('f')
    flow.action('count', job({'a': 'my.tasks:a', 'b': [inspect.getsource]}))
    grip(flow, verify=checker(quiet))
    actions = parse_document(flow.to_yaml(), 'f').data['actions']
    assert actions['grip']['verify'] == {'by': 'checker', 'checker': 'of_this_test'}
    assert actions['count']['job']['invoke']['b'] == ['inspect:getsource']
    with pytest.raises(ValueError, match="add the entry point 'grip = .*:grip' to the group"):
        checker(grip)
    for wrong in (lambda: None, functools.partial(len, ''), [].append):
        with pytest.raises(ValueError, match='another process can not import it'):
            job(wrong)


# -- faults

def test_faults_have_the_lines_of_the_python_file() -> None:
    flow = Flow('f', max_motions=0)
    flow.parameter(
        'width', 'wide', min=0.0)
    flow.action(
        'grip',
        motion('gripper', GRIP,
               {'command': {
                   'position': parameter('depth')}},
               timeout=-1.0),
        confirm=[
            condition('gap <', hold=-2),
            facts.gap < 0.02])
    assert [(Path(fault.file).name, fault.line) for fault in faults_of(flow)] == [
        (Path(__file__).name, line_of("Flow('f', max_motions=0)"))]
    flow._fields.clear()
    assert [(fault.line, fault.message) for fault in faults_of(flow)] == [
        (line_of("'width', 'wide', min=0.0") - 1,  # where the call begins
         "parameter 'width': expected at least 0, got 'wide'")]
    flow._parameters.clear()
    found = {fault.line: fault for fault in faults_of(flow)}
    assert "'depth'" in found[line_of("'position': parameter('depth')")].message
    flow.parameter('depth', 0.1)
    found = {(fault.line, fault.message.split(':')[0]): fault for fault in faults_of(flow)}
    assert {line for line, _ in found} >= {
        line_of('timeout=-1.0'), line_of("condition('gap <', hold=-2)")}


def test_messages_about_lines_of_the_flow_file_name_those_of_the_python_file() -> None:
    flow = Flow('f')
    grip(flow, timeout=5.0)
    text = flow.to_yaml().splitlines()
    line = next(number for number, one in enumerate(text, 1) if 'position' in one)
    column = text[line - 1].index('position') + 1
    place = line_of("{'command': {'position': 0.01}}")
    said = flow.in_python(f'f.yaml:{line}:{column}: wrong; f.yaml:999:1: other', 'f.yaml')
    assert re.fullmatch(
        rf'.*test_authoring\.py:{place}:\d+: wrong; f\.yaml:999:1: other', said)


@pytest.mark.parametrize(('wrong', 'said'), [
    (lambda: bool(facts.a > 1), r'in conditions, use & for and'),
    (lambda: 0 < facts.a < 1, r'write a < b < c as \(a < b\) & \(b < c\)'),
    (lambda: facts.a and facts.b, r'use & for and'),
    (lambda: 'x' in facts.a, r'use contains\(value, item\)'),
    (lambda: list(facts.a), 'it has no elements now'),
    (lambda: float(facts.a), 'it is no number now'),
    (lambda: f'{facts.a:.2f}', r"such as '{{ facts.a \| round\(2\) }}'"),
    (lambda: facts.a > object(), 'can not stand in an expression'),
    (lambda: facts.a > float('nan'), 'nan can not stand in an expression'),
    (lambda: fn.distance(1, 2), "there is no function 'distance'"),
    (lambda: Flow('f').action('a', {'motion': {}}), r'expected work such as motion\(…\)'),
    (lambda: ~facts.gap > 0.02, r'put each comparison in parentheses'),
    (lambda: (facts.a > 1) & facts.b > 2, r'put each comparison in parentheses'),
    (lambda: facts.mode in [1, 2], r'a in \[1, 2\] as'),
    (lambda: facts.pose.x, "has no field 'x'; an element is read by its index"),
    (lambda: facts[0], 'expected the name of a fact, got 0'),
    (lambda: Flow('f').action('a', fallback=[motion('nav', GRIP)]), r'write instead\(motion'),
    (lambda: motion('nav', int), 'is no class of a ROS type of kind action'),
    (lambda: motion('nav', GRIP, 3), 'expected a mapping of fields or a message, got 3'),
])
def test_what_can_not_be_is_refused_where_it_is_written(wrong: Any, said: str) -> None:
    with pytest.raises((TypeError, AttributeError), match=said):
        wrong()


def test_fields_of_messages_are_checked_where_they_are_written() -> None:
    control = pytest.importorskip('control_msgs.action')
    follow = control.FollowJointTrajectory
    for wrong, said in (
            ({'trajectry': {}}, r"'trajectry' is no field of .*did you mean 'trajectory'"),
            ({'trajectory': {'points': [{'posisions': [1.0]}]}},
             r"'trajectory.points.posisions' is no field of trajectory_msgs/msg/"),
            (control.GripperCommand.Goal(), 'expected a control_msgs/action/Follow')):
        with pytest.raises(TypeError, match=said):
            motion('arm', follow, wrong)
    with pytest.raises(TypeError, match='is no class of a ROS type of kind action'):
        motion('arm', follow.Goal)
    goal = follow.Goal()
    goal.goal_time_tolerance.sec = 2
    flow = Flow('f')
    flow.action('a', motion('arm', follow, {'trajectory': goal.trajectory}), confirm='a > 1')
    flow.action('b', motion('arm', follow, goal), confirm='a > 1')
    actions = parse_document(flow.to_yaml(), 'f').data['actions']
    assert actions['a']['motion']['goal'] == {'trajectory': {}}
    assert actions['b']['motion']['goal'] == {'goal_time_tolerance': {'sec': 2}}


def test_two_of_a_name_are_refused_with_the_place_of_the_first() -> None:
    flow = Flow('f')
    flow.parameter('x', 1.0)
    line = line_of("flow.parameter('x', 1.0)")
    with pytest.raises(ValueError, match='two parameters .x.; the first one is in '
                       rf'.*test_authoring\.py:{line}$'):
        flow.parameter('x', 2.0)
    grip(flow)
    with pytest.raises(ValueError, match="flow 'f' has two actions 'grip'"):
        grip(flow)


def test_things_that_no_flow_can_contain_are_named() -> None:
    flow = Flow('f')
    grip(flow, parameters={'a': {'b': SimpleNamespace()}})
    fault, = faults_of(flow)
    assert fault.message.startswith('actions.grip.parameters.a.b: namespace() can not stand')


def test_facts_of_a_file_are_known_by_name() -> None:
    of_nav = facts_of(ROOT / 'config' / 'stacks' / 'nav2' / 'facts.yaml')
    assert {'at', 'speed'} <= set(dir(of_nav))
    assert (of_nav.speed < 1).expression == 'speed < 1'
    with pytest.raises(AttributeError, match="there is no fact 'sped'; did you mean 'speed'"):
        _ = of_nav.sped


# -- the signatures are those of the format

@pytest.mark.parametrize(('function', 'model', 'other'), [
    (Flow.action, ActionSpec, {'self', 'name', 'steps', 'replaces'}),
    (Flow.__init__, FlowSpec, {'self', 'name', 'flow', 'version', 'parameters', 'actions'}),
    (Flow.parameter, ParameterSpec, {'self', 'name'}),
    (condition, ConditionSpec, set()), (when, WhenSpec, set()),
    (ask, FallbackSpec, {'strategy', 'parameters', 'recipe', 'fields'}),
    *((getattr(authoring, FUNCTION.get(kind, kind)), WORK.find(kind), set()) for kind in BUILT_IN),
])
def test_arguments_are_the_fields(function: Any, model: Any, other: set[str]) -> None:
    fields = getattr(model, 'model_fields', None) or model.__fields__
    assert set(inspect.signature(function).parameters) - other == set(fields) - other


def test_each_kind_of_work_has_a_function() -> None:
    assert set(BUILT_IN) == {path.stem for path in (ROOT / 'action_lifecycle' / 'work').glob(
        '*.py') if '@register_work(' in path.read_text(encoding='utf-8')}


def test_a_flow_that_is_saved_can_be_loaded(tmp_path: Path) -> None:
    flow = Flow('f')
    grip(flow, fallback=[instead(motion('gripper', GRIP), confirm=facts.gap < 0.03)])
    path = tmp_path / 'f.yaml'
    path.write_text(flow.to_yaml(), encoding='utf-8')
    assert load_flow(path).actions == flow.load().actions
