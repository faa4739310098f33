# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""How many equal samples in a row the noise of a sensor makes likely."""

from __future__ import annotations

import math

CERTAIN = 1e-9
"""Probability of a run of equal samples below which a sensor with noise counts as frozen."""


def equal_probability(noise: float, resolution: float) -> float:
    """Return the greatest probability with which a sample equals the one before."""
    return math.erf(resolution / (2 * math.sqrt(2) * noise))


def likely_run(equal_probability: float, elements: int) -> int:
    """Return the longest run of equal samples that is not less likely than CERTAIN; at least 2."""
    p = equal_probability ** elements
    if p <= CERTAIN:
        return 2
    return max(2, 1 + math.floor(math.log(CERTAIN) / math.log(p))) if p < 1.0 else 1 << 62
