# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What inputs may cost: each hostile one ends in an error, within its steps, time and memory."""

from __future__ import annotations

import json
import os
from pathlib import Path
import subprocess
import sys
from typing import Any

from action_lifecycle.documents.budget import budget, BudgetExceeded
from action_lifecycle.documents.errors import DocumentError, LifecycleError
from action_lifecycle.documents.json_text import read_object
from action_lifecycle.documents.suggestions import nearest
from action_lifecycle.documents.templates.template import render, TemplateError
from action_lifecycle.documents.yaml_document import parse_document
from action_lifecycle.flow import parse_flow
from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.flow.files.loader import MOST_STEPS, steps_for
from hypothesis import example, given, settings
from hypothesis import strategies as st
import pytest

WALL = 120.0
"""s after which the process that reads hostile flows is killed."""
MEMORY = 2 * 1024 ** 3
GROWTH = 200 * 1024 ** 2


def flow_of(template: str, size: int = 60_000) -> str:
    """Return a flow with a long parameter `x` and a template in a goal."""
    return (f'flow: f\nparameters: {{x: {{default: {"a" * size}}}}}\nactions:\n  act:\n'
            '    motion:\n      server: s\n      type: a/action/B\n      goal:\n'
            f'        text: {json.dumps(template)}\n    confirm: z > 0\n')


TEMPLATES = {
    'loops': '{% for a in x %}{% for b in x %}{% endfor %}{% endfor %}',
    'replaced': "{{ x|map('replace', 'a', x)|join }}",
    'quoted': '{{ x' + '|tojson' * 22 + ' }}',
    'joined': '{{ (x|list)|join(x) }}',
    'added': '{{ [x, x]|map("replace", "a", x)|list }}',
    'text times number': "{{ 'a' * 999999999 }}",
    'list times number': '{{ [1] * 999999999 }}',
    'format': "{{ '%999999999d' % 1 }}",
    'power': '{{ 10 ** 16 ** 16 }}',
    'powers': '{{ ((10 ** 16) ** 16) ** 16 }}',
    'digits': '{{ ' + '9' * 4000 + ' * 1 }}',
    'complex': '{{ (0 - 8) ** 0.5 }}',
    'mixed': "{{ [1, 'a']|sort }}",
    'sum of texts': "{{ ['a', 'b']|sum }}",
    'attributes': "{{ [x]|map(attribute='__class__.__mro__')|list }}",
    'dictsort': '{{ 1|dictsort }}',
    'truncate': '{{ x|truncate(1) }}',
    'parentheses': '{{ ' + '(' * 1500 + '1' + ')' * 1500 + ' }}',
    'long sum': '{{ ' + '+'.join('1' * 1000) + ' }}',
}
FLOWS = {
    **{name: flow_of(template) for name, template in TEMPLATES.items()},
    'in many actions': 'flow: f\nparameters: {x: {default: ' + 'a' * 30_000 + '}}\nactions:\n'
    + ''.join(f"  a{i}: {{confirm: z > 0, description: '{{% for a in x %}}{{% endfor %}}'}}\n"
              for i in range(500)),
    'aliased defaults': 'flow: f\nparameters: {p: {default: &v [1, 2]}}\ndefaults:\n'
    '  parameters: {l: [' + ', '.join(['*v'] * 22_000) + ']}\nactions:\n'
    + ''.join(f'  a{i}: {{confirm: z > 0}}\n' for i in range(2000)),
    'aliased text': 'a: &a ' + 'x' * 100_000 + '\nb: [' + ', '.join(['*a'] * 1000) + ']\n',
    'aliased depth': 'a0: &a0 [1]\n' + ''.join(
        f'a{i}: &a{i} [[[[*a{i - 1}]]]]\n' for i in range(1, 500)),
    'unknown names': 'flow: f\nactions:\n' + ''.join(
        f'  a{i}: {{confirm: z > 0, after: [{", ".join(f"b{j}" for j in range(300))}]}}\n'
        for i in range(400)),
    'wrong parameters': 'flow: f\nparameters: {'
    + ', '.join(f'p{i}: 1' for i in range(10_000)) + '}\nactions: {a: {confirm: z > 0}}\n',
    'many parameters': 'flow: f\nparameters: {'
    + ', '.join(f'p{i}: 1' for i in range(100_000)) + '}\nactions: {a: {confirm: z > 0}}\n',
    'long number': 'flow: f\nparameters: {p: {default: ' + '1' * 1_000_000 + '.0}}\n',
}
READER = """
import json, resource, sys
from action_lifecycle.documents import budget as budgets
from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow import parse_flow
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
made, Budget = [], budgets.Budget
class Counted(Budget):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        made.append(self)
budgets.Budget = Counted
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name, text in json.load(sys.stdin).items():
    made.clear()
    try:
        parse_flow(text, name)
        error = ''
    except LifecycleError as found:
        error = str(found)
    used = made[0].used if made else 0
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(json.dumps([name, error[:50_000], used, grown]), flush=True)
"""


@pytest.fixture(scope='module')
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return, by flow, the error, the steps used and the memory grown by, of a limited process."""
    file: Path = tmp_path_factory.mktemp('limits') / 'reader.py'
    file.write_text(READER, encoding='utf-8')
    try:
        done = subprocess.run(
            [sys.executable, str(file), str(MEMORY)], input=json.dumps(FLOWS), text=True,
            capture_output=True, timeout=WALL, check=False,
            env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)})
        out, told = done.stdout, done.stderr
    except subprocess.TimeoutExpired as error:
        out, told = (error.stdout or b'').decode(), f'it was killed after {WALL} s'
    found = {name: rest for name, *rest in map(json.loads, out.splitlines())}
    assert found.keys() == FLOWS.keys(), told
    return found


@pytest.mark.parametrize('name', FLOWS)
def test_a_hostile_flow_is_refused_within_its_steps(name: str, read: dict[str, Any]) -> None:
    error, used, grown = read[name]
    assert error.startswith(f'{name}:'), error
    assert used <= steps_for(FLOWS[name]) + 1
    assert grown < GROWTH


@pytest.mark.parametrize(('name', 'message'), [
    ('loops', "loops:9:9: action 'act': template"), ('loops', 'takes more than'),
    ('replaced', 'takes more than'), ('quoted', 'takes more than'),
    ('dictsort', "there is no filter 'dictsort'"), ('power', 'a whole number beyond 64 bits'),
    ('sum of texts', 'expected a number, got a text'),
    ('mixed', 'expected numbers only, or texts only'),
    ('aliased text', 'aliases expand to more than 4194304 characters'),
    ('aliased depth', 'nested deeper than 64 levels'),
    ('aliased defaults', 'reading the flow takes more than'),
    ('long number', 'number with more than 64 digits'),
    ('unknown names', 'the rest is not checked'),
    ('wrong parameters', 'and more faults'),
    ('many parameters', '100000 parameters, at most 10000 are allowed'),
])
def test_the_error_says_where_and_which_limit(
    name: str, message: str, read: dict[str, Any]
) -> None:
    assert message in read[name][0]


def test_the_steps_of_a_flow_do_not_depend_on_what_was_read_before() -> None:
    text = flow_of('{{ x|length }} {% for a in x %}{{ a }}{% endfor %}', 300)
    used = []
    for _ in range(2):
        with budget(MOST_STEPS, 'test') as limit:
            parse_flow(text, 'f.yaml')
        used.append(limit.used)
    assert used[0] == used[1] > 0


def test_templates_of_one_call_share_their_steps() -> None:
    data = ['{% for a in x %}{% endfor %}'] * 50
    with budget(10_000, 'this test'), pytest.raises(TemplateError) as caught:
        render(data, {'x': 'a' * 1000}, ('field',))
    assert 'this test takes more than 10000 steps' in str(caught.value)
    assert caught.value.path[0] == 'field' and isinstance(caught.value, LifecycleError)


def test_an_inner_budget_takes_from_the_outer_one() -> None:
    with budget(100, 'outer') as outer:
        with budget(50, 'inner') as inner:
            inner.spend(40)
        assert outer.left == 60
        with pytest.raises(BudgetExceeded, match='outer takes more than 100 steps'), \
                budget(1000, 'inner') as inner:
            inner.spend(61)
        assert outer.left < 0


def test_results_that_lead_back_a_long_way_are_checked() -> None:
    count = 2000
    text = 'flow: f\nactions:\n  a0: {confirm: z > 0}\n' + ''.join(
        f'  a{i}: {{confirm: z > 0, after: a{i - 1}, '
        f"parameters: {{n: '{{{{ results.a0.attempts }}}}'}}}}\n" for i in range(1, count))
    assert len(parse_flow(text, 'f.yaml').late) == count
    with pytest.raises(DocumentError, match="the result of 'a7', which does not come before"):
        parse_flow(text + '  b: {confirm: z > 0, after: a3, '
                   "parameters: {n: '{{ results.a7.attempts }}'}}\n", 'f.yaml')


def test_aliases_that_fit_are_taken() -> None:
    document = parse_document('a: &a {x: [1, 2]}\nb: [*a, *a]\nc: {<<: *a, y: 1}\n', 'f')
    assert document.data['b'][1] == {'x': [1, 2]} and document.data['c']['x'] == [1, 2]


def test_an_edit_that_repeats_itself_is_refused() -> None:
    assert len(parse_edit('- remove: [a]\n').steps) == 1
    with pytest.raises(DocumentError, match='aliases expand'):
        parse_edit('- add: {a: {x: &x ' + 'a' * 1000 + ', y: [' + '*x, ' * 1000 + ']}}\n')


@pytest.mark.parametrize('text', [
    '{"a": ' + '[' * 100_000 + ']' * 100_000 + '}', '{"a": ' + '[' * 70 + ']' * 70 + '}',
    '{"a": ' + '9' * 5000 + '}', '{"a": ' + '9' * 65 + '}', '[]', '{', '1',
    '{"a": "' + 'x' * 2 ** 22 + '"}',
])
def test_json_of_a_request_is_limited(text: str) -> None:
    with pytest.raises(LifecycleError, match='^data_json: '):
        read_object(text, 'data_json')


def test_json_of_a_request_is_read() -> None:
    assert read_object('', 'x') == {} and read_object('{"a": [1.5, {"b": null}]}', 'x') == {
        'a': [1.5, {'b': None}]}


def test_no_near_name_is_looked_for_among_long_ones() -> None:
    assert nearest('a' * 100_000, ['a' * 99_999 + 'b']) == ''
    assert nearest('gapp', ['gap', 'a' * 100_000]) == "; did you mean 'gap'?"


# What is written at random

NAMES: dict[str, Any] = {
    'x': 'ab' * 500, 'n': 3, 'big': 10 ** 60, 'f': float('inf'), 'none': None, 'yes': True,
    'l': [1, 2.5, 'c', [1]], 'd': {'a': 1, 'b': {'c': [1, 2]}, 'items': 2},
    'deep': json.loads('[' * 100 + ']' * 100)}
atoms = st.one_of(
    st.sampled_from([*NAMES, 'nothing', 'loop', 'loop.index', "'t'", '1', '2.5', '[]', '{}']),
    st.integers(-10 ** 20, 10 ** 20).map(str))
FILTERED = ['abs', 'default(1)', 'first', 'float', 'int', 'join(x)', 'join', 'last', 'length',
            'list', 'lower', "map('upper')", "map('replace', 'a', x)", "map(attribute='a.b')",
            'max', 'min', "replace('a', x)", "replace('', x)", 'reverse', 'round(2)',
            'round(99)', 'sort', 'sort(reverse=true)', 'string', 'sum', 'title', 'tojson',
            'trim', 'unique', 'upper', 'dictsort', 'truncate(1)', 'map', 'center(9999999)']
expressions = st.recursive(atoms, lambda inner: st.one_of(
    st.tuples(inner, st.sampled_from(
        ['+', '-', '*', '/', '//', '%', '**', '~', '==', '<', 'in', 'and', 'or']), inner).map(
        lambda parts: f'({" ".join(parts)})'),
    st.tuples(inner, st.sampled_from(FILTERED)).map('|'.join),
    st.tuples(inner, st.sampled_from(
        ['a', 'b.c', 'items()', "get('a')", 'upper()', "count('a')", '__class__', 'strip()'])).map(
        '.'.join),
    st.tuples(inner, inner).map(lambda parts: f'[{", ".join(parts)}]'),
    st.tuples(inner, st.sampled_from(['[0]', '[-1]', '[1:]', '[::0]', "['a']", '[l]'])).map(
        ''.join),
    st.tuples(inner, st.sampled_from(['defined', 'none', 'string', 'odd'])).map(
        lambda parts: f'({parts[0]} is {parts[1]})'),
    st.tuples(inner, inner).map(lambda parts: f'({parts[0]} if {parts[1]})'),
    inner.map(lambda part: f'(not -{part})')), max_leaves=12)
templates = st.recursive(
    st.one_of(expressions.map(lambda text: f'{{{{ {text} }}}}'), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(''.join),
        st.tuples(st.sampled_from(['y', 'k, v', 'x']), expressions, inner).map(
            lambda parts: f'{{% for {parts[0]} in {parts[1]} %}}{parts[2]}{{% endfor %}}'),
        st.tuples(expressions, inner).map(
            lambda parts: f'{{% if {parts[0]} %}}{parts[1]}{{% else %}}-{{% endif %}}')),
    max_leaves=6)


@settings(max_examples=600)
@given(templates)
def test_a_template_becomes_data_or_an_error_within_its_steps(template: str) -> None:
    with budget(20_000, 'this') as limit:
        try:
            found = render(template, NAMES)
        except TemplateError:
            return
    assert limit.left >= 0
    assert len(json.dumps(found)) <= 20_000 * 8 * 6


@settings(max_examples=200)
@example('{{ 2.\u0665 }}')
@given(st.text(alphabet='{}%{}% forinx.|()[]\'"0123456789\u0665*~', max_size=60))
def test_a_text_becomes_data_or_an_error(text: str) -> None:
    with budget(20_000, 'this'):
        try:
            render(text, NAMES)
        except TemplateError:
            return
