# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Arguments of which some are filled in later."""

from __future__ import annotations

from typing import Any

from action_lifecycle.agents.tools.arguments import argument_faults
import pytest

SIZE = {'type': 'object', 'required': ['size', 'parts'], 'additionalProperties': False,
        'properties': {'size': {'type': 'number'}, 'parts': {
            'type': 'array', 'items': {'type': 'object', 'properties': {
                'name': {'type': 'string'}}}}}}
LATER = '{{ facts.size }}'


@pytest.mark.parametrize('arguments, schema, expected', [
    ({'size': 1, 'parts': []}, SIZE, []),
    ({'size': LATER, 'parts': [{'name': LATER}]}, SIZE, []),
    ({'size': LATER}, SIZE, [('arguments', "'parts' is a required property")]),
    ({'size': 'x', 'parts': LATER}, SIZE,
     [('arguments.size', ".size: 'x' is not of type 'number'")]),
    ({'size': 1, 'parts': [{'name': 'a'}, {'name': 2}]}, SIZE,
     [('arguments.parts.1.name', ".parts[1].name: 2 is not of type 'string'")]),
    ({'sise': LATER, 'size': 1, 'parts': []}, SIZE,
     [('arguments.sise', "unknown argument 'sise'; did you mean 'size'?")]),
    ({'a': LATER}, {'type': 'object', 'anyOf': [{'required': ['b']}]}, []),
    ({'a': 1}, {'type': 'object', 'minProperties': 2},
     [('arguments', "{'a': 1} does not have enough properties")]),
])
def test_what_is_known_is_checked(
    arguments: dict[str, Any], schema: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert list(argument_faults(arguments, schema)) == expected
