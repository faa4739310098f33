# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The schemas that editors check by know every way to write a flow or an edit, and no other."""

from __future__ import annotations

import json
from typing import Any

from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.flow.files.json_schema import edit_schema, flow_schema
from jsonschema import validate, ValidationError
import pytest

SCHEMA = flow_schema()
EDIT = edit_schema()
NEW = {'motion': {'server': 's', 'type': 'a/action/B'}, 'confirm': 'z > 0'}


def flow(**action: Any) -> dict[str, Any]:
    return {'flow': 'x', 'actions': {'a': action}}


@pytest.mark.parametrize('action', [
    {'confirm': 'z > 0'}, {'confirm': {'condition': 'z > 0', 'hold': '{{ hold }}'}},
    {'confirm': ['z > 0', {'condition': 'z < 9'}]}, {'after': 'b'}, {'after': ['b', 'c']},
    {'after': {'b': 'completion'}}, {'fallback': ['ask', {'strategy': 'give_up'}]},
    {'verify': 'operator'}, {'motion': {'server': 's', 'type': 'a/action/B'}},
    {'fallback': {'recipe': 'x/y'}},
    {'fallback': [{'motion': {'server': 's', 'type': 'a/action/B'}, 'confirm': 'z > 0'}]},
    {'fallback': [{'strategy': 'ask', 'options': {'a': 'retry', 'b': {'recipe': 'x'}}}]},
    {'fallback': [{'strategy': 'ask', 'options': ['retry', 'give_up'], 'timeout': 5}]},
    {'verify': [{'by': 'service', 'service': 's', 'type': 'a/srv/B', 'request': {'x': 1},
                 'verdict': 'ok'}]},
    {'timeout': '{{ limit }}'}, {'resources': ['arm']}])
def test_every_way_to_write_an_action_fits(action: dict[str, Any]) -> None:
    validate(flow(**action), SCHEMA)


@pytest.mark.parametrize('action', [
    {'confrim': 'z > 0'}, {'timeout': 'long'}, {'after': {'b': 'perhaps'}},
    {'fallback': [{'strategy': 'pray'}]}, {'fallback': [{'recpie': 'x'}]},
    {'fallback': [{'strategy': 'ask', 'options': {'a': {'strategy': 'ask'}}}]},
    {'motion': {'server': 's'}}, {'retry': {'times': -1}}, {'replaces': 'b'}])
def test_what_a_flow_can_not_say_does_not_fit(action: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        validate(flow(**action), SCHEMA)


@pytest.mark.parametrize('step', [
    {'add': {'a': NEW}}, {'build': {'a': {**NEW, 'after': 'b'}}},
    {'update': {'a': {'priority': 5}}}, {'remove': 'a'}, {'remove': ['a', 'b']},
    {'add': {'c': {'replaces': 'a', 'confirm': 'z > 0'}}}, {'finish': 'enough'}, {'fail': 'why'},
    {'depend': {'a': {'b': 'success'}}},
    {'depend': {'a': ['b', 'c']}}, {'independ': {'a': 'b'}}, {'independ': {'a': ['b', 'c']}},
    {'clear': True}])
def test_every_step_of_an_edit_fits(step: dict[str, Any]) -> None:
    validate([step], EDIT)
    parse_edit(json.dumps([step]))


@pytest.mark.parametrize('edit', [
    {}, [{}], [{'ad': {}}], [{'finish': ''}], [{'fail': 3}], [{'fail': 'x' * 1001}],
    [{'clear': True, 'remove': 'a'}], [{'clear': False}], [{'remove': 3}],
    [{'add': ['a']}], [{'update': {'a': {'priorty': 5}}}], [{'depend': {'a': {'b': 'sucess'}}}],
    [{'independ': {'a': 3}}]])
def test_what_no_edit_can_say_does_not_fit(edit: Any) -> None:
    with pytest.raises(ValidationError):
        validate(edit, EDIT)
