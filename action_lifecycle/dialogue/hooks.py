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
Hooks of dialogues: listeners that change what is recorded.

Hooks are registered by `@register_hooks('name')`, or by another package through the entry-point
group `action_lifecycle.dialogue_hooks`. The registered callable gets the `Dialogue` and returns a
listener, an object with methods such as `on_enter_asking`.
"""

from __future__ import annotations

from collections.abc import Callable

from .dialogue import Dialogue
from ..engine.registry import Registry

MakeHooks = Callable[[Dialogue], object]

_HOOKS: Registry[MakeHooks] = Registry(
    'action_lifecycle.dialogue_hooks', 'there are no dialogue hooks')
register_hooks = _HOOKS.register
find_hooks = _HOOKS.find
