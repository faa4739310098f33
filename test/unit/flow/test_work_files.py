# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Work of several kinds in flow files: faults, defaults, templates, recipes."""

from __future__ import annotations

import json
from typing import Any

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.flow import load_flow, parse_flow
import pytest

from .robot import Clock, Robot, Start
from .task_work import ARM, MIXED

pytestmark = pytest.mark.usefixtures('task_kind')


def faults_of(text: str) -> str:
    with pytest.raises(DocumentError) as error:
        parse_flow(text, 'f.yaml')
    return str(error.value)


@pytest.mark.parametrize('fields, fault', [
    ('task: {name: x, nmae: y}', "f.yaml:3:23: unknown field 'nmae'; did you mean 'name'?"),
    ('task: [{name: [1]}]', "f.yaml:3:15: field 'task.0.name': expected a text, got a list"),
    ('task: 7', "f.yaml:3:7: field 'task': expected a mapping, got 7"),
    ('task: {name: bad}', "f.yaml:3:14: action 'a', task: 'bad' is no name of a task"),
    (ARM + ', task: {name: x}', "action 'a' has 'motion' and 'task': expected one of them, or "
     "'steps'"),
    ('steps: [{tsk: {name: x}}]', "there is no kind of work 'tsk'; did you mean 'task'?"),
    ('steps: [{task: {name: x}, motion: {}}]',
     "f.yaml:3:15: action 'a': expected a mapping with one kind of work"),
    ('steps: [task]', 'expected a mapping with one kind of work'),
    ('motoin: {}', "f.yaml:3:7: unknown field 'motoin'; did you mean 'motion'?"),
    ('task: {name: x, input: .nan}', "field 'input': expected a finite number, got nan"),
    ('steps: [{task: {name: x, input: {a: [.inf]}}}]',
     "f.yaml:3:44: field 'input.a.0': expected a finite number, got inf"),
    ('steps: []', "has no 'confirm'"),
    (ARM, "has no 'confirm'"),
])
def test_a_fault_of_a_step_names_its_place(fields: str, fault: str) -> None:
    assert fault in faults_of(f'flow: f\nactions:\n  a: {{{fields}}}\n')


def test_work_of_an_action_replaces_that_of_the_defaults() -> None:
    flow = parse_flow(f'flow: f\ndefaults: {{{ARM}, confirm: z > 0}}\nactions:\n'
                      '  a: {}\n  b: {task: {name: x}}\n', 'f.yaml')
    assert [step.kind for step in flow.actions['a'].steps] == ['motion']
    assert [step.kind for step in flow.actions['b'].steps] == ['task']


@pytest.mark.parametrize('work', [
    '{task: {name: "{{ part }}", input: "{{ results.look.result }}", own: ["{{ unknown }}"]}}',
    '{steps: [{task: {name: "{{ part }}", input: "{{ results.look.result }}", '
    'own: ["{{ unknown }}"]}}]}'])
def test_templates_that_a_kind_fills_in_itself_stay(
    start: Start, clock: Clock, robot: Robot, work: str
) -> None:
    robot.by_hand.add('task')
    process = start()
    process.submit('flow: f\nparameters: {part: {default: nut}}\nactions:\n'
                   f'  look: {{task: {{name: look}}}}\n  use: {work}\n'.replace(
                       '  use: {', '  use: {after: look, '))
    assert process.orchestrator.runs['f'].flow.late['use'][0][1] == '{{ results.look.result }}'
    assert len(process.orchestrator.runs['f'].flow.late['use']) == 1
    clock.run(5.0)
    robot.works[0].end(result=7)
    clock.run(5.0)
    spec = robot.works[1].spec
    assert (spec.name, spec.input, spec.own) == ('nut', 7, ['{{ unknown }}'])


def test_a_recipe_keeps_the_steps(start: Start, clock: Clock, robot: Robot, tmp_path: Any) -> None:
    run = start().submit(MIXED, recipe='pick')
    clock.run(20.0)
    fields = run.runners['pick'].action.fragment['fields']
    assert [next(iter(step)) for step in fields['steps']] == ['motion', 'motion', 'task', 'motion']
    path = tmp_path / 'flow.yaml'
    path.write_text(json.dumps({'flow': 'f', 'actions': {'pick': fields}}))
    assert len(load_flow(path).actions['pick'].steps) == 4
