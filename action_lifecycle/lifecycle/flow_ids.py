# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The ids of nested flows, and the names of their actions for people.

The flow that action `pick` of flow F runs has the id `F/pick`; later runs of the same action have
`F/pick.2`, `F/pick.3` and so on. Journal rows have these ids. Messages and commands name an
action of a nested flow by the outermost flow and a path: action `pick/grip` of flow F.
"""

from __future__ import annotations


def root_of(flow_id: str) -> str:
    """Return the id of the outermost flow."""
    return flow_id.partition('/')[0]


def depth_of(flow_id: str) -> int:
    """Return how many flows contain a flow."""
    return flow_id.count('/')


def parent_of(flow_id: str) -> str:
    """Return the id of the flow whose action a nested flow is; '' for an outermost flow."""
    return flow_id.rpartition('/')[0]


def nested_id(flow_id: str, action_id: str, number: int) -> str:
    """Return the id of the flow that an action runs for the `number`th time, from 1."""
    return f'{flow_id}/{action_id}' + (f'.{number}' if number > 1 else '')


def shown(flow_id: str, action_id: str) -> tuple[str, str]:
    """Return an action's outermost flow, and its path in it."""
    root, _, path = flow_id.partition('/')
    return root, f'{path}/{action_id}' if path else action_id


def stored(flow_id: str, path: str) -> tuple[str, str]:
    """
    Return an action's flow and id as the journal has them; see `shown`.

    Without a flow, the path begins with one, or is the name of an action of any flow.
    """
    nested, _, action_id = path.rpartition('/')
    return '/'.join(filter(None, (flow_id, nested))), action_id


def is_within(flow_id: str, outer: str) -> bool:
    """Return whether a flow is `outer` or is nested in it."""
    return flow_id == outer or flow_id.startswith(f'{outer}/')
