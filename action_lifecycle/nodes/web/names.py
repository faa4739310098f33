# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The names of a robot's nodes, relative to its namespace."""

from __future__ import annotations

ACTION_NODE = 'action_lifecycle'
BRIDGE = 'world_model_bridge'
LEDGER = 'ledger'
NEEDED = (ACTION_NODE, BRIDGE, LEDGER)
"""The nodes that each robot has."""
ANSWERING = (ACTION_NODE, LEDGER, 'agent', 'language_model')
"""The nodes that ask people."""
NODES = (*NEEDED, *(name for name in ANSWERING if name not in NEEDED))
