# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Orders: nodes, edges and actions, checked; updates that continue them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import hashlib
import json
import math
from typing import Any

from .errors import ORDER, OrderRefused, UPDATE, VALIDATION
from .fields import faults
from ..documents.templates.template import has_template

MOST_NODES = 1000
"""Maximum number of nodes of an order together with its updates."""
LONGEST = 1024 * 1024
"""Maximum length of an order together with its updates, as JSON."""
_DIGEST = 'digest'
_KEPT = ('orderId', 'orderUpdateId', 'zoneSetId', 'nodes', 'edges', _DIGEST)


@dataclass(frozen=True)
class OrderAction:
    """An action of a node, an edge or an `instantActions` message; `name`: in the flow."""

    name: str
    action_id: str
    action_type: str
    blocking: str
    parameters: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """Return a digest of what it is to do."""
        return digest_of([self.action_type, self.parameters])

    @classmethod
    def of(cls, name: str, data: Mapping[str, Any]) -> OrderAction:
        """Return the action of a message; raises OrderRefused for a key that is there twice."""
        given = data.get('actionParameters', ())
        parameters = {entry['key']: entry['value'] for entry in given}
        if len(parameters) < len(given):
            raise OrderRefused(VALIDATION, 'actionParameters: a key is there twice',
                               {'actionId': data['actionId']})
        return cls(name, data['actionId'], data['actionType'], data['blockingType'], parameters)


@dataclass(frozen=True)
class OrderNode:
    """A node; `drive`: name of the action of the flow that drives there."""

    node_id: str
    sequence: int
    released: bool
    position: Mapping[str, Any] | None
    actions: tuple[OrderAction, ...]

    @property
    def drive(self) -> str:
        """Return the name of the action that drives to this node."""
        return f'drive_{self.sequence}'


@dataclass(frozen=True)
class OrderEdge:
    """An edge; `data`: all its fields."""

    edge_id: str
    sequence: int
    released: bool
    data: Mapping[str, Any]
    actions: tuple[OrderAction, ...]


class Order:
    """
    A checked order.

    `data`: the fields of its message, without the header; equal numbers are written alike.
    `digest`: of the last message about it, '' in files of earlier versions. Raises OrderRefused:
    `validationError` for a malformed one.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data = _written_alike({name: data[name] for name in _KEPT if name in data})
        self.order_id: str = data['orderId']
        self.update_id: int = data['orderUpdateId']
        self.digest: str = data.get(_DIGEST, '')
        self.nodes = tuple(OrderNode(
            node['nodeId'], node['sequenceId'], node['released'], node.get('nodePosition'),
            _actions(f"node_{node['sequenceId']}", node)) for node in data['nodes'])
        self.edges = tuple(OrderEdge(
            edge['edgeId'], edge['sequenceId'], edge['released'], edge,
            _actions(f"edge_{edge['sequenceId']}", edge)) for edge in data['edges'])
        self._check()

    @property
    def references(self) -> dict[str, Any]:
        """Return what errors about this order refer to."""
        return {'topic': 'order', 'orderId': self.order_id, 'orderUpdateId': self.update_id}

    @property
    def base(self) -> tuple[OrderNode, ...]:
        """Return the released nodes."""
        return tuple(node for node in self.nodes if node.released)

    @property
    def base_edges(self) -> tuple[OrderEdge, ...]:
        """Return the edges between released nodes."""
        return self.edges[:max(0, len(self.base) - 1)]

    @property
    def has_horizon(self) -> bool:
        """Return whether nodes are not released yet."""
        return len(self.base) < len(self.nodes)

    def actions(self) -> Iterator[OrderAction]:
        """Yield the actions of all nodes and edges, in the order of their sequence ids."""
        for index, node in enumerate(self.nodes):
            yield from node.actions
            if index < len(self.edges):
                yield from self.edges[index].actions

    def merged(self, update: Order) -> Order:
        """
        Return this order continued by an update; raises OrderRefused if it does not continue it.

        The base stays as it is, with the stitching node; the horizon is replaced.
        """
        if update.order_id != self.order_id or update.update_id <= self.update_id:
            raise OrderRefused(UPDATE, f'orderUpdateId {update.update_id}: expected more than '
                               f'{self.update_id}', update.references)
        last, first = self.base[-1], update.nodes[0]
        if (first.node_id, first.sequence, first.released) != (last.node_id, last.sequence, True):
            raise OrderRefused(
                UPDATE, f"an update begins with the last released node, '{last.node_id}' with the "
                f"sequenceId {last.sequence}; got '{first.node_id}' with {first.sequence}",
                {**update.references, 'nodeId': first.node_id})
        if changed := _changed(last, first):
            raise OrderRefused(
                UPDATE, f"an update can't change the last released node '{last.node_id}': "
                f'{changed}',
                {**update.references, 'nodeId': first.node_id})
        base = len(self.base)
        data = {
            **self.data, **update.data,
            'nodes': [*self.data['nodes'][:base], *update.data['nodes'][1:]],
            'edges': [*self.data['edges'][:base - 1], *update.data['edges']]}
        if len(json.dumps(data)) > LONGEST:
            raise OrderRefused(UPDATE, f'the order and its updates are longer than {LONGEST} '
                               'characters; send the rest as a new order', update.references)
        try:
            return Order(data)
        except OrderRefused as refused:
            raise OrderRefused(
                UPDATE, str(refused), {**update.references, **refused.references}) from refused

    def _check(self) -> None:
        def refuse(message: str, **references: Any) -> OrderRefused:
            return OrderRefused(VALIDATION, message, {**self.references, **references})

        if not self.nodes or not self.nodes[0].released:
            raise refuse('expected at least one node, the first one released')
        if len(self.nodes) > MOST_NODES:
            raise OrderRefused(ORDER, f'{len(self.nodes)} nodes, at most {MOST_NODES} are allowed',
                               self.references)
        if len(self.edges) != len(self.nodes) - 1:
            raise refuse(f'{len(self.edges)} edges between {len(self.nodes)} nodes: expected '
                         f'{len(self.nodes) - 1}')
        for index, edge in enumerate(self.edges):
            start, end = self.nodes[index:index + 2]
            ends = edge.data['startNodeId'], edge.data['endNodeId']
            if ends != (start.node_id, end.node_id):
                raise refuse(f"edge '{edge.edge_id}' goes from '{ends[0]}' to '{ends[1]}': "
                             f"expected '{start.node_id}' to '{end.node_id}', the nodes beside it",
                             edgeId=edge.edge_id)
            if (edge.sequence, end.sequence) != (start.sequence + 1, start.sequence + 2):
                raise refuse(
                    f'sequenceIds {start.sequence}, {edge.sequence}, {end.sequence} of a node, '
                    'the edge after it and the next node: each is expected to be 1 more than the '
                    'one before it', edgeId=edge.edge_id)
            if edge.released != end.released:
                raise refuse(f"edge '{edge.edge_id}' and its end node '{end.node_id}' must be "
                             'released together', edgeId=edge.edge_id)
            if end.released and not start.released:
                raise refuse(f"node '{end.node_id}' is released after a node that is not",
                             nodeId=end.node_id)
        seen: set[str] = set()
        for action in self.actions():
            if action.action_id in seen:
                raise refuse(f"two actions have the actionId '{action.action_id}'",
                             actionId=action.action_id)
            seen.add(action.action_id)
        refuse_templates(self.data, self.references)


def read_order(message: Mapping[str, Any]) -> Order:
    """Return the order of a message; raises OrderRefused."""
    _refuse_faults('order', message)
    contents = _written_alike({name: message.get(name) for name in _KEPT if name != _DIGEST})
    return Order({**message, _DIGEST: digest_of(contents)})


def read_instant_actions(message: Mapping[str, Any]) -> list[OrderAction]:
    """
    Return the actions of a message `instantActions`; raises OrderRefused.

    Their field may also have the name of the topic, which some clients use.
    """
    if misnamed(message):
        message = {**message, 'actions': message['instantActions']}
    _refuse_faults('instantActions', message)
    refuse_templates(message['actions'], {})
    return [OrderAction.of('action', data) for data in _written_alike(message['actions'])]


def misnamed(message: Mapping[str, Any]) -> bool:
    """Return whether instant actions are in a field of the name of their topic."""
    return 'instantActions' in message and 'actions' not in message


def digest_of(data: Any) -> str:
    """Return a digest of JSON data."""
    text = json.dumps(data, sort_keys=True)
    return hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]


def refuse_templates(data: Any, references: Mapping[str, Any]) -> None:
    """Raise OrderRefused if a text is a template: it would be filled in by the action node."""
    if has_template(data):
        raise OrderRefused(ORDER, "a text has '{{', '{%' or '{#', which begin templates of flows",
                           references)


def distance(position: Mapping[str, Any], x: float, y: float) -> float:
    """Return how far a point is from the position of a node, in m."""
    return math.hypot(position['x'] - x, position['y'] - y)


def _changed(known: OrderNode, again: OrderNode) -> str:
    """Return what a node that is sent again has otherwise; '' if nothing. It may leave out."""
    position, other = known.position or {}, again.position or {}
    for name, value in other.items():
        if name != 'mapDescription' and value != position.get(name):
            return f'the robot has the {name} {position.get(name)}, got {value}'
    actions = {action.action_id: action.digest for action in known.actions}
    for action in again.actions:
        if actions.get(action.action_id) != action.digest:
            return f"the robot does not have the action '{action.action_id}' like this"
    return ''


def _written_alike(data: Any) -> Any:
    """Return JSON data with an int for each number without a fraction: 1.0 and 1 are equal."""
    if isinstance(data, dict):
        return {name: _written_alike(value) for name, value in data.items()}
    if isinstance(data, list):
        return [_written_alike(value) for value in data]
    return int(data) if isinstance(data, float) and data.is_integer() else data


def _refuse_faults(topic: str, message: Mapping[str, Any]) -> None:
    if found := faults(topic, message):
        raise OrderRefused(VALIDATION, '; '.join(found), {'topic': topic, **{
            key: message[key] for key in ('headerId', 'orderId', 'orderUpdateId')
            if isinstance(message.get(key), (int, str))}})


def _actions(stem: str, data: Mapping[str, Any]) -> tuple[OrderAction, ...]:
    return tuple(OrderAction.of(f'{stem}_action_{index}', action)
                 for index, action in enumerate(data['actions']))
