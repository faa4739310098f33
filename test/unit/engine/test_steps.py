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

"""Typed states at work: the step loop, pauses, tools, motions, and choosing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from action_lifecycle.engine import (
    by_priority,
    ByRule,
    Choice,
    ChoiceError,
    Chooser,
    first_ready,
    LifecycleError,
    load_graph,
    Machine,
    MAX_ITER,
    run_steps,
    Session,
    State,
    StateHandler,
    ToolError,
)
from action_lifecycle.engine.states import REGISTRY
import pytest

DATA = Path(__file__).parent / 'data'

FORK = """\
a:
  type: decision
  transition: {next: [left, right]}
left: {type: terminal, description: Go left}
right: {type: terminal, description: Go right}
"""


def handler(text: str) -> StateHandler:
    return StateHandler(graph=load_graph(text, name='g.yaml'))


def walk(text: str, *args: Any, **options: Any) -> Any:
    return asyncio.run(asyncio.wait_for(run_steps(handler(text), *args, **options), 10))


class Agent:
    """Answers like a model, has tools, moves and looks."""

    current_user_id = 'user 7'

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Any, Any]] = []
        self.tool_manager = self
        self.calls: list[tuple[str, Any, Any]] = []
        self.error: Exception | None = None
        self.schema: dict[str, Any] = {'type': 'object'}

    async def call_llm(self, context: Any, json_schema: Any = None) -> Any:
        self.asked.append((context, json_schema))
        return self.answers.pop(0)

    async def list_all_tools(self) -> dict[str, Any]:
        return {'home': {'lamp': {'inputSchema': self.schema}, 'door': {}}}

    async def call_tool(self, tool_name: str, arguments: Any, user_id: Any) -> str:
        self.calls.append((tool_name, arguments, user_id))
        if self.error is not None:
            raise self.error
        return f'{tool_name} done'


class AuthRequiredError(Exception):
    """What a tool manager raises, by the names that the seed uses."""

    service = 'lamps'
    service_info = {'name': 'Lamp Service'}
    connect_url = 'https://lamps.example/connect'


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


def test_single_way_out_asks_nobody() -> None:
    def chooser(choice: Choice) -> str:
        raise AssertionError('asked')

    result = walk('a: {type: decision, transition: {next: [b]}}\nb: {type: terminal}\n',
                  chooser=chooser)
    assert (result.reason, result.state, result.steps) == ('terminal', 'b', 1)


def test_chooser_sees_names_descriptions_and_a_schema_that_admits_only_them() -> None:
    seen: list[Choice] = []

    def chooser(choice: Choice) -> str:
        seen.append(choice)
        return 'right'

    assert walk(FORK, ['hello'], chooser=chooser).state == 'right'
    choice, = seen
    assert choice.names == ('left', 'right')
    assert choice.descriptions == ('Go left', 'Go right')
    assert choice.context == ['hello']
    jsonschema = pytest.importorskip('jsonschema')
    accepts = jsonschema.Draft202012Validator(choice.schema).is_valid
    assert accepts({'next_state': 'left'}) and accepts({'next_state': 'right'})
    assert not accepts({'next_state': 'a'}) and not accepts({}) and not accepts('left')


async def _too_late(choice: Choice) -> str:
    await asyncio.sleep(60)
    return 'left'


def _fails(choice: Choice) -> str:
    raise OSError('no service')


BAD_CHOOSERS: list[Chooser] = [
    lambda choice: 'a', lambda choice: None, lambda choice: 5, lambda choice: '5',
    lambda choice: '{"next_state": ',
    lambda choice: {'next_state': 'up'}, lambda choice: ['left'], _too_late, _fails,
    lambda choice: 'LEFT',
]


@pytest.mark.parametrize('chooser', BAD_CHOOSERS)
def test_answer_that_can_not_be_used_leads_to_the_default_or_is_an_error(
    chooser: Chooser
) -> None:
    for text, default in ((FORK, False), (FORK.replace(']}', '], default: right}'), True)):
        session = Session(handler(text), chooser=chooser, choice_timeout=0.02)
        if default:
            assert asyncio.run(session.run()).state == 'right'
        else:
            with pytest.raises(ChoiceError) as caught:
                asyncio.run(session.run())
            assert caught.value.names == ('left', 'right')
            assert session.machine.state == 'a'


@pytest.mark.parametrize('answer', [
    'right', {'next_state': 'right'}, json.dumps({'next_state': 'right'})])
def test_structured_and_plain_answers_are_taken(answer: Any) -> None:
    async def chooser(choice: Choice) -> Any:
        return answer

    assert walk(FORK, chooser=chooser).state == 'right'


def test_nobody_to_ask_is_an_error() -> None:
    with pytest.raises(ChoiceError, match='there is nobody to ask; to choose from: left, right'):
        walk(FORK)


def test_agent_that_chooses_is_asked_as_the_seed_does() -> None:
    class Chooses:
        async def choose_transition(self, transitions: Any, messages: Any) -> str:
            assert transitions == {'tt': ['left', 'right'], 'td': ['Go left', 'Go right']}
            return 'left'

    assert walk(FORK, [], Chooses()).state == 'left'


LISTED = """\
initial: a
states: {a: {type: decision}, b: {type: terminal}, c: {type: terminal}, d: {type: terminal}}
transitions:
  - {event: to_b, from: a, to: b, cond: may_b}
  - {event: to_c, from: a, to: c}
  - {event: to_d, from: a, to: d, priority: 5, description: The best}
"""


class May:
    """Guards of LISTED."""

    may_b = False


def test_built_in_choosers() -> None:
    may = May()
    assert walk(LISTED, [], may, chooser=first_ready).state == 'c'
    may.may_b = True
    assert walk(LISTED, [], may, chooser=first_ready).state == 'b'
    assert walk(LISTED, [], may, chooser=by_priority).state == 'd'
    rule = ByRule({'b': lambda context: 'bee' in context, 'c': lambda context: 'sea' in context})
    assert walk(LISTED, ['sea'], may, chooser=rule).state == 'c'
    with pytest.raises(ChoiceError, match='the answer is None'):
        walk(LISTED, ['sky'], may, chooser=rule)


def test_description_of_a_transition_goes_before_that_of_its_target() -> None:
    assert handler(LISTED).get_transitions('a')['td'] == ['', '', 'The best']


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


TOOL = 'a: {type: tool, transition: {next: [b]}}\nb: {type: terminal}\n'


def test_tool_and_arguments_are_asked_of_the_agent() -> None:
    agent = Agent('{"tool_name": "lamp"}', {'on': True})
    result = walk(TOOL, ['light, please'], agent)
    assert agent.calls == [('lamp', {'on': True}, 'user 7')]
    assert result.context[-1] == {'role': 'tool', 'name': 'lamp', 'content': 'lamp done'}
    (_, choose), (asked, fill) = agent.asked
    assert choose['properties']['tool_name']['enum'] == ['lamp', 'door']
    assert fill == {'type': 'object'}
    assert asked[0] == 'light, please'


def test_tool_of_the_file_is_called_without_a_question() -> None:
    agent = Agent()
    walk(TOOL.replace('tool,', 'tool, tool: door, arguments: {},'), [], agent)
    assert agent.calls == [('door', {}, 'user 7')]


@pytest.mark.parametrize('answers', [
    ('rocket',), ('{"tool_name": 5}',), (None,), ('lamp', 'not json', '', None),
    ('lamp', [1], '{"on": ', '[]')])
def test_nonsense_calls_no_tool(answers: tuple[Any, ...]) -> None:
    agent = Agent(*answers)
    with pytest.raises(LifecycleError):
        walk(TOOL, [], agent)
    assert agent.calls == []


def test_who_fills_in_arguments_sees_what_was_wrong_with_the_last() -> None:
    agent = Agent('lamp', '{"on": "maybe"}', {'on': float('nan')}, {'on': True})
    agent.schema = {'type': 'object', 'properties': {'on': {'type': 'boolean'}},
                    'required': ['on'], 'additionalProperties': False}
    walk(TOOL, [], agent)
    assert agent.calls == [('lamp', {'on': True}, 'user 7')]
    prompts = [context[-1]['content'] for context, _ in agent.asked[1:]]
    assert "refused:\n.on: 'maybe' is not of type 'boolean'" in prompts[1]
    assert '.on: nan is not finite' in prompts[2]


@pytest.mark.parametrize('given', [{'on': 'yes'}, {'of': True}, {}])
def test_arguments_that_the_schema_does_not_admit_never_reach_the_tool(given: Any) -> None:
    agent = Agent('lamp', given, given, given)
    agent.schema = {'type': 'object', 'properties': {'on': {'type': 'boolean'}},
                    'required': ['on'], 'additionalProperties': False}
    with pytest.raises(ToolError, match="no usable arguments for the tool 'lamp': .*on"):
        walk(TOOL, [], agent)
    agent.answers.clear()
    with pytest.raises(ToolError, match='on'):
        walk(TOOL.replace('tool,', f'tool, tool: lamp, arguments: {json.dumps(given)},'), [],
             agent)
    assert agent.calls == []


def test_a_chooser_picks_the_tool_and_fills_in_its_arguments() -> None:
    agent = Agent()
    asked: list[Any] = []

    class Chooses:
        tool_manager = agent

        def chooser(self, choice: Any) -> Any:
            asked.append(choice)
            return {'tool_name': 'lamp'} if choice.names else '{"on": true}'

    result = walk(TOOL, ['light'], Chooses())
    assert agent.calls == [('lamp', {'on': True}, None)]
    assert result.context[-1]['content'] == 'lamp done'
    assert asked[0].names == ('lamp', 'door') and asked[0].descriptions == ('', '')
    assert asked[1].schema == {'type': 'object'} and asked[1].context[0] == 'light'


def test_a_tool_that_fails_leads_on_where_the_state_says_so() -> None:
    agent = Agent('lamp', {})
    agent.error = OSError('broken')
    result = walk('a: {type: tool, failed: sorry, transition: {next: [b, sorry]}}\n'
                  'b: {type: terminal}\nsorry: {type: terminal}\n', [], agent)
    assert result.state == 'sorry'
    assert result.context == [{'role': 'tool', 'name': 'lamp', 'error': 'broken'}]


def test_tool_that_needs_authorisation_pauses_and_resumes_with_the_same_call() -> None:
    async def main() -> None:
        agent = Agent('lamp', {'on': True})
        agent.error = AuthRequiredError()
        session = Session(handler(TOOL), agent=agent)
        result = await session.run()
        assert (result.reason, result.state) == ('paused', 'a')
        assert result.pause == ('To complete this request, please connect your Lamp Service',
                                'https://lamps.example/connect')
        agent.error = None
        result = await session.resume()
        assert (result.reason, result.state) == ('terminal', 'b')
        assert agent.calls == [('lamp', {'on': True}, 'user 7')] * 2

    asyncio.run(main())


def test_other_error_of_a_tool_is_raised_and_the_state_stays() -> None:
    agent = Agent('lamp', {})
    agent.error = OSError('broken')
    session = Session(handler(TOOL), agent=agent)
    with pytest.raises(OSError, match='broken'):
        asyncio.run(session.run())
    assert session.machine.state == 'a'


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


def test_state_may_be_left_only_by_an_edge_that_its_guards_admit() -> None:
    text = """\
initial: move
states:
  move: {type: motion, motion: {}, succeeded: b, failed: c}
  b: {type: terminal}
  c: {type: terminal}
transitions:
  - {event: ok, from: move, to: b}
  - {event: bad, from: move, to: c, cond: may_b}
"""

    class Agent(May):

        def execute_motion(self, motion: Any, context: Any) -> bool:
            return False

    with pytest.raises(ChoiceError, match="it decided on 'c'; to choose from: b"):
        walk(text, [], Agent())


def test_state_that_is_not_ready_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Patient(State):
        type = 'patient'  # noqa: A003

        def check_transition_ready(self, context: Any) -> bool:
            return len(context) == 3

        def run(self, context: Any, agent: Any = None) -> str:
            return 'tick'

    monkeypatch.setattr(REGISTRY, '_types', {**REGISTRY, 'patient': Patient})
    result = walk('a: {type: patient, transition: {next: [b]}}\nb: {type: terminal}\n')
    assert (result.reason, result.context) == ('terminal', ['tick'] * 3)
