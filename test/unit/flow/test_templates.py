# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Templates: what they may say, and that nothing small grows large in them."""

from __future__ import annotations

from typing import Any

from action_lifecycle.documents.templates.template import names_read, render, TemplateError
import pytest

NAMES: dict[str, Any] = {
    'part': 'cup', 'long': 'x' * 60_000, 'facts': {'gap': 0.02, 'seen': True},
    'history': [{'event': 'start', 'cause': ''}, {'event': 'fail', 'cause': 'slipped'}]}


@pytest.mark.parametrize(('template', 'expected'), [
    ('{{ 2 * 3 }}', 6), ('{{ 7 % 4 }}', 3), ('{{ part }}s', 'cups'), ('{{ [1, 2] }}', [1, 2]),
    ("{{ history|map(attribute='event')|join(', ') }}", 'start, fail'),
    ('{{ history[-1].cause }}!', 'slipped!'), ("{{ facts.get('gap') }}", 0.02),
    ('{% for row in history if row.cause %}{{ row.event }} {% endfor %}', 'fail '),
    ('{% if facts.seen %}yes{% else %}no{% endif %}', 'yes'),
    ("{{ part|replace('c', 'p') }}", 'pup'), ('{{ facts|tojson }}', '{"gap": 0.02, "seen": true}'),
    ("{{ nothing|default('-') }}", '-'), ('{{ facts.gap|round(1) }}', 0.0),
])
def test_what_people_need_is_there(template: str, expected: Any) -> None:
    assert render(template, NAMES) == expected


@pytest.mark.parametrize('template', [
    "{{ ''.__class__ }}", "{{ ''['__class__'] }}", "{{ part|attr('__class__') }}",
    "{{ [part]|map(attribute='__class__')|list }}", '{{ self }}',
    '{{ self._TemplateReference__context }}', '{% block a %}{% endblock %}',
    "{{ '{0.__class__}'.format(part) }}", '{{ cycler.__init__ }}', '{{ lipsum() }}',
    '{% import "x" as y %}', '{% include "x" %}', '{% extends "x" %}',
    '{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}', '{% set a = 1 %}', '{% do 1 %}',
    '{% filter upper %}a{% endfilter %}', '{% with %}{% endwith %}', '{{ loop.cycle }}',
    "{{ facts.update({'gap': 1}) }}", '{{ history.append(1) }}', '{{ nothing }}', '{{ part',
])
def test_it_can_not_leave_its_sandbox(template: str) -> None:
    with pytest.raises(TemplateError):
        render(template, NAMES)


def test_an_attribute_of_a_string_is_a_fault() -> None:
    with pytest.raises(TemplateError, match='has no 0'):
        render("{{ ['ab', 'cd']|map(attribute=0)|list }}", NAMES)


@pytest.mark.parametrize('template', [
    "{{ 'a' * 999999999 }}", '{{ 9 ** 9 ** 9 }}', "{{ '%999999999d' % 1 }}",
    "{{ 'a'|center(999999999) }}", "{{ 'a'.ljust(999999999) }}", "{{ 'a'.zfill(999999999) }}",
    "{{ '{:>999999999}'.format(1) }}", "{{ '%999999999d'|format(1) }}",
    '{{ [1]|tojson(indent=999999999) }}', "{{ 'a'|indent(999999999) }}", '{{ range(9999999) }}',
    '{{ long|join(long) }}', "{{ long|replace('x', long) }}", '{{ (long|list)|join(long) }}',
    '{% for a in long %}' * 3 + '{% endfor %}' * 3,
    '{% for a in long %}{{ long }}{% endfor %}',
    '{% for a in [[1]] recursive %}{{ loop(a) }}{% endfor %}',
    '{{ ' + '(' * 1500 + '1' + ')' * 1500 + ' }}', '{{ ' + '1 + ' * 1000 + '1 }} ' + 'x' * 100,
])
def test_nothing_small_grows_large(template: str) -> None:
    try:
        found = render(template, NAMES)
    except TemplateError:
        found = ''
    assert len(str(found)) <= 200_000


def test_the_names_that_templates_read_are_known_before_they_are_filled_in() -> None:
    data = {'a': ['{{ part }}', {'b': '{% for x in history %}{{ x.event }}{{ y }}{% endfor %}'}]}
    assert names_read(data) == {
        'part': ('a', 0), 'history': ('a', 1, 'b'), 'y': ('a', 1, 'b')}
    with pytest.raises(TemplateError) as caught:
        names_read({'a': '{{ oops'})
    assert caught.value.path == ('a',)
