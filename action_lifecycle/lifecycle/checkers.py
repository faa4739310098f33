# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Checkers: Python callables that verify whether an action is done.

A checker is registered by `@register_checker('name')`, or by another package through the
entry-point group `action_lifecycle.checkers`. It gets a `VerifyRequest` and returns a `Verdict`.
It runs in a separate thread and may take up to the `timeout` in the flow.
"""

from __future__ import annotations

from collections.abc import Callable

from .verifiers import checked, Verdict, VerifyRequest
from ..engine.registry import Registry

Checker = Callable[[VerifyRequest], Verdict]

_CHECKERS: Registry[Checker] = Registry('action_lifecycle.checkers', 'there is no checker')
register_checker = _CHECKERS.register
find_checker = _CHECKERS.find


def check(name: str, request: VerifyRequest) -> Verdict:
    """Call a checker and return its verdict; see `checked`."""
    return checked(f"checker '{name}'", name, lambda: find_checker(name)(request))
