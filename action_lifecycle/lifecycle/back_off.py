# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Delays before an operation that has failed is repeated."""

from __future__ import annotations

MAX_EXPONENT = 64
"""Bound of the exponent, which keeps the power finite."""


def back_off(failures: int, first: float, longest: float, factor: float = 2.0) -> float:
    """
    Return the delay (s) after `failures` failures (at least 1) in a row.

    It is `first` s after one failure, then `factor` times the one before, at most `longest` s.
    """
    return min(first * factor ** min(failures - 1, MAX_EXPONENT), longest)
