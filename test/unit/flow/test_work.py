# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Work of several kinds: its steps, their rows, their stop, and what a restart does with them."""

from __future__ import annotations

from collections.abc import Iterator
import json
from typing import Any

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.flow import load_flow, parse_flow
from action_lifecycle.lifecycle.states import ActionOutcome, ActionState, ErrorCode
from action_lifecycle.lifecycle.work import register_work, WORK, WorkSpec
import pytest

from .robot import Clock, Killed, Robot, Start


@register_work('task')
class TaskSpec(WorkSpec):
    """A task."""

    name: str
    input: Any = None  # noqa: A003
    own: Any = None

    late = ('own',)

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.name == 'bad':
            yield 'name', "'bad' is no name of a task"


@pytest.fixture(autouse=True, scope='module')
def only_here() -> Iterator[None]:
    yield
    del WORK._things['task']
    WORK._fields = frozenset()


ARM = 'motion: {server: arm, type: a/action/B}'
MIXED = ('flow: f\nactions:\n  pick:\n    steps:\n'
         '      - {motion: {server: reach, type: a/action/B}}\n'
         '      - {motion: {server: grip, type: a/action/B}}\n'
         '      - {task: {name: look}}\n'
         '      - {motion: {server: lift, type: a/action/B}}\n'
         '    confirm: z > 0\n')


def task(more: str = '') -> str:
    return f'flow: f\nactions:\n  look: {{task: {{name: look}}{more}}}\n'


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


def test_work_that_moves_nothing_is_done_in_progress(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    action = process.submit(task()).actions[0]
    clock.run()
    assert process.states('look') == [
        'in_progress', 'status_verification_requested', 'completed', 'terminated']
    assert action.outcome is ActionOutcome.SUCCEEDED
    assert robot.works[0].spec.name == 'look' and not robot.motions
    assert action.evidence[0]['expression'] == 'task: EXECUTED' and action.sensors_said == ''


def test_its_outcome_is_confirmed_by_the_sensors_if_the_flow_says_so(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['look', 'confirm'] = ['refuted']
    process = start()
    action = process.submit(task(', confirm: z > 0')).actions[0]
    clock.run()
    assert (action.outcome, action.error_code) == (ActionOutcome.FAILED, ErrorCode.REFUTED)


def test_the_steps_run_in_order_and_motions_in_a_row_are_one_request(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    robot.by_hand |= {'motion', 'task'}
    action = process.submit(MIXED).actions[0]
    clock.run(5.0)
    assert [step.server for step in robot.motions[0].request.steps] == ['reach', 'grip']
    assert robot.motions[0].request.goal_id == action.goal_id and not robot.works
    robot.motions[0].end(result={'n': 2}, results=[{'n': 1}, {'n': 2}])
    clock.run(5.0)
    assert robot.works[0].request.index == 2 and len(robot.motions) == 1
    robot.works[0].end(result='seen')
    clock.run(5.0)
    assert [step.server for step in robot.motions[1].request.steps] == ['lift']
    ids = {action.goal_id, robot.motions[1].request.goal_id, robot.works[0].request.id}
    assert len(ids) == 3 and len({one[:16] for one in ids}) == 1
    robot.motions[1].end(result={'n': 3})
    clock.run()
    assert action.outcome is ActionOutcome.SUCCEEDED
    assert action.results == [{'n': 1}, {'n': 2}, 'seen', {'n': 3}]
    assert process.states('pick') == [
        'in_progress', 'executing_motion', 'sensor_confirm', 'status_verification_requested',
        'completed', 'terminated']


def test_a_failed_step_ends_the_attempt(start: Start, clock: Clock, robot: Robot) -> None:
    robot.by_hand.add('task')
    action = start().submit(MIXED).actions[0]
    clock.run(5.0)
    robot.works[0].end('failed', ErrorCode.WORK_FAILED, error_msg='no part')
    clock.run()
    assert (action.outcome, action.error_code) == (ActionOutcome.FAILED, ErrorCode.WORK_FAILED)
    assert len(robot.motions) == 1


def test_later_actions_read_the_result_of_each_step(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('task')
    start().submit(
        'flow: f\nactions:\n  look: {task: [{name: a}, {name: b}]}\n'
        "  use: {after: look, task: {name: '{{ results.look.results[0].part }}', "
        "input: '{{ results.look.result }}'}}\n")
    clock.run(5.0)
    robot.works[0].end(result={'part': 'nut'})
    clock.run(5.0)
    robot.works[1].end(result=[1, 2])
    clock.run(5.0)
    spec = robot.works[2].spec
    assert (spec.name, spec.input) == ('nut', [1, 2])


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


@pytest.mark.parametrize('on_resume, known, goes_on', [
    ('', True, True), ('retry', False, True), ('confirm', False, False), ('', False, False)])
def test_after_a_crash_the_work_is_resumed_by_its_id(
    start: Start, clock: Clock, robot: Robot, on_resume: str, known: bool, goes_on: bool
) -> None:
    robot.by_hand.add('task')
    process = start()
    process.submit(task(f', on_resume: {on_resume}' if on_resume else ''))
    clock.run(5.0)
    process.kill()
    process = start()
    run, = process.orchestrator.restore()
    clock.run(5.0)
    before, after = robot.works
    assert after.resumed and after.request.id == before.request.id
    if known:
        after.end(result=7)
    else:
        after.end('not_running')
        clock.run(5.0)
        if goes_on:
            again = robot.works[2]
            assert not again.resumed and again.request.id != before.request.id
            again.end(result=7)
    clock.run()
    action = run.runners['look'].action
    if goes_on:
        assert action.outcome is ActionOutcome.SUCCEEDED and action.result == 7
    else:
        assert len(robot.works) == 2
        assert action.state is (ActionState.FALLBACK_REQUESTED if not on_resume
                                else ActionState.TERMINATED)


def test_after_a_crash_the_sensors_are_asked_before_work_is_repeated(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('task')
    process = start()
    process.submit(task(', confirm: z > 0, on_resume: retry'))
    clock.run(5.0)
    process.kill()
    process = start()
    run, = process.orchestrator.restore()
    clock.run(5.0)
    robot.works[-1].end('not_running')
    clock.run()
    assert run.state == 'FINISH' and len(robot.works) == 2


def test_a_restart_continues_with_the_step_that_was_journaled(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('task')
    process = start()
    process.submit(MIXED)
    clock.run(5.0)
    process.kill()
    process = start()
    run, = process.orchestrator.restore()
    clock.run(5.0)
    assert robot.works[-1].resumed and robot.works[-1].request.index == 2
    robot.works[-1].end(result='seen')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('pick') == 2
    assert run.runners['pick'].action.results[2] == 'seen'


def test_killed_at_every_row_no_step_is_done_twice(
    start: Start, clock: Clock, robot: Robot
) -> None:
    text = MIXED.replace('    confirm', '    on_resume: confirm\n    confirm')
    for rows in range(1, 20):
        robot.motions.clear()
        robot.works.clear()
        process = start()
        process.die_after(rows)
        flow_id = f'f{rows}'
        try:
            process.submit(text, flow_id)
            clock.run()
        except Killed:
            pass
        else:
            assert rows > 7
            break
        process.kill()
        process = start()
        process.orchestrator.restore()
        clock.run()
        ids = [work.request.id for work in robot.works if not work.resumed]
        assert len(ids) == len(set(ids)) <= 1, rows
        goals = [m.request.goal_id for m in robot.motions if not m.request.resume]
        assert len(goals) == len(set(goals)) <= 2, rows
        process.journal.close()
    else:
        raise AssertionError('the flow never ended')


def test_a_cancel_stops_the_work_and_waits_for_its_end(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('task')
    process = start()
    run = process.submit(task())
    clock.run(1.0)
    process.orchestrator.cancel('f', 'anna', 'enough')
    clock.run(1.0)
    assert robot.works[0].canceled and run.actions[0].state is ActionState.IN_PROGRESS
    robot.works[0].end('canceled')
    clock.run(1.0)
    assert run.actions[0].outcome is ActionOutcome.CANCELED and run.ended


def test_work_that_moves_nothing_and_does_not_stop_locks_nothing(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('task')
    process = start()
    run = process.submit(task(', resources: [camera], stop_timeout: 2.0'))
    clock.run(1.0)
    process.orchestrator.cancel('f', 'anna', 'enough')
    clock.run(10.0)
    assert run.actions[0].outcome is ActionOutcome.CANCELED
    assert not process.orchestrator.resources.locked


def test_a_time_limit_stops_the_work(start: Start, clock: Clock, robot: Robot) -> None:
    robot.by_hand.add('task')
    run = start().submit(task(', timeout: 5.0'))
    clock.run(6.0)
    assert robot.works[0].canceled
    robot.works[0].end('canceled')
    clock.run()
    assert run.actions[0].error_code is ErrorCode.DEADLINE_EXCEEDED


def test_a_kind_that_raises_fails_its_action(start: Start, clock: Clock, robot: Robot) -> None:
    def start_it(*arguments: Any, **more: Any) -> Any:
        raise ValueError('out of order')

    robot.start = start_it  # type: ignore[method-assign]
    run = start().submit(task())
    clock.run()
    action = run.actions[0]
    assert (action.error_code, action.error_msg) == (
        ErrorCode.INTERNAL, 'ValueError: out of order')


def test_a_result_that_is_no_json_fails_the_action_and_not_the_flow(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('task')
    run = start().submit('flow: f\nactions:\n  look: {task: [{name: a}, {name: b}]}\n')
    clock.run(5.0)
    robot.works[0].end(result=float('nan'))
    clock.run()
    assert run.ended and run.actions[0].outcome is ActionOutcome.FAILED


def test_a_journal_that_refuses_the_step_begins_nothing(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    with process.full_disk(lambda entry: entry.event == 'step') as refused:
        run = process.submit(task())
        clock.run(5.0)
    assert refused and not robot.works
    clock.run()
    assert run.state == 'FINISH' and len(robot.works) == 1


def test_progress_is_told(start: Start, clock: Clock, robot: Robot) -> None:
    robot.by_hand.add('task')
    run = start().submit(task())
    clock.run(1.0)
    robot.works[0].request.told(0.25, '1 of 4')
    assert run.actions[0].progress == (0, 0.25, '1 of 4')


def test_a_fallback_replaces_the_work_by_another_kind(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    run = start().submit(f'flow: f\nactions:\n  pick: {{{ARM}, confirm: z > 0, '
                         'fallback: [{task: {name: other}}]}\n')
    clock.run()
    assert run.state == 'FINISH'
    assert [work.spec.name for work in robot.works] == ['other']


def test_a_recipe_keeps_the_steps(start: Start, clock: Clock, robot: Robot, tmp_path: Any) -> None:
    run = start().submit(MIXED, recipe='pick')
    clock.run(20.0)
    fields = run.runners['pick'].action.fragment['fields']
    assert [next(iter(step)) for step in fields['steps']] == ['motion', 'motion', 'task', 'motion']
    path = tmp_path / 'flow.yaml'
    path.write_text(json.dumps({'flow': 'f', 'actions': {'pick': fields}}))
    assert len(load_flow(path).actions['pick'].steps) == 4


def test_a_hold_lets_a_task_end_and_begins_no_further_step(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    robot.by_hand |= {'motion', 'task'}
    run = process.submit(MIXED)
    clock.run(5.0)
    robot.motions[0].end()
    clock.run(5.0)
    process.orchestrator.control.pause('f', 'ann', hold=True)
    assert not robot.works[0].canceled
    robot.works[0].end(result={'seen': 'b'})
    clock.run(50.0)
    assert len(robot.motions) == 1 and len(run.actions[0].results) == 3
    assert process.orchestrator.blocked_for(run.actions[0]).endswith(
        'stopped: the flow is held by ann')
    process.orchestrator.control.resume('f', 'ann')
    clock.run(1.0)
    assert [step.server for step in robot.motions[1].request.steps] == ['lift']
    assert not robot.motions[1].request.resume
    robot.motions[1].end()
    clock.run()
    assert run.state == 'FINISH' and len(robot.works) == 1


def test_killed_in_a_hold_between_two_steps_the_next_one_is_asked_for_first(
    start: Start, clock: Clock, robot: Robot
) -> None:
    """After the kill it is not known whether the goal of the next step was sent."""
    process = start()
    robot.by_hand |= {'motion', 'task'}
    process.submit(MIXED)
    clock.run(5.0)
    robot.motions[0].end()
    clock.run(5.0)
    process.orchestrator.control.pause('f', 'ann', hold=True)
    robot.works[0].end()
    clock.run(5.0)
    process.kill()
    process = start()
    (run,) = process.orchestrator.restore()
    assert robot.motions[1].request.resume and robot.motions[1].canceled
    robot.motions[1].end('not_running')
    clock.run(5.0)
    assert len(robot.motions) == 2
    process.orchestrator.control.resume('f', 'ann')
    robot.motions[2].end('not_running')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('pick') == 1  # the sensors show the outcome


@pytest.mark.parametrize('kill', [False, True])
def test_a_hold_lets_work_that_moves_nothing_end(
    start: Start, clock: Clock, robot: Robot, kill: bool
) -> None:
    process = start()
    robot.by_hand.add('task')
    run = process.submit(task(', timeout: 50'))
    clock.run(5.0)
    process.orchestrator.control.pause('f', 'ann', hold=True)
    if kill:
        process.kill()
        process = start()
        (run,) = process.orchestrator.restore()
        assert robot.works[-1].resumed
    clock.run(100.0)
    assert not robot.works[-1].canceled
    robot.works[-1].end()
    clock.run(5.0)
    assert run.actions[0].outcome is ActionOutcome.SUCCEEDED and not run.ended
    process.orchestrator.control.resume('f', 'ann')
    clock.run()
    assert run.state == 'FINISH'
