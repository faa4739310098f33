# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Typed states: the behaviour of a graph's states.

A type is a subclass of `State`. It is registered with `@register_state`, as a file
`state_<name>.py` of a folder, or by an entry point in the group `action_lifecycle.states`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import importlib.util
import logging
from pathlib import Path
import re
import sys
from typing import Any, ClassVar, NamedTuple, TypeVar

import pydantic

from ..documents.errors import LifecycleError
from ..documents.registry import Registry

_LOG = logging.getLogger('action_lifecycle')

FieldsModel = type[pydantic.BaseModel]


class State:
    """
    One state with behaviour; subclasses override `run` and `check_transition_ready`.

    `Fields` is a pydantic model of the fields that the type adds to a state in a graph file; a
    type without it accepts any fields. `leads_to`: names of the fields whose values are next
    states. `ways`: descriptions of the next states by name.

    `repeatable`: whether `run` may be repeated if the process was killed while it ran. What it
    calls through its agent (models, tools, motions) is recorded and not repeated, so this concerns
    only what it does by itself. If it is false, a person is asked.
    """

    type: ClassVar[str] = ''  # noqa: A003
    Fields: ClassVar[FieldsModel | None] = None
    leads_to: ClassVar[tuple[str, ...]] = ()
    repeatable: ClassVar[bool] = False
    is_terminal: bool = False

    def __init__(self, name: str, config: Mapping[str, Any]) -> None:
        self.name = name
        self.config = config
        self.transition = config.get('transition', {})
        self.ways: Mapping[str, str] = {}
        if config.get('final'):
            self.is_terminal = True

    def check_transition_ready(self, context: Any) -> bool:
        """Return whether the state is done and a transition may be chosen."""
        raise NotImplementedError(f'{type(self).__name__} has no check_transition_ready()')

    def run(self, context: Any, agent: Any = None) -> Any:
        """
        Do the work of the state; returns the update of the context, or None.

        It may be a coroutine function.
        """
        raise NotImplementedError(f'{type(self).__name__} has no run()')

    def next_state(self, context: Any) -> str | None:
        """Return the next state if this state decides it; None: the chooser decides."""
        return None

    def __repr__(self) -> str:
        return f'<{type(self).__name__} {self.name}>'


class Pause(NamedTuple):
    """Returned by `run` to pause the session until an answer or event from outside."""

    message: str
    link: str = ''


StateT = TypeVar('StateT', bound=type[State])


class StateRegistry(Registry[type[State]]):
    """State types by name."""

    def __init__(
        self, types: Mapping[str, type[State]] | None = None, modules: Iterable[str] = (),
    ) -> None:
        super().__init__(
            'action_lifecycle.states', 'unknown state type', types, expected='State',
            is_valid=lambda cls: isinstance(cls, type) and issubclass(cls, State), modules=modules)
        self._built_in = tuple(modules)

    def register_type(self, cls: StateT) -> StateT:
        """
        Register a type; without `type`, its name comes from its file or class.

        `state_greeting.py`, `GreetingState` and `StateGreeting` all give `greeting`. It may take
        the place of a built-in type, not of another one.
        """
        name = cls.__dict__.get('type') or _name_of(cls)
        # Built-in modules are loaded by the first lookup, not by the import of one of them.
        known = self._things.get(name) if cls.__module__ in self._built_in else self.get(name)
        if known is not None and _origin(known) != _origin(cls):
            if known.__module__ in self._built_in:
                _LOG.info("state type '%s' of %s replaces the built-in one", name, _origin(cls))
            else:
                raise LifecycleError(f"state type '{name}' of {_origin(cls)} is already "
                                     f'registered by {_origin(known)}')
        cls.type = name
        self.add(name, cls)
        return cls

    def load_folder(self, folder: str | Path) -> None:
        """Import every `state_<name>.py` of a folder, which register their types."""
        if not Path(folder).is_dir():
            raise LifecycleError(f"'{folder}' is not a folder of state types")
        for path in sorted(Path(folder).resolve().glob('state_*.py')):
            name = f'action_lifecycle_states_{abs(hash(path.parent)):x}_{path.stem}'
            if name in sys.modules:
                continue
            spec = importlib.util.spec_from_file_location(name, path)
            assert spec is not None and spec.loader is not None  # it ends in .py
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            try:
                spec.loader.exec_module(module)
            except BaseException as error:
                del sys.modules[name]
                if not isinstance(error, Exception):
                    raise
                raise LifecycleError(f'{path}: {type(error).__name__}: {error}') from error


def _name_of(cls: type[State]) -> str:
    module = sys.modules.get(cls.__module__)
    file = Path(getattr(module, '__file__', None) or '')
    if file.stem.startswith('state_') and len(file.stem) > len('state_'):
        return file.stem.removeprefix('state_')
    words = re.sub(r'(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])', '_', cls.__name__).lower()
    name = words.removeprefix('state_').removesuffix('_state')
    if name in ('', 'state'):
        raise LifecycleError(f"class {cls.__name__} needs a 'type'; its name gives none")
    return name


def _origin(cls: type[State]) -> str:
    return f'{cls.__module__}.{cls.__qualname__}'


REGISTRY = StateRegistry(modules=(
    'action_lifecycle.agents.builtin_states', 'action_lifecycle.agents.tool_state',
    'action_lifecycle.agents.plan_states', 'action_lifecycle.agents.skills.skill_state'))
register_state = REGISTRY.register_type
