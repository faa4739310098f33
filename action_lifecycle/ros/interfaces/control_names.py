# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Services and topics that a flow may not use: those that control this package's own nodes.

A flow may be written by a program. If it could call `clear_stop`, answer questions to people or
publish what its own conditions read, neither stops nor confirmations would mean anything.
"""

from __future__ import annotations

from collections.abc import Collection

from rclpy.node import Node

OURS = 'action_lifecycle_msgs/'
SERVED_BY_OTHERS = frozenset(
    f'{OURS}srv/{name}' for name in ('ChooseTransition', 'Plan', 'Verify'))
"""Types of services that users provide to our nodes."""
MIDDLEWARE_TOPICS = frozenset(('/clock', '/parameter_events', '/rosout'))


def control_fault(name: str, type_name: str, nodes: Collection[str] = ()) -> str:
    """
    Return why a flow may not call this service or publish on this topic; '' if it may.

    `name` and `nodes`: full names; `nodes` are nodes of this package.
    """
    if type_name.startswith(OURS) and type_name not in SERVED_BY_OTHERS:
        return f"'{name}' is of type {type_name}, with which people control this package's nodes"
    owner = next((node for node in nodes if name.startswith(f'{node}/')), '')
    if owner:
        return f"'{name}' belongs to the node '{owner}' of this package"
    if '/_action/' in name:
        return f"'{name}' is a part of an action; write a 'motion' instead"
    if name in MIDDLEWARE_TOPICS:
        return f"'{name}' is a topic of ROS itself"
    return ''


def own_nodes(node: Node) -> set[str]:
    """Return the full names of the nodes of this package that are visible in the ROS graph."""
    owners = {name.rpartition('/')[0] for name, types in node.get_service_names_and_types()
              if any(kind.startswith(OURS) and kind not in SERVED_BY_OTHERS for kind in types)}
    return owners - {''}
