# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The examples of docs/extending.md do what the page says."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator
import math
from pathlib import Path
import re
import sys
import textwrap
from types import SimpleNamespace
from typing import Any

from action_lifecycle.documents.errors import DocumentError, LifecycleError
from action_lifecycle.documents.yaml_document import parse_document
from action_lifecycle.engine import load_graph, StateHandler
from action_lifecycle.fleet import open_ledger
from action_lifecycle.fleet.ledger import LEDGERS
from action_lifecycle.flow import parse_flow
from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.flow.files.json_schema import flow_schema
from action_lifecycle.flow.planning.planners import (
    ask_planner,
    find_planner,
    PlanAnswer,
    PLANNERS,
    PlanRequest,
)
from action_lifecycle.graphs.state_types import REGISTRY
from action_lifecycle.journal import Entry, Journal
from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.lifecycle.verifiers import VERIFIERS
from action_lifecycle.lifecycle.work import WORK
from action_lifecycle.world import parse_facts
from action_lifecycle.world.expressions.expression import compile_expression
from action_lifecycle.world.expressions.functions import FUNCTIONS
from action_lifecycle.world.expressions.reducers import reduce_elements, reduce_window, REDUCERS
from action_lifecycle.world.expressions.value_types import Kind
from jsonschema import validate, ValidationError
import pytest

from .pages import blocks, ROOT
from ..flow.robot import Clock, Process, Robot

PAGE = ROOT / 'docs' / 'extending.md'
REGISTRIES = (REDUCERS, FUNCTIONS, VERIFIERS, REGISTRY, LEDGERS, PLANNERS, WORK)


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget afterwards what an example registers."""
    for registry in REGISTRIES:
        monkeypatch.setattr(registry, '_things', dict(registry))
    monkeypatch.setattr(WORK, '_fields', frozenset())


def section(heading: str) -> Iterator[tuple[str, str]]:
    """Yield the language and the text of each block of a section."""
    lines = PAGE.read_text(encoding='utf-8').splitlines()
    start = lines.index(f'## {heading}')
    end = next((number for number, line in enumerate(lines) if number > start
                and line.startswith('## ')), len(lines))
    for block in blocks(PAGE):
        if start < block.line <= end:
            yield block.language, block.text


def run(heading: str) -> tuple[dict[str, Any], str]:
    """Run the Python blocks of a section; returns their names and the text of its YAML."""
    names: dict[str, Any] = {'__name__': 'my_robot'}
    data = ''
    for language, text in section(heading):
        if language == 'python':
            exec(compile(text, PAGE.name, 'exec', dont_inherit=True), names)
        elif language == 'yaml fragment':
            data = text
    return names, data


def installed(folder: Path) -> None:
    """Make the page's examples a package with the entry points that the page gives."""
    lines, *_ = section('An entry point')
    for heading, module in (('A reducer', 'facts'), ('A function of conditions', 'facts'),
                            ('A verifier kind', 'verifiers'), ('A typed state', 'states'),
                            ('A planner', 'planners'), ('A kind of work', 'work'),
                            ('A ledger backend', 'ledgers')):
        with (folder / 'my_robot' / f'{module}.py').open('a') as file:
            file.writelines(text for language, text in section(heading) if language == 'python')
    names: dict[str, Any] = {}
    exec(lines[1], names)
    (folder / 'my_robot-1.0.dist-info').mkdir()
    (folder / 'my_robot-1.0.dist-info/METADATA').write_text(
        'Metadata-Version: 2.1\nName: my-robot\nVersion: 1.0\n')
    (folder / 'my_robot-1.0.dist-info/entry_points.txt').write_text(''.join(
        f"[{group}]\n{''.join(entry + chr(10) for entry in [*entries, 'odd = my_robot.odd:Odd'])}"
        for group, entries in names['entry_points'].items()))


def test_parts_of_a_package_are_found_by_their_entry_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / 'my_robot').mkdir()
    installed(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    fragments = {heading: [text for language, text in section(heading) if language != 'python'][0]
                 for heading in ('A reducer', 'A verifier kind', 'A typed state',
                                 'A kind of work')}
    parse_facts(fragments['A reducer'])
    assert compile_expression('wrap(7)', ()).evaluate([]) == pytest.approx(7 - 2 * math.pi)
    verifier = flow(fragments['A verifier kind'])
    assert parse_flow(verifier, 'f.yaml').actions['pick'].verify[0].by == 'weight'
    load_graph(fragments['A typed state'])
    work = parse_flow('flow: f\n' + fragments['A kind of work'], 'f.yaml')
    assert [step.kind for step in work.actions['scale'].steps] == ['weigh']
    assert type(open_ledger('recorded://cell')).__name__ == 'RecordedLedger'
    assert find_planner('second_grasp').__self__.__class__.__name__ == 'SecondGrasp'
    with pytest.raises(LifecycleError, match=r"'first_grasp'.*known: odd, second_grasp"):
        find_planner('first_grasp')
    with pytest.raises(LifecycleError, match="entry point 'odd' of action_lifecycle.planners"):
        find_planner('odd')
    for load in (lambda: parse_facts(fragments['A reducer'].replace('spread', 'odd')),
                 lambda: compile_expression('odd(7)', ()),
                 lambda: parse_flow(verifier.replace('by: weight', 'by: odd'), 'f.yaml'),
                 lambda: load_graph(fragments['A typed state'].replace(': greeting', ': odd', 1))):
        with pytest.raises(DocumentError, match=(
                r":\d+:\d+: .*entry point 'odd' of action_lifecycle\.\w+: "
                "ModuleNotFoundError: No module named 'my_robot.odd'")):
            load()
    for name in [name for name in sys.modules if name.split('.')[0] == 'my_robot']:
        del sys.modules[name]


def test_a_reducer() -> None:
    _, facts = run('A reducer')
    assert parse_facts(facts).kinds['clutter'] is Kind.NUMBER
    assert reduce_elements('spread', [3.0, 1.0, float('nan')]) == 2.0
    assert reduce_window('spread', [9.5, 10.5]) == 1.0
    with pytest.raises(DocumentError, match='is for numbers, and the field is a text'):
        parse_facts(facts, field_kind=_Texts())


class _Texts:

    def __call__(self, type_name: str, path: str) -> Kind:
        return Kind.TEXT

    def constants(self, type_name: str, path: str) -> dict[str, Any]:
        return {}


def test_a_function_of_conditions() -> None:
    _, fragment = run('A function of conditions')
    text = parse_document(fragment, 'f').data['condition']
    expression = compile_expression(text, {'heading', 'wanted'}, condition=True)
    assert expression.evaluate([6.3, 0.0]) is True
    assert expression.evaluate([1.0, 0.0]) is False
    assert expression.evaluate([float('inf'), 0.0]) is None
    with pytest.raises(DocumentError, match="'state' is a text; expected numbers"):
        compile_expression('wrap(state) < 1', {'state'}, kinds={'state': Kind.TEXT})


@pytest.mark.parametrize(('mass', 'code', 'said'), [
    ('0.3', ErrorCode.NONE, '0.3 kg'), ('0.2', ErrorCode.VERIFY_FAILED, 'expected at least 0.25'),
    ('much', ErrorCode.VERIFY_FAILED, 'ValueError: could not convert')])
def test_a_verifier_kind(tmp_path: Path, mass: str, code: ErrorCode, said: str) -> None:
    _, fragment = run('A verifier kind')
    scale = tmp_path / 'kg'
    scale.write_text(mass)
    clock = Clock()
    process = Process(tmp_path / 'journal', clock, Robot(clock))
    action = process.submit(flow(fragment.replace('/run/scale/kg', str(scale)))).actions[0]
    clock.run()
    assert action.error_code is code
    row = next(row for row in process.journal.rows(flow_id='f')
               if row.event in ('verified', 'fail'))
    assert said in row.cause and row.actor == 'weight'


@pytest.mark.parametrize(('old', 'new', 'message'), [
    ('by: weight', 'by: wieght', "f.yaml:7:10: field 'verify.0.by': expected one of 'checker', "
     "'operator', 'sensor', 'service', 'weight', got 'wieght'; did you mean 'weight'?"),
    ('by: weight', 'timeout: 5', "f.yaml:7:9: missing field 'by'"),
    ('least', 'lest', "f.yaml:7:43: unknown field 'lest'; did you mean 'least'? (known: by, file, "
     'least, timeout)'),
    ('0.25', 'heavy', "field 'verify.0.least': expected a number, got 'heavy'"),
    ('file: /run/scale/kg, ', '', "missing field 'file'")])
def test_a_wrong_verifier_is_refused_with_its_place(old: str, new: str, message: str) -> None:
    _, fragment = run('A verifier kind')
    text = flow(fragment.replace(', timeout: 10', '').replace(old, new))
    with pytest.raises(DocumentError) as caught:
        parse_flow(text, 'f.yaml')
    assert message in str(caught.value)


def test_the_schema_of_flows_has_the_fields_of_a_verifier() -> None:
    _, fragment = run('A verifier kind')
    validate(parse_document(flow(fragment), 'f').data, flow_schema())
    with pytest.raises(ValidationError):
        validate(parse_document(flow(fragment.replace('least', 'lest')), 'f').data, flow_schema())


def flow(fields: str) -> str:
    """Return a flow of one action with these fields."""
    return ('flow: one\nactions:\n  pick:\n    motion: {server: arm, type: a/action/B}\n'
            '    confirm: z > 0\n' + textwrap.indent(fields, '    '))


class Threads(Robot):
    """Calls functions of work at once."""

    def in_thread(self, name: str, check: Any, verdict: Any) -> None:
        try:
            found = check(), None
        except Exception as error:
            found = None, error
        self.clock.call_later(0.1, lambda: verdict(*found))


@pytest.mark.parametrize(('mass', 'code', 'said'), [
    ('0.3', ErrorCode.NONE, '{"mass": 0.3}'),
    ('0.1', ErrorCode.WORK_FAILED, 'ValueError: 0.1 kg, expected at least 0.25 kg'),
    ('kg', ErrorCode.WORK_FAILED, 'could not convert string')])
def test_a_kind_of_work(tmp_path: Path, mass: str, code: ErrorCode, said: str) -> None:
    _, fragment = run('A kind of work')
    scale = tmp_path / 'kg'
    scale.write_text(mass)
    clock = Clock()
    process = Process(tmp_path / 'journal', clock, Threads(clock))
    action = process.submit(
        'flow: f\n' + fragment.replace('/run/scale/kg', str(scale))).actions[0]
    clock.run()
    assert action.error_code is code and said in (action.controller_said + action.error_msg)
    assert action.result == (None if code else {'mass': 0.3})


@pytest.mark.parametrize(('old', 'new', 'message'), [
    ('weigh', 'wiegh', "unknown field 'wiegh'; did you mean 'weigh'?"),
    ('least', 'lest', "f.yaml:4:34: unknown field 'lest'; did you mean 'least'?"),
    ('/run', 'run', "f.yaml:4:13: action 'scale', weigh: expected an absolute path, got 'run/"),
    ('0.25', 'heavy', "field 'weigh.least': expected a number, got 'heavy'")])
def test_wrong_work_is_refused_with_its_place(old: str, new: str, message: str) -> None:
    _, fragment = run('A kind of work')
    with pytest.raises(DocumentError) as caught:
        parse_flow('flow: f\n' + fragment.replace(old, new, 1), 'f.yaml')
    assert message in str(caught.value)


def test_the_schema_of_flows_has_the_fields_of_a_kind_of_work() -> None:
    _, fragment = run('A kind of work')
    validate(parse_document('flow: f\n' + fragment, 'f').data, flow_schema())
    with pytest.raises(ValidationError):
        validate(parse_document('flow: f\n' + fragment.replace('least', 'lest'), 'f').data,
                 flow_schema())


def test_a_typed_state() -> None:
    _, graph = run('A typed state')
    handler = StateHandler(graph=load_graph(graph))
    assert handler.get_initial_state().run({}) == 'Good morning'


def test_a_ledger_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run('A ledger backend')
    monkeypatch.chdir(tmp_path)
    with Journal(tmp_path / 'journal') as journal:
        for event in ('one', 'two', 'three'):
            journal.append(Entry('note', 'flow', event=event, final=True))
        rows = list(journal.rows())
    ledger = open_ledger('recorded://cell', 'robot7')
    assert asyncio.run(ledger.apply(rows[:2])) == 2
    assert asyncio.run(ledger.apply(rows)) == 3  # two of them once more
    assert (tmp_path / 'robot7.txt').read_text() == '1 one\n2 two\n3 three\n'
    assert [row.event for row in ledger.reader().rows()] == ['one', 'two', 'three']


def test_a_field_of_a_message() -> None:
    (_, field), (_, conversion) = section('A field of ActionStateChange')
    names: dict[str, Any] = {'event': SimpleNamespace(), 'data': {'controller_said': 'SUCCEEDED'}}
    exec(conversion, names)
    assert set(vars(names['event'])) == fields(field)
    assert names['event'].controller_said == 'SUCCEEDED'


def test_each_field_of_a_change_is_filled() -> None:
    message = (ROOT / 'action_lifecycle_msgs/msg/ActionStateChange.msg').read_text()
    module = ast.parse((ROOT / 'action_lifecycle/ros/conversions/status.py').read_text())
    function = next(node for node in module.body
                    if isinstance(node, ast.FunctionDef) and node.name == 'change_to')
    filled = {name for node in ast.walk(function) if isinstance(node, ast.Assign)
              for target in node.targets
              for name in re.findall(r'event\.(\w+)', ast.unparse(target))}
    assert filled == fields(message)


def fields(message: str) -> set[str]:
    """Return the names of the fields of a message definition."""
    return set(re.findall(r'^[\w/\[\]]+ +(\w+)', message, re.MULTILINE))


def test_a_planner() -> None:
    run('A planner')
    plan = find_planner('second_grasp')
    failed = {'action_id': 'pick', 'error_code': 'REFUTED'}
    answer = ask_planner(plan, PlanRequest(flow_yaml='flow: f', ended=[failed]))
    (step,) = parse_edit(answer.edit_yaml).steps
    assert step.value['pick_harder']['replaces'] == 'pick'
    other = {**failed, 'error_code': 'MOTION_FAILED'}
    assert ask_planner(plan, PlanRequest(flow_yaml='flow: f', ended=[other])) == PlanAnswer()
    with pytest.raises(LifecycleError, match='ValueError: this planner makes no flows'):
        ask_planner(plan, PlanRequest('pick it'))
