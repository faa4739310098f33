# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""JSON from outside: limits, and what is told of JSON that can't be used."""

from __future__ import annotations

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.documents.json_text import read_json, read_object
import pytest


@pytest.mark.parametrize(('text', 'message'), [
    ('{', 'data_json: Expecting property name'),
    ('[' * 100_000, 'data_json: nested deeper than 64 levels'),
    ('{"a": ' * 65 + '1' + '}' * 65, 'data_json: nested deeper than 64 levels'),
    ('9' * 65, 'data_json: number with more than 64 digits'),
    ('-' + '9' * 5000, 'data_json: number with more than 64 digits'),
    (r'{"a": "\ud800"}', 'data_json: a lone surrogate is not valid text'),
    (r'{"\udfff": 1}', 'data_json: a lone surrogate is not valid text'),
    (b'\xff', 'data_json: '),
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
