# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
Hooks of dialogues and sessions: listeners that change what is recorded, or refuse an event.

Hooks are registered by `@register_hooks('name')`, or by another package through the entry-point
group `action_lifecycle.dialogue_hooks`. The registered callable gets the `Dialogue` and returns a
listener, an object with methods such as `on_enter_asking`. A flow names it in `dialogue`, a graph
that is run as a session in `hooks`; that one may also have guards and validators.
"""

from __future__ import annotations

from collections.abc import Callable

from .dialogue import Dialogue
from ..documents.errors import LifecycleError
from ..documents.registry import Registry

MakeHooks = Callable[[Dialogue], object]

_HOOKS: Registry[MakeHooks] = Registry(
    'action_lifecycle.dialogue_hooks', 'there are no dialogue hooks')
register_hooks = _HOOKS.register
find_hooks = _HOOKS.find


def make_hooks(name: str, dialogue: Dialogue) -> list[object]:
    """Return the listener of this name, none for ''; raises LifecycleError."""
    if not name:
        return []
    try:
        return [find_hooks(name)(dialogue)]
    except LifecycleError:
        raise
    except Exception as error:  # it is user-defined
        raise LifecycleError(f"hooks '{name}': {type(error).__name__}: {error}") from error
