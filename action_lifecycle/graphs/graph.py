# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Graphs of states and transitions: immutable, so that any number of machines can share them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..documents.errors import Fault, LifecycleError
from ..documents.suggestions import nearest


@dataclass(frozen=True, eq=False, slots=True)
class GraphState:
    """
    One state of a graph.

    `enter` and `exit` name hooks in addition to those found by convention. `config` is the state's
    whole mapping in the file, including the fields of its type.
    """

    name: str
    description: str
    type: str  # noqa: A003
    final: bool
    enter: tuple[str, ...]
    exit: tuple[str, ...]  # noqa: A003
    config: Mapping[str, Any]


@dataclass(frozen=True, eq=False, slots=True)
class Transition:
    """
    One transition from one state.

    `cond`, `unless`, `validators` and the hooks `before`, `on`, `after` are names that the machine
    looks up on its listeners. `priority` and `default` are used by choosers.
    """

    event: str
    source: str
    target: str
    cond: tuple[str, ...]
    unless: tuple[str, ...]
    validators: tuple[str, ...]
    before: tuple[str, ...]
    on: tuple[str, ...]
    after: tuple[str, ...]
    description: str
    priority: int
    default: bool

    @property
    def guarded(self) -> bool:
        """Whether a guard can refuse this transition."""
        return bool(self.cond or self.unless)

    def __repr__(self) -> str:
        return f'<{self.event}: {self.source} -> {self.target}>'


@dataclass(frozen=True)
class Invariant:
    """`state` can be reached only through `must_pass` if the guards in `given` hold."""

    state: str
    must_pass: str
    given: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Graph:
    """
    A checked, immutable graph.

    `table[state][event]` has the transitions to try, in the order of the file. `listener` names
    the registered hooks and guards of sessions, see `dialogue/hooks.py`.
    """

    name: str
    description: str
    initial: str
    states: Mapping[str, GraphState]
    transitions: tuple[Transition, ...]
    invariants: tuple[Invariant, ...]
    warnings: tuple[Fault, ...]
    listener: str = ''
    table: Mapping[str, Mapping[str, tuple[Transition, ...]]] = field(init=False, repr=False)
    hooks: dict[tuple[Transition, tuple[type, ...]], Any] = field(
        init=False, repr=False, default_factory=dict)
    """What `find_hooks` has noted of the listeners' classes."""

    def __post_init__(self) -> None:
        table: dict[str, dict[str, tuple[Transition, ...]]] = {name: {} for name in self.states}
        for transition in self.transitions:
            events = table[transition.source]
            events[transition.event] = (*events.get(transition.event, ()), transition)
        object.__setattr__(self, 'table', MappingProxyType(
            {name: MappingProxyType(events) for name, events in table.items()}))

    @property
    def events(self) -> tuple[str, ...]:
        """All events, each once, in the order of the file."""
        return tuple(dict.fromkeys(transition.event for transition in self.transitions))

    def state(self, name: str) -> GraphState:
        """Return a state; raises `LifecycleError` if the graph has none of this name."""
        try:
            return self.states[name]
        except KeyError:
            raise LifecycleError(f"graph '{self.name}' has no state '{name}'"
                                 + nearest(name, self.states)) from None

    def transitions_from(self, state: str) -> tuple[Transition, ...]:
        """Return the transitions from a state, in the order of the file."""
        self.state(state)
        return tuple(one for found in self.table[state].values() for one in found)

    def path(
        self,
        source: str,
        target: str,
        allowed: Callable[[Transition], bool] = lambda transition: True,
    ) -> tuple[Transition, ...] | None:
        """Return the shortest path over allowed transitions; None if there is none."""
        self.state(target)
        came_by: dict[str, Transition | None] = {source: None}
        waiting = deque([source])
        while waiting and target not in came_by:
            for transition in self.transitions_from(waiting.popleft()):
                if transition.target not in came_by and allowed(transition):
                    came_by[transition.target] = transition
                    waiting.append(transition.target)
        if target not in came_by:
            return None
        steps: list[Transition] = []
        step = came_by[target]
        while step is not None:
            steps.append(step)
            step = came_by[step.source]
        return tuple(reversed(steps))


def reachable(
    starts: Iterable[str], neighbours: Mapping[str, Iterable[str]], without: str | None = None
) -> set[str]:
    """Return all nodes reachable from `starts`, which are included, without passing `without`."""
    found = {start for start in starts if start != without}
    waiting = list(found)
    while waiting:
        for neighbour in neighbours.get(waiting.pop(), ()):
            if neighbour not in found and neighbour != without:
                found.add(neighbour)
                waiting.append(neighbour)
    return found
