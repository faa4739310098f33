# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What the middleware tells about the messages of a subscription: the lost ones, how long each waits.

Fast DDS numbers the messages of each publisher, so that a gap shows every loss, and tells when a
message arrived. Cyclone DDS (rmw of Jazzy) does neither: a message is taken for lost if the ones
that wait may have filled the queue, and its arrival is judged by the time of its publication; what
the network lost comes as an event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
import time
from typing import Any

SMOOTHING = 0.25  #: weight of the newest interval between messages
LONGEST_WAIT = 1.0  #: s; after a longer wait in a queue, messages may have been lost
SOME = 0  #: count of lost messages when it is not known


class Arrivals:
    """
    The messages of one subscription with a queue of `depth`.

    `publishers()` returns how many there are now; it is asked only when numbers don't follow.
    """

    def __init__(self, depth: int, publishers: Callable[[], int]) -> None:
        self.wait = 0.0  #: s for which the last message waited until it was read
        self.numbered = True  #: whether the publishers number their messages
        self.sender: int | None = None  #: which publisher sent the last one; None: not known
        self._depth = depth
        self._publishers = publishers
        self._next: list[int] = []  #: expected numbers, by publisher; the last one is the newest
        self._senders: list[int] = []  #: those who are expected to send `_next`
        self._count = 0  #: of senders
        self._sent = 0  #: ns; when the last message was published
        self._interval = math.inf  #: ns between messages
        self._least = self._least_before = math.inf  #: ns from publication until a message is read

    @property
    def heard(self) -> bool:
        """Whether a message has come."""
        return bool(self._next or self._sent)

    def note(self, info: Mapping[str, Any]) -> int | None:
        """Process the info of the next message; returns how many were lost before, None: none."""
        number = info.get('publication_sequence_number')
        if number is None:
            return self._without_number(info.get('source_timestamp', 0))
        arrived = info['received_timestamp']
        self.wait = max(0.0, (time.time_ns() - arrived) * 1e-9) if arrived else 0.0
        expected = self._next
        if expected and expected[-1] == number:
            expected[-1] = number + 1
            return None
        return self._out_of_turn(number)

    def _out_of_turn(self, number: int) -> int | None:
        """Process a number that does not follow the last one."""
        expected = self._next
        if number in expected:  # of another publisher
            at = expected.index(number)
            del expected[at]
            expected.append(number + 1)
            self.sender = self._senders.pop(at)
            self._senders.append(self.sender)
            return None
        there = max(1, self._publishers())
        before = max((each for each in expected if each < number), default=None)
        if before is not None and len(expected) >= there:
            at = expected.index(before)
            del expected[at], self._senders[at]
        left = max(0, len(expected) + 1 - there)
        del expected[:left], self._senders[:left]
        expected.append(number + 1)
        self.sender = self._count = self._count + 1
        self._senders.append(self.sender)
        # a number below all others is the first one of a publisher; one above may be
        return None if before is None else number - before if there == 1 else SOME

    def _without_number(self, sent: int) -> int | None:
        self.numbered = False
        now = time.time_ns()
        delay = now - sent
        self._least = min(self._least, delay)
        self.wait = (delay - min(self._least, self._least_before)) * 1e-9
        gap = max(1, sent - self._sent)
        self._sent = sent
        self._interval = gap if self._interval == math.inf else \
            self._interval + SMOOTHING * (gap - self._interval)
        full = min(LONGEST_WAIT, self._depth * self._interval * 1e-9)
        return SOME if self.wait >= full else None

    def caught_up(self) -> None:
        """Note that no message waits: later ones show anew how long messages take."""
        self._least_before, self._least = self._least, math.inf
