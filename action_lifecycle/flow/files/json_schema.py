# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The JSON Schemas of flow files and edits, including short forms and templates."""

from __future__ import annotations

from typing import Any

from .edit import ENDS, MAX_REASON, VERBS
from .shorthand import replaceable
from .spec import FlowSpec
from ...documents.json_schema import object_schema
from ...documents.models import json_schema
from ...lifecycle.spec import ActionSpec
from ...lifecycle.verifiers import VERIFIERS
from ...lifecycle.work import STEPS, WORK

TEMPLATE = {'type': 'string', 'pattern': r'\{\{'}
TEXT = {'type': 'string'}
REPLACES = 'replaces'
"""Field of an action that only edits may have."""
_SHORT = frozenset({'require', 'maintain', 'confirm', 'stopped', 'fallback', 'verify'})
"""Fields whose entries may be a single string."""


def flow_schema() -> dict[str, Any]:
    """Return the schema of a flow file, for completion and checks in editors."""
    flow, action = json_schema(FlowSpec), json_schema(ActionSpec)
    definitions = '$defs' if '$defs' in action else 'definitions'
    models = {**flow.pop(definitions, {}), **action.pop(definitions, {})}
    kinds = {name: VERIFIERS.find(name) for name in VERIFIERS.names()}
    for name, kind in kinds.items():
        models[kind.__name__] = json_schema(kind)
        models.update(models[kind.__name__].pop(definitions, {}))
        models[kind.__name__]['properties']['by'] = {'const': name}
    work = {name: WORK.find(name) for name in WORK.names()}
    for name, kind_of_work in work.items():
        key = f'{name}Work'  # classes of other packages may have the same name
        models[key] = json_schema(kind_of_work)
        models.update(models[key].pop(definitions, {}))
    reference = {name: {'$ref': f'#/{definitions}/{name}Work'} for name in work}
    for model in (*models.values(), action):
        model['properties'] = {
            name: _written(name, field) for name, field in model.get('properties', {}).items()}
    models['VerifySpec'] = {'anyOf': [
        {'$ref': f'#/{definitions}/{kind.__name__}'} for kind in kinds.values()]}
    action.pop('required', None)  # `defaults` may have them
    del action['properties'][REPLACES]
    action['properties'].update({
        name: {'description': work[name].__doc__, 'anyOf': [
            reference[name], {'type': 'array', 'items': reference[name]}]} for name in work})
    action['properties'][STEPS] = {
        'description': action['properties'][STEPS].get('description'), 'type': 'array', 'items': {
            'anyOf': [object_schema({name: reference[name]}) for name in work]}}
    for name in ('StrategySpec', 'FallbackSpec'):
        _add_short_forms(models[name], action)
    models['Action'] = action
    actions = {'$ref': f'#/{definitions}/Action'}
    flow['properties']['defaults'] = actions
    flow['properties']['actions'] = {'type': 'object', 'additionalProperties': actions}
    flow[definitions] = models
    return flow


def edit_schema() -> dict[str, Any]:
    """Return the schema of an edit of a running flow: a list of steps, each with one verb."""
    flow = flow_schema()
    definitions = '$defs' if '$defs' in flow else 'definitions'
    action = {'$ref': f'#/{definitions}/Action'}
    flow[definitions]['Action']['properties'][REPLACES] = json_schema(
        ActionSpec)['properties'][REPLACES]
    names: dict[str, Any] = {'anyOf': [TEXT, {'type': 'array', 'items': TEXT}]}
    values: dict[str, Any] = {
        'remove': names, 'independ': _by_name(names), 'clear': {'const': True},
        **dict.fromkeys(ENDS, {**TEXT, 'minLength': 1, 'maxLength': MAX_REASON}),
        'depend': _by_name(flow[definitions]['Action']['properties']['after'])}
    return {'title': 'FlowEdit', 'type': 'array', 'items': {'anyOf': [
        object_schema({verb: {**values.get(verb, _by_name(action)), 'title': said}})
        for verb, said in VERBS.items()]}, definitions: flow[definitions]}


def _by_name(value: Any) -> dict[str, Any]:
    return {'type': 'object', 'additionalProperties': value}


def _add_short_forms(strategy: dict[str, Any], action: dict[str, Any]) -> None:
    """Add the short forms of a strategy to its schema."""
    strategy.pop('required', None)  # implied by a recipe or a motion
    strategy['properties'].update({name: action['properties'][name] for name in replaceable()})
    options = strategy['properties'].get('options')
    if options is not None:
        option = options['anyOf'][0]
        option['additionalProperties'] = {'anyOf': [option['additionalProperties'], TEXT]}
        options['anyOf'].append({'type': 'array', 'items': TEXT})


def _written(name: str, field: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field with its short forms."""
    forms: list[dict[str, Any]] = [field]
    if field.get('type') in ('number', 'integer', 'boolean', 'object'):
        forms.append(TEMPLATE)
    if field.get('type') == 'array':
        item = field.get('items', {})
        forms += [item, {'type': 'array', 'items': {'anyOf': [item, TEXT]}}]
    if name in _SHORT:
        forms.append(TEXT)
    if name == 'after':
        forms += [TEXT, {'type': 'array', 'items': TEXT}]
    if len(forms) == 1:
        return field
    said: dict[str, Any] = {
        key: field[key] for key in ('description', 'default') if key in field}
    return {**said, 'anyOf': forms}
