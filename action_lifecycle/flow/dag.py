# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Questions about dependencies: a cycle, an order."""

from __future__ import annotations

import graphlib
from collections.abc import Collection, Mapping


class CycleError(ValueError):
    """Actions that wait for one another."""

    def __init__(self, cycle: list[str]) -> None:
        self.cycle = cycle
        super().__init__('actions wait for one another: ' + ' → '.join(cycle))


def topological_order(after: Mapping[str, Collection[str]]) -> list[str]:
    """Return the actions so that each comes behind all it waits for; `CycleError`."""
    try:
        return list(graphlib.TopologicalSorter(after).static_order())
    except graphlib.CycleError as error:
        raise CycleError(list(reversed(error.args[1]))) from error
