# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Verdicts: nothing but completed completes an action; silence and nonsense end in an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from action_lifecycle.dialogue import AnswerRefused
from action_lifecycle.lifecycle.checkers import register_checker
from action_lifecycle.lifecycle.ports import Verdict
from action_lifecycle.lifecycle.states import (
    ActionOutcome,
    ActionState,
    ErrorCode,
    LedgerTaskStatus,
)
import pytest

from .kills import restart
from .robot import Clock, Robot, Start


def flow(*services: str, when: str = 'all') -> str:
    verify = ', '.join(f'{{by: service, service: {name}, timeout: 20}}' for name in services)
    return ('flow: one\nactions:\n  pick:\n    motion: {server: arm, type: a/action/B}\n'
            f'    confirm: z > 0\n    verify: [{verify}]\n    verify_when: {when}\n'
            '    ask_again: 10\n')


@pytest.mark.parametrize(('answers', 'code'), [
    ([], ErrorCode.VERIFY_TIMEOUT),
    (['yes', '', 'COMPLETED!', '{}'] * 10, ErrorCode.PARSE_ERROR)])
def test_without_a_verdict_it_stays_in_verification_until_the_limit_then_errs(
    start: Start, clock: Clock, robot: Robot, answers: list[str], code: ErrorCode
) -> None:
    robot.answers['judge'] = answers
    process = start()
    action = process.submit(flow('judge')).actions[0]
    clock.run(15.0)
    assert action.state is ActionState.STATUS_VERIFICATION_REQUESTED
    clock.run(15.0)
    assert action.error_code is code and action.outcome is ActionOutcome.FAILED
    assert 'completed' not in process.states('pick')


@pytest.mark.parametrize(('found', 'told'), [
    (True, "checker 'says' returned True (bool); expected a Verdict, such as Verdict("),
    (None, "checker 'says' returned None (NoneType)"),
    (Verdict('done'), "returned the verdict 'done'; expected one of completed, pending, error"),
    (Verdict('completed', evidence=[3]), 'returned the evidence [3]')])
def test_a_checker_that_returns_no_verdict_fails_the_action_at_once(
    start: Start, clock: Clock, robot: Robot, found: Any, told: str
) -> None:
    register_checker('says')(lambda request: found)
    action = start().submit(
        'flow: one\nactions:\n  pick:\n    motion: {server: arm, type: a/action/B}\n'
        '    confirm: z > 0\n    verify: [{by: checker, checker: says, timeout: 20}]\n'
    ).actions[0]
    clock.run(5.0)
    assert action.error_code is ErrorCode.PARSE_ERROR and told in action.error_msg
    assert robot.asked == ['says']


def test_an_error_verdict_fails_with_its_reason(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.answers['judge'] = ['error']
    action = start().submit(flow('judge')).actions[0]
    clock.run()
    assert action.error_code is ErrorCode.VERIFY_FAILED and action.error_msg == 'as told'


def test_three_pendings_are_asked_again_the_fourth_is_an_error(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.answers['judge'] = ['pending'] * 9
    process = start()
    action = process.submit(flow('judge')).actions[0]
    clock.run(1000.0)
    assert process.states('pick').count('pending') == 3
    assert len(robot.asked) == 4
    assert action.error_code is ErrorCode.RETRY_EXHAUSTED


def test_the_count_of_pendings_survives_a_restart(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.answers['judge'] = ['pending'] * 9
    process = start()
    process.submit(flow('judge'))
    clock.run(15.0)
    assert process.states('pick').count('pending') == 2
    process, (run,) = restart(start, process)
    clock.run(1000.0)
    assert process.states('pick').count('pending') == 1
    assert run.actions[0].error_code is ErrorCode.RETRY_EXHAUSTED


def test_pending_then_completed_is_booked_as_completed(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.answers['judge'] = ['pending', 'completed']
    run = start().submit(flow('judge'))
    clock.run(5.0)
    assert run.actions[0].ledger_status is LedgerTaskStatus.BLOCKED
    clock.run()
    assert run.state == 'FINISH'
    assert run.actions[0].ledger_status is LedgerTaskStatus.COMPLETED


@pytest.mark.parametrize(('when', 'answers', 'state'), [
    ('all', ['completed', 'completed'], 'FINISH'), ('all', ['completed', 'error'], 'FAIL'),
    ('all', ['error', 'completed'], 'FAIL'), ('any', ['error', 'completed'], 'FINISH'),
    ('any', ['error', 'error'], 'FAIL'), ('any', ['pending', 'completed'], 'FINISH')])
def test_several_verifiers(
    start: Start, clock: Clock, robot: Robot, when: str, answers: list[str], state: str
) -> None:
    robot.answers.update({'one': answers[:1], 'two': answers[1:]})
    run = start().submit(flow('one', 'two', when=when))
    clock.run()
    assert run.state == state


OPERATOR = ('flow: one\nactions:\n  pick:\n    motion: {server: arm, type: a/action/B}\n'
            '    confirm: z > 0\n    ask_again: 10\n    verify: [{by: operator, timeout: 60, '
            "question: 'Is {{ action }} done?'}]\n")


@pytest.mark.parametrize(('said', 'code'), [
    ('yes', ErrorCode.NONE), ('no', ErrorCode.VERIFY_FAILED),
    ('completed', ErrorCode.NONE), ('error', ErrorCode.VERIFY_FAILED)])
def test_a_person_verifies_and_is_named(
    start: Start, clock: Clock, robot: Robot, said: str, code: ErrorCode
) -> None:
    process = start()
    action = process.submit(OPERATOR).actions[0]
    clock.run(10)
    (request,) = process.desk.open.values()
    assert request.question.text == 'Is pick done?'
    assert request.question.options == ('yes', 'not yet', 'no')
    assert request.deadline and request.question.evidence
    process.desk.respond(request.id, said, 'anna')
    clock.run()
    assert action.error_code is code
    row = next(row for row in process.journal.rows(flow_id='f')
               if row.event in ('verified', 'fail'))
    assert row.actor == 'anna' and 'anna' in row.cause and row.data['evidence']


def test_a_person_who_needs_more_time_is_asked_anew(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    action = process.submit(OPERATOR).actions[0]
    asked = []
    for said in ('not yet', 'pending', 'not yet', 'not yet'):
        clock.run(15)
        (request_id,) = process.desk.open
        asked.append(request_id)
        process.desk.respond(request_id, said, 'anna')
    clock.run(1)
    assert len(set(asked)) == 4 and action.error_code is ErrorCode.RETRY_EXHAUSTED


def test_nobody_verifies_in_time_also_over_a_restart(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.submit(OPERATOR)
    clock.run(41)
    (request_id,) = process.desk.open
    process, (run,) = restart(start, process)
    assert list(process.desk.open) == [request_id]
    clock.run(10)
    assert run.actions[0].state is ActionState.STATUS_VERIFICATION_REQUESTED
    clock.run(15)
    assert run.actions[0].error_code is ErrorCode.VERIFY_TIMEOUT and not process.desk.open
    with pytest.raises(AnswerRefused, match='the time is up'):
        process.desk.respond(request_id, 'completed', 'anna')


def test_an_endless_reason_is_cut_and_cleaned(start: Start, clock: Clock, robot: Robot) -> None:
    process = start()

    endless = '\x1b[2J\x1f\ud83d' + 'x' * 9 ** 6

    def verify(spec: object, request: object, verdict: Callable[[Verdict], None]) -> object:
        return clock.call_later(0.1, lambda: verdict(Verdict('error', endless)))

    robot.call_service = verify  # type: ignore[method-assign,assignment]
    action = process.submit(flow('judge')).actions[0]
    clock.run()
    assert action.error_code is ErrorCode.VERIFY_FAILED and len(action.error_msg) == 2000
    assert action.error_msg.startswith('\ufffd[2J\ufffd\ufffdxxx')
