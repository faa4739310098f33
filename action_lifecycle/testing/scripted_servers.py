# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The servers, services and subscribers of a scripted robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from .script import Behaviour, Behaviours
from .scripted_doing import Doing, SentGoal
from .scripted_facts import Signals
from .scripted_goals import goal_of, ScriptedGoal
from .stepped_clock import SteppedClock
from .stepped_world import Sender
from ..work.bridge_work import BridgeWork

DEFAULT = Behaviour()


class ScriptedServers:
    """Does the steps as their `Behaviour` says; `goals`: all that were sent, in order."""

    def __init__(
        self, clock: SteppedClock, signals: Signals, behaviours: Mapping[str, Behaviours]
    ) -> None:
        self.goals: list[SentGoal] = []
        self._clock = clock
        self._signals = signals
        self._behaviours = behaviours
        self._counts: dict[str, int] = {}
        self._doings: dict[str, Doing] = {}
        self._foreign: dict[str, float] = {}  #: end (s) of another client's goal, by server

    def send(self, work: BridgeWork, goal: Any, key: str, sender: Sender) -> ScriptedGoal:
        """Begin a step; see `stepped_world.Server`."""
        behaviour = self.next_behaviour(work.name, sender.action_id)
        found = goal_of(work, sender)
        found.send(partial(self.begin, work.name, goal, key, behaviour),
                   missing=behaviour.result == 'missing')
        return found

    def follow(self, work: BridgeWork, key: str, sender: Sender) -> ScriptedGoal:
        """Follow a step that an earlier process may have begun."""
        found = goal_of(work, sender)
        found.follow(self._doings.get(key))
        return found

    def begin_foreign(self, name: str, seconds: float) -> None:
        """Accept a goal of another client, which ends those that are executed."""
        self._foreign[name] = self._clock.time + seconds
        for doing in self._doings.values():
            if doing.sent.server == name:
                doing.preempt()

    def foreign_goals(self, name: str) -> Sequence[str]:
        """Return the ids of other clients' goals; see `stepped_world.Server`."""
        return ['of an operator'] if self._foreign.get(name, 0.0) > self._clock.time else []

    def begin(
        self, name: str, goal: Any, key: str, behaviour: Behaviour | None = None,
        takes: float | None = None,
    ) -> Doing:
        """Begin what the behaviour of `name` says; `takes`: seconds instead of its own."""
        sent = SentGoal(name, goal, self._clock.time)
        self.goals.append(sent)
        self._foreign.pop(name, None)  # preempted
        self._doings[key] = doing = Doing(
            self._clock, self._signals, behaviour or self.next_behaviour(name), sent, takes)
        return doing

    def doing(self, key: str) -> Doing | None:
        """Return what is or was done with this key."""
        return self._doings.get(key)

    def count(self, name: str) -> int:
        """Return how many goals a server got."""
        return sum(goal.server == name for goal in self.goals)

    def next_behaviour(self, name: str, action_id: str = '') -> Behaviour:
        """Return the next behaviour, of this server for this action if there is one."""
        if f'{name}@{action_id}' in self._behaviours:
            name = f'{name}@{action_id}'
        given = self._behaviours.get(name, DEFAULT)
        if isinstance(given, Behaviour):
            return given
        index = self._counts.get(name, 0)
        self._counts[name] = index + 1
        return given[min(index, len(given) - 1)] if given else DEFAULT
