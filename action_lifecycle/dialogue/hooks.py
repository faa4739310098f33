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
Hooks of dialogues: listeners that change what is kept of a transition.

Registered by `@register_hooks('name')`, or by another package through the entry-point group
`action_lifecycle.dialogue_hooks`: a callable that gets the `Dialogue` and returns a listener, an
object with methods such as `on_enter_asking`.
"""

from __future__ import annotations

from collections.abc import Callable
import functools
from importlib.metadata import entry_points

from .dialogue import Dialogue
from ..engine.errors import LifecycleError, nearest

MakeHooks = Callable[[Dialogue], object]

_REGISTERED: dict[str, MakeHooks] = {}


def register_hooks(name: str) -> Callable[[MakeHooks], MakeHooks]:
    """Register the decorated class or function under this name."""
    def register(make: MakeHooks) -> MakeHooks:
        _REGISTERED[name] = make
        return make
    return register


@functools.cache
def _installed() -> dict[str, MakeHooks]:
    group = entry_points(group='action_lifecycle.dialogue_hooks')
    return {entry.name: entry.load() for entry in group}


def find_hooks(name: str) -> MakeHooks:
    """Return what makes the hooks; `LifecycleError` names the nearest when there is none."""
    known = {**_installed(), **_REGISTERED}
    if name not in known:
        raise LifecycleError(f"there are no dialogue hooks '{name}'" + nearest(name, known))
    return known[name]
