# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The constellation: START schedules, CONTINUE takes in what completed, FINISH and FAIL stay."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
import datetime
from types import SimpleNamespace
from typing import Any

from action_lifecycle.engine import LifecycleError, TransitionNotAllowed
from action_lifecycle.flow.run.constellation_states import (
    ConstellationAgentState,
    ConstellationAgentStateManager,
    ConstellationAgentStatus,
)
from action_lifecycle.flow.run.flow_run import FlowRun, HISTORY_LIMIT
from action_lifecycle.lifecycle.states import ActionOutcome, ErrorCode
import pytest

from .robot import Clock, MOTION, Process, Robot, Start


def flow(**actions: str) -> str:
    return 'flow: f\nmax_motions: 9\nactions:\n' + ''.join(
        f'  {name}: {{{MOTION}{extra}}}\n' for name, extra in actions.items())


def batches(process: Process) -> list[list[str]]:
    """Note which actions each handling of CONTINUE takes in."""
    found: list[list[str]] = []
    merge = process.orchestrator.dispatcher.merge

    def noted(run: FlowRun, completed: Any) -> bool:
        if completed:
            found.append(sorted(runner.action.action_id for runner in completed))
        return merge(run, completed)

    process.orchestrator.dispatcher.merge = noted  # type: ignore[method-assign]
    return found


def test_three_completions_waiting_are_one_edit_with_three_ids(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    found = batches(process)
    run = process.submit(flow(a='', b='', c='', d=', after: [a, b, c]'))
    clock.run()
    assert found == [['a', 'b', 'c'], ['d']]
    assert run.state == 'FINISH' and run.constellation_state() == 'completed'


def test_history_has_step_state_time_and_id_and_is_the_same_after_a_restart(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(flow(a='', b=', after: a'))
    clock.run(1.5)
    process.kill()
    process = start()
    (again,) = process.orchestrator.restore()
    assert again.history == run.history
    robot.motions[-1].end()
    clock.run()
    assert [entry['state'] for entry in again.history] == ['START', 'CONTINUE', 'FINISH']
    assert [entry['step'] for entry in again.history] == [1, 2, 3]
    assert {entry['constellation_id'] for entry in again.history} == {'f'}
    stamp = datetime.datetime.fromisoformat(again.history[-1]['timestamp'])
    assert stamp.tzinfo is not None


def test_history_is_bounded_and_its_steps_count_on(start: Start) -> None:
    run = start().submit(flow(a=''))
    for _ in range(HISTORY_LIMIT + 5):
        run.entered('CONTINUE', 0.0)
    assert len(run.history) == HISTORY_LIMIT
    assert run.history[-1]['step'] == HISTORY_LIMIT + 7


def test_stages_are_passed_in_their_order_before_anything_runs(
    start: Start, clock: Clock, robot: Robot
) -> None:
    run = start().submit(flow(a=''))
    assert run.stage == 'scheduled_jobs_creation'
    assert [step.target for step in run.stages.history] == [
        'topological_sort', 'scheduled_jobs_creation']


def test_flow_that_can_not_be_sorted_fails_and_nothing_is_dispatched(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    parsed = process.parse(flow(a='', b=', after: a'))
    parsed.actions['a'].after['b'] = 'success'
    run = process.orchestrator.submit(parsed, 'f')
    clock.run()
    assert (run.state, run.error_code) == ('FAIL', ErrorCode.FLOW_CYCLE)
    assert 'a → b → a' in run.error_msg or 'b → a → b' in run.error_msg
    assert not robot.motions
    assert [row.to_state for row in process.journal.rows(kind='flow')] == ['START', 'FAIL']
    process.kill()
    assert not start().orchestrator.restore()


def test_what_goes_wrong_in_the_software_ends_in_fail_and_stops_what_moves(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(flow(a='', b='', c=', after: a'))
    clock.run(1.0)
    ended = run.dependencies.ended

    def broken(*arguments: Any) -> Any:
        run.dependencies.ended = ended  # type: ignore[method-assign]
        raise ValueError('a bug')

    run.dependencies.ended = broken  # type: ignore[method-assign]
    robot.motions[0].end()
    clock.run(1.0)
    assert robot.motions[1].canceled
    robot.motions[1].end('canceled')
    clock.run()
    assert (run.state, run.error_code) == ('FAIL', ErrorCode.INTERNAL)
    assert 'a bug' in run.error_msg
    outcomes = {action.action_id: action.outcome for action in run.actions}
    assert outcomes == {'a': ActionOutcome.SUCCEEDED, 'b': ActionOutcome.CANCELED,
                        'c': ActionOutcome.CANCELED}


def test_edges_are_those_of_the_matrix() -> None:
    manager = ConstellationAgentStateManager()
    legal = {
        'START': {'START', 'CONTINUE', 'FAIL'},
        'CONTINUE': {'START', 'CONTINUE', 'FINISH', 'FAIL'},
    }
    for name, targets in legal.items():
        for status in ConstellationAgentStatus:
            agent: Any = SimpleNamespace(status=status.value)
            if status.value in targets:
                assert manager.get_state(name).next_state(agent).name() == status.value
            else:
                with pytest.raises(TransitionNotAllowed):
                    manager.get_state(name).next_state(agent)


@pytest.mark.parametrize('name', ['FINISH', 'FAIL'])
def test_terminal_means_terminal(name: str) -> None:
    state = ConstellationAgentStateManager().get_state(name)
    assert state.is_round_end() and state.is_subtask_end()
    for status in ConstellationAgentStatus:
        agent: Any = SimpleNamespace(status=status.value)
        assert state.next_state(agent) is state
        assert state.next_agent(agent) is agent
    agent = SimpleNamespace(status='CONTINUE')
    state.handle(agent, SimpleNamespace())  # type: ignore[arg-type]
    assert agent.status == name


def test_unknown_status_names_the_nearest() -> None:
    manager = ConstellationAgentStateManager()
    assert manager.none_state.name() == 'START'
    with pytest.raises(LifecycleError, match="'CONTINU'; did you mean 'CONTINUE'"):
        manager.get_state('CONTINU')


def test_a_state_must_stand_in_the_graph() -> None:
    class Pause(ConstellationAgentState):

        def handle(self, agent: FlowRun, context: Any) -> None:
            raise AssertionError

        @classmethod
        def name(cls) -> str:
            return 'PAUSE'

    with pytest.raises(LifecycleError, match='PAUSE'):
        ConstellationAgentStateManager.register(Pause)


@pytest.fixture
def registered() -> Iterator[None]:
    """Put back the states that a test has replaced."""
    before = dict(ConstellationAgentStateManager._state_mapping)
    yield
    ConstellationAgentStateManager._state_mapping.update(before)


async def settled() -> None:
    await asyncio.sleep(0.0)


@pytest.mark.parametrize('waits', [False, True])
@pytest.mark.parametrize('name', ['START', 'CONTINUE'])
def test_a_state_whose_handle_is_a_coroutine(
    start: Start, clock: Clock, robot: Robot, registered: None, name: str, waits: bool
) -> None:
    kind: Any = type(ConstellationAgentStateManager().get_state(name))
    handled: list[str] = []

    class Own(kind):

        async def handle(self, agent: FlowRun, context: Any) -> None:
            if waits:
                await settled()
            handled.append(agent.flow_id)
            super().handle(agent, context)

    ConstellationAgentStateManager.register(Own)
    process = start()
    run = process.submit(flow(a='', b=', after: a'))
    clock.run()
    if waits:
        assert (run.state, run.error_code, handled) == ('FAIL', ErrorCode.INTERNAL, [])
        assert f"state {name}: 'handle' waits for something" in run.error_msg
    else:
        assert run.state == 'FINISH' and handled
    assert [row.to_state for row in process.journal.rows(kind='flow') if row.final] == [run.state]
    process.kill()
    assert not start().orchestrator.restore()


@pytest.mark.parametrize('name', ['START', 'CONTINUE'])
def test_an_exception_of_a_registered_state_fails_the_flow(
    start: Start, clock: Clock, robot: Robot, registered: None, name: str
) -> None:
    class Own(ConstellationAgentState):
        status = ConstellationAgentStatus[name]

        def handle(self, agent: FlowRun, context: Any) -> None:
            raise ValueError('not mine')

    ConstellationAgentStateManager.register(Own)
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(flow(a='', b=''))
    if name == 'CONTINUE':
        clock.run(1.0)
        robot.motions[0].end()
        clock.run(1.0)
        assert robot.motions[1].canceled
        robot.motions[1].end('canceled')
    clock.run()
    assert (run.state, run.error_code) == ('FAIL', ErrorCode.INTERNAL)
    assert 'not mine' in run.error_msg
    process.kill()
    assert not start().orchestrator.restore()
