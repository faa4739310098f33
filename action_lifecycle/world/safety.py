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
Whether motions may run: the e-stop and the other safety topics. It fails closed.

Not ready: a topic was not heard as it has to be, and nothing has moved yet. Nothing starts; it is
ready again by itself. Stopped: a topic says stop, or was not heard after something has moved.
That is latched with the first reason until somebody clears it; only a topic that says stop takes
the place of another reason. This is a software guard against mistakes, not a certified safety
function; an emergency stop is wired.

A message does not tell who published it, so a safety topic has one publisher. With a second one,
nobody knows whose stop was taken back, or who fell silent.

Times are seconds of a steady clock: a watchdog must not stand still with a paused simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import IntEnum
import math
from typing import Any

from .facts import FactSet
from .facts_file import SafetySpec
from .safety_topics import SafetyTopic
from .selectors import compile_path, header_stamp, Reader
from ..lifecycle.states import ErrorCode

BEATS = 3  #: heartbeats in a row after which a topic counts as heard
APART = 0.05  #: s between two heartbeats that count; what was queued comes at once
LATE = 0.02  #: s by which a judgement is late when this process was held up
LISTEN = 0.1  #: s in which a process that was held up reads what has come meanwhile


class Safety(IntEnum):
    """The numbers are those of action_lifecycle_msgs/SafetyState."""

    NOT_READY = 0
    READY = 1
    STOPPED = 2


@dataclass(frozen=True)
class SafetyStatus:
    """The state, and the first reason for it."""

    state: Safety
    code: ErrorCode = ErrorCode.NONE
    reason: str = ''
    topic: str = ''

    @property
    def told(self) -> str:
        """Return the reason, of a stop with what is to be done about it."""
        latched = '; latched: look, then call clear_stop with an actor'
        return self.reason + (latched if self.state is Safety.STOPPED else '')


_READY = SafetyStatus(Safety.READY)


class _Guard:
    """One safety topic."""

    def __init__(self, given: SafetyTopic, topic: str) -> None:
        self.spec = spec = given.spec
        self.topic = topic
        self._given = given
        self.unseen = True  #: nothing that counts has come from the present publisher
        self._name = f"{given.label} topic '{topic}'"
        self._read: Reader | None = \
            None if spec.field is None else compile_path(spec.field, spec.type)[0]
        self._heartbeat = spec.mode == 'heartbeat'
        self._apart = min(APART, spec.max_age / 4)
        self._publishers: Collection[bytes] = frozenset()
        self._says_stop = False
        self._said_stop = -math.inf
        self._lost = False
        self._fault = ''  #: why what has come does not count
        self._seen = -math.inf
        self._beats = 0
        self._counted = -math.inf
        self._spared = -math.inf  #: until when silence is not judged, for this process was late

    # -- what comes

    def set_publishers(self, publishers: Collection[bytes]) -> bool:
        """Take the publishers there are now; whether it is not known any more what they say."""
        before, self._publishers = self._publishers, frozenset(publishers)
        lost = bool(frozenset(before) - self._publishers)
        if lost:
            self.unseen = self._lost = True
            self._says_stop = False
            self._fault = ''
            self._beats = 0
        return lost

    def take(self, message: Any, now: float, published: float | None, latched: bool) -> None:
        if self._stops(message):
            self._says_stop, self._said_stop = True, now
        else:
            self._fault = self._fault_of(message, published, latched)
            if self._fault or (latched and not self.unseen):  # what came live is newer
                return
            self._says_stop = False
        self.unseen = self._lost = False
        if latched and self._heartbeat:
            return
        self._seen, self._spared = now, -math.inf
        if now >= self._counted + self._apart or not self._beats:
            self._beats += 1
            self._counted = now

    def _stops(self, message: Any) -> bool:
        if self._read is None:
            return False
        try:
            return self._given.stops(self._read(message))
        except (LookupError, AttributeError, ValueError, TypeError):
            return True  # what can't be read does not permit anything

    def _fault_of(self, message: Any, published: float | None, latched: bool) -> str:
        """Return why a message that permits motions does not count."""
        if latched and self._heartbeat:
            return 'a latched message is no heartbeat'
        stamp = None if published is None else header_stamp(message)
        if stamp is None or published is None or abs(published - stamp) <= self.spec.max_age:
            return ''
        how = 'older than' if stamp < published else 'ahead of ROS time by more than'
        return f'its stamps are {how} {self.spec.max_age:g} s'

    # -- what is so

    def expiry(self) -> float:
        """Return when silence begins to count; infinite when it does already, or never does."""
        return self._expiry() if self._heartbeat and self._beats else math.inf

    def _expiry(self) -> float:
        return max(self._seen + self.spec.max_age, self._spared)

    def pass_time(self, now: float, *, spare: bool) -> None:
        """Count the heartbeats anew after a silence; `spare`: unless this process was late."""
        expiry = self.expiry()
        if now < expiry:
            return
        if spare and now > expiry + LATE and self._spared == -math.inf:
            self._spared = min(now + LISTEN, self._seen + 2 * self.spec.max_age)
        if now >= self._expiry():
            self._beats = 0

    def stop_reason(self, now: float) -> str:
        """Return that it says stop, or said it just now; else an empty text."""
        if self._says_stop:
            return f'{self._name} says stop'
        if now < self._said_stop + self.spec.max_age:
            return f'{self._name} has said stop within the last {self.spec.max_age:g} s'
        return ''

    def doubt(self) -> str:
        """Return why it is not known to permit motions; else an empty text."""
        count = len(self._publishers)
        why = f': {self._fault}' if self._fault else ''
        if count > 1:
            return f'{self._name} has {count} publishers, and which of them says what can not ' \
                   'be told; give each a topic of its own'
        if self._lost:
            return f'{self._name} has lost a publisher{why}'
        if self.unseen:
            return f'{self._name} was never seen{why}'
        if not self._heartbeat or self._beats >= BEATS:
            return ''
        if self._beats:
            return f'{self._name} was not heard {BEATS} times in a row yet'
        return f'{self._name} has been silent for {self.spec.max_age:g} s{why}'


class SafetyMonitor:
    """
    The latch; `on_change(status)` is called when the status changes.

    `before`: the stop that was latched when whoever was here before has ended. `full_name` gives
    the topics as they are told of. `moved`: whether a motion is under way or was since the node
    was activated; from then on, a topic that is not heard is latched as a stop.

    A judgement that comes late shows that this process was held up and could not listen. Silence
    then counts when what has come meanwhile was read, `LISTEN` s later, at most one `max_age`.
    """

    def __init__(
        self, facts: FactSet, on_change: Callable[[SafetyStatus], None],
        before: SafetyStatus | None = None, full_name: Callable[[str], str] = str,
    ) -> None:
        self._guards = [_Guard(given, full_name(given.spec.topic)) for given in facts.safety]
        self._on_change = on_change
        self.moved = False
        self.status = SafetyStatus(Safety.NOT_READY)
        self.status = before or self._judge(-math.inf)

    def specs(self) -> list[SafetySpec]:
        """Return the topics that have to be subscribed."""
        return [guard.spec for guard in self._guards]

    def unseen(self, topic: str) -> bool:
        """Return whether nothing that counts has come on a topic, by its full name."""
        return any(guard.unseen for guard in self._guards if guard.topic == topic)

    def ingest(
        self, spec: SafetySpec, message: Any, now: float, published: float | None = None, *,
        latched: bool = False,
    ) -> None:
        """
        Take a message of the topic of `spec`.

        `published`: ROS time at which it was published (of a live one, at which it came); None:
        not known. `latched`: it was published before it was asked for.
        """
        self.advance(now)  # a silence that ends now was one
        for guard in self._guards:
            if guard.spec is spec:
                guard.take(message, now, published, latched)
        self.advance(now)

    def set_publishers(self, spec: SafetySpec, publishers: Collection[bytes], now: float) -> bool:
        """
        Take the publishers that the topic of `spec` has now.

        Returns whether one has gone: what was latched has to be fetched anew.
        """
        lost = [guard.set_publishers(publishers) for guard in self._guards if guard.spec is spec]
        self.advance(now)
        return any(lost)

    def advance(self, now: float) -> None:
        """Judge the topics at `now`."""
        for guard in self._guards:
            guard.pass_time(now, spare=self.status.state is Safety.READY)
        if self.status.state is not Safety.STOPPED:
            self._set(self._judge(now))
        elif self.status.code is ErrorCode.SAFETY_STALE:
            status = self._judge(now)
            if status.code is ErrorCode.ESTOP:
                self._set(status)

    def next_deadline(self) -> float:
        """Return when silence would begin to count; infinite while the robot is stopped."""
        if self.status.state is Safety.STOPPED:
            return math.inf
        return min((guard.expiry() for guard in self._guards), default=math.inf)

    def clear(self, now: float) -> str:
        """Release the latch; returns why that is not possible, empty if it was."""
        self.advance(now)
        if self.status.state is Safety.STOPPED:
            status = self._judge(now)
            if status.state is not Safety.READY:
                return status.reason
            self._set(status)
        return ''

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
