# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A publication: one message, or messages at a rate until a condition, and a last one."""

from __future__ import annotations

from collections.abc import Callable
import math
import threading
from typing import Any

from rclpy.duration import Duration
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from rclpy.task import Future

from .goal_end import GoalEnd
from ..interfaces.type_hashes import other_receiver
from ..interfaces.types import message_class
from ..node.lifecycle_node import ManagedNode
from ..node.timers import Timeout
from ...lifecycle.ports import Condition, Confirmation, Handle
from ...lifecycle.states import ErrorCode
from ...lifecycle.text_format import answer_text
from ...work.publish import PublishSpec

POLL_PERIOD = 0.02  #: polling period (s) for subscribers and acknowledgements
DELIVERY = 2.0  #: maximum time (s) for all subscribers to acknowledge a message
GRACE = 2.0
"""Time (s) after `within` at which a publication ends without a verdict on its condition."""

UNACKNOWLEDGED = "'finally' was not acknowledged"
Watch = Callable[[Condition, Callable[[Confirmation], None]], Handle]
"""Watches a condition over facts; calls back once, which may be at once."""


class PublishGoal:
    """
    A publication; `done` is a future of its GoalEnd.

    A message counts as delivered when a subscriber is matched and, with reliable QoS, all have
    acknowledged it. Messages follow each other at multiples of the period of ROS time since the
    first one; those that are late are left out. `on_state`: waiting_for_server, sent, publishing,
    canceling, ending. `on_feedback` gets the number of messages.
    """

    def __init__(
        self, node: ManagedNode, spec: PublishSpec, watch: Watch, *,
        on_state: Callable[[str], None], on_feedback: Callable[[Any], None],
    ) -> None:
        self.done: Any = Future()
        self._node = node
        self._spec = spec
        self._watch = watch
        self._on_state = on_state
        self._on_feedback = on_feedback
        qos = spec.qos
        self._publisher = node.keep(
            ('publish', spec.topic, spec.type, qos.reliability, qos.durability, qos.depth),
            lambda: node.create_publisher(message_class(spec.type), spec.topic, _profile(spec)))
        self._name = f"topic '{self._publisher.topic_name}'"
        self._message: Any = None
        self._last: Any = None
        self._count = 0
        self._begun = 0.0  #: ROS time (s) of the first message
        self._slots = 0  #: periods since then
        self._alone_since = math.inf  #: steady time (s) since when nobody subscribes
        self._condition: Handle | None = None
        self._timer: Timeout | None = None
        self._limit: Timeout | None = None
        self._finishing = False
        self._halted = False
        self._lock = threading.Lock()  #: of `halt` and the messages before it

    def send(self, message: Any, last: Any = None) -> None:
        """Publish when a subscriber is there; `last`: the message of `finally`."""
        self._message, self._last = message, last
        self._when_heard(self._begin, lambda: self._end(
            '', ErrorCode.SERVER_MISSING, self._nobody(), stopped=True))

    def follow(self, last: Any = None) -> None:
        """End a publication of an earlier process by the message of `finally`."""
        self._count, self._last, self._finishing = 1, last, True  # it may have begun
        if last is None:
            self._end('', ErrorCode.GOAL_UNKNOWN, f'{self._name}: the publication was '
                      'interrupted', stopped=not self._spec.rate, unknown=True)
            return
        self._when_heard(
            lambda: self._send_last(ErrorCode.GOAL_UNKNOWN, f'{self._name}: the interrupted '
                                    "publication was ended by 'finally'", unknown=True),
            lambda: self._end('', ErrorCode.SERVER_MISSING, f'{self._nobody()}; the message of '
                              'finally could not be sent', stopped=False, unknown=True))

    def cancel(self) -> None:
        """Publish no more, and send the message of `finally` at once."""
        if self._finishing or self.done.done():
            return
        self._on_state('canceling')
        if self._count:
            self._finish('', ErrorCode.CANCELED, 'canceled')
        else:
            self._end('', ErrorCode.CANCELED, 'nothing was sent', stopped=True)

    def halt(self) -> None:
        """Publish no more but the message of `finally`; in any thread, before `cancel`."""
        with self._lock:
            again, self._halted = self._halted or self.done.done(), True
            if self._count and self._last is not None and not again:
                self._publisher.publish(self._last)

    def give_up(self) -> None:
        """Stop waiting for acknowledgements."""
        self._end('', ErrorCode.STOP_UNCONFIRMED, f'{self._name}: not acknowledged',
                  stopped=False)

    # -- from the first message to the end

    def _begin(self) -> None:
        other = other_receiver(
            self._node, 'publish', self._publisher.topic_name, self._spec.type)
        if other:
            self._end('', ErrorCode.GOAL_INVALID, f'{self._name}: nothing was sent: {other}',
                      stopped=True)
            return
        self._begun = self._node.now()
        if not self._spec.rate:
            self._publish('sent')
            self._when_delivered(
                lambda: self._finish('succeeded', ErrorCode.NONE, 'sent'),
                lambda: self._finish('', ErrorCode.GOAL_UNANSWERED, f'{self._name}: the message '
                                     f'was not acknowledged within {DELIVERY:g} s', unknown=True))
            return
        spec = self._spec
        self._limit = Timeout(self._node, spec.within + GRACE, lambda: self._judged(Confirmation(
            'failed', error_msg=f'until: no verdict within {spec.within:g} s')), ros_time=True)
        condition = self._watch(self._spec.until_condition(), self._judged)
        if self._finishing:  # it is true already: nothing has to be sent
            condition.cancel()
            return
        self._condition = condition
        self._publish('sent')
        self._on_state('publishing')
        self._tick_later()

    def _tick_later(self) -> None:
        rate, elapsed = self._spec.rate, self._node.now() - self._begun
        self._slots = max(self._slots + 1, math.ceil(elapsed * rate))
        self._timer = Timeout(
            self._node, self._slots / rate - elapsed, self._tick, ros_time=True)

    def _tick(self) -> None:
        if self._finishing:
            return
        now = self._node.steady()
        self._alone_since = math.inf if self._heard() else min(self._alone_since, now)
        if now >= self._alone_since + self._spec.server_timeout:
            self._finish('', ErrorCode.SERVER_VANISHED, self._nobody())
            return
        self._publish()
        self._on_feedback({'messages': self._count})
        self._tick_later()

    def _judged(self, answer: Confirmation) -> None:
        if self._finishing:
            return
        seconds = self._node.now() - self._begun
        if answer.verdict == 'confirmed':
            self._finish('succeeded', ErrorCode.NONE, f'sent {self._count} messages in '
                         f'{seconds:.1f} s', evidence=answer.evidence)
        else:
            code = ErrorCode.UNTIL_TIMEOUT if answer.verdict != 'failed' or not answer.error_code \
                else answer.error_code
            self._finish('', code, f'{self._name}: not true within {self._spec.within:g} s: '
                         + answer_text(answer), evidence=answer.evidence)

    def _finish(self, said: str, code: ErrorCode, message: str, **fields: Any) -> None:
        """Publish no more and end, after the message of `finally`."""
        self._finishing = True
        self._stop_timers()
        if self._last is not None:
            self._send_last(code, message, said=said, **fields)
            return
        # Without `finally`, the end of a stream does not show that something has stopped.
        stopped = said == 'succeeded' or not self._spec.rate
        self._end(said, code, message, stopped=stopped, **fields)

    def _send_last(
        self, code: ErrorCode, message: str, said: str = '', **fields: Any
    ) -> None:
        self._on_state('ending')
        self._publisher.publish(self._last)
        self._when_delivered(
            lambda: self._end(said, code, message, stopped=True, **fields),
            lambda: self._end('', code or ErrorCode.SERVER_VANISHED, f'{message}; {self._name}: '
                              + UNACKNOWLEDGED, stopped=False, **fields))

    def _end(self, said: str, code: ErrorCode, message: str, **fields: Any) -> None:
        if self.done.done():
            return
        self._finishing = True
        self._stop_timers()
        self.done.set_result(GoalEnd(
            said, code, message, ended=self._node.now(), result={'messages': self._count},
            sent=self._count > 0, **fields))

    # -- messages, subscribers, acknowledgements

    def _publish(self, state: str = '') -> None:
        with self._lock:
            if self._halted:
                return
            self._count += 1
            self._publisher.publish(self._message)
        if state:
            self._on_state(state)

    def _heard(self) -> bool:
        """Whether a subscriber of another node is matched."""
        matched: int = self._publisher.get_subscription_count()
        if matched < 2:  # is it only this node, which reads the topic as a fact?
            return matched == 1 and not self._own_subscriptions()
        return matched > self._own_subscriptions()

    def _own_subscriptions(self) -> int:
        node = self._node
        own = node.get_name(), node.get_namespace()
        return sum((info.node_name, info.node_namespace) == own for info in
                   node.get_subscriptions_info_by_topic(self._publisher.topic_name))

    def _nobody(self) -> str:
        return f'nobody subscribes to {self._name} with type {self._spec.type} and matching QoS'

    def _when_heard(self, then: Callable[[], None], never: Callable[[], None]) -> None:
        self._poll(self._heard, self._spec.server_timeout, then, never, 'waiting_for_server')

    def _when_delivered(self, then: Callable[[], None], never: Callable[[], None]) -> None:
        self._poll(lambda: bool(self._heard() and self._publisher.wait_for_all_acked(Duration())),
                   DELIVERY, then, never)

    def _poll(
        self, ready: Callable[[], bool], limit: float, then: Callable[[], None],
        never: Callable[[], None], waits: str = '',
    ) -> None:
        """Call `then` as soon as `ready`, or `never` after `limit` s."""
        end = self._node.steady() + limit

        def look() -> None:
            if self.done.done():
                return
            if ready():
                then()
            elif self._node.steady() >= end:
                never()
            else:
                if waits:
                    self._on_state(waits)
                self._timer = Timeout(self._node, POLL_PERIOD, look)

        look()

    def _stop_timers(self) -> None:
        for open_one in (self._timer, self._limit, self._condition):
            if open_one is not None:
                open_one.cancel()
        self._timer = self._limit = self._condition = None


def _profile(spec: PublishSpec) -> QoSProfile:
    return QoSProfile(
        depth=spec.qos.depth,
        reliability=QoSReliabilityPolicy[spec.qos.reliability.upper()],
        durability=QoSDurabilityPolicy[spec.qos.durability.upper()])
