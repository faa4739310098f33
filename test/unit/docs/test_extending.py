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

"""The examples of docs/extending.md do what the page says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from action_lifecycle.engine import load_graph, StateHandler
from action_lifecycle.engine.document import parse_document
from action_lifecycle.engine.errors import DocumentError
from action_lifecycle.engine.states import REGISTRY
from action_lifecycle.world import parse_facts
from action_lifecycle.world.expressions import compile_expression
from action_lifecycle.world.functions import FUNCTIONS
from action_lifecycle.world.kinds import Kind
from action_lifecycle.world.reducers import reduce_elements, reduce_window, REDUCERS
import pytest

from .pages import blocks, ROOT

PAGE = ROOT / 'docs' / 'extending.md'
REGISTRIES = (REDUCERS, FUNCTIONS, REGISTRY)


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget afterwards what an example registers."""
    for registry in REGISTRIES:
        monkeypatch.setattr(registry, '_things', dict(registry))


def section(heading: str) -> Iterator[tuple[str, str]]:
    """Yield the language and the text of each block of a section."""
    lines = PAGE.read_text(encoding='utf-8').splitlines()
    start = lines.index(f'## {heading}')
    end = next((number for number, line in enumerate(lines) if number > start
                and line.startswith('## ')), len(lines))
    for block in blocks(PAGE):
        if start < block.line <= end:
            yield block.language, block.text


def run(heading: str) -> tuple[dict[str, Any], str]:
    """Run the Python blocks of a section; returns their names and the text of its YAML."""
    names: dict[str, Any] = {'__name__': 'my_robot'}
    data = ''
    for language, text in section(heading):
        if language == 'python':
            exec(compile(text, PAGE.name, 'exec', dont_inherit=True), names)
        elif language == 'yaml fragment':
            data = text
    return names, data


def test_a_reducer() -> None:
    _, facts = run('A reducer')
    assert parse_facts(facts).kinds['clutter'] is Kind.NUMBER
    assert reduce_elements('spread', [3.0, 1.0, float('nan')]) == 2.0
    assert reduce_window('spread', [9.5, 10.5]) == 1.0
    with pytest.raises(DocumentError, match='is for numbers, and the field is a text'):
        parse_facts(facts, field_kind=_Texts())


class _Texts:

    def __call__(self, type_name: str, path: str) -> Kind:
        return Kind.TEXT

    def constants(self, type_name: str, path: str) -> dict[str, Any]:
        return {}


def test_a_function_of_conditions() -> None:
    _, fragment = run('A function of conditions')
    text = parse_document(fragment, 'f').data['condition']
    expression = compile_expression(text, {'heading', 'wanted'}, condition=True)
    assert expression.evaluate([6.3, 0.0]) is True
    assert expression.evaluate([1.0, 0.0]) is False
    assert expression.evaluate([float('inf'), 0.0]) is None
    with pytest.raises(DocumentError, match="'state' is a text; expected numbers"):
        compile_expression('wrap(state) < 1', {'state'}, kinds={'state': Kind.TEXT})


def test_a_typed_state() -> None:
    _, graph = run('A typed state')
    handler = StateHandler(graph=load_graph(graph))
    assert handler.get_initial_state().run({}) == 'Good morning'
