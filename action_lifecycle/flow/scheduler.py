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
Which action may start: what it waits for, the resources it holds, how many are at work.

`Dependencies` is the waiting of one flow. `Scheduler` is shared by all flows: an action takes all
it needs at once or nothing, so there is no deadlock, and what a waiting action needs is kept from
those behind it, so nobody waits for ever. Both take time in proportion to what changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import heapq
from typing import NamedTuple, Union

from .dag import Changes, Dag
from ..lifecycle.spec import WhenSpec
from ..lifecycle.states import Outcome

_MET: dict[str, frozenset[Outcome]] = {
    'unconditional': frozenset(Outcome),
    'completion': frozenset({Outcome.SUCCEEDED, Outcome.FAILED}),
    'success': frozenset({Outcome.SUCCEEDED}),
}
"""For each kind of dependency the outcomes that meet it; any other outcome can't any more."""

_NOTHING: frozenset[str] = frozenset()
AGING = 3600.0
"""Seconds that a flow must have been there longer to make up for one level of priority less."""

Kind = Union[str, WhenSpec]
After = Mapping[str, Kind]


def _meets(outcome: Outcome, kind: Kind) -> bool:
    """Whether an outcome meets a dependency; conditions are judged when all have ended."""
    return isinstance(kind, WhenSpec) or outcome in _MET[kind]


class Dependencies:
    """Counts, for each action, what it still waits for."""

    def __init__(self, after: Mapping[str, After]) -> None:
        self.dag: Dag[Kind] = Dag(after)
        self.outcomes: dict[str, Outcome] = {}
        self._waiting = {name: len(needs) for name, needs in after.items()}
        self._doomed: set[str] = set()  #: told to be skipped

    def ready(self) -> list[str]:
        """Return the actions that wait for nothing and have not ended."""
        return [name for name, count in self._waiting.items()
                if count == 0 and name not in self.outcomes]

    def is_ready(self, name: str) -> bool:
        """Whether an action waits for nothing any more."""
        return self._waiting[name] == 0 and name not in self.outcomes

    def is_doomed(self, name: str) -> bool:
        """Whether an action was told never to start."""
        return name in self._doomed

    def ended(self, name: str, outcome: Outcome) -> tuple[list[str], list[tuple[str, str]]]:
        """
        Take in how an action ended.

        Returns the actions that have become ready, and those that never will be, each with the
        action that is to blame.
        """
        self.outcomes[name] = outcome
        ready: list[str] = []
        skipped: list[tuple[str, str]] = []
        for dependent in self.dag.dependents[name]:
            if dependent in self.outcomes or dependent in self._doomed:
                continue
            if _meets(outcome, self.dag.after[dependent][name]):
                self._waiting[dependent] -= 1
                if self._waiting[dependent] == 0:
                    ready.append(dependent)
            else:
                self._doomed.add(dependent)
                skipped.append((dependent, name))
        return ready, skipped

    def change(self, changes: Changes[Kind]) -> tuple[list[str], list[tuple[str, str]]]:
        """
        Let actions wait for something else, add and take away; `CycleError` changes nothing.

        Returns as `ended` does, of the changed actions.
        """
        self.dag.change(changes)
        ready: list[str] = []
        skipped: list[tuple[str, str]] = []
        for name, needs in changes.items():
            if needs is None:
                self._waiting.pop(name, None)
                continue
            if name in self._doomed or name in self.outcomes:
                continue
            ended = {needed: self.outcomes[needed] for needed in needs if needed in self.outcomes}
            self._waiting[name] = len(needs) - len(ended)
            blamed = [needed for needed, outcome in ended.items()
                      if not _meets(outcome, needs[needed])]
            if blamed:
                self._doomed.add(name)
                skipped.append((name, blamed[0]))
            elif not self._waiting[name]:
                ready.append(name)
        return ready, skipped


EVERYTHING = '*'
"""Locked under this name: no action starts, whatever it needs."""


class Claim(NamedTuple):
    """An action that is ready to start; the smallest rank goes first."""

    rank: tuple[float, ...]  #: of the flow, of the action, and the order of arrival: all differ
    key: tuple[str, str]  #: flow and action
    resources: frozenset[str]


class Resources:
    """Who holds what. A locked resource is held by nobody and free for nobody."""

    def __init__(self) -> None:
        self.holders: dict[str, tuple[str, str]] = {}
        self.locked: dict[str, str] = {}
        self._held: dict[tuple[str, str], frozenset[str]] = {}

    def take(self, claim: Claim) -> None:
        """Give the claim all it asks for."""
        key = claim.key
        self._held[key] = claim.resources
        for name in claim.resources:
            self.holders[name] = key

    def release(self, flow_id: str, action_id: str) -> frozenset[str]:
        """Free what an action holds; returns the names."""
        held = self._held.pop((flow_id, action_id), _NOTHING)
        for name in held:
            self.holders.pop(name, None)
        return held

    def held_by(self, flow_id: str, action_id: str) -> list[str]:
        """Return the names of what an action holds."""
        return sorted(self._held.get((flow_id, action_id), _NOTHING))

    def free(self, name: str) -> bool:
        """Whether nobody holds it and it is not locked."""
        return name not in self.holders and name not in self.locked

    def lock_all(self, reasons: Mapping[str, str]) -> None:
        """Keep resources from everybody until they are unlocked; each with its reason."""
        self.locked.update(reasons)

    def unlock(self, names: Iterable[str]) -> None:
        """Let these be used again."""
        for name in names:
            self.locked.pop(name, None)


class Scheduler:
    """
    The claims that wait, in a queue for each resource.

    A claim may start when it is the first in the queue of each of its resources, all of them are
    free, and its flow has fewer actions at work than it may.
    """

    def __init__(self) -> None:
        self.resources = Resources()
        self.claims: dict[tuple[str, str], Claim] = {}
        self._alive: set[tuple[float, ...]] = set()  #: ranks of the claims
        self._queues: dict[str, list[Claim]] = {}  #: by resource; what is gone goes out later
        self._startable: dict[str, list[Claim]] = {}  #: by flow, as far as resources go
        self._at_work: dict[str, set[str]] = {}
        self._limits: dict[str, int] = {}
        self._flows: list[tuple[tuple[float, ...], str]] = []
        self._listed: dict[str, tuple[float, ...]] = {}  #: which entry of a flow counts

    def limit(self, flow_id: str, limit: int) -> None:
        """Take in a flow, and how many of its actions may be at work."""
        self._limits[flow_id] = limit
        self._at_work.setdefault(flow_id, set())
        self._startable.setdefault(flow_id, [])

    def add(self, claim: Claim) -> None:
        """Let a claim wait."""
        if claim.key in self.claims:
            self.withdraw(*claim.key)
        self.claims[claim.key] = claim
        self._alive.add(claim.rank)
        for name in claim.resources:
            queue = self._queues.get(name)
            if queue is None:
                self._queues[name] = [claim]
            else:
                heapq.heappush(queue, claim)
        self._look_at(claim)

    def withdraw(self, flow_id: str, action_id: str) -> None:
        """Let a claim wait no longer."""
        claim = self.claims.pop((flow_id, action_id), None)
        if claim is not None:
            self._alive.discard(claim.rank)
            self._look_behind(claim.resources)

    def next(self) -> Claim | None:  # noqa: A003
        """Return the best claim that may start now; it waits until it is taken."""
        if EVERYTHING in self.resources.locked:
            return None
        while self._flows:
            rank, flow_id = self._flows[0]
            if self._listed.get(flow_id) != rank:
                heapq.heappop(self._flows)
                continue
            claim = self._first_of(flow_id)
            if claim is not None and claim.rank == rank:
                return claim
            heapq.heappop(self._flows)
            del self._listed[flow_id]
            if claim is not None:
                self._list(claim)
        return None

    def _first_of(self, flow_id: str) -> Claim | None:
        """Return the best claim of a flow that may start, if the flow has a place for it."""
        if len(self._at_work[flow_id]) >= self._limits[flow_id]:
            return None
        heap = self._startable[flow_id]
        while heap:
            claim = heap[0]
            if claim.rank in self._alive and self._its_turn(claim):
                return claim
            heapq.heappop(heap)
        return None

    def start(self, claim: Claim) -> None:
        """Take a claim out and give it what it asks for."""
        del self.claims[claim.key]
        self._alive.discard(claim.rank)
        self.begin(claim)

    def begin(self, claim: Claim) -> None:
        """Give an action that is at work what it holds, without having it wait."""
        self.resources.take(claim)
        self._at_work.setdefault(claim.key[0], set()).add(claim.key[1])

    def end(self, flow_id: str, action_id: str) -> frozenset[str]:
        """Take in that an action is no longer at work; returns what it held."""
        held = self.resources.release(flow_id, action_id)
        self._at_work[flow_id].discard(action_id)
        if self._startable[flow_id]:
            self._list(self._startable[flow_id][0])
        self._look_behind(held)
        return held

    def unlock(self, names: Iterable[str]) -> None:
        """Let locked resources be used again."""
        names = list(names)
        self.resources.unlock(names)
        self._look_behind(names)

    def forget(self, flow_id: str) -> None:
        """Drop what is remembered of a flow that has ended."""
        self._limits.pop(flow_id, None)
        self._at_work.pop(flow_id, None)
        self._startable.pop(flow_id, None)
        self._listed.pop(flow_id, None)

    def locked_for(self, flow_id: str, action_id: str) -> str:
        """Return which locked resources an action waits for, each with why; '' for none."""
        claim = self.claims.get((flow_id, action_id))
        if claim is None:
            return ''
        locked = self.resources.locked
        return '; '.join(f"'{name}' is locked: {locked[name]}"
                         for name in sorted({*claim.resources, EVERYTHING} & locked.keys()))

    def waiting_for(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """Return the flow and the action of each claim on one of these resources."""
        wanted = frozenset(names)
        return [key for key, claim in self.claims.items()
                if EVERYTHING in wanted or claim.resources & wanted]

    def _its_turn(self, claim: Claim) -> bool:
        """Whether the claim is the first for each of its resources, and all of them are free."""
        holders, locked, queues = self.resources.holders, self.resources.locked, self._queues
        for name in claim.resources:
            if name in holders or name in locked:
                return False
            if queues[name][0] is not claim and self._head(name) is not claim:
                return False
        return True

    def _head(self, name: str) -> Claim | None:
        """Return the first claim that waits for a resource."""
        queue = self._queues.get(name)
        while queue:
            claim = queue[0]
            if claim.rank in self._alive:
                return claim
            heapq.heappop(queue)
        self._queues.pop(name, None)
        return None

    def _look_behind(self, names: Iterable[str]) -> None:
        """Look who is first in the queues of these resources now."""
        for name in names:
            claim = self._head(name)
            if claim is not None:
                self._look_at(claim)

    def _look_at(self, claim: Claim) -> None:
        if self._its_turn(claim):
            heapq.heappush(self._startable[claim.key[0]], claim)
            self._list(claim)

    def _list(self, claim: Claim) -> None:
        """Have the flow of a claim looked at in the claim's turn."""
        listed = self._listed.get(claim.key[0])
        if listed is None or claim.rank < listed:
            self._listed[claim.key[0]] = claim.rank
            heapq.heappush(self._flows, (claim.rank, claim.key[0]))
