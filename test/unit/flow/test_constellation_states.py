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

"""The constellation agent: START makes and checks, CONTINUE edits, FINISH and FAIL are final."""

from __future__ import annotations

import asyncio
import datetime
from types import SimpleNamespace
from typing import Any

from action_lifecycle.engine import LifecycleError, TransitionNotAllowed
from action_lifecycle.flow.constellation_states import (
    ConstellationAgentState,
    ConstellationAgentStateManager,
    ConstellationAgentStatus,
    HISTORY_LIMIT,
    run_round,
)
import pytest


class Plan:
    """A constellation of named tasks."""

    constellation_id = 'plan_1'

    def __init__(self, tasks: list[str], faults: tuple[str, ...] = ()) -> None:
        self.tasks = tasks
        self.faults = faults

    def validate_dag(self) -> tuple[bool, list[str]]:
        return not self.faults, list(self.faults)


class Agent:
    """Runs a plan by completing its tasks, and edits until all are done."""

    def __init__(self, plan: Any) -> None:
        self.status = 'START'
        self.current_constellation: Any = None
        self.task_completion_queue: asyncio.Queue[Any] = asyncio.Queue()
        self.orchestration: asyncio.Task[Any] | None = None
        self.history: list[dict[str, Any]] = []
        self.plan = plan
        self.edits: list[tuple[list[str], Any]] = []
        self.dispatched = 0
        self.merged: list[Any] = []
        self.error: Exception | None = None

    async def process_creation(self, context: Any) -> Any:
        if isinstance(self.plan, Exception):
            raise self.plan
        return self.plan

    async def orchestrate(self, constellation: Any) -> None:
        self.dispatched += 1
        if self.error is not None:
            raise self.error
        for task in constellation.tasks:
            if task.startswith('pause'):
                while not self.edits:
                    await asyncio.sleep(0.001)
            self.task_completion_queue.put_nowait(
                SimpleNamespace(task_id=task, data={'constellation': constellation}))

    def merge(self, constellation: Any) -> Any:
        self.merged.append(constellation)
        return SimpleNamespace(tasks=[*constellation.tasks, 'added meanwhile'])

    async def process_editing(
        self, context: Any, task_ids: list[str], before_constellation: Any
    ) -> None:
        self.edits.append((task_ids, before_constellation.tasks))
        done = sum(len(ids) for ids, _ in self.edits)
        self.status = 'FINISH' if done == len(self.plan.tasks) else 'CONTINUE'


def round_of(agent: Agent) -> Any:
    return asyncio.run(asyncio.wait_for(run_round(agent), 10))


def test_three_completions_waiting_are_one_edit_with_three_ids() -> None:
    agent = Agent(Plan(['a', 'b', 'c']))
    state = round_of(agent)
    assert state.name() == agent.status == 'FINISH'
    assert [ids for ids, _ in agent.edits] == [['a', 'b', 'c']]
    assert agent.edits[0][1] == ['a', 'b', 'c', 'added meanwhile']
    assert agent.merged == [agent.plan]


def test_agent_goes_on_until_the_edit_says_that_it_is_done() -> None:
    agent = Agent(Plan(['a', 'pause', 'b']))
    assert round_of(agent).name() == 'FINISH'
    assert [ids for ids, _ in agent.edits] == [['a'], ['pause', 'b']]
    assert [entry['state'] for entry in agent.history] == [
        'START', 'CONTINUE', 'CONTINUE', 'FINISH']


def test_history_has_step_state_time_and_id() -> None:
    agent = Agent(Plan(['a']))
    round_of(agent)
    first, second, third = agent.history
    assert (first['step'], first['state'], first['constellation_id']) == (1, 'START', '')
    assert (second['step'], second['constellation_id']) == (2, 'plan_1')
    assert third['state'] == 'FINISH'
    stamp = datetime.datetime.fromisoformat(third['timestamp'])
    assert stamp.tzinfo is not None


def test_history_is_bounded_and_its_steps_count_on() -> None:
    agent = Agent(Plan(['a']))
    agent.history = [{'step': step} for step in range(1, HISTORY_LIMIT + 1)]
    round_of(agent)
    assert len(agent.history) == HISTORY_LIMIT
    assert agent.history[-1]['step'] == HISTORY_LIMIT + 3


@pytest.mark.parametrize('plan', [
    None, Plan(['a'], faults=('a cycle: a -> a',)), AttributeError('context'), KeyError('x')])
def test_plan_that_can_not_be_run_fails_and_nothing_is_dispatched(plan: Any) -> None:
    agent = Agent(plan)
    assert round_of(agent).name() == agent.status == 'FAIL'
    assert agent.dispatched == 0
    assert agent.edits == []


def test_edit_that_fails_ends_in_fail() -> None:
    agent = Agent(Plan(['a']))
    agent.merge = lambda constellation: 1 / 0  # type: ignore[assignment,method-assign]
    assert round_of(agent).name() == 'FAIL'


@pytest.mark.parametrize('error', [OSError('no robot'), None])
def test_run_that_dies_silently_does_not_hang_the_agent(error: Exception | None) -> None:
    agent = Agent(Plan([]))
    agent.error = error
    assert round_of(agent).name() == 'FAIL'


def test_restart_uses_the_constellation_that_is_there() -> None:
    agent = Agent(OSError('not asked again'))
    agent.current_constellation = agent.plan = Plan(['a'])
    assert round_of(agent).name() == 'FINISH'


def test_edges_are_those_of_the_matrix() -> None:
    manager = ConstellationAgentStateManager()
    legal = {
        'START': {'START', 'CONTINUE', 'FAIL'},
        'CONTINUE': {'START', 'CONTINUE', 'FINISH', 'FAIL'},
    }
    for name, targets in legal.items():
        for status in ConstellationAgentStatus:
            agent = SimpleNamespace(status=status.value)
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
        assert state.next_state(SimpleNamespace(status=status.value)) is state
    agent = SimpleNamespace(status='CONTINUE')
    asyncio.run(state.handle(agent))
    assert agent.status == name


def test_handle_of_start_leaves_an_ended_agent_alone() -> None:
    agent = SimpleNamespace(status='FAIL')
    asyncio.run(ConstellationAgentStateManager().get_state('START').handle(agent))
    assert agent.status == 'FAIL'


def test_states_are_found_by_status_and_may_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = ConstellationAgentStateManager()
    monkeypatch.setattr(ConstellationAgentStateManager, '_state_mapping',
                        dict(manager._state_mapping))
    assert manager.none_state.name() == 'START'
    assert not manager.none_state.is_round_end()
    agent = object()
    assert manager.none_state.next_agent(agent) is agent

    @ConstellationAgentStateManager.register
    class Mine(ConstellationAgentState):
        async def handle(self, agent: Any, context: Any = None) -> None:
            agent.status = 'FAIL'

        @classmethod
        def name(cls) -> str:
            return 'START'

    assert isinstance(manager.none_state, Mine)
    with pytest.raises(LifecycleError, match="'FINSH'; did you mean 'FINISH'"):
        manager.get_state('FINSH')
    with pytest.raises(LifecycleError, match="no state 'OTHER'"):
        ConstellationAgentStateManager.register(
            type('Other', (Mine,), {'name': classmethod(lambda cls: 'OTHER')}))
