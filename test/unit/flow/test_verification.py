# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Verdicts: nothing but completed completes an action; silence and nonsense end in an error."""

from __future__ import annotations

from collections.abc import Callable

from action_lifecycle.lifecycle.states import ActionState, ErrorCode, LedgerTaskStatus, Outcome
import pytest

from .robot import Clock, Process, Robot

Start = Callable[[], Process]


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
    assert action.error_code is code and action.outcome is Outcome.FAILED
    assert 'completed' not in process.states('pick')


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
    process.kill()
    process = start()
    (run,) = process.orchestrator.restore()
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
