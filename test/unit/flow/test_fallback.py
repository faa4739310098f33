# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Fallbacks: which strategy comes when, what it changes, who chose it, and that none is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from action_lifecycle.dialogue import AnswerRefused, OperatorDesk
from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.journal import Row
from action_lifecycle.lifecycle.ports import Confirmation, ConfirmRequest
from action_lifecycle.lifecycle.states import ActionOutcome, ActionState, ErrorCode
import pytest

from .kills import restart
from .robot import Clock, Killed, Process, Question, Robot, Start


def flow(*fallback: str, more: str = '') -> str:
    entries = ''.join(f'      - {entry}\n' for entry in fallback)
    return ('flow: one\nactions:\n  pick:\n    parameters: {force: 1}\n'
            "    motion: {server: arm, type: a/action/B, goal: {effort: '{{ force }}'}}\n"
            f'    confirm: z > force\n{more}    fallback:\n{entries}')


def answer(desk: OperatorDesk, text: str, actor: str = 'anna') -> None:
    (request_id,) = desk.open
    desk.respond(request_id, text, actor)


def rows(process: Process, event: str) -> list[Row]:
    return [row for row in process.journal.rows(flow_id='f') if row.event == event]


def refuse(robot: Robot, times: int = 99) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted'] * times


def test_strategies_are_tried_in_order_and_then_it_has_failed(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot)
    process = start()
    action = process.submit(flow(
        '{strategy: retry, parameters: {force: 2}}',
        '{motion: {server: other, type: a/action/B, goal: {}}}',
        '{strategy: retry, parameters: {force: 3}}')).actions[0]
    clock.run()
    assert [(motion.request.steps[0].server, motion.request.parameters['force'])
            for motion in robot.motions] == [('arm', 1), ('arm', 2), ('other', 2), ('other', 3)]
    assert action.outcome is ActionOutcome.FAILED and action.error_code is ErrorCode.REFUTED
    received = rows(process, 'receive_fallback')
    assert [row.actor for row in received] == ['policy'] * 3
    assert [row.data['strategy'] for row in received] == ['retry', 'action', 'retry']
    assert received[1].data['fields']['motion']['server'] == 'other'


def test_another_action_is_confirmed_by_its_own_condition(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot, 1)
    start().submit(flow("{motion: {server: other, type: a/action/B, goal: {at: '{{ force }}'}}, "
                        'confirm: w < force, parameters: {force: 7}}'))
    clock.run()
    assert robot.motions[-1].request.steps[0].goal == {'at': 7}
    assert robot.questions[-1].request.conditions[0].expression == 'w < force'


def test_a_recipe_gives_what_worked_elsewhere(start: Start, clock: Clock, robot: Robot) -> None:
    refuse(robot, 1)
    asked: list[tuple[str, str]] = []

    def recipe(name: str, action_id: str) -> dict[str, Any]:
        asked.append((name, action_id))
        return {'motion': {'server': 'hand', 'type': 'a/action/B'}, 'parameters': {'force': 9},
                'confirm': 'z > force', 'resources': ['other arm'], 'retry': {'times': 9}}

    process = start()
    process.orchestrator.recipes = recipe
    run = process.submit(flow('{recipe: grasp/lift}'))
    clock.run()
    assert asked[0] == ('grasp', 'lift') and run.state == 'FINISH'
    spec = run.actions[0].spec
    assert (spec.motion[0].server, spec.parameters['force']) == ('hand', 9)
    assert spec.resources == [] and spec.retry.times == 0  # only what the action does is taken


@pytest.mark.parametrize('found', [
    LifecycleError("there is no recipe 'grasp'"), {'motion': {'server': 'hand'}},
    {'motion': 'nonsense'}, {'confirm': {'condition': 'z > 0', 'hold': -1}}])
def test_a_recipe_that_can_not_be_used_is_a_parse_error_and_the_next_strategy_comes(
    start: Start, clock: Clock, robot: Robot, found: Any
) -> None:
    refuse(robot, 1)

    def recipe(name: str, action_id: str) -> dict[str, Any]:
        if isinstance(found, Exception):
            raise found
        return dict(found)

    process = start()
    process.orchestrator.recipes = recipe
    run = process.submit(flow('{recipe: grasp}', '{strategy: retry, parameters: {force: 2}}'))
    clock.run()
    (failed,) = [row for row in rows(process, 'fail') if 'next_fallback' in row.data]
    assert failed.data['error_code'] == 'PARSE_ERROR' and 'fallback recipe' in failed.cause
    assert 'before: ' in failed.cause
    assert run.state == 'FINISH' and robot.motions[-1].request.parameters['force'] == 2


def test_a_person_chooses_among_the_options_and_is_named(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot, 1)
    process = start()
    run = process.submit(flow(
        "{strategy: ask, question: 'With {{ force }} N it slipped: {{ error }}', options: "
        '{harder: {strategy: retry, parameters: {force: 5}}, leave it: give_up}}'))
    clock.run(10)
    (request,) = process.desk.open.values()
    assert request.question.text.startswith('With 1 N it slipped: z > force is false')
    assert request.question.options == ('harder', 'leave it')
    with pytest.raises(AnswerRefused, match="'retry' is not one of the options: harder, leave it"):
        process.desk.respond(request.id, 'retry', 'anna')
    process.desk.respond(request.id, 'harder', 'anna', 'looks dry')
    clock.run()
    (received,) = rows(process, 'receive_fallback')
    assert (received.actor, received.data['answer']) == ('anna', 'harder')
    (answered,) = rows(process, 'question_answered')
    assert (answered.actor, answered.data['comment']) == ('anna', 'looks dry')
    assert run.state == 'FINISH' and robot.motions[-1].request.parameters['force'] == 5


def test_a_person_who_gives_up_ends_it(start: Start, clock: Clock, robot: Robot) -> None:
    refuse(robot)
    process = start()
    action = process.submit(flow('ask', '{strategy: retry, parameters: {force: 2}}')).actions[0]
    clock.run(10)
    answer(process.desk, 'give_up')
    clock.run()
    assert action.outcome is ActionOutcome.FAILED and action.error_code is ErrorCode.REFUTED
    assert robot.executed('pick') == 1


@pytest.mark.parametrize(('default', 'motions', 'codes'), [
    (', default: retry', 2, []), (', default: give_up', 1, []), ('', 2, ['FALLBACK_TIMEOUT'])])
def test_when_nobody_answers_in_time_the_default_is_taken_or_the_next_strategy(
    start: Start, clock: Clock, robot: Robot, default: str, motions: int, codes: list[str]
) -> None:
    refuse(robot, 1)
    process = start()
    process.submit(flow(f'{{strategy: ask, timeout: 60{default}}}', 'retry'))
    clock.run(50)
    (request_id,) = process.desk.open
    assert robot.executed('pick') == 1
    clock.run(100)
    assert not process.desk.open and robot.executed('pick') == motions
    assert [row.data['error_code'] for row in rows(process, 'fail')
            if 'next_fallback' in row.data] == codes
    if default:
        assert rows(process, 'receive_fallback')[0].actor == 'nobody'
    with pytest.raises(AnswerRefused, match='the time is up') as caught:
        process.desk.respond(request_id, 'retry', 'anna')
    assert caught.value.code is ErrorCode.DEADLINE_EXCEEDED


@pytest.mark.parametrize('code', [ErrorCode.ESTOP, ErrorCode.SAFETY_STALE])
def test_after_a_safety_error_only_a_person_lets_it_go_on(
    start: Start, clock: Clock, robot: Robot, code: ErrorCode
) -> None:
    robot.by_hand.add('motion')
    process = start()
    action = process.submit(flow(
        '{strategy: retry, parameters: {force: 2}}', '{strategy: ask, timeout: 60}',
        '{strategy: retry, parameters: {force: 3}}')).actions[0]
    clock.run(1)
    robot.motions[0].end('failed', code)
    clock.run(10)
    assert action.state is ActionState.FALLBACK_REQUESTED and robot.executed('pick') == 1
    clock.run(100)  # nobody comes: that is no leave to move
    assert action.outcome is ActionOutcome.FAILED and robot.executed('pick') == 1


def test_a_goal_that_was_refused_is_not_sent_again_but_another_may_be(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(flow('{strategy: retry, parameters: {force: 2}}',
                        more='    retry: {times: 3}\n'))
    clock.run(1)
    robot.motions[0].end('failed', ErrorCode.GOAL_INVALID)
    clock.run(10)
    assert [motion.request.parameters['force'] for motion in robot.motions] == [1, 2]


@pytest.mark.parametrize('fallback', [
    '{strategy: action}', '{strategy: recipe}', '{strategy: retry, recipe: x}',
    '{strategy: ask, default: retry}', '{strategy: ask, options: {a: retry}, default: b, '
    'timeout: 1}', '{strategy: retry, options: [retry]}', '{strategy: give_up, motion: {server: '
    'a, type: b/action/C}}', "{strategy: ask, question: '{{ nothing }}'}",
    "{strategy: ask, question: '{{ facts'}", '{motion: {sever: a, type: b/action/C}}',
    '{motion: {server: a, type: b/action/C, goal: {x: .nan}}}', '{confirm: force > 0}',
    '{confirm: "z >"}', '{strategy: ask, options: {a: {strategy: ask}}}',
    '{strategy: ask, options: {a: {motion: {server: 1, tpe: 2}}}}'])
def test_a_fallback_that_makes_no_sense_is_a_fault_with_its_line(
    start: Start, fallback: str
) -> None:
    with pytest.raises(LifecycleError, match=r'f\.yaml:\d+:\d+: ') as caught:
        start().submit(flow(fallback))
    assert 'f.yaml:8:' in str(caught.value) or 'f.yaml:3:' in str(caught.value), caught.value


class Grip(Robot):
    """Holds the part only with a force of 4."""

    def confirm(self, request: ConfirmRequest, result: Callable[[Confirmation], None]
                ) -> Question:
        if request.name == 'confirm':
            holds = request.parameters['force'] == 4
            self.verdicts[request.action_id, 'confirm'] = ['confirmed' if holds else 'refuted']
        return super().confirm(request, result)


STEPS = flow(
    '{strategy: retry, parameters: {force: 2}}',
    "{motion: {server: other, type: a/action/B, goal: {effort: '{{ force }}'}}}",
    '{strategy: ask, timeout: 600, options: {softer: {strategy: retry, parameters: {force: 4}}, '
    'leave: give_up}}', more='    verify: [{by: operator, timeout: 500}]\n')


@pytest.mark.parametrize('moment', range(1, 32))
def test_killed_after_any_row_it_goes_on_as_if_nothing_had_been(
    start: Start, clock: Clock, robot: Robot, moment: int
) -> None:
    robot.__class__ = Grip
    process = start()
    process.submit(STEPS)
    process.die_after(moment)
    asked: set[str] = set()
    for _ in range(40):
        try:
            clock.run(3.0)
            for request in list(process.desk.open.values()):
                asked.add(request.id)
                process.desk.respond(
                    request.id, 'softer' if request.question.kind == 'fallback' else 'completed',
                    'anna')
        except Killed:
            process, _ = restart(start, process)
    assert not process.desk.open
    last = list(process.journal.rows(flow_id='f'))[-1]
    assert last.to_state == 'FINISH'
    assert len(asked) == 2 and len(rows(process, 'question_asked')) == 2
    assert [(row.data['strategy'], row.actor) for row in rows(process, 'receive_fallback')] == [
        ('retry', 'policy'), ('action', 'policy'), ('retry', 'anna')]
    sent = [motion.request for motion in robot.motions if not motion.request.resume]
    assert len({request.goal_id for request in sent}) == len(sent)
    assert robot.motions[-1].request.steps[0].server == 'other'
    assert robot.motions[-1].request.steps[0].goal == {'effort': 4}


def test_an_open_question_keeps_its_id_and_its_deadline_over_a_restart(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot)
    process = start()
    process.submit(flow('{strategy: ask, timeout: 60, default: give_up}'))
    clock.run(42)
    (before,) = process.desk.open.values()
    process.kill()
    clock.run(10)  # nobody is there
    process = start()
    (run,) = process.orchestrator.restore()
    (request,) = process.desk.open.values()
    assert (request.id, request.deadline, request.question.text) == (
        before.id, before.deadline, before.question.text)
    clock.time = before.deadline - 1
    clock.run(0.5)
    assert process.desk.open
    clock.run(1)
    assert not process.desk.open and run.actions[0].outcome is ActionOutcome.FAILED


def test_a_deadline_that_passed_while_nobody_ran_counts_at_once(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot)
    process = start()
    process.submit(flow('{strategy: ask, timeout: 60, default: give_up}'))
    clock.run(20)
    process.kill()
    clock.time += 500
    process = start()
    (run,) = process.orchestrator.restore()
    clock.run(0.1)
    assert run.actions[0].outcome is ActionOutcome.FAILED
    assert rows(process, 'receive_fallback')[0].actor == 'nobody'


def test_a_person_may_ask_for_a_fallback_where_none_is_left(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot, 1)
    process = start()
    run = process.submit(flow('give_up', more='    retry: {times: 1, delay: 100}\n'))
    clock.run(5)
    assert run.actions[0].state is ActionState.ERROR
    run.actions[0].next_fallback = 1
    process.orchestrator.fire('f', 'pick', 'request_fallback', actor='anna', cause='let me see')
    answer(process.desk, 'retry')
    clock.run()
    assert run.state == 'FINISH'
