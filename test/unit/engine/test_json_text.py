# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""JSON from outside: limits, and what is told of JSON that can't be used."""

from __future__ import annotations

import ast
from pathlib import Path

import action_lifecycle
from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.documents.json_text import DuplicateKey, json_or_text, read_json, read_object
import pytest

PACKAGE = Path(action_lifecycle.__file__).parent
READ_THEMSELVES = {
    'agents/sessions/hosting.py': 'a copy of data of this process',
    'documents/json_schema.py': 'what its own program writes',
    'documents/json_text.py': 'the reader',
    'documents/schema_judge.py': 'a program without the package; reads what json_schema writes',
    'fleet/backends/redis/operation_listing.py': 'the list of strings that a script returns',
    'journal/row.py': 'rows that json.dumps has written; hashed, and read by the million',
    'journal/trace_removal.py': 'a note of this file itself',
    'sim/picture.py': 'positions that the process of the cell writes',
    'traces/reader.py': 'chunks of a curve, which are lists of numbers and texts',
}
"""Modules that read JSON without `documents.json_text`, and why a key can't be there twice."""


@pytest.mark.parametrize(('text', 'message'), [
    ('{', 'data_json: Expecting property name'),
    ('[' * 100_000, 'data_json: nested deeper than 64 levels'),
    ('{"a": ' * 65 + '1' + '}' * 65, 'data_json: nested deeper than 64 levels'),
    ('9' * 65, 'data_json: number with more than 64 digits'),
    ('-' + '9' * 5000, 'data_json: number with more than 64 digits'),
    (r'{"a": "\ud800"}', 'data_json: a lone surrogate is not valid text'),
    (r'{"\udfff": 1}', 'data_json: a lone surrogate is not valid text'),
    (b'\xff', 'data_json: '),
    ('{"x": 1, "y": 2, "x": 3}',
     "data_json: duplicate key 'x', first in line 1: line 1 column 18 (char 17)"),
    ('{"a": [{"b": "{\\"c\\": 1}",\n "c": {}, "b" : 1}]}',
     "data_json: duplicate key 'b', first in line 1: line 2 column 11"),
    ('{"a": {"b": 1}, "b": {"a": 1}, "c": ["b", "b"], "b": 1}',
     "data_json: duplicate key 'b', first in line 1: line 1 column 49"),
    (r'{"\u0061": 1, "a": 2}', "data_json: duplicate key 'a', first in line 1"),
    (r'{"\ud800": 1, "\ud800": 2}', r"data_json: duplicate key '\ud800', first in line 1"),
    (b'{"a": 1, "a": 1}', "data_json: duplicate key 'a'"),
])
def test_unusable_json_is_refused_with_the_name_of_the_field(
    text: str | bytes, message: str
) -> None:
    with pytest.raises(LifecycleError) as caught:
        read_json(text, 'data_json')
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(('text', 'value'), [
    (r'"\ud83e\udd16"', '🤖'), ('[1, -2.5, true, null]', [1, -2.5, True, None]),
    ('[' * 64 + ']' * 64, None), ('9' * 64, int('9' * 64)), (b'{"a": 1}', {'a': 1}),
])
def test_usable_json_is_read(text: str | bytes, value: object) -> None:
    found = read_json(text, 'data_json')
    assert value is None or found == value


def test_an_object_is_expected() -> None:
    assert read_object('', 'parameters_json') == {}
    assert read_object('{"a": 1}', 'parameters_json') == {'a': 1}
    with pytest.raises(LifecycleError, match='^parameters_json: expected an object'):
        read_object('[1]', 'parameters_json')


@pytest.mark.parametrize('text', ['NaN', '[-Infinity]', '{"a": 1e999}', '-1e999'])
def test_numbers_that_are_not_finite_are_refused_where_nobody_may_give_them(text: str) -> None:
    read_json(text, 'goal_json')  # the goal of a motion may have them
    with pytest.raises(LifecycleError, match='^answer: '):
        read_json(text, 'answer', finite=True)


def test_the_longest_text_is_read_and_a_longer_one_is_not() -> None:
    assert read_json(b'[1, 2]', 'x', most=6) == [1, 2]
    with pytest.raises(LifecycleError, match='^x: longer than 6 characters'):
        read_json('[1, 2 ]', 'x', most=6)


def test_a_hook_replaces_objects_that_have_no_key_twice() -> None:
    assert read_json('[{"a": 1}, {}]', 'x', hook=len) == [1, 0]
    with pytest.raises(LifecycleError, match='NaN'):
        read_json('[NaN]', 'x', hook=len, finite=True)
    with pytest.raises(DuplicateKey, match='column 10'):
        read_json('{"a": 1, "a": 2}', 'x', hook=len)


def test_a_value_with_a_key_twice_is_a_text() -> None:
    assert json_or_text('{"a": 1, "a": 2}') == '{"a": 1, "a": 2}'


def reads_json(path: Path) -> bool:
    """Return whether a module reads JSON with the standard library."""
    return any(
        isinstance(node, ast.ImportFrom) and node.module == 'json'
        or isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        and node.value.id == 'json' and node.attr in ('load', 'loads', 'JSONDecoder')
        or isinstance(node, ast.Attribute) and node.attr in (
            'model_validate_json', 'parse_raw', 'parse_file')
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))))


def test_all_json_of_others_is_read_by_one_reader() -> None:
    found = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob('*.py')
             if reads_json(path)}
    assert found == set(READ_THEMSELVES), (
        'JSON of others is read with documents.json_text, which refuses a key that is there '
        'twice; a module that reads only what it has written itself is named above, with why')
