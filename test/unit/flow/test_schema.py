# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The schema that editors check by knows every way to write a flow, and no other."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import ValidationError, validate

from action_lifecycle.flow.schema import flow_schema

SCHEMA = flow_schema()


def flow(**action: Any) -> dict[str, Any]:
    return {'flow': 'x', 'actions': {'a': action}}


@pytest.mark.parametrize('action', [
    {'confirm': 'z > 0'}, {'confirm': {'condition': 'z > 0', 'hold': '{{ hold }}'}},
    {'confirm': ['z > 0', {'condition': 'z < 9'}]}, {'after': 'b'}, {'after': ['b', 'c']},
    {'after': {'b': 'completion'}}, {'fallback': ['ask', {'strategy': 'give_up'}]},
    {'verify': 'operator'}, {'motion': {'server': 's', 'type': 'a/action/B'}},
    {'timeout': '{{ limit }}'}, {'resources': ['arm']}])
def test_every_way_to_write_an_action_fits(action: dict[str, Any]) -> None:
    validate(flow(**action), SCHEMA)


@pytest.mark.parametrize('action', [
    {'confrim': 'z > 0'}, {'timeout': 'long'}, {'after': {'b': 'perhaps'}},
    {'fallback': [{'strategy': 'pray'}]}, {'motion': {'server': 's'}}, {'retry': {'times': -1}}])
def test_what_a_flow_can_not_say_does_not_fit(action: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        validate(flow(**action), SCHEMA)
