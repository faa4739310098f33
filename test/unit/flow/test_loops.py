# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Actions with `for_each`: over lists of the file, facts and results."""

from __future__ import annotations

import json
import sys
from typing import Any

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.flow import parse_flow
from action_lifecycle.lifecycle.states import ActionOutcome, ErrorCode
import pytest

from .kills import killed_at_every_row, restart
from .robot import Clock, MOTION, Process, Robot, Start

BIN = 'motion: {server: "arm/{{ part }}", type: a/action/B}, confirm: z > 0'


def loop(elements: str, more: str = '', fields: str = BIN) -> str:
    return f'flow: f\nactions:\n  look: {{{MOTION}}}\n' \
           f'  a: {{after: look, for_each: {{part: {elements}}}, {fields}{more}}}\n'


def servers(robot: Robot) -> list[str]:
    return [step.server for motion in robot.motions for step in motion.request.steps]


def faults_of(text: str) -> list[str]:
    with pytest.raises(DocumentError) as error:
        parse_flow(text, 'f.yaml')
    return [str(fault) for fault in error.value.faults]


@pytest.mark.parametrize('elements, fault', [
    ('7', "f.yaml:4:31: action 'a', for_each: expected a list, or a template that reads one, "
     'got 7'),
    ('{x: 1}', 'got a mapping'),
    ('[a, [3]]', "f.yaml:4:57: field 'motion.server'"),
    ('[a], of: [b]', 'expected one name with a list'),
    ("'{{ results.no.result }}'", "reads the result of 'no', which does not come before"),
    ("'{{ facts }}'", 'must say which fact'),
    ('[x, y], nope: 1', 'expected one name with a list'),
])
def test_a_wrong_loop_is_refused_once(elements: str, fault: str) -> None:
    fields = 'motion: {server: "{{ part }}", type: a/action/B}, confirm: z > 0'
    found = faults_of(loop(elements, fields=fields))
    assert len(found) == 1 and fault in found[0], found


def test_a_fault_of_the_fields_is_reported_once_for_all_elements() -> None:
    for elements in ('[a, b, c]', "'{{ facts.parts }}'"):
        fault, = faults_of(loop(elements, ', timeout: soon'))
        assert "field 'timeout': expected a number, got 'soon'" in fault


def test_a_fault_of_one_element_names_its_place() -> None:
    assert faults_of(loop('[1.0, .nan]', fields=(
        'motion: {server: arm, type: a/action/B, goal: {x: "{{ part }}"}}, confirm: z > 0')))


def test_each_element_is_an_action_with_the_same_fields(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(loop('[nut, bolt]', ', parameters: {to: "{{ part }}/tray"}'))
    clock.run(2.0)
    nested = process.orchestrator.runs['f/a']
    assert list(nested.flow.actions) == ['nut', 'bolt']
    assert nested.flow.actions['nut'].parameters == {'part': 'nut', 'to': 'nut/tray'}
    clock.run()
    assert servers(robot) == ['arm', 'arm/nut', 'arm/bolt']
    assert run.runners['a'].action.result['succeeded'] == 2 and run.state == 'FINISH'


@pytest.mark.parametrize('elements, names', [
    ('[a, a]', ['1', '2']), ('[1.5, x]', ['1', '2']), ('[a b]', ['1']), ('[{n: x}]', ['1']),
    ('[a, b-1]', ['a', 'b-1'])])
def test_elements_that_are_no_distinct_names_are_numbered(elements: str, names: list[str]) -> None:
    flow = parse_flow(loop(elements, fields=f'{MOTION}, parameters: {{q: "{{{{ part }}}}"}}'),
                      'f.yaml')
    assert list(flow.nested['a'][0][1].actions) == names


def test_they_run_at_the_same_time_or_in_order(start: Start, clock: Clock, robot: Robot) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(loop('[a, b, c, d, e, f]').replace('after: look, ', ''))
    clock.run(1.0)
    assert len(robot.motions) == 4  # max_motions, with `look`
    robot.motions.clear()
    process.submit(loop('[a, b, c]', ', in_order: true').replace('after: look, ', ''), 'g')
    clock.run(1.0)
    assert servers(robot) == ['arm', 'arm/a']
    robot.motions[1].end('failed')
    clock.run(5.0)
    assert servers(robot) == ['arm', 'arm/a']


def test_one_that_fails_fails_the_action_when_all_have_ended(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['b', 'confirm'] = ['refuted']
    run = start().submit(loop('[a, b, c]'))
    clock.run()
    action = run.runners['a'].action
    assert (action.outcome, action.error_code) == (ActionOutcome.FAILED, ErrorCode.WORK_FAILED)
    assert action.error_msg.startswith('b: ') and len(robot.motions) == 4


@pytest.mark.parametrize('count', [0, 1, 50])
def test_the_elements_come_from_a_result_at_run_time(
    start: Start, clock: Clock, robot: Robot, count: int
) -> None:
    robot.by_hand.add('motion')
    run = start().submit(loop("'{{ results.look.result.parts }}'",
                              ', parameters: {n: "{{ results.look.result.n }}"}'))
    clock.run(1.0)
    parts = [f'p{number}' for number in range(count)]
    robot.motions[0].end(result={'parts': parts, 'n': 7})
    robot.by_hand.clear()
    clock.run(2.0)
    assert all(motion.request.parameters['n'] == 7 for motion in robot.motions[1:])
    clock.run()
    assert servers(robot)[1:] == [f'arm/{part}' for part in parts]
    assert run.state == 'FINISH'
    assert run.runners['a'].action.result['total'] == count


def test_what_is_no_list_at_run_time_fails_the_action(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    run = start().submit(loop("'{{ results.look.result }}'"))
    clock.run(1.0)
    robot.motions[0].end(result='nut')
    clock.run()
    action = run.runners['a'].action
    assert action.error_code is ErrorCode.GOAL_INVALID
    assert 'for_each: expected a list' in action.error_msg and "got 'nut'" in action.error_msg


def test_a_fact_of_one_number_is_a_list_of_one(
    start: Start, clock: Clock, robot: Robot
) -> None:
    run = start().submit(loop("'{{ facts.z }}'"))
    clock.run()
    assert run.state == 'FINISH' and servers(robot)[1:] == ['arm/0.5']


def test_an_element_that_does_not_fit_at_run_time_fails_the_action_before_any_starts(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    run = start().submit(loop("'{{ results.look.result }}'", fields=(
        'motion: {server: "{{ part }}", type: a/action/B}, confirm: z > 0')))
    clock.run(1.0)
    robot.motions[0].end(result=['x', [3]])
    clock.run()
    assert run.runners['a'].action.error_code is ErrorCode.GOAL_INVALID
    assert 'expected a text, got a list' in run.runners['a'].action.error_msg
    assert len(robot.motions) == 1


def test_a_loop_over_flows(start: Start, clock: Clock, robot: Robot) -> None:
    run = start().submit(loop('[nut, bolt]', fields=(
        'flow: {parameters: {what: "{{ part }}"}, flow: {flow: i, parameters: {what: {type: '
        'text}}, actions: {x: {motion: {server: "arm/{{ what }}", type: a/action/B}, '
        'confirm: z > 0}}}}')))
    clock.run()
    assert sorted(servers(robot)) == ['arm', 'arm/bolt', 'arm/nut'] and run.state == 'FINISH'
    assert set(robot.motions[1].request.flow_id.split('/')) == {'f', 'a', 'nut'}


def test_the_journal_has_the_fields_once(start: Start, clock: Clock, robot: Robot) -> None:
    process = start()
    text = 'x' * 2000
    process.submit(loop(f'[{", ".join(f"p{n}" for n in range(200))}]', f', description: {text}'))
    clock.run(2.0)
    row = next(row for row in process.journal.rows(flow_id='f/a') if row.event == 'accepted')
    assert len(row.data_json) < 6000


def test_killed_at_every_row_each_element_is_done_once(
    start: Start, clock: Clock, robot: Robot
) -> None:
    def work(process: Process, flow_id: str) -> None:
        robot.motions.clear()
        process.submit(loop("'{{ [facts.z, 2] }}'", fields=f'{MOTION}, '
                            'parameters: {q: "{{ part }}"}'), flow_id)
        clock.run()

    for flow_id, process, runs in killed_at_every_row(start, work, fewest=20, most=60):
        clock.run()
        goals = [m.request.goal_id for m in robot.motions if not m.request.resume]
        assert len(goals) == len(set(goals)), flow_id
        if runs:
            assert sorted({m.request.action_id for m in robot.motions}) == [
                '1', '2', 'look'], flow_id
        assert not [row for row, _ in process.journal.checked_open_rows('flow')], flow_id


def test_thousands_of_elements_are_no_more_work_than_actions_written_out() -> None:
    def calls(text: str) -> int:
        """Return how many functions are called, a time that does not depend on the machine."""
        count = 0

        def called(frame: Any, event: str, argument: Any) -> None:
            nonlocal count
            count += event == 'call'

        sys.setprofile(called)
        try:
            flow = parse_flow(text, 'f.yaml')
        finally:
            sys.setprofile(None)
        assert len(list(flow.named_actions())) >= 1000
        return count

    names = [f'p{number}' for number in range(1000)]
    written = 'flow: f\nactions:\n' + ''.join(
        f'  {name}: {{{BIN.replace("{{ part }}", name)}}}\n' for name in names)
    assert calls(loop(f'[{", ".join(names)}]')) < 1.5 * calls(written)


def test_too_many_elements_are_refused() -> None:
    fault, = faults_of(loop('"{{ [0] * 20001 }}"') if False else loop(
        f'[{", ".join("0" for _ in range(20_001))}]', fields=MOTION))
    assert '20001 elements, at most 20000 are allowed' in fault


def test_an_edit_may_change_the_flow_of_the_elements(
    start: Start, clock: Clock, robot: Robot
) -> None:
    from action_lifecycle.flow.files.edit import parse_edit
    robot.by_hand.add('motion')
    process = start()
    process.submit(loop('[a, b]', ', in_order: true').replace('after: look, ', ''))
    clock.run(1.0)
    process.orchestrator.edit('f/a', parse_edit(
        f'- remove: b\n- add: {{c: {{{MOTION}, after: a}}}}'), 'planner', '')
    process, restored = restart(start, process)
    runs: dict[str, Any] = {run.flow_id: run for run in restored}
    assert list(runs['f/a'].flow.actions) == ['a', 'c']
    robot.by_hand.clear()
    for motion in robot.motions[-2:]:
        motion.end()
    clock.run()
    assert runs['f'].state == 'FINISH' and robot.motions[-1].request.action_id == 'c'


def test_a_recipe_keeps_the_loop(
    start: Start, clock: Clock, robot: Robot, tmp_path: Any
) -> None:
    text = loop("'{{ [facts.z, 2] }}'", ', in_order: true, description: "x {{ part }}"')
    run = start().submit(text, recipe='sort')
    clock.run()
    fields = run.runners['a'].action.fragment['fields']
    assert fields['for_each'] == {'part': [0.5, 2]} and fields['in_order'] is True
    text = json.dumps({'flow': 'f', 'actions': {'a': {**fields, 'after': []}}})
    _, nested = parse_flow(text, 'f.yaml').nested['a'][0]
    assert [action.motion[0].server for action in nested.actions.values()] == ['arm/0.5', 'arm/2']
