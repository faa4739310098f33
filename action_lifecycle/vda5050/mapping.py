# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The mapping file: how the orders of a fleet manager become flows of this robot.

Bodies of actions have the fields of an action in a flow file. They are checked when the file is
loaded, as a flow with examples of an order, so that faults name file, line and column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import json
import math
from numbers import Real
from pathlib import Path
from typing import Any, Literal, Optional

from pydantic import Field

from .fields import faults
from ..documents.errors import DocumentError, Fault
from ..documents.models import StrictModel, validate
from ..documents.yaml_document import Document, Key, Position, read_document
from ..flow.files.loader import load_document
from ..flow.files.names import IDENTIFIER, NAME
from ..flow.files.parameters import example, parameter_values
from ..flow.files.sources import Sources
from ..flow.files.spec import FlowSpec, ParameterSpec
from ..flow.files.uses import check_names
from ..world.expressions.expression import compile_expression, Expression
from ..world.expressions.value_types import Kind
from ..world.facts.facts import FactSet
from ..world.facts.facts_file import FactSpec

FLOW = 'vda5050_order'
"""Name of the flows that are made."""
AT_WORK = 8
"""Maximum number of actions of an order at work at a time."""
NODE_NAMES: Mapping[str, Any] = {
    'node_id': 'node', 'sequence_id': 2, 'x': 1.0, 'y': 1.0, 'theta': 0.5, 'map_id': 'map',
    'deviation_xy': 0.5, 'deviation_theta': 0.5}
"""Names for templates and conditions of nodes, with examples."""
EDGE_NAMES: Mapping[str, Any] = {
    'edge_id': 'edge', 'from_node_id': 'node', 'max_speed': 0.5, 'max_rotation_speed': 0.5,
    'edge': {}}
NAMES = {**NODE_NAMES, **EDGE_NAMES}
PREDEFINED = ('cancelOrder', 'startPause', 'stopPause', 'stateRequest', 'factsheetRequest')
"""Instant actions that need no entry in the file."""
LIMITS: Mapping[str, tuple[float, float]] = {'battery.charge': (0.0, 100.0)}
"""Smallest and largest value of expressions of `state`; others are not reported."""
_OWN_FIELDS = ('after', 'replaces', 'schedule', 'repeat', 'for_each')
_RESERVED = {*NAMES, 'facts', 'results', 'action', 'action_id', 'action_type'}

Scope = Literal['NODE', 'EDGE', 'INSTANT']
Blocking = Literal['NONE', 'SOFT', 'HARD']


class ActionMapping(StrictModel):
    """An action type that fleet managers may send."""

    description: str = Field(default='', description='For the factsheet.')
    scopes: list[Scope] = Field(default=['NODE'], description='Where it may be.')
    blocking: list[Blocking] = Field(
        default=['NONE', 'SOFT', 'HARD'], description='The blockingTypes that it may have.')
    parameters: dict[str, ParameterSpec] = Field(
        default={}, description='actionParameters by key; one without a default must be given.')
    action: dict[str, Any] = Field(description='The fields of an action in a flow file.')


class BatteryMapping(StrictModel):
    """The state of the battery, as expressions over facts."""

    charge: str = Field(description='Charge in percent, 0 to 100; other values are unknown.')
    charging: Optional[str] = Field(
        default=None, description='Whether it is charged; without it, it never is.')


class PositionMapping(StrictModel):
    """The position of the robot, as expressions over facts."""

    x: str = Field(description='m')
    y: str = Field(description='m')
    theta: str = Field(description='rad')
    map: str = Field(description='mapId of the map that it is in.')  # noqa: A003
    tolerance: float = Field(
        default=0.5, ge=0, description='Maximum distance (m) from the first node of an order '
        'that has no allowedDeviationXY.')


class ToleranceMapping(StrictModel):
    """What counts as arrived where an order does not say it: its deviation is missing or 0."""

    xy: float = Field(default=0.25, gt=0, description='Distance (m) from the node.')
    theta: float = Field(default=0.25, gt=0, le=math.pi,
                         description='Angle (rad) from the theta of the node, if it has one.')


class StateMapping(StrictModel):
    """The parts of the state that facts have; facts that they read need `always: true`."""

    battery: BatteryMapping
    position: Optional[PositionMapping] = None
    map: Optional[str] = Field(  # noqa: A003
        default=None, description='mapId of the map that it drives on, where there is no '
        '`position`.')
    driving: Optional[str] = Field(
        default=None, description='Whether it drives; without it, whether a drive is executed. '
        'It does if that is unknown.')
    field_violation: Optional[str] = Field(
        default=None, description='Whether a protective field is violated; it is if that is '
        'unknown. Without it, the robot has none that its facts tell of.')


class FactsheetMapping(StrictModel):
    """The parts of the factsheet that this package can't know, as the specification has them."""

    typeSpecification: dict[str, Any]  # noqa: N815
    physicalParameters: dict[str, Any]  # noqa: N815
    agvGeometry: dict[str, Any] = {}  # noqa: N815
    loadSpecification: dict[str, Any] = {}  # noqa: N815
    vehicleConfig: dict[str, Any] = {}  # noqa: N815


class MappingSpec(StrictModel):
    """A mapping file of the node `vda5050`."""

    vda5050: int = Field(ge=1, le=1, description='Version of this file format.')
    drive: dict[str, Any] = Field(
        description='The drive to a node: the fields of an action in a flow file.')
    tolerance: ToleranceMapping = ToleranceMapping()
    actions: dict[str, ActionMapping] = Field(default={}, description='By actionType.')
    state: StateMapping
    factsheet: FactsheetMapping


class Mapped:
    """
    A checked mapping file.

    `expressions`: the compiled expressions of `state`, by place, such as 'battery.charge'.
    `folders`: where nested flows that are given by name are searched. `example`: a flow with the
    drive and each action; raises DocumentError if it is not valid.
    """

    def __init__(
        self, path: Path, document: Document, spec: MappingSpec, folders: Sequence[str] | None,
    ) -> None:
        self.path = path
        self.spec = spec
        self.folders = folders
        self._document = document
        self.expressions = dict(_expressions(document, spec.state))
        sample, places = _sample(spec)
        self.example = load_document(_SampleDocument(document, sample, places),
                                     json.dumps(sample), {}, Sources(folders))

    @property
    def map(self) -> str:  # noqa: A003
        """Return the mapId of the map that the robot drives on."""
        state = self.spec.state
        return state.position.map if state.position else str(state.map)

    def fact_faults(self, facts: FactSet) -> Iterator[Fault]:
        """Yield the faults of `state`, and of the conditions of bodies, with these facts."""
        try:
            expressions = dict(_expressions(self._document, self.spec.state, facts.kinds))
        except DocumentError as error:
            yield from error.faults
        else:
            read = facts.topics(name for name, fact in facts.items() if fact.spec.always)
            for place, expression in expressions.items():
                for name in expression.names:
                    if not facts.topics([name]) <= read:
                        yield self._document.fault(
                            ('state', *place.split('.')), f"state.{place}: fact '{name}' is read "
                            "only on demand: it needs 'always: true' in the facts file")
            yield from self._scale_faults(expressions['battery.charge'], facts)
        try:
            check_names(self.example, facts.kinds, facts.fixed)
        except DocumentError as error:
            yield from error.faults

    def _scale_faults(self, charge: Expression, facts: FactSet) -> Iterator[Fault]:
        """Yield the fault of a charge that is not in percent, by units and ranges of its facts."""
        full = [_largest(facts[name].spec) for name in charge.names]
        if not full or None in full:
            return
        value = charge.evaluate(full)
        if isinstance(value, Real) and not 1.0 < float(value) <= LIMITS['battery.charge'][1]:
            yield self._document.fault(
                ('state', 'battery', 'charge'), f'state.battery.charge: a full battery would be '
                f'reported as {value:g} %, by the units and ranges of its facts; expected at most '
                '100 %, and not 0 to 1')

    def parameters(self, action_type: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of an action's parameters; raises DocumentError."""
        flow = FlowSpec(flow=FLOW, parameters=self.spec.actions[action_type].parameters,
                        actions={})
        values, found = parameter_values(self._document, flow, given)
        if found:
            raise DocumentError(found)
        return values


def read_mapping(path: str | Path, folders: Sequence[str] | None = None) -> Mapped:
    """
    Read and check a mapping file; raises DocumentError with all faults.

    `folders`: where nested flows that are given by name are searched, as for the action node.
    """
    path = Path(path).expanduser()
    document = read_document(path)
    spec = validate(document, MappingSpec)
    if found := [*_faults(document, spec)]:
        raise DocumentError(found)
    return Mapped(path, document, spec, folders)


def _largest(fact: FactSpec) -> float | None:
    """Return the largest value of a fact, as its range or its unit `%` tell; None if neither."""
    limits = fact.health.range if fact.health else None
    if limits and isinstance(limits[1], (int, float)):
        return float(limits[1])
    return 100.0 if fact.unit == '%' else None


class _SampleDocument(Document):
    """The flow of an example order; its actions have their places in the mapping file."""

    def __init__(
        self, base: Document, data: Any, places: Mapping[str, tuple[Key, ...]]
    ) -> None:
        super().__init__(base.name, data, base.mark(), {})
        self._base = base
        self._places = places

    def mark(self, path: Sequence[Key] = ()) -> Position:
        """Return line and column in the mapping file of the value at `path`."""
        place = self._places.get(str(path[1])) if len(path) > 1 else None
        return self._base.mark((*place, *path[2:]) if place else ())


def _sample(spec: MappingSpec) -> tuple[dict[str, Any], dict[str, tuple[Key, ...]]]:
    """Return a flow with the drive and each action, and their places in the file."""
    raws: dict[str, Any] = {'drive': with_parameters(spec.drive, NAMES)}
    places: dict[str, tuple[Key, ...]] = {'drive': ('drive',)}
    for index, (kind, mapping) in enumerate(spec.actions.items()):
        values = {name: parameter.default if parameter.default is not None else example(
            {'type': parameter.type, 'min': parameter.min, 'choices': parameter.choices})
            for name, parameter in mapping.parameters.items()}
        names = {} if mapping.scopes == ['INSTANT'] else \
            EDGE_NAMES if mapping.scopes == ['EDGE'] else NODE_NAMES
        name = kind if NAME.match(kind) and kind not in raws else f'action_{index}'
        while name in raws:
            name += '_'
        raws[name] = with_parameters(mapping.action, {
            'action_id': 'id', 'action_type': kind,
            **(names if len(mapping.scopes) == 1 else {}), **values})
        places[name] = ('actions', kind, 'action')
    return {'flow': FLOW, 'max_motions': AT_WORK, 'actions': raws}, places


def with_parameters(body: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an action with these parameters, beside those that it has."""
    own = body.get('parameters')
    return {**body, 'parameters': {**values, **(own if isinstance(own, dict) else {})}}


def _faults(document: Document, spec: MappingSpec) -> Iterator[Fault]:
    bodies: list[tuple[tuple[Key, ...], Mapping[str, Any]]] = [
        (('drive',), spec.drive),
        *((('actions', kind, 'action'), mapping.action)
          for kind, mapping in spec.actions.items())]
    for place, body in bodies:
        for name in _OWN_FIELDS:
            if name in body:
                yield document.fault((*place, name), f"'{name}' comes from the order")
    for kind, mapping in spec.actions.items():
        if kind in PREDEFINED:
            yield document.fault(('actions', kind), f"'{kind}' needs no entry")
        for name in ('scopes', 'blocking'):
            if not getattr(mapping, name):
                yield document.fault(('actions', kind, name), 'expected at least one')
        for name in mapping.parameters:
            if not IDENTIFIER.match(name) or name in _RESERVED:
                yield document.fault(
                    ('actions', kind, 'parameters', name), f"'{name}' can not be the name of a "
                    'parameter: expected an identifier that no node or edge has')
    if (spec.state.position is None) is (spec.state.map is None):
        yield document.fault(('state',), 'expected the map that the robot drives on: `map` in '
                             '`position`, or `map` if there is no `position`')
    for part in ('typeSpecification', 'physicalParameters'):
        for message in faults('factsheet', getattr(spec.factsheet, part), part):
            yield document.fault(('factsheet', part), part + message.removeprefix('.')
                                 if message.startswith('.:') else part + message)


def _expressions(
    document: Document, state: StateMapping, facts: Mapping[str, Kind] | None = None,
) -> Iterator[tuple[str, Expression]]:
    """
    Yield the compiled expressions; raises DocumentError with their places.

    `facts`: the kinds of all facts, if they are known.
    """
    found: list[Fault] = []
    for group, conditions in (('battery', ('charging',)), ('position', ()), ('', (
            'driving', 'field_violation'))):
        model = getattr(state, group) if group else state
        names = {'battery': ('charge', 'charging'), 'position': ('x', 'y', 'theta')}.get(
            group, ('driving', 'field_violation'))
        for name in names:
            text = getattr(model, name, None)
            if text is None:
                continue
            place = (group, name) if group else (name,)
            try:
                yield '.'.join(place), compile_expression(
                    text, facts, condition=name in conditions, kinds=facts)
            except DocumentError as error:
                found += [document.fault(
                    ('state', *place), f"state.{'.'.join(place)}: {fault.message}")
                    for fault in error.faults]
    if found:
        raise DocumentError(found)
