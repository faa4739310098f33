# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Calls services: waits for the server, repeats unanswered requests, ends at a time limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
from typing import Any

from rclpy.task import Future

from ..interfaces.limits import message_fault
from ..node.bounded_responses import TooLarge
from ..node.lifecycle_node import ManagedNode
from ..node.timers import Timeout
from ...documents.errors import LifecycleError

POLL_PERIOD = 0.1
"""Polling period (s) for the presence of a server."""


class NoAnswer(LifecycleError):
    """A service is not there or does not respond."""


class NoServer(NoAnswer):
    """A service is not there, and the request was not sent before."""


class WentAway(NoAnswer):
    """A service is not there any more, after the request was sent."""


class InvalidResponse(NoAnswer):
    """A service has responded, and a field of the response is too large."""


@dataclass(frozen=True)
class RetryPolicy:
    """
    How long a call waits, and when it repeats its request; times in s.

    `appear` limits each wait for the server, `answer` the time from the first request to the
    response. `repeat`: delay after which an unanswered request is sent again, since a response may
    be lost during discovery; each delay is `growth` times the one before. Only an idempotent
    request may be repeated. If the server goes away, a call that may repeat its request waits for
    it again; another call fails.
    """

    appear: float = math.inf
    answer: float = math.inf
    repeat: float = math.inf
    growth: float = 1.0

    @classmethod
    def tries(cls, appear: float, answer: float, number: int = 3) -> RetryPolicy:
        """Return a policy of `number` tries with `answer` s each."""
        return cls(appear, number * answer, answer)


class ServiceCall:
    """
    One call of a service, made in the executor's thread of `node`.

    `done` is a future of the response. It raises `NoServer` or `NoAnswer` as `policy` says,
    `NoAnswer` for a response that is not valid, or the `LifecycleError` that `request` raises.
    `request` returns the message and is called for each request; `ready`: whether it may be sent,
    by default whether the server is there.
    """

    def __init__(
        self, node: ManagedNode, client: Any, request: Callable[[], Any], policy: RetryPolicy, *,
        ready: Callable[[], bool] | None = None,
    ) -> None:
        self.done: Any = Future()
        self._node = node
        self._client = client
        self._name = f"service '{client.srv_name}'"
        self._what = f'answer of service {client.srv_name}'
        self._request = request
        self._policy = policy
        self._ready: Callable[[], bool] = ready or client.service_is_ready
        self._sent: list[Any] = []
        self._pause = policy.repeat
        self._repeat_at = self._limit = math.inf
        self._absent_since = node.steady()
        self._timer: Timeout | None = None
        self._over = False
        if self._ready():
            self._send(self._absent_since)
        self._poll_later()

    def on_done(self, callback: Callable[[Any], None]) -> ServiceCall:
        """Call back with `done` at the end; exceptions of the callback are logged."""
        self.done.add_done_callback(self._node.guarded(callback, what=self._what))
        return self

    def cancel(self) -> None:
        """Ignore the response; `done` stays pending."""
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
        self._forget()

    def _poll(self) -> None:
        """Send the request or end the call if it is time to."""
        now, policy = self._node.steady(), self._policy
        if self._sent and not self._client.service_is_ready():
            self._forget()
            self._absent_since, self._pause = now, policy.repeat
            if policy.repeat == math.inf:
                self._fail(WentAway(f'{self._name} went away'))
        if self._over:
            return
        if now >= self._limit:
            self._fail(NoAnswer(f'{self._name} does not answer within {policy.answer:g} s'))
        elif self._sent and now < self._repeat_at:
            pass
        elif self._sent or self._ready():
            self._send(now)
        elif now >= self._absent_since + policy.appear:
            kind = NoServer if self._repeat_at == math.inf else NoAnswer  # inf: nothing was sent
            self._fail(kind(f'{self._name} is not there after {policy.appear:g} s'))
        self._poll_later()

    def _poll_later(self) -> None:
        if not self._over:
            self._timer = Timeout(self._node, POLL_PERIOD, self._poll)

    def _send(self, now: float) -> None:
        try:
            message = self._request()
        except LifecycleError as error:
            self._fail(error)
            return
        self._limit = min(self._limit, now + self._policy.answer)
        self._repeat_at = now + self._pause
        self._pause *= self._policy.growth
        call = self._client.call_async(message)
        self._sent.append(call)
        call.add_done_callback(self._node.guarded(self._answered, what=self._what))

    def _answered(self, call: Any) -> None:
        if self._over:
            return
        response = call.result()
        if fault := str(response) if isinstance(response, TooLarge) else message_fault(response):
            self._fail(InvalidResponse(f'{self._name}: invalid response: {fault}'))
            return
        self._sent.remove(call)
        self.cancel()
        self.done.set_result(response)

    def _fail(self, error: LifecycleError) -> None:
        self.cancel()
        self.done.set_exception(error)

    def _forget(self) -> None:
        for call in self._sent:
            self._client.remove_pending_request(call)
        self._sent.clear()
