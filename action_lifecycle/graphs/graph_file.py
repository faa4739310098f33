# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The models of graph files, and their JSON Schema.

States are listed under `states:`, or at the top level of the file; then the first one is the
default of `initial`.
"""

from __future__ import annotations

from typing import Any, Optional, Union

from pydantic import Field, StrictBool, StrictInt, StrictStr

from .state_types import REGISTRY
from ..documents.models import field_names, json_schema, StrictModel

Names = Union[StrictStr, list[StrictStr]]


class TransitionModel(StrictModel):
    """One transition; `from` may be a list."""

    event: StrictStr
    source: Names = Field(alias='from')
    target: StrictStr = Field(alias='to')
    cond: Names = Field(default_factory=list, description='guards that must hold')
    unless: Names = Field(default_factory=list, description='guards that must not hold')
    validators: Names = Field(
        default_factory=list, description='called first; they raise to refuse')
    before: Names = Field(default_factory=list)
    on: Names = Field(default_factory=list)
    after: Names = Field(default_factory=list)
    description: StrictStr = ''
    priority: StrictInt = Field(0, description='the highest is chosen by `by_priority`')
    default: StrictBool = Field(False, description='taken when a chooser gives no usable answer')


class NextModel(StrictModel):
    """Transitions whose events are named after their targets."""

    next: list[StrictStr]  # noqa: A003
    default: Optional[StrictStr] = None


class StateModel(StrictModel):
    """The fields of every state; its type may declare more."""

    description: StrictStr = ''
    type: StrictStr = ''  # noqa: A003
    final: StrictBool = False
    enter: Names = Field(default_factory=list)
    exit: Names = Field(default_factory=list)  # noqa: A003
    transition: Optional[NextModel] = None


class InvariantModel(StrictModel):
    """A state that must be passed before another."""

    must_pass: StrictStr
    given: Names = Field(
        default_factory=list,
        description='guards assumed to hold: transitions with `unless` of them do not count')


class GraphModel(StrictModel):
    """A graph file."""

    description: StrictStr = ''
    initial: StrictStr
    hooks: StrictStr = Field('', description='name of the registered hooks and guards of sessions')
    fields: dict[str, list[Any]] = Field(
        default_factory=dict,
        description='further fields of states, with their allowed values ([]: any)')
    states: dict[str, StateModel]
    transitions: list[TransitionModel] = Field(default_factory=list)
    invariants: dict[str, InvariantModel] = Field(default_factory=dict)


TOP_FIELDS = field_names(GraphModel)
STATE_FIELDS = field_names(StateModel)


def graph_schema() -> dict[str, Any]:
    """Return the JSON Schema of graph files, with the fields that state types declare."""
    nested = json_schema(GraphModel)
    key = '$defs' if '$defs' in nested else 'definitions'
    definitions = nested.pop(key)
    state = definitions['StateModel']
    state['additionalProperties'] = True  # declared by its type or by the graph's `fields`
    by_type = []
    for name, cls in sorted(REGISTRY.items()):
        if cls.Fields is not None:
            fields = json_schema(cls.Fields)
            definitions.update(fields.pop(key, {}))
            rule = {part: fields[part] for part in ('properties', 'required') if part in fields}
            by_type.append({
                'if': {'properties': {'type': {'const': name}}, 'required': ['type']},
                'then': rule,
            })
    if by_type:
        state['allOf'] = by_type
    flat = {
        'type': 'object',
        'properties': {
            name: nested['properties'][name] for name in (
                'description', 'initial', 'hooks', 'transitions')
        },
        'not': {'required': ['states']},
        'additionalProperties': {'$ref': f'#/{key}/StateModel'},
    }
    return {'title': 'Graph', key: definitions, 'anyOf': [nested, flat]}
