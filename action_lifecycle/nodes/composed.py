# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs the bridge, the ledger node and the action node in one process, on one executor."""

from __future__ import annotations

from .action.node import ActionLifecycleNode
from .bridge.node import WorldModelBridge
from .ledger.node import LedgerNode
from ..ros.node.process import run


def main(args: list[str] | None = None) -> int:
    """Run the nodes; the bridge starts first, so that the others find it."""
    return run(WorldModelBridge, LedgerNode, ActionLifecycleNode, args=args)
