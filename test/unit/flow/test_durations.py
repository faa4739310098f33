# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Numbers of flows and facts files that are times or counts have bounds."""

from __future__ import annotations

from collections.abc import Iterator
import typing
from typing import Any

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.documents.models import json_schema, LONGEST, seconds
from action_lifecycle.flow import parse_flow
from action_lifecycle.flow.files.spec import FlowSpec
from action_lifecycle.lifecycle.spec import ActionSpec
from action_lifecycle.world.facts.facts_file import FactsFile
import pytest

NOT_TIMES = {
    'min', 'max',          # of a parameter, in its unit
    'start_at', 'every',   # checked by schedule_faults, each for its clock
    'max_age',             # of a fact: .inf is never; only compared with
    'stop_when', 'ok_when', 'limits'}
OF_HEALTH = {
    'within', 'noise', 'resolution', 'clip', 'range',  # in the unit of a fact
    'frozen', 'rate'}      # checked with the other numbers of `health`
ODD = ('1e308', '-1e308', '.inf', '-.inf', '.nan', '1e18', '-1e18', '9' * 60, '1e999')


def numbers(schema: Any, name: str = '') -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each number of a JSON Schema with the name of its field."""
    if isinstance(schema, list):
        for part in schema:
            yield from numbers(part, name)
    elif isinstance(schema, dict):
        if schema.get('type') == 'number':
            yield name, schema
        for key, part in schema.items():
            if key in ('properties', '$defs', 'definitions'):
                for field, inner in part.items():
                    yield from numbers(inner, field)
            elif key not in ('default', 'description'):
                yield from numbers(part, name)


@pytest.mark.parametrize(('model', 'others'), [
    (FlowSpec, set()), (ActionSpec, set()), (FactsFile, OF_HEALTH)])
def test_each_number_of_a_file_has_bounds(model: type[Any], others: set[str]) -> None:
    found = [(name, schema) for name, schema in numbers(json_schema(model))
             if name not in NOT_TIMES | others]
    assert found
    for name, schema in found:
        assert 'maximum' in schema, name
        assert 'minimum' in schema or 'exclusiveMinimum' in schema, name
        assert schema['maximum'] <= LONGEST, name


FIELDS = (
    'deadline: {}', 'actions: {{a: {{timeout: {}}}}}', 'actions: {{a: {{deadline: {}}}}}',
    'actions: {{a: {{stop_timeout: {}}}}}', 'actions: {{a: {{ask_again: {}}}}}',
    'actions: {{a: {{retry: {{times: 2, delay: {}}}}}}}',
    'actions: {{a: {{retry: {{times: 2, factor: {}}}}}}}',
    'actions: {{a: {{retry: {{times: 2, max_delay: {}}}}}}}',
    'actions: {{a: {{motion: {{server: a, type: a/action/B, timeout: {}}}}}}}',
    'actions: {{a: {{motion: {{server: a, type: a/action/B, server_timeout: {}}}}}}}',
    'actions: {{a: {{require: {{condition: x > 0, hold: {}}}}}}}',
    'actions: {{a: {{require: {{condition: x > 0, within: {}}}}}}}',
    'actions: {{a: {{require: {{condition: x > 0, max_age: {}}}}}}}',
    'actions: {{a: {{verify: {{by: operator, timeout: {}}}}}}}',
    'actions: {{a: {{fallback: {{strategy: ask, timeout: {}}}}}}}',
    'schedule: {{clock: ros, start_at: {}}}', 'schedule: {{clock: ros, every: {}}}',
    'schedule: {{clock: wall, every: {}}}', 'schedule: {{clock: wall, start_at: {}}}',
    'schedule: {{clock: wall, every: FREQ=DAILY, start_at: {}}}',
    'actions: {{a: {{schedule: {{clock: ros, start_at: {}, every: 5, times: 2}}}}}}')


@pytest.mark.parametrize('number', ODD)
@pytest.mark.parametrize('field', FIELDS)
def test_a_number_without_bounds_is_a_fault_at_its_line(field: str, number: str) -> None:
    text = 'flow: one\n' + field.format(number) + '\n'
    if 'actions' not in field:
        text += 'actions: {a: {}}\n'
    with pytest.raises(DocumentError) as refused:
        parse_flow(text, 'f.yaml')
    assert any(str(fault).startswith('f.yaml:2:') and 'expected' in str(fault)
               or 'date and time' in str(fault) for fault in refused.value.faults)


def test_a_duration_can_not_be_declared_without_a_bound() -> None:
    with pytest.raises(ValueError, match='at most 31536000 s'):
        seconds(0.0, '', most=typing.cast(float, float('inf')))
