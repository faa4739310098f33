# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
Hooks of dialogues: listeners that change what is recorded.

Hooks are registered by `@register_hooks('name')`, or by another package through the entry-point
group `action_lifecycle.dialogue_hooks`. The registered callable gets the `Dialogue` and returns a
listener, an object with methods such as `on_enter_asking`.
"""

from __future__ import annotations

from collections.abc import Callable

from .dialogue import Dialogue
from ..documents.registry import Registry

MakeHooks = Callable[[Dialogue], object]

_HOOKS: Registry[MakeHooks] = Registry(
    'action_lifecycle.dialogue_hooks', 'there are no dialogue hooks')
register_hooks = _HOOKS.register
find_hooks = _HOOKS.find
