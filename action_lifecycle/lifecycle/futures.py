# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Results that come later: rclpy's futures, or those of a stepped clock."""

from __future__ import annotations

from typing import Any


def settle(future: Any, result: Any = None) -> None:
    """Set the result of a future, unless it is done."""
    if not future.done():
        future.set_result(result)
