# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verbs about safety: safety, clear-stop."""

from __future__ import annotations

import argparse

from action_lifecycle_msgs.srv import ClearStop

from ..client import accepted, connect, who
from ..exits import DONE
from ..node_data import newest_safety, safety_line
from ..table import print_json


def show_safety(options: argparse.Namespace) -> int:
    """Print the safety state that the action node publishes."""
    with connect(options.namespace, options.wait) as client:
        data = newest_safety(client)
    if options.json:
        print_json(data)
    else:
        print(safety_line(data))
    return DONE


def clear_stop(options: argparse.Namespace) -> int:
    """Clear a latched stop and print the state before."""
    with connect(options.namespace, options.wait) as client:
        before = newest_safety(client)
        accepted(client.order(ClearStop, 'clear_stop', ClearStop.Request(
            actor=who(options), reason=options.reason, resources=options.resources)))
    print(f'cleared: {safety_line(before)}')
    return DONE
