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

A topic that was never seen: not ready, nothing starts. One that says stop, or was seen and then
fell silent: stopped, latched with the first reason until somebody clears it. Only one that says
stop takes the place of a silence, which an orderly end forgets. This is a software guard against
mistakes, not a certified safety function; an emergency stop is wired.

Times are seconds of a steady clock: a watchdog must not stand still with a paused simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
import math
from typing import Any

from .facts import FactSet
from .facts_file import SafetySpec
from .selectors import compile_path, Reader
from ..lifecycle.states import ErrorCode


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
_ORDER = ErrorCode.ESTOP, ErrorCode.SAFETY_STALE, ErrorCode.SAFETY_NOT_READY


class _Guard:
    """One safety topic."""

    def __init__(
        self, label: str, spec: SafetySpec, topic: str, held: Callable[[], float]
    ) -> None:
        self.label = label
        self.spec = spec
        self.topic = topic
        self.read: Reader | None = \
            None if spec.field is None else compile_path(spec.field, spec.type)[0]
        self.seen = -math.inf
        self.set = False
        self._held = held
        self._held_before = 0.0

    def expiry(self) -> float:
        if self.spec.mode != 'heartbeat':
            return math.inf
        deaf = min(self._held() - self._held_before, self.spec.max_age)
        return self.seen + self.spec.max_age + deaf

    def take(self, message: Any, now: float) -> None:
        self.seen = now
        self._held_before = self._held()
        if self.read is not None:
            try:
                self.set = self.stops(self.read(message))
            except (LookupError, AttributeError, ValueError, TypeError):
                self.set = True  # what can't be read does not permit anything

    def stops(self, value: Any) -> bool:
        when = self.spec.stop_when
        said = bool(value) is when if isinstance(when, bool) else bool(value == when)
        return said or bool(value != value)  # a NaN permits nothing

    def trouble(self, now: float) -> SafetyStatus | None:
        topic = self.topic
        if self.seen == -math.inf:
            return SafetyStatus(Safety.NOT_READY, ErrorCode.SAFETY_NOT_READY,
                                f"{self.label} topic '{topic}' was never seen", topic)
        if self.set:
            return SafetyStatus(Safety.STOPPED, ErrorCode.ESTOP,
                                f"{self.label} topic '{topic}' says stop", topic)
        if now >= self.expiry():
            return SafetyStatus(
                Safety.STOPPED, ErrorCode.SAFETY_STALE, f"{self.label} topic '{topic}' has been "
                f'silent for {self.spec.max_age:g} s', topic)
        return None


class SafetyMonitor:
    """
    The latch; `on_change(status)` is called when the status changes.

    `before`: the stop that was latched when whoever was here before has ended. `full_name` gives
    the topics as they are told of. `held`: how long (s, in all) this process was held up and could
    not listen; that is not taken for silence, but for no longer than `max_age` once more.
    """

    def __init__(
        self, facts: FactSet, on_change: Callable[[SafetyStatus], None],
        before: SafetyStatus | None = None, full_name: Callable[[str], str] = str,
        held: Callable[[], float] = float,
    ) -> None:
        estop = [] if facts.estop is None else [('e-stop', facts.estop)]
        self._guards = [
            _Guard(label, spec, full_name(spec.topic), held)
            for label, spec in [*estop, *(('safety', spec) for spec in facts.file.safety)]]
        self._on_change = on_change
        self.status = before or self._judge(-math.inf)

    def specs(self) -> list[SafetySpec]:
        """Return the topics that have to be subscribed."""
        return [guard.spec for guard in self._guards]

    def ingest(self, spec: SafetySpec, message: Any, now: float) -> None:
        """Take a message of the topic of `spec`."""
        self.advance(now)  # a silence that ends now was one
        for guard in self._guards:
            if guard.spec is spec:
                guard.take(message, now)
        self.advance(now)

    def advance(self, now: float) -> None:
        """Judge the topics at `now`."""
        if self.status.state != Safety.STOPPED:
            self._set(self._judge(now))
        elif self.status.code is ErrorCode.SAFETY_STALE:
            status = self._judge(now)
            if status.code is ErrorCode.ESTOP:
                self._set(status)

    def next_deadline(self) -> float:
        """Return when silence would stop the robot; infinite while it is stopped."""
        if self.status.state == Safety.STOPPED:
            return math.inf
        return min((guard.expiry() for guard in self._guards if guard.seen != -math.inf),
                   default=math.inf)

    def clear(self, now: float) -> str:
        """Release the latch; returns why that is not possible, empty if it was."""
        if self.status.state == Safety.STOPPED:
            status = self._judge(now)
            if status.state == Safety.STOPPED:
                return status.reason
            self._set(status)
        return ''

    def _judge(self, now: float) -> SafetyStatus:
        troubles = [trouble for guard in self._guards
                    if (trouble := guard.trouble(now)) is not None]
        return min(troubles, key=lambda trouble: _ORDER.index(trouble.code), default=_READY)

    def _set(self, status: SafetyStatus) -> None:
        if status != self.status:
            self.status = status
            self._on_change(status)
