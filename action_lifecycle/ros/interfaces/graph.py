# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The ROS graph: what a step of work may use."""

from __future__ import annotations

from rclpy.action import get_action_names_and_types
from rclpy.node import Node


def names_seen(node: Node, kind: str) -> dict[str, list[str]]:
    """Return the actions, services or subscribed topics for a kind of work, with their types."""
    if kind == 'call':
        return dict(node.get_service_names_and_types())
    if kind == 'publish':
        return {name: types for name, types in node.get_topic_names_and_types()
                if node.count_subscribers(name)}
    return dict(get_action_names_and_types(node))
