# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The errors that a state message reports, and refusals of orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..documents.errors import LifecycleError

WARNING, FATAL = 'WARNING', 'FATAL'
VALIDATION = 'validationError'
"""A message is malformed."""
ORDER = 'orderError'
"""The robot can't do what an order says, or not now."""
UPDATE = 'orderUpdateError'
"""An update does not continue the order."""
NO_ROUTE = 'noRouteError'
"""The first node of an order is not where the robot is."""
NO_ORDER = 'noOrderToCancel'
INSTANT = 'instantActionError'


def error(
    kind: str, description: str, level: str = WARNING, references: Mapping[str, Any] = {},
) -> dict[str, Any]:
    """Return an error of a state message; `references`: values by key."""
    return {'errorType': kind, 'errorLevel': level, 'errorDescription': description,
            'errorReferences': [{'referenceKey': key, 'referenceValue': str(value)}
                                for key, value in references.items()]}


class OrderRefused(LifecycleError):
    """An order or an instant action is refused as a whole; `kind`: its errorType."""

    def __init__(self, kind: str, message: str, references: Mapping[str, Any] = {}) -> None:
        super().__init__(message)
        self.kind = kind
        self.references = dict(references)
