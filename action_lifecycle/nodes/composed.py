# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The three nodes in one process, on one executor."""

from __future__ import annotations

from ..ros.process import run
from .action_lifecycle import ActionLifecycleNode
from .ledger import LedgerNode
from .world_model_bridge import WorldModelBridge


def main(args: list[str] | None = None) -> int:
    """Run the nodes; the bridge first, so that the others find it."""
    return run(WorldModelBridge, LedgerNode, ActionLifecycleNode, args=args)
