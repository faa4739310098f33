# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of the black box."""

from __future__ import annotations

from typing import Any

from ....ros.node.lifecycle_node import ManagedNode

WHEN = ('refuted', 'timed_out', 'stale', 'violated', 'stop_unconfirmed')


def declare_parameters(node: ManagedNode) -> None:
    """Declare the parameters of the black box."""
    node.declare('black_box.folder', '', 'Folder of the black boxes; empty: none are written.')
    node.declare('black_box.seconds', 10.0, 'Time (s) before the verdict that a box has; 0: none '
                 'are written.', limits=(0.0, 600.0))
    node.declare('black_box.after', 0.3, 'Time (s) after the verdict that a box has.',
                 limits=(0.0, 10.0))
    node.declare('black_box.memory', 64, 'Maximum memory (MB) for the messages that are kept.',
                 limits=(1, 4096))
    node.declare('black_box.total', 1000, 'Maximum size (MB) of all boxes; the oldest are '
                 'removed.', limits=(1, 10_000_000))
    node.declare('black_box.when', list(WHEN), 'Verdicts for which a box is written.',
                 check=_fault_of_when)
    node.declare('action_node', 'action_lifecycle', 'Name of the action node, whose changes of '
                 'actions and flows are in the boxes.')


def _fault_of_when(value: Any) -> str:
    wrong = [name for name in value if name and name not in WHEN]
    return f"'{wrong[0]}': expected some of {', '.join(WHEN)}" if wrong else ''
