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
Who waits for whom: an acyclic graph that can be changed while it is used.

Every action has a rank, larger than those of all it waits for. A new dependency that fits the
ranks costs nothing. One that doesn't is searched from both its ends at once, between their ranks
only, and what was found on the side that ends first gets new ranks (two-way search: Bender,
Fineman, Gilbert, Tarjan: A New Approach to Incremental Cycle Detection and Related Problems,
ACM TALG 12(2), 2016). So a change costs what it touches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
import graphlib
import itertools
from typing import Generic, TypeVar

KindT = TypeVar('KindT')
Changes = Mapping[str, 'Mapping[str, KindT] | None']


class CycleError(ValueError):
    """Actions that wait for one another; each in `cycle` waits for the next."""

    def __init__(self, cycle: list[str]) -> None:
        self.cycle = cycle
        super().__init__('actions wait for one another: ' + ' → '.join(cycle))


def topological_order(after: Mapping[str, Collection[str]]) -> list[str]:
    """Return the actions so that each comes behind all it waits for; `CycleError`."""
    try:
        return list(graphlib.TopologicalSorter(after).static_order())
    except graphlib.CycleError as error:
        raise CycleError(list(reversed(error.args[1]))) from error


class Dag(Generic[KindT]):
    """
    What each action waits for, and how; given in an order in which that is possible.

    `after[a][b]` is the kind of a's waiting for b; `dependents[b]` are those that wait for b.
    """

    def __init__(self, after: Mapping[str, Mapping[str, KindT]]) -> None:
        self.after = dict(after)
        self.dependents: dict[str, list[str]] = {name: [] for name in after}
        self._rank = {name: float(index) for index, name in enumerate(after)}
        self._last = float(len(after))
        self._untaken: set[tuple[str, str]] = set()  #: dependencies of a change that is under way
        for name, needs in after.items():
            for needed in needs:
                self.dependents[needed].append(name)

    def order(self) -> list[str]:
        """Return the actions so that each comes behind all it waits for."""
        return sorted(self.after, key=self._rank.__getitem__)

    def change(self, changes: Changes[KindT]) -> Callable[[], None]:
        """
        Give actions other things to wait for; None takes an action away, a new name adds one.

        Returns what takes the change back. `CycleError` leaves everything as it was. Who waits
        for an action that goes must be among the changes.
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
                # Else it went a moment ago, or a cycle has kept the change from being taken in.
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
        """Let `second` come behind `first`."""
        if self._rank[first] >= self._rank[second]:
            side, found = self._searched(first, second)
            if not self._moved(side, found, first, second):
                # Too many came between the same two: all are numbered anew, once in some 50.
                self._untaken.discard((first, second))
                after = {name: list(self._joined(name)) for name in self.after}
                self._rank = {name: float(index)
                              for index, name in enumerate(topological_order(after))}
                self._last = float(len(self._rank))
        self._untaken.discard((first, second))
        self.dependents[first].append(second)

    def _joined(self, name: str) -> Iterator[str]:
        """Yield what an action waits for, as far as it has been taken in."""
        return (needed for needed in self.after[name] if (needed, name) not in self._untaken)

    def _searched(self, first: str, second: str) -> tuple[int, dict[str, str]]:
        """Return which side ended first (0: before `first`, 1: behind `second`), and what is."""
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
        """Take one edge a step; yield where it comes from and, if the other side is met, whom."""
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
        """Put `names` right before `second` or right behind `first`; False: there is no room."""
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
    """Return the way by which a search came to `name`, backwards."""
    way = [name]
    while found[way[-1]]:
        way.append(found[way[-1]])
    return way
