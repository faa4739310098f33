# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A registry of objects by name, which other packages can extend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
import functools
import importlib
from importlib.metadata import entry_points, EntryPoint
import sys
from typing import Any, TypeVar

from .errors import LifecycleError
from .suggestions import nearest

T = TypeVar('T')


class Registry(Mapping[str, T]):
    """
    Objects by name, registered in Python or by an entry point of `group`.

    The mapping contains the registered objects; `load` and `find` also load entry points.
    `modules` are imported at the first use of the registry, to register their objects. `unknown`:
    start of the error message for an unknown name. `is_valid`: check of a loaded entry point;
    `expected`: what it requires, for messages.
    """

    def __init__(
        self, group: str, unknown: str, things: Mapping[str, T] | None = None, *,
        expected: str = 'callable', is_valid: Callable[[Any], bool] = callable,
        modules: Iterable[str] = (),
    ) -> None:
        self._group = group
        self._unknown = unknown
        self._things = dict(things or {})
        self._modules = tuple(modules)
        self._expected = expected
        self._is_valid = is_valid

    @property
    def _all(self) -> dict[str, T]:
        for module in self._modules:
            importlib.import_module(module)
        self._modules = ()
        return self._things

    def __getitem__(self, name: str) -> T:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def add(self, name: str, thing: T) -> T:
        """Register an object under a name; it replaces one of the same name."""
        self._things[name] = thing
        return thing

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that registers an object under this name."""
        return lambda thing: self.add(name, thing)

    def load(self, name: str) -> T | None:
        """
        Return the object of this name, None if there is none.

        An entry point gives the object itself, or its module registers the object. Raises
        `LifecycleError` for an entry point that can't be loaded.
        """
        if name not in self._all:
            values = {entry.value for entry in _entry_points(self._group) if entry.name == name}
            if len(values) > 1:
                raise LifecycleError(f"entry point '{name}' of {self._group} is given twice: "
                                     + ' and '.join(sorted(values)))
        for entry in () if name in self._all else _entry_points(self._group):
            if entry.name == name and name not in self._all:
                try:
                    thing = entry.load()
                except Exception as error:
                    raise LifecycleError(f"entry point '{name}' of {self._group}: "
                                         f'{type(error).__name__}: {error}') from error
                if name not in self._all:
                    if not self._is_valid(thing):
                        raise LifecycleError(f"entry point '{name}' of {self._group} is no "
                                             f'{self._expected}: {entry.value}')
                    self.add(name, thing)
        return self._all.get(name)

    def find(self, name: str) -> T:
        """Return the object of this name; raises `LifecycleError` with the known names."""
        thing = self.load(name)
        if thing is None:
            raise LifecycleError(self.unknown(name))
        return thing

    def name_of(self, thing: T) -> str | None:
        """Return the name under which an object is registered, None if it is not."""
        return next((name for name in self.names() if self.load(name) is thing), None)

    def names(self) -> list[str]:
        """Return all names, also those of entry points that are not loaded."""
        return sorted({*self, *(entry.name for entry in _entry_points(self._group))})

    def unknown(self, name: str) -> str:
        """Return the error message for an unknown name, with the known ones."""
        known = self.names()
        return f"{self._unknown} '{name}'{nearest(name, known)}" + (
            f" (known: {', '.join(known)})" if known else '')


def _entry_points(group: str) -> Iterable[EntryPoint]:
    found: Iterable[EntryPoint] = _installed(tuple(sys.path)).select(group=group)
    return found


@functools.lru_cache(maxsize=1)
def _installed(path: tuple[str, ...]) -> Any:
    """Return all entry points; cached, since scanning `path` takes about 0.1 s."""
    return entry_points()
