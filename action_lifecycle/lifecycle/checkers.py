# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Checkers: Python callables that verify whether an action is done.

A checker is registered by `@register_checker('name')`, or by another package through the
entry-point group `action_lifecycle.checkers`. It gets a `VerifyRequest` and returns a `Verdict`.
It runs in a separate thread and may take up to the `timeout` in the flow.
"""

from __future__ import annotations

from collections.abc import Callable

from .verifiers import checked, Verdict, VerifyRequest
from ..documents.registry import Registry

Checker = Callable[[VerifyRequest], Verdict]

_CHECKERS: Registry[Checker] = Registry('action_lifecycle.checkers', 'there is no checker')
register_checker = _CHECKERS.register
find_checker = _CHECKERS.find
name_of_checker = _CHECKERS.name_of


def check(name: str, request: VerifyRequest) -> Verdict:
    """Call a checker and return its verdict; see `checked`."""
    return checked(f"checker '{name}'", name, lambda: find_checker(name)(request))
