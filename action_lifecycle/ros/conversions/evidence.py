# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Converts evidence and facts."""

from __future__ import annotations

from collections.abc import Mapping
import json
from types import MappingProxyType
from typing import Any

from action_lifecycle_msgs import msg

from .basic import to_time
from ...documents.json_text import json_or_text
from ...lifecycle.ports import Evidence
from ...lifecycle.text_format import value_of
from ...world.evidence_messages import fact_from

_VERDICTS = {'unknown': msg.Evidence.UNKNOWN, 'true': msg.Evidence.TRUE,
             'false': msg.Evidence.FALSE}
_VALIDITIES = {'unknown': msg.Fact.UNKNOWN, 'valid': msg.Fact.VALID, 'stale': msg.Fact.STALE}
_AS_WRITTEN: Mapping[str, str] = MappingProxyType({})


def evidence_to(evidence: Evidence, topics: Mapping[str, str] = _AS_WRITTEN) -> msg.Evidence:
    """Return the message of evidence; `topics`: resolved names by the names in the evidence."""
    return msg.Evidence(
        condition=evidence['condition'], expression=evidence['expression'],
        verdict=_VERDICTS[evidence['verdict']], stamp=to_time(evidence['stamp']),
        held=float(evidence['held']), facts=[fact_to(fact, topics) for fact in evidence['facts']])


def fact_to(fact: Mapping[str, Any], topics: Mapping[str, str] = _AS_WRITTEN) -> msg.Fact:
    """Return the message of a fact of evidence; `topics`: see `evidence_to`."""
    return msg.Fact(
        name=fact['name'], stamp=to_time(fact['stamp']),
        topic=topics.get(fact['topic'], fact['topic']), validity=_VALIDITIES[fact['validity']],
        numbers=[float(number) for number in fact.get('numbers', ())],
        value_json=json.dumps(fact['value']) if 'value' in fact else '', unit=fact.get('unit', ''),
        note=fact.get('note', ''))


def fact_value(fact: msg.Fact) -> Any:
    """Return the value of a fact: a number, list, string or object; None if never seen."""
    return value_of(fact_from(fact))


def planned_fact(declared: msg.Fact, read: msg.Fact | None) -> msg.Fact:
    """
    Return a fact for a planner request, from the bridge's declaration and its current value.

    Without a value, `value_json` is the JSON Schema of its values, as in ~/declared_facts.
    """
    if read is None or read.validity == msg.Fact.UNKNOWN:
        return declared
    if declared.value_json == '{"type": "boolean"}' and read.numbers:
        read.value_json = json.dumps(bool(read.numbers[0]))
    return read


def fact_kind(fact: msg.Fact) -> str:
    """Return type and unit of a planner's fact, such as 'number in m'; '' if unknown."""
    value = fact_value(fact)
    schema = json_or_text(fact.value_json) if value is None else _schema_of(value)
    kind = schema.get('type', '') if isinstance(schema, dict) else ''
    if kind == 'array':
        items = schema.get('items')
        kind = f"list of {items['type']}s" if isinstance(items, dict) and 'type' in items \
            else 'list'
    return ' in '.join(filter(None, (str(kind), fact.unit)))


def _schema_of(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {'type': 'array', 'items': _schema_of(value[0])} if value else {'type': 'array'}
    return {'type': {bool: 'boolean', str: 'string'}.get(type(value), 'number')}
