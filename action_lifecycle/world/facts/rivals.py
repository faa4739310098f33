# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Several publishers of the topic of one fact, or of one frame of tf.

Messages do not tell who sent them, but their numbers may (Fast DDS). So with several publishers
that may give a fact, its newest sample may be contradicted by what another one sends next. A
condition counts only when it has had one result for as long as a sample is valid (`max_age`): then
each publisher that gives the fact has been heard, and none has contradicted. Where numbers tell
the senders, that is not taken for granted: a publisher that has just appeared is waited for, and
while one that gave the fact is silent, the fact is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
from typing import Any, Literal, NamedTuple, Optional

from .arrays import equal

CALM = 1.0  #: s without another value, of a fact whose samples never become stale
ALTERNATING = 2  #: returns to the value before the last one that show a contradiction
OTHERS = 1.0  #: least time (s) for which a message without the fact tells of its publisher
UNHEARD = 10.0  #: s in which a publisher that the graph shows may still look for the subscription
SHOWN = 4  #: nodes named in messages

Sender = Callable[[], Optional[int]]


def unknown_sender() -> int | None:
    """Return None: it is not known who sent a message."""
    return None


@dataclass
class _Publisher:
    """What is known of the publisher that a number tells."""

    gave: float = math.inf  #: when it gave the fact last
    lacked: float = -math.inf  #: when it sent a message without the fact last
    since: float = math.inf  #: since when it has sent only such messages

    def lacks(self, now: float, lasting: float, heard: float) -> bool:
        """Whether it does not give the fact, as far as it was heard."""
        return now < self.lacked + lasting and now >= self.since + heard


class Rivals:
    """
    The publishers of a topic, `nodes`: the full name of the node of each.

    `allowed`: number of publishers whose samples count as one's; None: 1, but more than one may
    publish the topic if only one gives the fact or none contradicts. `sender`: tells which
    publisher sent the message that is processed, None: not known. `frame`: the frame of tf.
    """

    def __init__(self, topic: str, nodes: Sequence[str], allowed: int | None, max_age: float,
                 now: float, sender: Sender, frame: str = '') -> None:
        self.nodes = tuple(nodes)
        self._topic = topic
        self._frame = frame
        self._sender = sender
        self._allowed = allowed
        self._max_age = max_age
        self._publishers: dict[int, _Publisher] = {}  #: those heard, by sender
        self._unnumbered: dict[Any, float] = {}
        """When a message without the fact came last of an unknown sender, by the names in it."""
        self._appeared = now
        self._contradicted = -math.inf  #: time of the last late sample with another value
        self._value: Any = None
        self._before: Any = None  #: the value before the last change
        self._returns: list[float] = []  #: times of the last returns to `_before`
        self._differ = False
        self.changed = now  #: time of the last change of the value

    def sample(self, value: Any, now: float) -> None:
        """Process a sample of the fact."""
        self._note_sender(now)
        if equal(value, self._value):
            return
        if self._value is not None:
            self._differ = True
            if equal(value, self._before):
                self._returns = [*self._returns[1 - ALTERNATING:], now]
        self._before, self._value = self._value, value
        self.changed = now

    def late(self, value: Any, now: float) -> None:
        """Process a sample that is older than one of another publisher that came before."""
        self._note_sender(now)
        if not equal(value, self._value):
            self._contradicted = now

    def _note_sender(self, now: float) -> None:
        sender = self._sender()
        if sender is not None:
            self._publishers[sender] = _Publisher(gave=now)

    def other(self, message: Any, now: float) -> None:
        """
        Process a message without the fact: its publisher does not give it.

        Of an unknown sender that is judged by the names in it; of tf not at all, since nodes
        often send each frame in a message of its own.
        """
        sender = self._sender()
        if sender is not None:
            one = self._publishers.setdefault(sender, _Publisher())
            one.lacked, one.since = now, min(one.since, now)
        elif not self._frame:
            names = getattr(message, 'name', None)
            self._unnumbered[tuple(names) if isinstance(names, (list, tuple)) else None] = now

    def forget(self) -> None:
        """Forget who sent what: after a loss, senders are taken for one another."""
        self._publishers.clear()
        self._unnumbered.clear()

    def settle(self, now: float) -> float:
        """Return for how long (s) a condition must have had its result to count."""
        if self._allowed is not None:
            return math.inf
        lasting = max(self._max_age, OTHERS)
        heard = CALM if self._max_age == math.inf else self._max_age
        giving = [one for one in self._publishers.values() if not one.lacks(now, lasting, heard)]
        others = len(self._publishers) - len(giving) + sum(
            now < last + lasting for last in self._unnumbered.values())
        if len(self.nodes) - others < 2:
            return 0.0
        if not self._frame and 0 < len(self._publishers) < len(self.nodes) \
                and now < self._appeared + UNHEARD:
            return math.inf
        if now < self._contradicted + self._max_age \
                or any(now >= one.gave + self._max_age for one in giving):
            return math.inf
        if self._max_age == math.inf:
            return math.inf if self._differ else CALM
        return self._max_age

    def alternate(self, now: float) -> bool:
        """Whether the samples alternate between two values."""
        return len(self._returns) == ALTERNATING and \
            now < self._returns[0] + ALTERNATING * max(self._max_age, OTHERS)

    @property
    def reason(self) -> str:
        """Return why the fact is not known."""
        nodes = ', '.join(self.nodes[:SHOWN])
        more = len(self.nodes) - SHOWN
        of_frame = self._frame and f"frame '{self._frame}': "
        who = f"{of_frame}'{self._topic}' has {len(self.nodes)} publishers ({nodes}" + (
            f' and {more} more' if more > 0 else '') + ')'
        if self._allowed is not None:
            return f'{who}; the facts file says at most {self._allowed}'
        return f'{who}, and they contradict each other or may: stop all but one, or declare ' \
               "'publishers: any' in the facts file"


class Publishers(NamedTuple):
    """The nodes of all publishers of a topic, whose name in messages is `topic`."""

    topic: str
    nodes: Sequence[str]
    sender: Sender

    def rivals(self, declared: Literal['any'] | int | None, max_age: float, now: float,
               frame: str = '') -> Rivals | None:
        """Return what is to be watched; None if the publishers are those that are declared."""
        if declared == 'any' or len(self.nodes) <= (declared or 1):
            return None
        return Rivals(self.topic, self.nodes, declared, max_age, now, self.sender, frame)
