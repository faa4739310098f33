# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Orders as flows: which action of a flow does what of an order, and what it waits for.

An order is one flow, or several: an update that arrives after its flow has ended makes a new one
with the rest. Actions that an update adds depend only on earlier ones, so a flow grows by an edit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
import hashlib
import json
import math
import re
from typing import Any

from .errors import ORDER, OrderRefused
from .mapping import AT_WORK, FLOW, Mapped, ToleranceMapping, with_parameters
from .order import digest_of, Order, OrderAction, OrderEdge, OrderNode
from ..documents.errors import DocumentError
from ..documents.suggestions import nearest
from ..flow.files.loader import parse_flow
from ..flow.files.sources import Sources

DIGEST = 'order_digest'
"""Parameter of the flow of an order: `content_digest`."""
_SAFE = re.compile(r'[A-Za-z0-9][A-Za-z0-9_-]{0,79}\Z')


@dataclass
class FlowAction:
    """An action of the flow of an order; `references`: node, edge or action that it is from."""

    name: str
    sequence: int  #: sequenceId of its node or edge
    after: list[str]
    fields: Mapping[str, Any]
    references: Mapping[str, Any] = field(default_factory=dict)


def flow_id(order: Order) -> str:
    """Return the id of the flow that begins with this version of an order; always the same."""
    return f'order-{_readable(order.order_id)}.{order.update_id}'


def content_digest(order: Order, after: int | None = None) -> str:
    """
    Return a digest of what is released, for an update of what has a sequenceId above `after`.

    It does not depend on the mapping file. The first node counts only with its actions, so an
    update that is sent again as an order of its own has the same digest.
    """
    entries = [*order.data['nodes'][:len(order.base)],
               *order.data['edges'][:len(order.base_edges)]]
    if after is None:
        after = order.nodes[0].sequence - bool(order.nodes[0].actions)
    return digest_of([one for one in entries if one['sequenceId'] > after])


def instant_flow_id(action: OrderAction) -> str:
    """Return the id of the flow of an instant action."""
    return f'instant-{_readable(action.action_id)}'


def flow_actions(order: Order, mapped: Mapped) -> list[FlowAction]:
    """Return the actions of the base; raises OrderRefused if any of the order can't be done."""
    _check_actions(order, mapped)
    return [*_in_order(order, mapped)]


def _in_order(order: Order, mapped: Mapped) -> Iterator[FlowAction]:
    """
    Yield the actions of the base in their order.

    NONE and SOFT: after the arrival, and after the last HARD action. HARD: also after all actions
    that may still run. A drive: after SOFT and HARD actions of the node that it leaves. Edges:
    SOFT and HARD actions are done before the drive, others begin with it.
    """
    gate: list[str] = []  #: what everything that follows waits for
    soft: list[str] = []  #: what the next drive waits for, too
    running: list[str] = []  #: what the next HARD action waits for, too

    def add(action: OrderAction, sequence: int, names: Mapping[str, Any], *, drives: bool
            ) -> FlowAction:
        after = [*gate]
        if action.blocking == 'HARD':
            after += [name for name in running if name not in after]
            gate[:], soft[:], running[:] = [action.name], [], []
        else:
            if drives:
                after += [name for name in soft if name not in after]
            running.append(action.name)
            if action.blocking == 'SOFT':
                soft.append(action.name)
        return FlowAction(action.name, sequence, after, _fields(action, mapped, names),
                          {'actionId': action.action_id})

    before: OrderNode | None = None
    tolerance = mapped.spec.tolerance
    edges = iter(order.base_edges)
    for node in order.base:
        if before is not None:
            edge = next(edges)
            names = {**_of_node(node, before, tolerance), **_of_edge(edge)}
            moving = [action for action in edge.actions if action.blocking == 'NONE']
            for action in edge.actions:
                if action not in moving:
                    yield add(action, edge.sequence, _of_edge(edge), drives=False)
            leaves = [*gate, *(name for name in soft if name not in gate)]
            yield FlowAction(node.drive, node.sequence, leaves, {
                'description': f'drive to {node.node_id}',
                **with_parameters(mapped.spec.drive, names)},
                {'nodeId': node.node_id, 'edgeId': edge.edge_id})
            for action in moving:
                yield add(action, edge.sequence, _of_edge(edge), drives=True)
            gate, soft = [node.drive], []
        for action in node.actions:
            yield add(action, node.sequence, _of_node(node, before, tolerance), drives=False)
        before = node


def instant_flow(action: OrderAction, mapped: Mapped) -> str:
    """Return the text of the flow of an instant action; raises OrderRefused."""
    _check_action(action, 'INSTANT', mapped, {'actionId': action.action_id})
    made = FlowAction(action.name, 0, [], _fields(action, mapped, {}),
                      {'actionId': action.action_id})
    return checked_text([made], f'instant action {action.action_type}', mapped)


def checked_text(
    actions: list[FlowAction], description: str, mapped: Mapped, digest: str = '',
) -> str:
    """
    Return the text of a flow with these actions, checked; raises OrderRefused.

    Dependencies on actions of earlier flows are left out, since these have ended. `digest`: of the
    order; it is the value of the parameter DIGEST, which the journal keeps.
    """
    own = {action.name for action in actions}
    text = json.dumps({
        'flow': FLOW, 'description': description, 'max_motions': AT_WORK,
        **({'parameters': {DIGEST: {'default': digest}}} if digest else {}),
        'actions': {action.name: {**action.fields, 'after': [
            name for name in action.after if name in own]} for action in actions}}, indent=1)
    try:
        parse_flow(text, str(mapped.path), sources=Sources(mapped.folders))
    except DocumentError as error:
        messages = [fault.message for fault in error.faults]
        named = next((action for action in actions
                      if any(f"'{action.name}'" in message for message in messages)), None)
        raise OrderRefused(ORDER, '; '.join(messages),
                           named.references if named is not None else {}) from error
    return text


def edit_text(actions: list[FlowAction]) -> str:
    """Return the edit that adds actions to the flow of an order."""
    return json.dumps([{'add': {action.name: {**action.fields, 'after': action.after}
                                for action in actions}}], indent=1)


def _readable(text: str) -> str:
    return text if _SAFE.match(text) else hashlib.sha256(text.encode()).hexdigest()[:32]


def _check_actions(order: Order, mapped: Mapped) -> None:
    for node in order.nodes:
        if node.position is None:
            raise OrderRefused(ORDER, f"node '{node.node_id}' has no nodePosition",
                               {'nodeId': node.node_id})
        if (found := node.position['mapId']) != mapped.map:
            raise OrderRefused(
                ORDER, f"node '{node.node_id}' is on the map '{found:.100}', this robot drives on "
                f"'{mapped.map}'", {'nodeId': node.node_id, 'mapId': found[:100]})
        for action in node.actions:
            _check_action(action, 'NODE', mapped, {
                'actionId': action.action_id, 'nodeId': node.node_id})
    for edge in order.edges:
        for action in edge.actions:
            _check_action(action, 'EDGE', mapped, {
                'actionId': action.action_id, 'edgeId': edge.edge_id})


def _check_action(
    action: OrderAction, scope: str, mapped: Mapped, references: Mapping[str, Any]
) -> None:
    """Raise OrderRefused if the mapping file has no such action."""
    known = mapped.spec.actions
    said = f"action '{action.action_id}', actionType '{action.action_type}': "
    mapping = known.get(action.action_type)
    if mapping is None:
        raise OrderRefused(ORDER, f'{said}unknown' + nearest(action.action_type, known)
                           + f" (known: {', '.join(known) or 'none'})",
                           {**references, 'actionType': action.action_type})
    if scope not in mapping.scopes:
        raise OrderRefused(ORDER, f"{said}expected as {' or '.join(mapping.scopes)}, not as "
                           f'{scope}', {**references, 'actionType': action.action_type})
    if action.blocking not in mapping.blocking and scope != 'INSTANT':
        raise OrderRefused(
            ORDER, f"{said}expected the blockingType {' or '.join(mapping.blocking)}, got "
            f'{action.blocking}', {**references, 'blockingType': action.blocking})
    try:
        mapped.parameters(action.action_type, action.parameters)
    except DocumentError as error:
        messages = [fault.message.replace('the flow has', 'it has') for fault in error.faults]
        keys = [key for key in action.parameters if key not in mapping.parameters] or [
            key for key in mapping.parameters
            if any(f"parameter '{key}'" in message for message in messages)]
        raise OrderRefused(ORDER, said + '; '.join(messages), {
            **references, **({'actionParameter': keys[0]} if keys else {})}) from error


def _fields(action: OrderAction, mapped: Mapped, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an action of an order."""
    return {'description': f'{action.action_type} {action.action_id}', **with_parameters(
        mapped.spec.actions[action.action_type].action, {
            'action_id': action.action_id, 'action_type': action.action_type, **names,
            **mapped.parameters(action.action_type, action.parameters)})}


def _of_node(
    node: OrderNode, before: OrderNode | None, tolerance: ToleranceMapping
) -> dict[str, Any]:
    """
    Return the names that a node has, always all of them: another one would be that of a fact.

    Without a theta, it is the direction from `before`, for a first node 0, and every orientation
    is allowed. An allowed deviation that is not given or 0 is the `tolerance` of this robot.
    """
    position = node.position
    assert position is not None
    start = position if before is None or before.position is None else before.position
    return {
        'node_id': node.node_id, 'sequence_id': node.sequence,
        'x': float(position['x']), 'y': float(position['y']), 'map_id': position['mapId'],
        'theta': float(position['theta']) if 'theta' in position else math.atan2(
            position['y'] - start['y'], position['x'] - start['x']),
        'deviation_xy': float(position.get('allowedDeviationXY') or tolerance.xy),
        'deviation_theta': math.pi if 'theta' not in position
        else float(position.get('allowedDeviationTheta') or tolerance.theta)}


def _of_edge(edge: OrderEdge) -> dict[str, Any]:
    """Return the names that an edge has; a speed without a limit is 0."""
    data = edge.data
    return {'edge_id': edge.edge_id, 'from_node_id': data['startNodeId'],
            'max_speed': float(data.get('maxSpeed', 0.0)),
            'max_rotation_speed': float(data.get('maxRotationSpeed', 0.0)),
            'edge': {key: value for key, value in data.items() if key != 'actions'}}
