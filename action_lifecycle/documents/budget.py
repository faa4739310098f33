# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Limits the work that one input may cause, counted in steps.

`with budget(steps, what):` sets a limit for the code inside; `spend(count)` takes steps from it
and raises `BudgetExceeded` when they are used up. Budgets may be nested: an inner one has at most
the remaining steps of the outer one, and its steps are taken from both. Steps do not depend on the
speed of the machine, so every machine accepts and refuses the same inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .errors import LifecycleError

TEXT_STEP = 8
"""Number of characters that are produced or copied in one step."""
MAX_DEPTH = 64
"""Maximum nesting depth of lists and mappings in any input."""
MAX_DIGITS = 64
"""Maximum length of a number in any input, in characters."""
TOO_DEEP = f'nested deeper than {MAX_DEPTH} levels'
TOO_MANY_DIGITS = f'number with more than {MAX_DIGITS} digits'


class BudgetExceeded(LifecycleError):
    """An input causes more work than allowed."""


class Budget:
    """A number of remaining steps; `what` names the work in messages."""

    __slots__ = ('left', 'steps', 'what')

    def __init__(self, steps: int, what: str) -> None:
        self.what = what
        self.steps = steps
        self.left = steps

    def spend(self, count: int = 1) -> None:
        """Take steps; raises `BudgetExceeded` if there are not enough."""
        if count > self.left:
            raise self.exceeded()
        self.left -= count

    def exceeded(self) -> BudgetExceeded:
        """Return the error for an exceeded budget, and leave no steps."""
        self.left = -1
        return BudgetExceeded(f'{self.what} takes more than {self.steps} steps')

    @property
    def used(self) -> int:
        """Return the number of steps taken."""
        return self.steps - self.left


_current: ContextVar[Budget | None] = ContextVar('budget', default=None)


@contextmanager
def budget(steps: int, what: str) -> Iterator[Budget]:
    """Limit the work inside to `steps`, or to the remaining steps of an outer budget."""
    outer = _current.get()
    if outer is not None and outer.left < steps:
        made = Budget(outer.steps, outer.what)
        made.left = start = max(0, outer.left)
    else:
        made = Budget(steps, what)
        start = steps
    token = _current.set(made)
    try:
        yield made
    finally:
        _current.reset(token)
        if outer is not None:
            outer.left -= start - made.left


def spend(count: int) -> None:
    """Take steps from the current budget, if there is one."""
    made = _current.get()
    if made is not None:
        made.spend(count)


def afford(count: int) -> bool:
    """Take steps for optional work; returns False, without taking any, if there are too few."""
    made = _current.get()
    if made is None:
        return True
    if made.left < count:
        return False
    made.left -= count
    return True


def spend_on(value: Any, each: int = 1) -> None:
    """Take the steps for traversing a value: `each` per element, plus its strings."""
    made = _current.get()
    if made is not None:
        walk(made, value, each)


def walk(made: Budget, value: Any, each: int = 1, depth: int = 0) -> None:
    """Take the steps for traversing a value; raises `BudgetExceeded` also for deep nesting."""
    made.left -= each
    if made.left < 0:
        raise made.exceeded()
    if isinstance(value, (str, bytes, bytearray)):
        made.spend(len(value) // TEXT_STEP)
    elif isinstance(value, (list, tuple, dict)):
        if depth >= MAX_DEPTH:
            raise BudgetExceeded(f'{made.what}: data {TOO_DEEP}')
        if isinstance(value, dict):
            for key, item in value.items():
                if isinstance(key, str):
                    made.spend(len(key) // TEXT_STEP)
                walk(made, item, each, depth + 1)
        else:
            for item in value:
                walk(made, item, each, depth + 1)
