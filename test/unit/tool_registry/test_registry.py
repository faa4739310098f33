# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The tool registry, and tools made from Python callables."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from enum import Enum
import logging
import threading
import time
from typing import Any, Literal, Optional, Union

from action_lifecycle.agents.tools.python import arguments_schema
from action_lifecycle.documents import json_schema
from action_lifecycle.documents.json_schema import check_schema, SchemaError
from action_lifecycle.tools import MAX_RESULT, Tool, ToolError, ToolRegistry
import pytest

from .pauses import longest_pause

OBJECT = {'type': 'object', 'properties': {}}


class Colour(str, Enum):
    RED = 'red'
    BLUE = 'blue'


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {'a': value}
    return value


def call(registry: ToolRegistry, name: str, **arguments: Any) -> Any:
    return asyncio.run(registry.call_tool(name, arguments, 'user 7'))


def registry_of(result: Any, **more: Any) -> ToolRegistry:
    registry = ToolRegistry()
    registry.add(Tool('it', 'home', 'does it', OBJECT, lambda arguments, user: result, **more))
    return registry


def test_a_callable_becomes_a_tool_with_the_schema_of_its_hints() -> None:
    registry = ToolRegistry()

    @registry.tool(server='home')
    def paint(thing: str, colour: Colour, coats: int = 1, where: Optional[list[float]] = None,
              mode: Literal['quick', 'neat'] = 'neat', extra: Mapping[str, Any] = {},  # noqa: B006
              ) -> str:
        """Paint a thing."""
        return f'{coats} coats of {colour} on {thing}'

    specs = asyncio.run(registry.list_all_tools())
    spec = specs['home']['paint']
    assert (spec['name'], spec['description']) == ('paint', 'Paint a thing.')
    assert spec['inputSchema'] == {
        'type': 'object', 'required': ['thing', 'colour'], 'additionalProperties': False,
        'properties': {
            'thing': {'type': 'string'}, 'colour': {'enum': ['red', 'blue']},
            'coats': {'type': 'integer'}, 'mode': {'enum': ['quick', 'neat']},
            'where': {'anyOf': [{'type': 'array', 'items': {'type': 'number'}},
                                {'type': 'null'}]},
            'extra': {'type': 'object', 'additionalProperties': {}}}}
    assert call(registry, 'paint', thing='Tür', colour='red') == '1 coats of red on Tür'


@pytest.mark.parametrize('arguments, fault', [
    ({}, "'on' is a required property"),
    ({'on': 1}, ".on: 1 is not of type 'boolean'"),
    ({'on': True, 'of': 1}, "'of' was unexpected"),
    ({'on': True, 'level': float('inf')}, '.level: inf is not finite'),
    ({'on': True, 'more': nested(5000)}, 'it is nested too deeply'),
])
def test_arguments_that_do_not_fit_reach_no_tool(arguments: Any, fault: str) -> None:
    called = []
    registry = ToolRegistry()

    @registry.tool()
    def lamp(on: bool, level: float = 1.0, more: Optional[dict[str, Any]] = None) -> None:
        called.append(on)

    with pytest.raises(ToolError, match='do not fit') as caught:
        call(registry, 'lamp', **arguments)
    assert fault in str(caught.value) and not called


def test_a_plain_callable_does_not_hold_up_the_loop() -> None:
    registry = ToolRegistry()
    release = threading.Event()

    @registry.tool()
    def wait() -> str:
        assert release.wait(20)
        return 'waited'

    async def main() -> Any:
        waiting = asyncio.create_task(registry.call_tool('wait', {}))
        await asyncio.sleep(0)
        release.set()
        return await waiting

    assert asyncio.run(main()) == 'waited'


def test_a_tool_that_takes_too_long_is_given_up() -> None:
    async def never(arguments: Any, user: Any) -> None:
        await asyncio.sleep(60)
    registry = ToolRegistry()
    registry.add(Tool('never', 'home', '', OBJECT, never, time_limit=0.1))
    started = time.monotonic()
    with pytest.raises(ToolError, match="'never': no result within 0.1 s"):
        call(registry, 'never')
    assert time.monotonic() - started < 10


def test_a_tool_that_fails_is_told_with_its_name() -> None:
    registry = ToolRegistry()

    @registry.tool()
    def broken() -> None:
        raise OSError('no bulb')

    with pytest.raises(ToolError, match="tool 'broken' failed: OSError: no bulb"):
        call(registry, 'broken')


@pytest.mark.parametrize('result, error', [
    (object(), 'its result is no JSON'), (float('nan'), 'its result is no JSON'),
    ('x' * MAX_RESULT, f'has {MAX_RESULT + 2} characters')])
def test_a_result_that_can_not_be_used_is_an_error(result: Any, error: str) -> None:
    with pytest.raises(ToolError, match=error):
        call(registry_of(result), 'it')


def test_results_are_taken_as_they_are() -> None:
    for result in ('{{ 7 * 7 }}', {'a': [1, None, 'Grüße 🤖']}, None):
        assert call(registry_of(result), 'it') == result


def test_an_unknown_tool_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ToolError, match="there is no tool 'its'; did you mean 'it'"):
        call(registry_of(1), 'its')


def test_two_tools_of_one_name_are_refused_by_name() -> None:
    with pytest.raises(ToolError, match="'it' of server 'away' is already one of server 'home'"):
        registry_of(1).add(Tool('it', 'away', '', OBJECT, lambda arguments, user: 2))


def test_a_server_that_is_away_or_offers_nonsense_takes_no_other_tool_away(
    caplog: pytest.LogCaptureFixture
) -> None:
    class Away:
        name = 'away'

        async def tools(self) -> Any:
            raise ToolError('nobody is there')

    class Odd:
        name = 'odd'

        async def tools(self) -> Any:
            return [Tool('it', 'odd', 'takes the name of another', OBJECT, lambda *_: 'odd'),
                    Tool('bad', 'odd', '', {'type': 'nothing'}, lambda *_: 1),
                    Tool('good', 'odd', '', OBJECT, lambda *_: 'good')]

    registry = registry_of('own')
    registry.add_source(Away())
    registry.add_source(Odd())
    with caplog.at_level(logging.WARNING):
        specs = asyncio.run(registry.list_all_tools())
    assert {server: list(tools) for server, tools in specs.items()} == {
        'home': ['it'], 'odd': ['good']}
    assert call(registry, 'it') == 'own' and call(registry, 'good') == 'good'
    assert 'nobody is there' in caplog.text
    assert "tool 'bad' of server 'odd' is left out: no JSON Schema" in caplog.text


@pytest.mark.parametrize('schema, error', [
    (True, 'is a mapping'), ({'type': 'objekt'}, 'no JSON Schema'),
    ({'$ref': 'http://example.com/x'}, 'leads out of the schema'),
    ({'properties': {'a': {'$ref': 'file:///etc/passwd'}}}, 'leads out'),
    ({'description': 'x' * 70_000}, 'at most 65536'), ({'default': {1}}, 'no JSON Schema')])
def test_schemas_that_can_not_be_used_are_refused(schema: Any, error: str) -> None:
    with pytest.raises(SchemaError, match=error):
        check_schema(schema)


def test_references_inside_a_schema_work() -> None:
    registry = ToolRegistry()
    registry.add(Tool('it', 'home', '', {
        'type': 'object', 'properties': {'a': {'$ref': '#/$defs/n'}},
        '$defs': {'n': {'type': 'number'}}}, lambda arguments, user: arguments['a']))
    assert call(registry, 'it', a=1.5) == 1.5
    with pytest.raises(ToolError, match='do not fit'):
        call(registry, 'it', a='x')


_DOUBLED = {'d40': {}, **{
    f'd{i}': {'allOf': [{'$ref': f'#/$defs/d{i + 1}'}] * 2} for i in range(40)}}


@pytest.mark.parametrize('schema, value', [
    ({'pattern': '^(a+)+$'}, 'a' * 40 + '!'),
    ({'patternProperties': {'^(a+)+$': {}}}, {'a' * 40 + '!': 1}),
    ({'$ref': '#/$defs/d0'}, 1),
    ({'uniqueItems': True}, [[i] if i % 2 else {'i': i} for i in range(20_000)])],
    ids=['pattern', 'names', 'references', 'unique'])
def test_a_schema_that_takes_for_ever_is_an_error_and_holds_up_nothing_else(
    schema: Any, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_schema, 'TIME_LIMIT', 1.0)
    called: list[Any] = []
    registry = ToolRegistry()
    registry.add(Tool('it', 'home', '', {
        'properties': {'a': schema}, '$defs': _DOUBLED}, called.append))

    async def both() -> float:
        asked = asyncio.ensure_future(registry.call_tool('it', {'a': value}))
        longest = await longest_pause(asked)
        with pytest.raises(SchemaError, match='by the schema takes longer than 1 s'):
            await asked
        return longest
    assert any(asyncio.run(both()) < 0.5 for _ in range(3))  # all may stand still in one of them
    assert not called


def test_patterns_are_judged() -> None:
    registry = ToolRegistry()
    registry.add(Tool('it', 'home', '', {'properties': {'a': {'pattern': r'^\d{4}-\d{2}$'}}},
                      lambda arguments, user: arguments['a']))
    assert call(registry, 'it', a='2026-11') == '2026-11'
    with pytest.raises(ToolError, match=r"\.a: '2026' does not match"):
        call(registry, 'it', a='2026')


def test_a_pattern_that_is_none_is_an_error() -> None:
    registry = ToolRegistry()
    with pytest.raises(SchemaError):  # when it is added, or with older jsonschema when called
        registry.add(Tool('it', 'home', '', {'properties': {'a': {'pattern': '('}}}, print))
        call(registry, 'it', a='x')


def test_a_large_schema_is_checked_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    check_schema({'description': 'x' * 5000})
    with pytest.raises(SchemaError, match='no JSON Schema'):
        check_schema({'description': 'x' * 5000, 'type': 'objekt'})
    monkeypatch.setattr(json_schema, 'TIME_LIMIT', 0.01)
    with pytest.raises(SchemaError, match='longer than 0.01 s'):
        check_schema({'description': 'x' * 5000})


def test_callables_that_can_not_be_described_are_refused_by_name() -> None:
    def unhinted(a): ...
    def positional(a: int, /) -> None: ...
    def spread(*a: int) -> None: ...
    def odd(a: Union[int, complex]) -> None: ...
    for function, error in ((unhinted, "'a' has no type hint"), (spread, 'by name'),
                            (positional, 'by name'), (odd, 'complex.* has no counterpart')):
        with pytest.raises(ToolError, match=error):
            arguments_schema(function)
