# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The part of a recipe from one verified action: its fields and the ranges of its facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .action import Action
from .ports import Evidence
from .work import as_fields
from ..documents.models import as_written


def fragment_of(action: Action) -> dict[str, Any]:
    """
    Return an action's part of a recipe, as JSON-compatible data.

    `fields`: the fields of the action in a flow file, with the goals as sent. `evidence` and
    `required`: for each fact of the conditions, `min` and `max` of each of its numbers, or its
    `values`. `duration`: shortest and longest time (s) from its start to `completed`.
    """
    fields = {**as_written(action.spec), 'parameters': dict(action.spec.parameters)}
    fields.pop('replaces', None)  # the replaced action is not in the recipe
    fields.pop('steps', None)
    work = as_fields(action.spec.steps, {
        int(index): {'goal': goal} for index, goal in action.goals.items()})
    fields = {**fields, **work, 'parameters': {
        **fields['parameters'], **work.get('parameters', {})}}
    return {
        'action': action.action_id, 'fields': fields, 'attempts': action.attempt,
        'evidence': ranges(action.evidence), 'required': ranges(action.required),
        'duration': [action.completed_after, action.completed_after],
    }


def ranges(evidence: Iterable[Evidence]) -> dict[str, Any]:
    """Return the range of each valid fact in the evidence."""
    found: dict[str, Any] = {}
    for item in evidence:
        for fact in item.get('facts', ()):
            if fact.get('validity') != 'valid':
                continue
            numbers = fact.get('numbers')
            if numbers is None:
                seen: dict[str, Any] = {'values': [fact.get('value')]}
            elif any(isinstance(number, str) for number in numbers):
                continue  # infinities and NaN have no range
            else:
                seen = {'min': list(numbers), 'max': list(numbers), 'unit': fact.get('unit', '')}
            name = fact['name']
            found[name] = widened(found[name], seen) if name in found else seen
    return found


def widened(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return a range that covers both; if they can't be compared, the second one."""
    if 'values' in one and 'values' in other:
        return {'values': one['values'] + [value for value in other['values']
                                           if value not in one['values']]}
    if 'values' in one or 'values' in other or len(one['min']) != len(other['min']):
        return dict(other)
    return {**other, 'min': list(map(min, one['min'], other['min'])),
            'max': list(map(max, one['max'], other['max']))}
