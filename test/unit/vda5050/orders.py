# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Messages of a fleet manager, as tests make them."""

from __future__ import annotations

import itertools

INTERFACE, MANUFACTURER, SERIAL = 'uagv', 'acme', '0001'
HEADER = {'headerId': 1, 'timestamp': '2026-01-01T00:00:00.00Z', 'version': '2.1.0',
          'manufacturer': MANUFACTURER, 'serialNumber': SERIAL}
_numbers = itertools.count()


def action(kind, blocking='HARD', action_id='', **parameters):
    return {'actionType': kind, 'actionId': action_id or f'{kind}-{next(_numbers)}',
            'blockingType': blocking,
            'actionParameters': [{'key': key, 'value': value}
                                 for key, value in parameters.items()]}


def node(number, *actions, released=True, **position):
    """Return the node of a straight line: node 3 is at x = 3, its sequenceId is 6."""
    return {'nodeId': f'n{number}', 'sequenceId': 2 * number, 'released': released,
            'nodePosition': {'x': float(number), 'y': 0.0, 'mapId': 'hall', **position},
            'actions': list(actions)}


def edge(number, *actions, released=True, **more):
    """Return the edge from a node to the next one."""
    return {'edgeId': f'e{number}', 'sequenceId': 2 * number + 1, 'released': released,
            'startNodeId': f'n{number}', 'endNodeId': f'n{number + 1}', 'actions': list(actions),
            **more}


def line(first, released, last=None, *, order='o1', update=0, actions=None,
         edge_actions=None):
    """Return an order along the line, released up to a node, with a horizon up to `last`."""
    last = released if last is None else last
    actions, edge_actions = actions or {}, edge_actions or {}
    return {
        **HEADER, 'orderId': order, 'orderUpdateId': update,
        'nodes': [node(number, *actions.get(number, ()), released=number <= released)
                  for number in range(first, last + 1)],
        'edges': [edge(number, *edge_actions.get(number, ()), released=number < released)
                  for number in range(first, last)]}
