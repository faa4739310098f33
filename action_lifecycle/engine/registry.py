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

"""A registry of objects by name, which other packages can extend."""

from __future__ import annotations

from collections.abc import Callable
import functools
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from .errors import LifecycleError, nearest

T = TypeVar('T')


class Registry(Generic[T]):
    """Objects by name, registered by a decorator or by an entry point of `group`."""

    def __init__(self, group: str, missing: str) -> None:
        self._group = group
        self._missing = missing  #: start of the error message for an unknown name
        self._registered: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that registers an object under this name."""
        def register(thing: T) -> T:
            self._registered[name] = thing
            return thing
        return register

    @functools.cached_property
    def _installed(self) -> dict[str, T]:
        return {entry.name: entry.load() for entry in entry_points(group=self._group)}

    def find(self, name: str) -> T:
        """Return the object of this name; raises `LifecycleError` with the nearest known name."""
        known = {**self._installed, **self._registered}
        if name not in known:
            raise LifecycleError(f"{self._missing} '{name}'" + nearest(name, known))
        return known[name]
