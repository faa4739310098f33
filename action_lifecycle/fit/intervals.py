# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Confidence intervals of error rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..report.intervals import wilson


class Rate(NamedTuple):
    """A number of errors in `n` cases, with the bounds of its 95 % confidence interval."""

    errors: int
    n: int

    @property
    def low(self) -> float:
        """Return the lower bound (Wilson score interval)."""
        return wilson(self.errors, self.n).low

    @property
    def high(self) -> float:
        """Return the upper bound: Wilson score interval; for 0 errors exact, about 3 / n."""
        if not self.n:
            return 1.0
        if not self.errors:
            return float(1.0 - 0.05 ** (1.0 / self.n))
        return wilson(self.errors, self.n).high

    def with_more(self, other: Rate) -> Rate:
        """Return the rate over these and other cases."""
        return Rate(self.errors + other.errors, self.n + other.n)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-compatible data."""
        return {'errors': self.errors, 'n': self.n, 'rate': self.errors / max(1, self.n),
                'low': self.low, 'high': self.high}

    def __str__(self) -> str:
        if not self.n:
            return 'no cases'
        if not self.errors:
            return f'0 of {self.n} (at most {_percent(self.high)})'
        return (f'{self.errors} of {self.n} = {_percent(self.errors / self.n)} '
                f'({_percent(self.low)} to {_percent(self.high)})')


@dataclass(frozen=True)
class Errors:
    """
    The errors of a confirmation on labelled runs.

    `undecided`: runs whose trace ends before a verdict; they count as refuted.
    """

    false_completions: Rate
    false_refutations: Rate
    undecided: int = 0

    def __add__(self, other: Errors) -> Errors:
        return Errors(self.false_completions.with_more(other.false_completions),
                      self.false_refutations.with_more(other.false_refutations),
                      self.undecided + other.undecided)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-compatible data."""
        return {'false_completions': self.false_completions.as_dict(),
                'false_refutations': self.false_refutations.as_dict(),
                'undecided': self.undecided}


def _percent(share: float) -> str:
    return f'{100 * share:.2g} %' if share < 0.1 else f'{100 * share:.0f} %'
