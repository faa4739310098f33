# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The dependencies of actions: an acyclic graph with incremental changes and cycle detection.

The rank of an action is larger than the ranks of all its dependencies. A new dependency that fits
the ranks needs no search. Otherwise two searches run alternately from its two ends, limited to the
ranks between them, and the nodes of the search that ends first get new ranks (two-way search:
Bender, Fineman, Gilbert, Tarjan: A New Approach to Incremental Cycle Detection and Related
Problems, ACM TALG 12(2), 2016). So the cost depends on the part of the graph that changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
import graphlib
import itertools
from typing import Generic, TypeVar

KindT = TypeVar('KindT')
Changes = Mapping[str, 'Mapping[str, KindT] | None']


class CycleError(ValueError):
    """A cycle of dependencies; each action in `cycle` depends on the next."""

    def __init__(self, cycle: list[str]) -> None:
        self.cycle = cycle
        super().__init__('actions wait for one another: ' + ' → '.join(cycle))


def topological_order(after: Mapping[str, Collection[str]]) -> list[str]:
    """Return the actions, each after its dependencies; raises `CycleError`."""
    try:
        return list(graphlib.TopologicalSorter(after).static_order())
    except graphlib.CycleError as error:
        raise CycleError(list(reversed(error.args[1]))) from error


class Dag(Generic[KindT]):
    """
    A graph of dependencies; `after` must be in topological order.

    `after[a][b]` is the kind of the dependency of a on b; `dependents[b]` are the actions that
    depend on b.
    """

    def __init__(self, after: Mapping[str, Mapping[str, KindT]]) -> None:
        self.after = dict(after)
        self.dependents: dict[str, list[str]] = {name: [] for name in after}
        self._rank = {name: float(index) for index, name in enumerate(after)}
        self._last = float(len(after))
        self._untaken: set[tuple[str, str]] = set()  #: new edges that are not connected yet
        for name, needs in after.items():
            for needed in needs:
                self.dependents[needed].append(name)

    def order(self) -> list[str]:
        """Return the actions, each after its dependencies."""
        return sorted(self.after, key=self._rank.__getitem__)

    def rank(self, name: str) -> float:
        """Return a number that is larger than those of all dependencies of an action."""
        return self._rank[name]

    def change(self, changes: Changes[KindT]) -> Callable[[], None]:
        """
        Replace the dependencies of actions; None removes an action, a new name adds one.

        Returns a function that undoes the change. If it raises `CycleError`, nothing has changed.
        The dependents of a removed action must be among the changes.
        """
        before = {name: self.after.get(name) for name in changes}
        try:
            self._replace(changes)
        except CycleError:
            self._replace(before)
            raise
        return lambda: self._replace(before)

    def _replace(self, changes: Changes[KindT]) -> None:
        for name in changes:
            for needed in self.after.get(name, ()):
                # If not, it was removed before, or a cycle has interrupted the change.
                if needed in self.dependents and name in self.dependents[needed]:
                    self.dependents[needed].remove(name)
        for name, needs in changes.items():
            if needs is None:
                for memory in (self.after, self.dependents, self._rank):
                    memory.pop(name, None)
            else:
                self.after[name] = needs
                self.dependents.setdefault(name, [])
                if name not in self._rank:
                    self._last += 1.0
                    self._rank[name] = self._last
        added = [(needed, name) for name, needs in changes.items() for needed in needs or ()]
        self._untaken = set(added)
        try:
            for needed, name in added:
                self._connect(needed, name)
        finally:
            self._untaken = set()

    def _connect(self, first: str, second: str) -> None:
        """Add the dependency of `second` on `first`."""
        if self._rank[first] >= self._rank[second]:
            side, found = self._searched(first, second)
            if not self._moved(side, found, first, second):
                # No float is left between two ranks (about 1 in 50 insertions): rank all again.
                self._untaken.discard((first, second))
                after = {name: list(self._joined(name)) for name in self.after}
                self._rank = {name: float(index)
                              for index, name in enumerate(topological_order(after))}
                self._last = float(len(self._rank))
        self._untaken.discard((first, second))
        self.dependents[first].append(second)

    def _joined(self, name: str) -> Iterator[str]:
        """Yield the dependencies of an action that are already connected."""
        return (needed for needed in self.after[name] if (needed, name) not in self._untaken)

    def _searched(self, first: str, second: str) -> tuple[int, dict[str, str]]:
        """Return the side whose search ended first (0: `first`, 1: `second`), and its nodes."""
        if first == second:
            raise CycleError([first, first])
        ranks = self._rank[second], self._rank[first]
        back, on = {first: ''}, {second: ''}
        walks = [self._walk(back, on, self._joined, ranks),
                 self._walk(on, back, self.dependents.__getitem__, ranks)]
        for side in itertools.cycle((0, 1)):
            met = next(walks[side], None)
            if met is None:
                return side, (back, on)[side]
            if met[1]:
                here, there = met if side else reversed(met)
                raise CycleError([*reversed([*reversed(_trace(on, here)), *_trace(back, there)]),
                                  first])
        raise AssertionError('one side ends')

    def _walk(
        self, found: dict[str, str], other: Mapping[str, str],
        neighbors: Callable[[str], Iterable[str]], ranks: tuple[float, float],
    ) -> Iterator[tuple[str, str]]:
        """Search one edge per step; yield its start, and its end if the searches meet, else ''."""
        front = list(found)
        while front:
            here = front.pop()
            for name in neighbors(here):
                if name in other:
                    yield here, name
                elif name not in found and ranks[0] <= self._rank[name] <= ranks[1]:
                    found[name] = here
                    front.append(name)
                yield here, ''

    def _moved(self, side: int, names: Mapping[str, str], first: str, second: str) -> bool:
        """Rank `names` before `second` (side 0) or after `first` (1); False without room."""
        ordered = sorted(names, key=self._rank.__getitem__)
        if side == 0:
            top = self._rank[second]
            bottom = max((self._rank[needed] for name in names for needed in self._joined(name)
                          if needed not in names), default=top - len(names) - 1)
        else:
            bottom = self._rank[first]
            top = min((self._rank[name] for found in names for name in self.dependents[found]
                       if name not in names), default=bottom + len(names) + 1)
        step = (top - bottom) / (len(ordered) + 1)
        ranks = [bottom + step * (index + 1) for index in range(len(ordered))]
        if not all(low < high for low, high in zip([bottom, *ranks], [*ranks, top])):
            return False
        self._rank.update(zip(ordered, ranks))
        self._last = max(self._last, ranks[-1])
        return True


def _trace(found: Mapping[str, str], name: str) -> list[str]:
    """Return the path of a search to `name`, in reverse."""
    way = [name]
    while found[way[-1]]:
        way.append(found[way[-1]])
    return way
