# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""State types: how they are named, found and made known."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
import sys

from action_lifecycle.documents.models import StrictModel
from action_lifecycle.engine import GraphError, LifecycleError, load_graph, State, StateHandler
from action_lifecycle.graphs.state_types import REGISTRY, StateRegistry
import pytest

GREETING = """\
from action_lifecycle.engine import State, register_state


@register_state
class GreetingState(State):
    def __init__(self, name: str, config: dict):
        super().__init__(name, config)
        self.greeting = config.get('greeting', 'Hello!')

    def check_transition_ready(self, context) -> bool:
        # Always ready to transition after greeting
        return True

    def run(self, context, agent=None):
        return self.greeting
"""


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> StateRegistry:
    """Forget afterwards what a test registers."""
    monkeypatch.setattr(REGISTRY, '_things', dict(REGISTRY))
    return REGISTRY


def test_built_in_types_are_known() -> None:
    built_in = {'agent', 'user', 'tool', 'decision', 'terminal', 'motion', 'confirm'}
    assert built_in <= set(REGISTRY)  # other packages may have registered more
    assert [name for name in built_in if REGISTRY[name].is_terminal] == ['terminal']


def test_the_run_of_every_built_in_type_can_be_awaited() -> None:
    built_in = [cls for cls in REGISTRY.values()
                if cls.__module__.startswith('action_lifecycle.agents.')]
    assert len(built_in) == 11 and all(
        inspect.iscoroutinefunction(cls.run) for cls in built_in)

    async def steps() -> list[object]:
        return [await REGISTRY[name](name, {}).run([]) for name in ('decision', 'terminal')]
    assert asyncio.run(steps()) == [None, None]


@pytest.mark.parametrize(('cls', 'name'), [
    ('GreetingState', 'greeting'), ('StateGreeting', 'greeting'), ('Greeting', 'greeting'),
    ('SkillBuilderState', 'skill_builder'), ('HTTPCallState', 'http_call'),
])
def test_class_without_type_is_named_after_itself(cls: str, name: str) -> None:
    types = StateRegistry()
    found = types.register_type(type(cls, (State,), {'__module__': __name__}))
    assert dict(types) == {name: found}
    assert found.type == name


def test_class_without_type_in_a_state_file_is_named_after_the_file(tmp_path: Path) -> None:
    (tmp_path / 'state_welcome.py').write_text(GREETING)
    (tmp_path / 'state_farewell.py').write_text(GREETING.replace(
        'class GreetingState(State):\n', "class Bye(State):\n    type = 'bye'\n\n"))
    (tmp_path / 'helper.py').write_text('raise RuntimeError')
    graph = tmp_path / 'graph.yaml'
    graph.write_text('a: {type: welcome, greeting: Hi, transition: {next: [b]}}\n'
                     'b: {type: bye, transition: {next: [end]}}\nend: {type: terminal}\n')
    with pytest.raises(GraphError):
        load_graph(graph)
    handler = StateHandler(yaml_path=graph, states_folder=tmp_path)
    assert handler.get_initial_state().run({}) == 'Hi'
    assert handler.get_state('b').run({}) == 'Hello!'
    assert StateHandler(yaml_path=graph, states_folder=tmp_path).graph.initial == 'a'


def test_broken_state_file_is_named(tmp_path: Path) -> None:
    (tmp_path / 'state_broken.py').write_text('1 / 0')
    with pytest.raises(LifecycleError, match='state_broken.py: ZeroDivisionError'):
        REGISTRY.load_folder(tmp_path)
    with pytest.raises(LifecycleError, match='is not a folder'):
        REGISTRY.load_folder(tmp_path / 'none')


def test_a_type_may_take_the_place_of_a_built_in_one(caplog: pytest.LogCaptureFixture) -> None:
    built_in = REGISTRY['tool']
    types = StateRegistry({'tool': built_in}, modules=[built_in.__module__])
    one = type('One', (State,), {'type': 'tool'})
    with caplog.at_level('INFO'):
        types.register_type(one)
        types.register_type(one)
    assert types['tool'] is one
    assert [record.getMessage().partition(' of ')[0] for record in caplog.records] == [
        "state type 'tool'"]
    with pytest.raises(LifecycleError, match="'tool' of .*Other is already registered by .*One"):
        types.register_type(type('Other', (State,), {'type': 'tool'}))


def test_two_classes_of_one_type_are_refused() -> None:
    types = StateRegistry()
    types.register_type(type('One', (State,), {'type': 'x'}))
    types.register_type(type('One', (State,), {'type': 'x'}))  # the same one, loaded again
    with pytest.raises(LifecycleError, match="'x' of .*Other is already registered by .*One"):
        types.register_type(type('Other', (State,), {'type': 'x'}))


def test_subclass_does_not_take_its_base_s_type() -> None:
    types = StateRegistry(REGISTRY)
    cls = types.register_type(
        type('CarefulToolState', (REGISTRY['tool'],), {'__module__': __name__}))
    assert cls.type == 'careful_tool'
    assert types['tool'].type == 'tool'


def test_type_of_an_installed_package_is_found_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / 'waving.py').write_text(GREETING.replace('@register_state\n', ''))
    info = tmp_path / 'waving-1.0.dist-info'
    info.mkdir()
    (info / 'METADATA').write_text('Metadata-Version: 2.1\nName: waving\nVersion: 1.0\n')
    (info / 'entry_points.txt').write_text(
        '[action_lifecycle.states]\nwaving = waving:GreetingState\nodd = waving:__name__\n')
    monkeypatch.syspath_prepend(tmp_path)
    graph = load_graph('a: {type: waving, final: true}\n')
    assert REGISTRY['waving'].__name__ == 'GreetingState'
    assert StateHandler(graph=graph).get_initial_state().run({}) == 'Hello!'
    with pytest.raises(LifecycleError, match="entry point 'odd' .* is no State"):
        load_graph('a: {type: odd, final: true}\n')
    sys.modules.pop('waving')


def test_fields_of_a_type_are_checked_with_their_place() -> None:
    class Fields(StrictModel):
        volume: int

    types = StateRegistry({'loud': type('Loud', (State,), {'type': 'loud', 'Fields': Fields})})
    graph = load_graph('a: {type: loud, volume: 3, final: true}\n', types=types)
    assert graph.states['a'].config['volume'] == 3
    with pytest.raises(GraphError, match=r"g:2:3: unknown field 'volum'; did you mean 'volume'"):
        load_graph('a:\n  volum: 3\n  type: loud\n  final: true\n', name='g', types=types)
    with pytest.raises(GraphError, match=r"g:1:17: field 'volume': .* got 'high'"):
        load_graph('a: {type: loud, volume: high, final: true}\n', name='g', types=types)


def test_base_state_says_what_a_subclass_must_have() -> None:
    state = State('a', {'transition': {'next': ['b']}})
    assert (state.name, state.is_terminal, state.transition) == ('a', False, {'next': ['b']})
    with pytest.raises(NotImplementedError):
        state.run({})
    with pytest.raises(NotImplementedError):
        state.check_transition_ready({})
    assert State('a', {'final': True}).is_terminal
