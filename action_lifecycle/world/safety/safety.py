# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Decides from the e-stop and the other safety topics whether motions may run; fails closed.

NOT_READY: a topic is not received as required, and nothing has moved yet. No motion starts; the
state becomes READY when all topics are received. STOPPED: a topic says stop, or is not received
after something has moved. STOPPED is latched with its first reason until a person clears it; the
reason is replaced only if a topic says stop later. This is a software guard against mistakes, not
a certified safety function; an emergency stop must be wired.

A safety topic must have only one publisher. Messages do not identify their publisher, so with two
it would be unknown which one has released its stop or has stopped publishing.

Times are in s of a steady clock, since the timeouts must also run while a simulation is paused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import IntEnum
import math
from typing import Any

from ..facts.facts import FactSet
from ..facts.facts_file import SafetySpec
from ..facts.safety_topics import SafetyTopic
from ..facts.selectors import header_stamp
from ...lifecycle.states import ErrorCode

BEATS = 3  #: consecutive heartbeats after which a topic counts as received
APART = 0.05  #: minimum time (s) between counted heartbeats; excludes queued ones
LATE = 0.02  #: s; if an evaluation is later than this, the process was blocked
LISTEN = 0.1  #: s; extension of a timeout to read queued messages after a block


class Safety(IntEnum):
    """Safety states, with the numbers of action_lifecycle_msgs/SafetyState."""

    NOT_READY = 0
    READY = 1
    STOPPED = 2


@dataclass(frozen=True)
class SafetyStatus:
    """The safety state and the first reason for it."""

    state: Safety
    code: ErrorCode = ErrorCode.NONE
    reason: str = ''
    topic: str = ''

    @property
    def message(self) -> str:
        """Return the reason; for a stop, also how to clear it."""
        latched = '; latched: check the robot, then call clear_stop with an actor'
        return self.reason + (latched if self.state is Safety.STOPPED else '')


_READY = SafetyStatus(Safety.READY)


class _TopicGuard:
    """One safety topic."""

    def __init__(self, given: SafetyTopic, topic: str) -> None:
        self.spec = spec = given.spec
        self.topic = topic
        self._given = given
        self.unseen = True  #: no valid message from the current publisher yet
        self._name = f"{given.label} topic '{topic}'"
        self._heartbeat = spec.mode == 'heartbeat'
        self._apart = min(APART, spec.max_age / 4)
        self._publishers: Collection[bytes] = frozenset()
        self._says_stop = False
        self._said_stop = -math.inf
        self._lost = ''  #: what was lost, so that its value is not known
        self._fault = ''  #: why the last message does not count
        self._misread = ''  #: why no message counts
        self._seen = -math.inf
        self._beats = 0
        self._counted = -math.inf
        self._spared = -math.inf  #: the timeout is extended until then

    # -- input

    def set_publishers(self, publishers: Collection[bytes]) -> bool:
        """Update the publishers; returns whether one has left, so its value is unknown."""
        before, self._publishers = self._publishers, frozenset(publishers)
        lost = bool(frozenset(before) - self._publishers)
        if lost:
            self.unseen, self._lost = True, 'has lost a publisher'
            self._says_stop = False
            self._fault = ''
            self._beats = 0
        return lost

    def distrust(self, reason: str) -> None:
        """Ignore all messages, as they can't be understood; '': they can again."""
        self._misread = reason
        self.unseen = True
        self._beats = 0

    def lose(self) -> None:
        """Process that messages were lost: one of them may have said stop."""
        if self.spec.field is not None:
            self.unseen, self._lost = True, 'has lost messages, and one may have said stop'
            self._beats = 0

    def take(self, message: Any, now: float, published: float | None, latched: bool) -> None:
        if self._misread:
            return
        if self._given.stops(message):
            self._says_stop, self._said_stop = True, now
        else:
            self._fault = self._fault_of(message, published, latched)
            if self._fault or (latched and not self.unseen):  # a live message is newer
                return
            self._says_stop = False
        self.unseen, self._lost = False, ''
        if latched and self._heartbeat:
            return
        self._seen, self._spared = now, -math.inf
        if now >= self._counted + self._apart or not self._beats:
            self._beats += 1
            self._counted = now

    def _fault_of(self, message: Any, published: float | None, latched: bool) -> str:
        """Return why a message that permits motions does not count."""
        if latched and self._heartbeat:
            return 'a latched message is no heartbeat'
        stamp = None if published is None else header_stamp(message)
        if stamp is None or published is None or abs(published - stamp) <= self.spec.max_age:
            return ''
        how = 'older than' if stamp < published else 'ahead of ROS time by more than'
        return f'its stamps are {how} {self.spec.max_age:g} s'

    # -- state

    def expiry(self) -> float:
        """Return when the heartbeat times out; infinite if it already has or there is none."""
        return self._expiry() if self._heartbeat and self._beats else math.inf

    def _expiry(self) -> float:
        return max(self._seen + self.spec.max_age, self._spared)

    def pass_time(self, now: float, *, spare: bool) -> None:
        """Reset the heartbeat count at the timeout; `spare`: extend it if the process was late."""
        expiry = self.expiry()
        if now < expiry:
            return
        if spare and now > expiry + LATE and self._spared == -math.inf:
            self._spared = min(now + LISTEN, self._seen + 2 * self.spec.max_age)
        if now >= self._expiry():
            self._beats = 0

    def stop_reason(self, now: float) -> str:
        """Return why the topic stops, now or within the last `max_age`; '' if it does not."""
        if self._says_stop:
            return f'{self._name} says stop'
        if now < self._said_stop + self.spec.max_age:
            return f'{self._name} has said stop within the last {self.spec.max_age:g} s'
        return ''

    def doubt(self) -> str:
        """Return why it is unknown whether the topic permits motions; '' if it is known."""
        if self._misread:
            return f'{self._name} is not heard: it {self._misread}'
        count = len(self._publishers)
        why = f': {self._fault}' if self._fault else ''
        if count > 1:
            return f'{self._name} has {count} publishers, and which of them says what can not ' \
                   'be told; give each a topic of its own'
        if self._lost:
            return f'{self._name} {self._lost}{why}'
        if self.unseen:
            return f'{self._name} was never seen{why}'
        if not self._heartbeat or self._beats >= BEATS:
            return ''
        if self._beats:
            return f'{self._name} was not heard {BEATS} times in a row yet'
        return f'{self._name} has been silent for {self.spec.max_age:g} s{why}'


class SafetyMonitor:
    """
    Monitors all safety topics and latches stops; calls `on_change(status)` on each change.

    `before`: the stop that was latched before a restart. `full_name` returns the topic names for
    messages. `moved`: whether a motion has run since activation; from then on, a topic that is not
    received latches a stop.

    If an evaluation is late, this process was blocked. Timeouts are then extended until `LISTEN` s
    after that evaluation, so that queued messages are read, but by at most one `max_age`.
    """

    def __init__(
        self, facts: FactSet, on_change: Callable[[SafetyStatus], None],
        before: SafetyStatus | None = None, full_name: Callable[[str], str] = str,
    ) -> None:
        self._guards = [_TopicGuard(given, full_name(given.spec.topic)) for given in facts.safety]
        self._on_change = on_change
        self.moved = False
        self.status = SafetyStatus(Safety.NOT_READY)
        self.status = before or self._judge(-math.inf)

    def specs(self) -> list[SafetySpec]:
        """Return the topics to subscribe to."""
        return [guard.spec for guard in self._guards]

    def unseen(self, topic: str) -> bool:
        """Return whether a topic (full name) has had no valid message yet."""
        return any(guard.unseen for guard in self._guards if guard.topic == topic)

    def ingest(
        self, spec: SafetySpec, message: Any, now: float, published: float | None = None, *,
        latched: bool = False,
    ) -> None:
        """
        Process a message of the topic of `spec` at steady time `now`.

        `published`: ROS time (s) of publication (for a live message, of arrival); None: unknown.
        `latched`: the message was published before the subscription.
        """
        self.advance(now)  # applies timeouts that ended before this message
        for guard in self._guards:
            if guard.spec is spec:
                guard.take(message, now, published, latched)
        self.advance(now)

    def set_publishers(self, spec: SafetySpec, publishers: Collection[bytes], now: float) -> bool:
        """
        Update the publishers of the topic of `spec`.

        Returns whether one has left; then fetch the latched message again.
        """
        lost = [guard.set_publishers(publishers) for guard in self._guards if guard.spec is spec]
        self.advance(now)
        return any(lost)

    def distrust(self, spec: SafetySpec, reason: str, now: float) -> None:
        """Ignore the messages of the topic of `spec` for a reason; '': they count again."""
        for guard in self._guards:
            if guard.spec is spec:
                guard.distrust(reason)
        self.advance(now)

    def lost(self, spec: SafetySpec, now: float) -> None:
        """Process that messages of the topic of `spec` were lost before `now`."""
        for guard in self._guards:
            if guard.spec is spec:
                guard.lose()
        self.advance(now)

    def advance(self, now: float) -> None:
        """Evaluate the topics at `now`."""
        for guard in self._guards:
            guard.pass_time(now, spare=self.status.state is Safety.READY)
        if self.status.state is not Safety.STOPPED:
            self._set(self._judge(now))
        elif self.status.code is ErrorCode.SAFETY_STALE:
            status = self._judge(now)
            if status.code is ErrorCode.ESTOP:
                self._set(status)

    def next_deadline(self) -> float:
        """Return when the next heartbeat times out; infinite while stopped."""
        if self.status.state is Safety.STOPPED:
            return math.inf
        return min((guard.expiry() for guard in self._guards), default=math.inf)

    def clear(self, now: float) -> str:
        """Clear a latched stop; returns why this is not possible, '' if it is cleared."""
        self.advance(now)
        cause = self.cause(now)
        if not cause and self.status.state is Safety.STOPPED:
            self._set(_READY)
        return cause

    def cause(self, now: float) -> str:
        """Return why a latched stop can't be cleared; '' if it can, or if there is none."""
        return self._judge(now).reason if self.status.state is Safety.STOPPED else ''

    def _judge(self, now: float) -> SafetyStatus:
        for guard in self._guards:
            reason = guard.stop_reason(now)
            if reason:
                return SafetyStatus(Safety.STOPPED, ErrorCode.ESTOP, reason, guard.topic)
        for guard in self._guards:
            reason = guard.doubt()
            if reason and self.moved and self.status.state is Safety.READY:
                return SafetyStatus(Safety.STOPPED, ErrorCode.SAFETY_STALE, reason, guard.topic)
            if reason:
                return SafetyStatus(
                    Safety.NOT_READY, ErrorCode.SAFETY_NOT_READY, reason, guard.topic)
        return _READY

    def _set(self, status: SafetyStatus) -> None:
        if status != self.status:
            self.status = status
            self._on_change(status)
