# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Whether endpoints of the ROS graph have the installed definition of a type.

The middleware matches endpoints by the name of the type alone, so a message of another definition
is read as if it had ours. Endpoints tell the hash of their definition (REP 2016). A middleware
before Jazzy, or a foreign one, may not; that is no difference.
"""

from __future__ import annotations

from collections.abc import Iterable
import functools
from pathlib import Path
from typing import Any

from rclpy.node import Node

from ...documents.errors import LifecycleError
from ...documents.json_text import read_object

SHOWN = 15  #: characters of a hash in messages: RIHS01_ and eight digits
UNKNOWN_NODE = '_NODE_NAME_UNKNOWN_'  #: as rmw_dds_common names it
CURE = ('they may be of different distributions or versions: install or build the same package on '
        'both sides')


@functools.lru_cache(maxsize=1000)
def installed_hash(type_name: str) -> str:
    """
    Return the hash of an installed definition (`RIHS01_…`); '' if it is not known.

    `type_name` may also be a part of a service or an action, such as
    `control_msgs/action/GripperCommand_FeedbackMessage`.
    """
    from ament_index_python import get_package_share_directory
    package, folder, name = type_name.split('/')
    try:
        file = Path(get_package_share_directory(package), folder, f"{name.split('_')[0]}.json")
        hashes = read_object(file.read_bytes(), str(file))['type_hashes']
        return next((str(entry['hash_string']) for entry in hashes
                     if entry['type_name'] == type_name), '')
    except (LookupError, OSError, TypeError, LifecycleError):  # Humble has none
        return ''


def hash_of(info: Any) -> str:
    """Return the hash that an endpoint tells (`RIHS01_…`); '' if it does not."""
    found = getattr(info, 'topic_type_hash', None)
    return str(found) if found is not None and any(found.value) else ''


def node_of(info: Any) -> str:
    """Return the full name of an endpoint's node; the middleware may get to know it later."""
    if info.node_name == UNKNOWN_NODE:
        return 'a node that is not known yet'
    return f"{info.node_namespace.rstrip('/')}/{info.node_name}"


def other_definition(infos: Iterable[Any], type_name: str) -> str:
    """Return which endpoints have another definition of a type than ours; '' if none has."""
    own = installed_hash(type_name)
    others = sorted({(node_of(info), found) for info in infos
                     for found in [hash_of(info)] if found not in ('', own)}) if own else []
    return '' if not others else (
        f'another definition of {type_name}: '
        + ''.join(f'{node} has {found[:SHOWN]}, ' for node, found in others)
        + f'installed here is {own[:SHOWN]}; {CURE}')


def other_receiver(node: Node, kind: str, name: str, type_name: str) -> str:
    """
    Return which receivers of a step of work have another definition; '' if none has.

    `kind`: 'motion' (an action), 'call' (a service) or 'publish'; `name`: full name. rclpy
    lists no endpoints of services, but those of their topics, which have prefixes in DDS.
    """
    if kind == 'motion':
        parts = f'{name}/_action'
        return other_definition(
            node.get_publishers_info_by_topic(f'{parts}/feedback'), f'{type_name}_FeedbackMessage'
        ) or _service(node, f'{parts}/send_goal', f'{type_name}_SendGoal') or _service(
            node, f'{parts}/get_result', f'{type_name}_GetResult')
    if kind == 'publish':
        return other_definition(node.get_subscriptions_info_by_topic(name), type_name)
    return _service(node, name, type_name)


def _service(node: Node, name: str, type_name: str) -> str:
    return other_definition(
        node.get_subscriptions_info_by_topic(f'rq{name}Request', no_mangle=True),
        f'{type_name}_Request') or other_definition(
        node.get_publishers_info_by_topic(f'rr{name}Reply', no_mangle=True),
        f'{type_name}_Response')
