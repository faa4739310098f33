# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The examples of docs/lifecycle_hooks.md have the results that the page gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
import re
from typing import Any

from action_lifecycle import lifecycle_hooks as hooks
from action_lifecycle.lifecycle.states import ActionState, LEDGER_STATUS
import pytest

from .pages import blocks, ROOT

PAGE = ROOT / 'docs' / 'lifecycle_hooks.md'
EXAMPLES = [block for block in blocks(PAGE) if block.language == 'python']
_RESULT = re.compile(r'^(?P<code>[^#]*\S)  # (?P<result>.*)$')


class _Checked(ast.NodeTransformer):
    """Turns each expression with a comment behind it into a comparison with that comment."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.results = 0

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        found = _RESULT.match(self.lines[(node.end_lineno or node.lineno) - 1])
        if found is None:
            return node
        self.results += 1
        wanted = ast.parse(found['result'], mode='eval').body
        call = ast.Call(ast.Name('_compare', ast.Load()), [
            ast.Constant(node.lineno), node.value, wanted], [])
        return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), node))


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    hooks.configure()
    for session in ('42_100', '42_101'):
        hooks.forget_session(session)


def run(text: str, names: dict[str, Any]) -> int:
    """Run an example; returns how many results it has."""
    checked = _Checked(text)
    exec(compile(checked.visit(ast.parse(text)), PAGE.name, 'exec', dont_inherit=True), names)
    return checked.results


def test_each_example_gives_what_its_comments_say(in_folder: None) -> None:
    found: list[tuple[int, Any, Any]] = []
    names: dict[str, Any] = {
        '_compare': lambda line, result, wanted: found.append((line, result, wanted))}
    results = sum(run(block.text, names) for block in EXAMPLES)
    assert results == len(found) > 30
    assert [one for one in found if one[1] != one[2]] == []


def test_a_wrong_comment_is_found() -> None:
    found: list[Any] = []
    assert run('1 + 1  # 3\n', {'_compare': lambda *one: found.append(one)}) == 1
    assert found == [(1, 2, 3)]


def test_each_public_name_has_an_example() -> None:
    used = {node.id for block in EXAMPLES for node in ast.walk(ast.parse(block.text))
            if isinstance(node, ast.Name)}
    assert set(hooks.__all__) <= used


def test_the_table_of_ledger_statuses_is_that_of_the_graph() -> None:
    text = PAGE.read_text(encoding='utf-8')
    rows = dict(re.findall(r'^\| (`.*`) \| (\w+) \|$', text, re.M))
    told = {state: status for states, status in rows.items()
            for state in re.findall(r'`(\w+)`', states)}
    assert told == {state.value: status.value for state, status in LEDGER_STATUS.items()}
    assert {state.value for state in ActionState} - set(told) == {'terminated', 'recipe_received'}
