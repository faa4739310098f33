# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Typed states at work: the step loop, pauses, motions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from action_lifecycle.engine import LifecycleError, Machine, MAX_ITER, Session, State, StateHandler
from action_lifecycle.graphs.state_types import REGISTRY
import pytest

from .walking import Agent, handler, May, walk

DATA = Path(__file__).parent / 'data'


def test_handler_gives_states_and_transitions_with_descriptions() -> None:
    states = StateHandler(yaml_path=DATA / 'state_graph.yaml')
    state = states.get_initial_state()
    assert (state.name, state.type, state.is_terminal) == ('ask_user', 'user', False)
    assert state.transition == {'next': ['agent_reply']}
    assert states.get_transitions(states.get_state('agent_reply'), []) == {
        'tt': ['ask_user', 'use_tool'],
        'td': ['Waiting for user input', 'Execute a specific tool'],
    }
    with pytest.raises(LifecycleError, match="no state 'ask_usr'; did you mean 'ask_user'"):
        states.get_state('ask_usr')
    with pytest.raises(LifecycleError, match='no type is given for a'):
        handler('a: {final: true}\n')


def test_two_sessions_on_one_handler_share_no_mutable_state() -> None:
    states = StateHandler(yaml_path=DATA / 'state_graph.yaml')
    one, other = Session(states), Session(states)
    one.state.transition['next'].append('nowhere')
    assert one.state is one.state
    assert other.state.transition == {'next': ['agent_reply']}
    assert states.get_initial_state().transition == {'next': ['agent_reply']}
    one.context.append('x')
    assert other.context == []


def test_graph_that_never_ends_takes_exactly_the_limit_of_steps() -> None:
    result = walk('a: {type: decision, transition: {next: [b]}}\n'
                  'b: {type: decision, transition: {next: [a]}}\n')
    assert (result.reason, result.steps) == ('max_steps', MAX_ITER)
    result = walk('a: {type: decision, transition: {next: [a]}}\n', max_iter=7)
    assert (result.reason, result.steps) == ('max_steps', 7)


def test_last_allowed_step_may_end_in_a_terminal_state() -> None:
    result = walk('a: {type: decision, transition: {next: [b]}}\nb: {type: terminal}\n',
                  max_iter=1)
    assert (result.reason, result.steps) == ('terminal', 1)


def test_state_that_no_guard_lets_go_is_reported_as_blocked() -> None:
    text = ('initial: a\nstates: {a: {type: decision}, b: {type: terminal}}\n'
            'transitions: [{event: go, from: a, to: b, cond: may_b}]\n')
    result = walk(text, [], May())
    assert (result.reason, result.state) == ('blocked', 'a')


def test_updates_are_added_to_the_context() -> None:
    talk = ('a: {type: agent, transition: {next: [b]}}\n'
            'b: {type: agent, transition: {next: [c]}}\n'
            'c: {type: terminal}\n')
    agent = Agent('one', 'two')
    assert walk(talk, ['zero'], agent).context == ['zero', 'one', 'two']
    assert walk(talk, {'x': 0}, Agent('one', {'y': 2})).context == {'x': 0, 'a': 'one', 'y': 2}
    with pytest.raises(LifecycleError, match='a list or a mapping, not str'):
        walk(talk, 'text', Agent('one'))


def test_user_state_pauses_until_the_answer_comes() -> None:
    async def main() -> None:
        session = Session(StateHandler(yaml_path=DATA / 'state_graph.yaml'), agent=Agent('hello'),
                          chooser=lambda choice: 'ask_user')
        result = await session.run()
        assert (result.reason, result.state) == ('paused', 'ask_user')
        assert result.pause is not None
        assert result.pause.message == 'Waiting for user input'
        result = await session.resume({'role': 'user', 'content': 'hi'})
        assert (result.reason, result.state, result.steps) == ('paused', 'ask_user', 2)
        assert result.context == [{'role': 'user', 'content': 'hi'}, 'hello']

    asyncio.run(main())


def test_user_input_of_the_agent_is_awaited() -> None:
    class Listens(Agent):
        async def get_user_input(self, context: Any) -> str:
            return 'hi'

    result = walk('a: {type: user, transition: {next: [b]}}\nb: {type: terminal}\n', [], Listens())
    assert result.context == ['hi']


WORK = """\
pick:
  type: motion
  motion: {type: control_msgs/action/GripperCommand}
  succeeded: look
  failed: give_up
  transition: {next: [look, give_up]}
look:
  type: confirm
  condition: part_held
  within: 2.0
  confirmed: done
  refuted: pick
  transition: {next: [pick, done]}
done: {type: terminal}
give_up: {type: terminal}
"""


class Robot:
    """Moves and looks as it is told to."""

    def __init__(self, moves: list[Any], looks: list[Any]) -> None:
        self.moves, self.looks = moves, looks

    def execute_motion(self, motion: Any, context: Any) -> Any:
        assert motion == {'type': 'control_msgs/action/GripperCommand'}
        return self.moves.pop(0)

    async def confirm(self, condition: str, within: float) -> Any:
        assert (condition, within) == ('part_held', 2.0)
        return self.looks.pop(0)


@pytest.mark.parametrize(('moves', 'looks', 'state', 'steps'), [
    ([True], [True], 'done', 2),
    ([True, True], [False, True], 'done', 4),
    ([True, True], [None, True], 'done', 4),
    ([True, False], [None], 'give_up', 3),
    (['yes'], [], 'give_up', 1),
    ([True, True], ['yes', True], 'done', 4),
])
def test_motion_and_confirm_lead_on_by_their_result(
    moves: list[Any], looks: list[Any], state: str, steps: int
) -> None:
    result = walk(WORK, [], Robot(moves, looks))
    assert (result.reason, result.state, result.steps) == ('terminal', state, steps)


@pytest.mark.parametrize(('field', 'robot', 'message'), [
    ('failed: give_up', Robot([False], []), "state 'pick': the motion failed"),
    ('refuted: pick', Robot([True], [None]), "state 'look': not confirmed: part_held"),
])
def test_result_that_leads_nowhere_is_an_error(field: str, robot: Robot, message: str) -> None:
    with pytest.raises(LifecycleError, match=message):
        walk(WORK.replace(f'  {field}\n', ''), [], robot)


def test_agent_that_lacks_what_a_state_needs_is_named() -> None:
    with pytest.raises(LifecycleError, match="state 'pick' of type 'motion' needs an agent with "
                                             "'execute_motion', got NoneType"):
        walk(WORK)


def test_session_goes_on_from_a_stored_state_and_journals() -> None:
    states = handler(WORK)
    journal: list[str] = []
    machine = Machine(states.graph, state='look',
                      commit=lambda change: journal.append(change.target))
    result = asyncio.run(Session(states, agent=Robot([], [True]), machine=machine).run())
    assert (result.state, journal) == ('done', ['done'])


def test_state_that_is_not_ready_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Patient(State):
        type = 'patient'  # noqa: A003

        def check_transition_ready(self, context: Any) -> bool:
            return len(context) == 3

        def run(self, context: Any, agent: Any = None) -> str:
            return 'tick'

    monkeypatch.setattr(REGISTRY, '_things', {**REGISTRY, 'patient': Patient})
    result = walk('a: {type: patient, transition: {next: [b]}}\nb: {type: terminal}\n')
    assert (result.reason, result.context) == ('terminal', ['tick'] * 3)
