# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Decides which action may start: dependencies, resources, and the limit of running actions.

`Dependencies` belongs to one flow; `Scheduler` is shared by all flows. An action takes all its
resources at once or none, so there is no deadlock. Each resource has a queue, so no action
starves. The run time of a change is proportional to its size.

Resources that an action holds are lent to the flow that it runs, in which one action at a time can
take them: under the name RESOURCE@FLOW/ACTION. A lock of RESOURCE also applies to these names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
import heapq
import math
from typing import NamedTuple, Union

from .dag import Changes, Dag
from ...lifecycle.spec import WhenSpec
from ...lifecycle.states import ActionOutcome

_MET: dict[str, frozenset[ActionOutcome]] = {
    'unconditional': frozenset(ActionOutcome),
    'completion': frozenset({ActionOutcome.SUCCEEDED, ActionOutcome.FAILED}),
    'success': frozenset({ActionOutcome.SUCCEEDED}),
}
"""The outcomes that meet each kind of dependency; after other outcomes it can never be met."""

_NOTHING: frozenset[str] = frozenset()
AGING = 3600.0
"""Waiting time (s) that is equivalent to one level of priority."""

Kind = Union[str, WhenSpec]
After = Mapping[str, Kind]


def _meets(outcome: ActionOutcome, kind: Kind) -> bool:
    """Return whether an outcome meets a dependency; conditions are evaluated later."""
    return isinstance(kind, WhenSpec) or outcome in _MET[kind]


class Dependencies:
    """
    Counts the open dependencies of each action.

    An action with a dependency that can't be met any more will never start. With `hold` it is kept
    in `held` instead, with the action that is the cause, until `give_up` or until its dependencies
    change.
    """

    def __init__(self, after: Mapping[str, After], hold: bool = False) -> None:
        self._hold = hold
        self.dag: Dag[Kind] = Dag(after)
        self.outcomes: dict[str, ActionOutcome] = {}
        self._waiting = {name: len(needs) for name, needs in after.items()}
        self._doomed: set[str] = set()  #: actions that will never start
        self.held: dict[str, str] = {}
        self.waived: set[str] = set()  #: actions whose ends meet each kind of dependency

    def ready(self) -> list[str]:
        """Return the actions without open dependencies that have not ended."""
        return [name for name, count in self._waiting.items()
                if count == 0 and name not in self.outcomes]

    def is_ready(self, name: str) -> bool:
        """Return whether an action has no open dependencies and has not ended."""
        return self._waiting.get(name) == 0 and name not in self.outcomes

    def is_doomed(self, name: str) -> bool:
        """Return whether an action will never start."""
        return name in self._doomed

    def unmet(self, name: str) -> list[str]:
        """Return the ended actions whose outcomes do not meet an action's dependencies."""
        return [needed for needed, kind in self.dag.after[name].items()
                if needed in self.outcomes and not self._met(needed, kind)]

    def _met(self, needed: str, kind: Kind) -> bool:
        """Return whether the end of an action meets a dependency on it."""
        return needed in self.waived or _meets(self.outcomes[needed], kind)

    def ended(self, name: str, outcome: ActionOutcome) -> tuple[list[str], list[tuple[str, str]]]:
        """
        Process the end of an action.

        Returns the actions that became ready, and the actions that will never start, each with the
        action that is the cause.
        """
        self.outcomes[name] = outcome
        ready: list[str] = []
        skipped: list[tuple[str, str]] = []
        for dependent in self.dag.dependents[name]:
            if dependent in self.outcomes or dependent in self._doomed:
                continue
            if self._met(name, self.dag.after[dependent][name]):
                self._waiting[dependent] -= 1
                if self._waiting[dependent] == 0:
                    ready.append(dependent)
            else:
                skipped += self._never(dependent, name)
        return ready, skipped

    def _never(self, name: str, blamed: str) -> list[tuple[str, str]]:
        if self._hold:
            self.held.setdefault(name, blamed)
            return []
        self._doomed.add(name)
        return [(name, blamed)]

    def stranded(self) -> list[tuple[str, str]]:
        """
        Return the held actions, each with the cause.

        They are followed by the actions that can't start once these are skipped.
        """
        found = {name: blamed for name, blamed in self.held.items() if name not in self.outcomes}
        front = list(found)
        for name in front:  # grows
            for dependent in self.dag.dependents[name]:
                if dependent not in found and dependent not in self.outcomes \
                        and dependent not in self._doomed and not _meets(
                            ActionOutcome.SKIPPED, self.dag.after[dependent][name]):
                    found[dependent] = name
                    front.append(dependent)
        return list(found.items())

    def give_up(self) -> list[tuple[str, str]]:
        """Return the `stranded` actions, which will never start from now on."""
        stranded = self.stranded() if self.held else []
        self._doomed.update(name for name, _ in stranded)
        self.held = {}
        return stranded

    def change(self, changes: Changes[Kind]) -> tuple[list[str], list[tuple[str, str]]]:
        """
        Change dependencies, add and remove actions; if it raises `CycleError`, nothing changes.

        The return value is that of `ended`, for the changed actions.
        """
        self.dag.change(changes)
        ready: list[str] = []
        skipped: list[tuple[str, str]] = []
        for name, needs in changes.items():
            self.held.pop(name, None)
            if needs is None:
                self._waiting.pop(name, None)
                continue
            if name in self._doomed or name in self.outcomes:
                continue
            self._waiting[name] = sum(needed not in self.outcomes for needed in needs)
            blamed = self.unmet(name)
            if blamed:
                skipped += self._never(name, blamed[0])
            elif not self._waiting[name]:
                ready.append(name)
        return ready, skipped

    def doomed_by(self, name: str, freeable: Callable[[str], bool]) -> list[str]:
        """Return, in order, the `freeable` actions that start if this one succeeds after all."""
        found, front = {name}, [name]
        while front:
            front = [other for here in front for other in self.dag.dependents[here]
                     if other in self._doomed and other not in found and freeable(other)]
            found.update(front)
        freed = {name}
        for other in sorted(found - {name}, key=self.dag.rank):
            if freed.issuperset(self.unmet(other)):
                freed.add(other)
        return sorted(freed - {name}, key=self.dag.rank)

    def reopen(self, names: Iterable[str]) -> list[str]:
        """Take back the ends of actions; returns the dependents that wait for them again."""
        again = set(names)
        for name in again:
            self.outcomes.pop(name, None)
            self.waived.discard(name)
            self._doomed.discard(name)
            self.held.pop(name, None)
        others = {other for name in again for other in self.dag.dependents[name]
                  if other not in self.outcomes and other not in self._doomed} - again
        for name in again | others:
            self._waiting[name] = sum(
                needed not in self.outcomes for needed in self.dag.after[name])
            if name in self.held and not self.unmet(name):
                del self.held[name]
        return sorted(others)


EVERYTHING = '*'
"""Name of the lock of all resources; while it is set, no action starts."""


def plain(name: str) -> str:
    """Return the name of a resource as in flow files; see above for names of lent ones."""
    return name.partition('@')[0]


class Claim(NamedTuple):
    """The request of a ready action for its resources; the smallest rank is first."""

    rank: tuple[float, ...]  #: rank of flow, rank of action, order of arrival; unique
    key: tuple[str, str]  #: flow and action
    resources: frozenset[str]


class Resources:
    """The holders of resources, and the locked resources, which no action can take."""

    def __init__(self) -> None:
        self.holders: dict[str, tuple[str, str]] = {}
        self.locked: dict[str, str] = {}
        self._held: dict[tuple[str, str], frozenset[str]] = {}

    def take(self, claim: Claim) -> None:
        """Assign all its resources to a claim."""
        key = claim.key
        self._held[key] = claim.resources
        for name in claim.resources:
            self.holders[name] = key

    def release(self, flow_id: str, action_id: str) -> frozenset[str]:
        """Release the resources of an action; returns their names."""
        held = self._held.pop((flow_id, action_id), _NOTHING)
        for name in held:
            self.holders.pop(name, None)
        return held

    def held_by(self, flow_id: str, action_id: str) -> list[str]:
        """Return the names of the resources that an action holds."""
        return sorted(map(plain, self._held.get((flow_id, action_id), _NOTHING)))

    def holds(self, flow_id: str, action_id: str) -> bool:
        """Return whether an action is at work."""
        return (flow_id, action_id) in self._held

    def free(self, name: str) -> bool:
        """Return whether a resource is neither held nor locked."""
        return name not in self.holders and not self.is_locked(name)

    def is_locked(self, name: str) -> bool:
        """Return whether a resource is locked."""
        return bool(self.locked) and plain(name) in self.locked

    def lock_all(self, reasons: Mapping[str, str]) -> None:
        """Lock resources; `reasons` by name."""
        self.locked.update(reasons)


class Scheduler:
    """
    The waiting claims, in a queue for each resource.

    A claim may start if it is the first in the queue of each of its resources, all of them are
    free, and its flow is below its limit of running actions. The run time of `next` is
    proportional to the number of flows.
    """

    def __init__(self) -> None:
        self.resources = Resources()
        self.claims: dict[tuple[str, str], Claim] = {}
        self._queues: dict[str, list[Claim]] = {}  #: by resource; ended claims are removed lazily
        self._startable: dict[str, list[Claim]] = {}  #: claims whose resources are free, by flow
        self._at_work: dict[str, set[tuple[str, str]]] = {}
        self._limits: dict[str, int] = {}
        self._outer: dict[str, tuple[str, ...]] = {}  #: each flow, and those that it nests in
        self._nested: dict[str, tuple[str, str]] = {}  #: the action that runs a flow

    def limit(self, flow_id: str, limit: int, runs_in: tuple[str, str] | None = None) -> None:
        """
        Add a flow with its maximum number of running actions.

        `runs_in`: the flow and action that run it. The actions of a nested flow also count for the
        limits of the outer flows; the action that runs it does not.
        """
        self._limits[flow_id] = limit
        self._at_work.setdefault(flow_id, set())
        self._startable.setdefault(flow_id, [])
        if runs_in is not None:
            self._nested[flow_id] = runs_in
            self._outer[flow_id] = (flow_id, *self._outer.get(runs_in[0], (runs_in[0],)))
            for outer in self._outer[flow_id][1:]:
                self._at_work.setdefault(outer, set()).discard(runs_in)

    def add(self, claim: Claim) -> None:
        """Add a claim to the queues."""
        if claim.key in self.claims:
            self.withdraw(*claim.key)
        self.claims[claim.key] = claim
        for name in claim.resources:
            heapq.heappush(self._queues.setdefault(name, []), claim)
        self._offer(claim)

    def withdraw(self, flow_id: str, action_id: str) -> None:
        """Remove a claim from the queues."""
        claim = self.claims.pop((flow_id, action_id), None)
        if claim is not None:
            self._offer_next(claim.resources)

    def next(self) -> Claim | None:  # noqa: A003
        """Return the first claim that may start, without removing it; None if there is none."""
        if EVERYTHING in self.resources.locked:
            return None
        firsts = map(self._first_of, self._limits)
        return min((claim for claim in firsts if claim is not None), default=None)

    def _first_of(self, flow_id: str) -> Claim | None:
        """Return a flow's first claim that may start; None if there is none or at its limit."""
        for outer in self._outer.get(flow_id, (flow_id,)):
            if len(self._at_work[outer]) >= self._limits.get(outer, math.inf):
                return None
        heap = self._startable[flow_id]
        while heap:
            claim = heap[0]
            if self.claims.get(claim.key) is claim and self._its_turn(claim):
                return claim
            heapq.heappop(heap)
        return None

    def start(self, claim: Claim) -> None:
        """Remove a claim from the queues and assign its resources to it."""
        del self.claims[claim.key]
        self.begin(claim)

    def begin(self, claim: Claim) -> None:
        """Assign its resources to a running action, without a queue."""
        self.resources.take(claim)
        for outer in self._outer.get(claim.key[0], claim.key[:1]):
            self._at_work.setdefault(outer, set()).add(claim.key)

    def end(self, flow_id: str, action_id: str) -> frozenset[str]:
        """Process the end of a running action; returns the resources it held."""
        held = self.resources.release(flow_id, action_id)
        for outer in self._outer.get(flow_id, (flow_id,)):
            if outer in self._at_work:
                self._at_work[outer].discard((flow_id, action_id))
        self._offer_next(held)
        return held

    def unlock(self, names: Collection[str]) -> None:
        """Unlock resources."""
        for name in names:
            self.resources.locked.pop(name, None)
        self._offer_next([name for name in self._queues if plain(name) in names])

    def forget(self, flow_id: str) -> None:
        """Drop the data of an ended flow."""
        runs_in = self._nested.pop(flow_id, None)
        for outer in self._outer.pop(flow_id, ())[1:]:
            if runs_in is not None and self.resources.holds(*runs_in):
                self._at_work.setdefault(outer, set()).add(runs_in)
        self._limits.pop(flow_id, None)
        self._at_work.pop(flow_id, None)
        self._startable.pop(flow_id, None)

    def locked_for(self, flow_id: str, action_id: str) -> str:
        """Return the locked resources that an action waits for, with reasons; '' if none."""
        claim = self.claims.get((flow_id, action_id))
        if claim is None:
            return ''
        locked = self.resources.locked
        return '; '.join(f"'{name}' is locked: {locked[name]}"
                         for name in sorted(
                             {*map(plain, claim.resources), EVERYTHING} & locked.keys()))

    def waiting_for(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """Return (flow id, action id) of each claim on one of these resources."""
        wanted = frozenset(names)
        return [key for key, claim in self.claims.items()
                if EVERYTHING in wanted or not wanted.isdisjoint(map(plain, claim.resources))]

    def _its_turn(self, claim: Claim) -> bool:
        """Return whether the claim is first in all its queues, and all its resources are free."""
        holders, queues = self.resources.holders, self._queues
        for name in claim.resources:
            if name in holders or self.resources.is_locked(name):
                return False
            if queues[name][0] is not claim and self._head(name) is not claim:
                return False
        return True

    def _head(self, name: str) -> Claim | None:
        """Return the first claim that waits for a resource."""
        queue = self._queues.get(name)
        while queue:
            claim = queue[0]
            if self.claims.get(claim.key) is claim:
                return claim
            heapq.heappop(queue)
        self._queues.pop(name, None)
        return None

    def _offer_next(self, names: Iterable[str]) -> None:
        """List the first claims of these resources' queues that may start."""
        for name in names:
            claim = self._head(name)
            if claim is not None:
                self._offer(claim)

    def _offer(self, claim: Claim) -> None:
        """Add a claim to the startable ones, if `_its_turn(claim)`."""
        if self._its_turn(claim):
            heapq.heappush(self._startable[claim.key[0]], claim)
