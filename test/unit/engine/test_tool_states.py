# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tool states: which tool, its arguments, failure and authorisation."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from action_lifecycle.engine import LifecycleError, Session, ToolError
import pytest

from .walking import Agent, handler, walk


class AuthRequiredError(Exception):
    """What a tool manager raises, by the names that the seed uses."""

    service = 'lamps'
    service_info = {'name': 'Lamp Service'}
    connect_url = 'https://lamps.example/connect'


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
