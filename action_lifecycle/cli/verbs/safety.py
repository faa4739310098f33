# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verbs about safety: safety, clear-stop."""

from __future__ import annotations

import argparse
from typing import Any

from ..arguments import add_actor, add_json, add_nodes, add_verb, NODE, who
from ..exits import DONE


def add_parser(commands: Any) -> None:
    """Add the verbs."""
    safety = add_verb(
        commands, 'safety', show_safety, help='show whether motions may run, and if not, why',
        example='safety')
    add_json(safety)
    clear = add_verb(
        commands, 'clear-stop', clear_stop,
        help='clear a latched stop and unlock resources, after you have checked the robot',
        example='clear-stop --reason "hand was in the cell, it is gone"\nclear-stop arm')
    clear.add_argument('resources', metavar='RESOURCE', nargs='*',
                       help='resources to unlock (default: all that are locked)')
    add_actor(clear)
    for parser in (safety, clear):
        add_nodes(parser)


def show_safety(options: argparse.Namespace) -> int:
    """Print the safety state that the action node publishes."""
    from ..client import connect
    from ..node_data import newest_safety, safety_data, safety_line
    from ..table import print_json
    with connect(options.namespace) as client:
        data = safety_data(newest_safety(client, options.wait))
    if options.json:
        print_json(data)
    else:
        print(safety_line(data))
    return DONE


def clear_stop(options: argparse.Namespace) -> int:
    """Clear a latched stop and print the state before."""
    from action_lifecycle_msgs.srv import ClearStop

    from ..client import connect
    from ..node_data import newest_safety, safety_data, safety_line
    with connect(options.namespace) as client:
        before = safety_data(newest_safety(client, options.wait))
        client.order(ClearStop, f'{NODE}/clear_stop', ClearStop.Request(
            actor=who(options), reason=options.reason, resources=options.resources), options.wait)
    print(f'cleared: {safety_line(before)}')
    return DONE
