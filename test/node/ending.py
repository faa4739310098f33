# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The end of nodes that live in the test's own process."""

from __future__ import annotations

from typing import Any


def destroy(*nodes: Any) -> None:
    """Destroy nodes with their action servers and clients, which destroy_node() leaves behind."""
    for node in nodes:
        for waitable in list(node.waitables):
            if hasattr(waitable, 'destroy'):
                waitable.destroy()
        node.destroy_node()
