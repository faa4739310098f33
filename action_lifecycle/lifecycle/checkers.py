# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
Checkers: Python callables that say whether an action is done.

Registered by `@register_checker('name')`, or by another package through the entry-point group
`action_lifecycle.checkers`. A checker gets a `VerifyRequest` and returns a `Verdict` at once: it
runs in the node's only thread.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.metadata import entry_points

from ..engine.errors import LifecycleError, nearest
from .ports import Verdict, VerifyRequest

Checker = Callable[[VerifyRequest], Verdict]

_REGISTERED: dict[str, Checker] = {}


def register_checker(name: str) -> Callable[[Checker], Checker]:
    """Register the decorated callable under this name."""
    def register(checker: Checker) -> Checker:
        _REGISTERED[name] = checker
        return checker
    return register


@functools.cache
def _installed() -> dict[str, Checker]:
    return {entry.name: entry.load() for entry in entry_points(group='action_lifecycle.checkers')}


def find_checker(name: str) -> Checker:
    """Return a checker; `LifecycleError` names the nearest when there is none."""
    known = {**_installed(), **_REGISTERED}
    if name not in known:
        raise LifecycleError(f"there is no checker '{name}'" + nearest(name, known))
    return known[name]
