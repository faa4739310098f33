# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Templates by the grammar of Jinja, with filters that are allowed and some that are not."""

from __future__ import annotations

import random
from typing import Any

from action_lifecycle.documents.templates import template as templates

from .case import Case
from .values import number, spoilt, text, value

NAMES = ('n', 'm', 't', 'word', 'items', 'pairs', 'nested', 'none', 'flag', 'long', 'facts',
         'results')
FILTERS = (
    'abs', 'capitalize', 'count', 'd(0)', 'default(1)', 'dictsort', 'first', 'float', 'int',
    'items', 'last', 'length', 'list', 'lower', 'max', 'min', 'reverse', 'round', 'round(2)',
    'sort', 'string', 'sum', 'title', 'trim', 'truncate(9)', 'unique', 'upper', 'tojson', 'join',
    "join(', ')", "replace('a', 'xyz')", "map('upper')", "map('int')", "map(attribute='x')",
    "map('replace', 'a', word)", "select('odd')", "reject('none')", "selectattr('x')",
    "rejectattr('x', 'equalto', 1)", 'select', 'map', 'truncate(1)', "sort(attribute='x')",
    'sum(start=[])', "sum(attribute='x')", 'default(n, true)', 'int(0, 99)', 'round(400)',
    "round(1, 'floor')", "round(1, 'x')", "dictsort(by='value')", "replace('', t)", 'center(999)',
    "format('a')", 'xmlattr', 'indent(9)', 'wordwrap', 'attr("x")', 'groupby("x")', 'batch(2)',
    'slice(2)', 'pprint', 'random', 'urlize', 'filesizeformat', 'safe', 'escape', 'forceescape')
TESTS = ('defined', 'none', 'number', 'string', 'odd', 'even', 'divisibleby(0)', 'mapping',
         'iterable', 'in items', 'sequence', 'sameas(1)', 'lower', 'upper', 'eq(1)', 'undefined')
METHODS = ('get("x")', 'items()', 'keys()', 'values()', 'lower()', 'upper()', 'strip()',
           'startswith("a")', 'endswith("")', 'count("a")', 'format()', 'mro()', 'append(1)',
           'replace("a", "b")', 'join(items)', '__class__', 'pop()', 'get()', 'count()', 'x')
OPERATORS = ('+', '-', '*', '/', '//', '%', '**', '~', '==', '<', 'in', 'and', 'or', 'not in')
INDICES = ('0', '-1', '1:', '::2', "'x'", 'n', '9999')
LONG = list(range(3000))
VERY_LONG = list(range(100_000))
WIDE = 'a' * 60_000


def expression(rng: random.Random, depth: int) -> str:
    """Return an expression of a template."""
    kind = rng.random()
    if depth <= 0 or kind < 0.2:
        return rng.choice((*NAMES, '1', '2.5', "'a'", '[1, 2]', "{'x': 1}", 'true', 'none',
                           'facts.gap', 'results.a.outcome', 'missing', "(1, 'a')"))
    if kind < 0.5:
        return f'{expression(rng, depth - 1)}|{rng.choice(FILTERS)}'
    if kind < 0.7:
        return (f'({expression(rng, depth - 1)} {rng.choice(OPERATORS)} '
                f'{expression(rng, depth - 1)})')
    if kind < 0.78:
        return f'{expression(rng, depth - 1)}.{rng.choice(METHODS)}'
    if kind < 0.86:
        return f'{expression(rng, depth - 1)}[{rng.choice(INDICES)}]'
    if kind < 0.92:
        return (f'({expression(rng, depth - 1)} if {expression(rng, depth - 1)} else '
                f'{expression(rng, depth - 1)})')
    if kind < 0.97:
        return f'{expression(rng, depth - 1)} is {rng.choice(TESTS)}'
    return f'[{expression(rng, depth - 1)}, {expression(rng, depth - 1)}]'


def template(rng: random.Random) -> str:
    """Return a template."""
    kind = rng.random()
    if kind < 0.45:
        made = '{{ ' + expression(rng, rng.randrange(4)) + ' }}'
    elif kind < 0.7:
        made = ' '.join(rng.choice(('a', '{{ ' + expression(rng, 2) + ' }}', '{# c #}', '%'))
                        for _ in range(rng.randrange(1, 5)))
    elif kind < 0.97:
        made = _statement(rng, rng.randrange(1, 3))
    else:
        made = rng.choice((
            '{{ ' + 'n|string' + '|tojson' * rng.randrange(2, 30) + ' }}',
            '{{ ' + '(' * 90 + 'n' + ')' * 90 + ' }}', '{{ ' + '[' * 90 + ']' * 90 + ' }}',
            '{{ ' + '-' * 300 + 'n }}', '{{ n' + '.x' * 300 + ' }}',
            '{{ n' + '|list' * 300 + ' }}',
            '{{ "' + 'a' * 4000 + '" }}', '{% if n %}' * 60 + '{% endif %}' * 60,
            '{{ ' + ' ~ '.join(['long'] * 200) + ' }}', '{{ ' + '~'.join(['t'] * 50) + ' }}',
            '{% for a in long %}{% for b in long %}{% endfor %}{% endfor %}',
            "{{ t|map('replace', 'a', t)|join }}", "{{ [t]|map('replace', 'a', t)|list }}",
            '{{ nested|tojson|tojson|tojson }}', '{{ 9**16**16 }}', '{{ 9**16 * 9**16 }}',
            '{{ [[long, long], [long, long]]|string }}', '{{ "%999999999d"|format(n) }}',
            '{{ long|sum(start=t) }}', '{{ (t,) * 9 }}', '{{ n|round(999999) }}'))
    return spoilt(rng, made) if rng.random() < 0.12 else made


def _statement(rng: random.Random, depth: int) -> str:
    inner = _statement(rng, depth - 1) if depth > 0 and rng.random() < 0.7 else \
        '{{ ' + expression(rng, 1) + ' }}'
    kind = rng.random()
    if kind < 0.45:
        return '{% if ' + expression(rng, 2) + ' %}' + inner + '{% else %}b{% endif %}'
    if kind < 0.9:
        what = rng.choice(('items', 'pairs', 'long', 'word', 'nested', expression(rng, 2)))
        return '{% for x in ' + what + ' %}' + inner + '{{ x }}{% endfor %}'
    return rng.choice(('{% set y = 1 %}', '{% raw %}{{{% endraw %}', '{% include "a" %}',
                       '{% macro a() %}{% endmacro %}', '{% filter upper %}a{% endfilter %}',
                       '{% for x, y in pairs.items() %}{{ x }}{% endfor %}', '{% block a %}',
                       '{% for x in items recursive %}{{ loop(x) }}{% endfor %}',
                       '{% for x in items if x %}{{ loop.index }}{% endfor %}',
                       '{% with a = 1 %}{% endwith %}', '{% do 1 %}', '{% if %}')) + inner


class Templates(Case):
    """Templates filled in from names of all kinds."""

    refused = (templates.TemplateError,)

    def make(self, rng: random.Random) -> Any:
        names = {
            'n': number(rng), 'm': rng.randrange(5), 't': 'a' * rng.choice((0, 1, 9, 999)),
            'word': text(rng) if rng.random() < 0.3 else 'alpha', 'none': None,
            'items': [value(rng, 1) for _ in range(rng.randrange(4))]
            if rng.random() < 0.3 else [1, 2, 3],
            'pairs': {'a': 1, 'b': 'x'}, 'nested': value(rng, 3), 'flag': rng.random() < 0.5,
            'long': rng.choice((LONG, [])) if rng.random() < 0.1 else [1] * 20,
            'facts': {'gap': 0.02}, 'results': {'a': {'outcome': 'succeeded'}}}
        kind = rng.random()
        if kind < 0.01:
            names['long'], names['t'] = VERY_LONG, WIDE
        later = ('facts', 'results') if rng.random() < 0.2 else ()
        made: Any = template(rng)
        if rng.random() < 0.1:
            made = {'a': [made, template(rng)], 'b': made}
        return made, _Names(names), later

    def check(self, given: Any) -> bool:
        data, names, later = given
        templates.names_read(data)
        for _, found in templates.texts(data):
            templates.parts_read(found, 'facts')
        templates.render(data, names, ('actions', 'a'), later)
        return True


class _Names(dict[str, Any]):
    """Names whose repr stays short."""

    def __repr__(self) -> str:
        return repr({name: item if len(str(item)) < 200 else f'{type(item).__name__} of '
                     f'{len(item)}' for name, item in self.items()})


CASE = Templates()
