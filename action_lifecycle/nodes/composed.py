# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Runs the bridge, the ledger node and the action node in one process, on one executor.

With the argument `--agent`, the agent node runs in it, too.
"""

from __future__ import annotations

import sys

from .action.node import ActionLifecycleNode
from .bridge.node import WorldModelBridge
from .ledger.node import LedgerNode
from ..ros.node.process import run

AGENT = '--agent'


def main(args: list[str] | None = None) -> int:
    """Run the nodes; the bridge starts first, so that the others find it."""
    nodes = [WorldModelBridge, LedgerNode, ActionLifecycleNode]
    if AGENT in (sys.argv if args is None else args):
        from .agent.agent_node import AgentNode  # on use, as few robots need it
        nodes.append(AgentNode)
    return run(*nodes, args=args)
