# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The fields of the messages of VDA 5050 2.1 that this package reads and writes.

`!` after a name: the field is required. A type is a name, a mapping of fields, a list with the
type of its elements, or a tuple of permitted strings. Fields that are not listed are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..documents.schema_judge import faults_of_value

VERSION = '2.1.0'
VERSIONS = ('2.0.0', VERSION)
"""Those that a robot may say it speaks; messages of each version 2 are read."""
MAJOR = VERSION.partition('.')[0]

_TYPES: Mapping[str, Mapping[str, Any]] = {
    'string': {'type': 'string'}, 'number': {'type': 'number'}, 'boolean': {'type': 'boolean'},
    'uint32': {'type': 'integer', 'minimum': 0, 'maximum': 2 ** 32 - 1},
    'object': {'type': 'object'}, 'deviation': {'type': 'number', 'minimum': 0},
    'value': {'type': ['array', 'boolean', 'number', 'string', 'object']}}

_HEADER: Mapping[str, Any] = {
    'headerId!': 'uint32', 'timestamp!': 'string', 'version!': 'string',
    'manufacturer!': 'string', 'serialNumber!': 'string'}
_ACTION: Mapping[str, Any] = {
    'actionType!': 'string', 'actionId!': 'string', 'actionDescription': 'string',
    'blockingType!': ('NONE', 'SOFT', 'HARD'),
    'actionParameters': [{'key!': 'string', 'value!': 'value'}]}
_POSITION: Mapping[str, Any] = {
    'x!': 'number', 'y!': 'number', 'theta': 'number', 'allowedDeviationXY': 'deviation',
    'allowedDeviationTheta': 'deviation', 'mapId!': 'string', 'mapDescription': 'string'}
_ROBOT_POSITION: Mapping[str, Any] = {
    'x!': 'number', 'y!': 'number', 'theta!': 'number', 'mapId!': 'string',
    'positionInitialized!': 'boolean'}
_REFERENCE: Mapping[str, Any] = {'referenceKey!': 'string', 'referenceValue!': 'string'}
ACTION_STATUS = ('WAITING', 'INITIALIZING', 'RUNNING', 'PAUSED', 'FINISHED', 'FAILED')
"""The published schema of 2.1.0 lacks PAUSED, which its text has."""

FIELDS: Mapping[str, Mapping[str, Any]] = {
    'order': {
        **_HEADER, 'orderId!': 'string', 'orderUpdateId!': 'uint32', 'zoneSetId': 'string',
        'nodes!': [{
            'nodeId!': 'string', 'sequenceId!': 'uint32', 'nodeDescription': 'string',
            'released!': 'boolean', 'nodePosition': _POSITION, 'actions!': [_ACTION]}],
        'edges!': [{
            'edgeId!': 'string', 'sequenceId!': 'uint32', 'edgeDescription': 'string',
            'released!': 'boolean', 'startNodeId!': 'string', 'endNodeId!': 'string',
            'maxSpeed': 'number', 'maxHeight': 'number', 'minHeight': 'number',
            'orientation': 'number', 'orientationType': 'string', 'direction': 'string',
            'rotationAllowed': 'boolean', 'maxRotationSpeed': 'number', 'length': 'number',
            'trajectory': 'object', 'corridor': 'object', 'actions!': [_ACTION]}]},
    'instantActions': {**_HEADER, 'actions!': [_ACTION]},
    'state': {
        **_HEADER, 'orderId!': 'string', 'orderUpdateId!': 'uint32', 'zoneSetId': 'string',
        'lastNodeId!': 'string', 'lastNodeSequenceId!': 'uint32', 'driving!': 'boolean',
        'paused': 'boolean', 'newBaseRequest': 'boolean',
        'operatingMode!': ('AUTOMATIC', 'SEMIAUTOMATIC', 'MANUAL', 'SERVICE', 'TEACHIN'),
        'nodeStates!': [{'nodeId!': 'string', 'sequenceId!': 'uint32', 'released!': 'boolean',
                         'nodePosition': {'x!': 'number', 'y!': 'number', 'theta': 'number',
                                          'mapId!': 'string'}}],
        'edgeStates!': [{'edgeId!': 'string', 'sequenceId!': 'uint32', 'released!': 'boolean'}],
        'agvPosition': _ROBOT_POSITION,
        'actionStates!': [{
            'actionId!': 'string', 'actionType': 'string', 'actionStatus!': ACTION_STATUS,
            'resultDescription': 'string'}],
        'batteryState!': {'batteryCharge!': 'number', 'charging!': 'boolean'},
        'errors!': [{
            'errorType!': 'string', 'errorReferences': [_REFERENCE], 'errorDescription': 'string',
            'errorLevel!': ('WARNING', 'FATAL')}],
        'safetyState!': {'eStop!': ('AUTOACK', 'MANUAL', 'REMOTE', 'NONE'),
                         'fieldViolation!': 'boolean'}},
    'connection': {
        **_HEADER, 'connectionState!': ('ONLINE', 'OFFLINE', 'CONNECTIONBROKEN')},
    'visualization': {**_HEADER, 'agvPosition': _ROBOT_POSITION},
    'factsheet': {
        **_HEADER,
        'typeSpecification!': {
            'seriesName!': 'string', 'agvKinematic!': ('DIFF', 'OMNI', 'THREEWHEEL'),
            'agvClass!': ('FORKLIFT', 'CONVEYOR', 'TUGGER', 'CARRIER'), 'maxLoadMass!': 'number',
            'localizationTypes!': [('NATURAL', 'REFLECTOR', 'RFID', 'DMC', 'SPOT', 'GRID')],
            'navigationTypes!': [('PHYSICAL_LINE_GUIDED', 'VIRTUAL_LINE_GUIDED', 'AUTONOMOUS')]},
        'physicalParameters!': {
            'speedMin!': 'number', 'speedMax!': 'number', 'accelerationMax!': 'number',
            'decelerationMax!': 'number', 'heightMax!': 'number', 'width!': 'number',
            'length!': 'number'},
        'protocolLimits!': {
            'maxStringLens!': {'msgLen': 'uint32'}, 'maxArrayLens!': 'object',
            'timing!': {'minOrderInterval!': 'number', 'minStateInterval!': 'number',
                        'defaultStateInterval': 'number', 'visualizationInterval': 'number'}},
        'protocolFeatures!': {
            'optionalParameters!': [{'parameter!': 'string',
                                     'support!': ('SUPPORTED', 'REQUIRED')}],
            'agvActions!': [{
                'actionType!': 'string', 'actionDescription': 'string',
                'actionScopes!': [('INSTANT', 'NODE', 'EDGE')],
                'actionParameters': [{
                    'key!': 'string', 'valueDataType!': (
                        'BOOL', 'NUMBER', 'INTEGER', 'FLOAT', 'STRING', 'OBJECT', 'ARRAY'),
                    'description': 'string', 'isOptional': 'boolean'}]}]},
        'agvGeometry!': 'object', 'loadSpecification!': 'object'},
}
"""The fields of each message, by topic."""


def schema(described: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type, as described above."""
    if isinstance(described, str):
        return dict(_TYPES[described])
    if isinstance(described, tuple):
        return {'type': 'string', 'enum': [*described]}
    if isinstance(described, list):
        return {'type': 'array', 'items': schema(described[0])}
    return {'type': 'object',
            'required': [name[:-1] for name in described if name.endswith('!')],
            'properties': {name.rstrip('!'): schema(of) for name, of in described.items()}}


_SCHEMAS = {topic: schema(fields) for topic, fields in FIELDS.items()}


def faults(topic: str, message: Any, part: str = '') -> list[str]:
    """Return what is wrong with a message, or with its field `part`; each names its place."""
    return faults_of_value(
        _SCHEMAS[topic]['properties'][part] if part else _SCHEMAS[topic], message)
