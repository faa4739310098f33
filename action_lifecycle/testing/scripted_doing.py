# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a scripted robot does with a goal; it goes on when the process that sent it is gone."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any

from .script import Behaviour
from .scripted_facts import Signals
from .stepped_clock import Later, SteppedClock
from .stepped_world import Future


@dataclass
class SentGoal:
    """A goal, request or publication that a server got; `end`: what it said, '' if nothing yet."""

    server: str
    goal: Any
    at: float  #: s
    end: str = ''


class Doing:
    """What the robot does with a goal; it goes on when the process that has sent it is gone."""

    def __init__(
        self, clock: SteppedClock, signals: Signals, behaviour: Behaviour, sent: SentGoal,
        takes: float | None,
    ) -> None:
        self.behaviour = behaviour
        self.sent = sent
        self.done = Future()  #: of the words at its end
        self.preempted = False  #: by a goal of another client
        self._clock = clock
        self._signals = signals
        self._timer: Later | None = None
        if behaviour.result == 'rejected':
            self._timer = clock.call_later(0.0, lambda: self._end('rejected'))
            return
        takes = behaviour.takes if takes is None else takes
        signals.begin(behaviour.during, clock.time, takes, self)
        if takes < math.inf and behaviour.result != 'none':
            self._timer = clock.call_later(takes, lambda: self.finish(behaviour.result))

    def finish(self, said: str) -> None:
        """End by itself."""
        if not self.done.done():
            self._signals.settle(self, self._clock.time)
            self._signals.begin(self.behaviour.after, self._clock.time, 0.0)
            self._end(said)

    def cancel(self) -> None:
        """Be canceled, as the behaviour says."""
        if not self.done.done() and self.behaviour.stops_on_cancel:
            self._stop_timer()
            self._timer = self._clock.call_later(self.behaviour.stops_in, self.leave)

    def preempt(self) -> None:
        """End, since another client has sent a goal."""
        self.preempted = not self.done.done()
        self.leave('aborted')

    def leave(self, said: str = 'canceled') -> None:
        """End now, before its time."""
        if not self.done.done():
            self._signals.settle(self, self._clock.time)
            self._end(said)

    def _end(self, said: str) -> None:
        self._stop_timer()
        self.sent.end = said
        self.done.set_result(said)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
