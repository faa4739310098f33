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

`Dependencies` is the waiting of one flow, in time proportional to what changes. `Resources` is
shared by all flows; an action takes all it needs at once or nothing, so there is no deadlock, and
what a waiting action needs is kept from those behind it, so nobody waits for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..lifecycle.states import Outcome

_MET: dict[str, frozenset[Outcome]] = {
    'unconditional': frozenset(Outcome),
    'completion': frozenset({Outcome.SUCCEEDED, Outcome.FAILED}),
    'success': frozenset({Outcome.SUCCEEDED}),
}
"""For each kind of dependency the outcomes that meet it; any other outcome can't any more."""


class Dependencies:
    """Counts, for each action, what it still waits for."""

    def __init__(self, after: Mapping[str, Mapping[str, str]]) -> None:
        self._waiting = {name: len(needs) for name, needs in after.items()}
        self._dependents: dict[str, list[tuple[str, str]]] = {name: [] for name in after}
        for name, needs in after.items():
            for needed, kind in needs.items():
                self._dependents[needed].append((name, kind))
        self._settled: set[str] = set()

    def ready(self) -> list[str]:
        """Return the actions that wait for nothing."""
        return [name for name, count in self._waiting.items()
                if count == 0 and name not in self._settled]

    def ended(self, name: str, outcome: Outcome) -> tuple[list[str], list[tuple[str, str]]]:
        """
        Take in how an action ended.

        Returns the actions that have become ready, and those that never will be, each with the
        action that is to blame.
        """
        self._settled.add(name)
        ready: list[str] = []
        skipped: list[tuple[str, str]] = []
        for dependent, kind in self._dependents[name]:
            if dependent in self._settled:
                continue
            if outcome in _MET[kind]:
                self._waiting[dependent] -= 1
                if self._waiting[dependent] == 0:
                    ready.append(dependent)
            else:
                self._settled.add(dependent)
                skipped.append((dependent, name))
        return ready, skipped


@dataclass(order=True)
class Claim:
    """An action that is ready to start; the smallest claim goes first."""

    rank: tuple[int, int, int]  #: minus priority of the flow, of the action; order of arrival
    flow_id: str = field(compare=False)
    action_id: str = field(compare=False)
    resources: frozenset[str] = field(compare=False)


class Resources:
    """Who holds what. A locked resource is held by nobody and free for nobody."""

    def __init__(self) -> None:
        self.holders: dict[str, tuple[str, str]] = {}
        self.locked: dict[str, str] = {}

    def take(self, claim: Claim) -> None:
        """Give the claim all it asks for."""
        for name in claim.resources:
            self.holders[name] = claim.flow_id, claim.action_id

    def release(self, flow_id: str, action_id: str) -> list[str]:
        """Free what an action holds; returns the names."""
        held = self.held_by(flow_id, action_id)
        for name in held:
            del self.holders[name]
        return held

    def held_by(self, flow_id: str, action_id: str) -> list[str]:
        """Return the names of what an action holds."""
        owner = flow_id, action_id
        return [name for name, holder in self.holders.items() if holder == owner]

    def lock_all(self, reasons: Mapping[str, str]) -> None:
        """Keep resources from everybody until they are unlocked; each with its reason."""
        self.locked.update(reasons)

    def unlock(self, names: Iterable[str]) -> None:
        """Let these be used again."""
        for name in names:
            self.locked.pop(name, None)

    def choose(self, claims: Iterable[Claim]) -> list[Claim]:
        """Return the claims that may start now, best first; what they take is theirs then."""
        kept = {*self.holders, *self.locked}
        chosen: list[Claim] = []
        for claim in sorted(claims):
            if claim.resources.isdisjoint(kept):
                chosen.append(claim)
            kept |= claim.resources
        return chosen
