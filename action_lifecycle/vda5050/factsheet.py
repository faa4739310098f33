# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The factsheet of a robot, from its mapping file."""

from __future__ import annotations

from typing import Any

from .broker import MAX_MESSAGE
from .fields import VERSION
from .mapping import ActionMapping, Mapped, PREDEFINED
from .order import MOST_NODES
from ..flow.files.spec import ParameterSpec

READ = ('nodes.nodePosition.theta', 'nodes.nodePosition.allowedDeviationXY',
        'nodes.nodePosition.allowedDeviationTheta', 'nodes.actions.actionParameters',
        'edges.maxSpeed', 'edges.maxRotationSpeed', 'edges.actions.actionParameters')
"""Optional fields of orders that a mapping file can read."""
_TYPES = {'number': 'NUMBER', 'integer': 'INTEGER', 'boolean': 'BOOL', 'text': 'STRING',
          'list': 'ARRAY', 'mapping': 'OBJECT'}


def factsheet(
    mapped: Mapped, state_interval: float, visualization_interval: float, version: str = VERSION
) -> dict[str, Any]:
    """Return the factsheet of a version, without its header; intervals in s, 0: none."""
    given = mapped.spec.factsheet
    timing = {'minOrderInterval': 0.0, 'minStateInterval': 0.1,
              'defaultStateInterval': state_interval}
    if visualization_interval:
        timing['visualizationInterval'] = visualization_interval
    return {
        'typeSpecification': given.typeSpecification,
        'physicalParameters': given.physicalParameters,
        'protocolLimits': {
            'maxStringLens': {'msgLen': MAX_MESSAGE},
            'maxArrayLens': {'order.nodes': MOST_NODES, 'order.edges': MOST_NODES - 1},
            'timing': timing},
        'protocolFeatures': {
            'optionalParameters': [
                {'parameter': 'order.nodes.nodePosition', 'support': 'REQUIRED'}, *(
                    {'parameter': f'order.{name}', 'support': 'SUPPORTED'} for name in READ)],
            'agvActions': [
                *({'actionType': name, 'actionScopes': ['INSTANT']} for name in PREDEFINED),
                *(_action(name, action) for name, action in mapped.spec.actions.items())]},
        'agvGeometry': given.agvGeometry, 'loadSpecification': given.loadSpecification,
        **({'vehicleConfig': given.vehicleConfig}
           if given.vehicleConfig and version == VERSION else {})}


def _action(name: str, action: ActionMapping) -> dict[str, Any]:
    return {
        'actionType': name, 'actionDescription': action.description,
        'actionScopes': [*action.scopes],  # no blockingTypes: the published schema permits none
        'actionParameters': [_parameter(key, spec) for key, spec in action.parameters.items()]}


def _parameter(key: str, spec: ParameterSpec) -> dict[str, Any]:
    default = spec.default
    kind = spec.type or ('boolean' if isinstance(default, bool) else 'number' if isinstance(
        default, (int, float)) else 'list' if isinstance(default, list) else 'mapping'
        if isinstance(default, dict) else 'text')
    return {'key': key, 'valueDataType': _TYPES[kind], 'description': spec.description,
            'isOptional': default is not None}
