# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""One call of a service of any type, sent at most once; its response is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
from typing import Any

from rclpy.task import Future

from .goal_end import GoalEnd
from .service_call import InvalidResponse, NoServer, RetryPolicy, ServiceCall, WentAway
from ..interfaces.limits import READ_BYTES
from ..interfaces.responses import ResponseCondition
from ..interfaces.type_hashes import other_receiver
from ..interfaces.types import service_class
from ..node.bounded_responses import bound_responses
from ..node.lifecycle_node import ManagedNode
from ..node.timers import Timeout
from ...documents.errors import LifecycleError
from ...lifecycle.states import ErrorCode
from ...lifecycle.text_format import value_in_words
from ...work.call import CallSpec
from ...world.evidence import Evidence, TruthValue

SETTLED = 0.1
"""
Time (s) from the discovery of a service by a new client to its first request.

A server that has not discovered the client's side for responses yet drops its response.
"""
_IS = {TruthValue.FALSE: 'is false', TruthValue.UNKNOWN: 'is not known'}


class _Client:
    """A client that is kept for all calls of a service."""

    def __init__(self, node: ManagedNode, service: str, type_name: str) -> None:
        self.client = node.create_client(
            service_class(type_name), node.resolve_service_name(service))
        bound_responses(node, self.client, READ_BYTES)
        self.ready_at = math.inf  #: steady time (s)


class OtherDefinition(LifecycleError):
    """A service has another definition of its type; nothing was sent."""


class CallGoal:
    """
    A call; `done` is a future of its GoalEnd.

    `last_word`: time (s) for which a call that was sent still waits for its response after
    `cancel`; a service can't take a request back. `on_state`: waiting_for_server, sent, canceling.
    """

    def __init__(
        self, node: ManagedNode, spec: CallSpec, parameters: Mapping[str, Any], *,
        on_state: Callable[[str], None], last_word: float = math.inf,
    ) -> None:
        self.done: Any = Future()
        self._node = node
        self._spec = spec
        self._success = ResponseCondition(spec.type, spec.success, parameters)
        self._on_state = on_state
        self._last_word = last_word
        self._kept: _Client = node.keep(
            ('call', spec.service, spec.type), lambda: _Client(node, spec.service, spec.type))
        self._client = self._kept.client
        self._name = f"service '{self._client.srv_name}'"
        self._call: ServiceCall | None = None
        self._timer: Timeout | None = None
        self._sent = False
        self._halted = False

    def send(self, request: Any) -> None:
        """Send the request when the service is there."""
        def message() -> Any:
            other = other_receiver(self._node, 'call', self._client.srv_name, self._spec.type)
            if other:
                raise OtherDefinition(f'{self._name} was sent nothing: {other}')
            self._sent = True
            self._on_state('sent')
            return request

        self._call = ServiceCall(
            self._node, self._client, message,
            RetryPolicy(self._spec.server_timeout, self._spec.timeout), ready=self._ready,
        ).on_done(self._answered)
        if not self._sent:
            self._on_state('waiting_for_server')

    def follow(self) -> None:
        """End: a service does not know the request of an earlier process."""
        self._sent = True
        self._end('', ErrorCode.GOAL_UNKNOWN, f'{self._name} may have been called before the '
                  'restart', stopped=False, unknown=True)

    def cancel(self) -> None:
        """End the call if it was not sent; else its response is awaited."""
        if self.done.done():
            return
        if self._sent:
            self._on_state('canceling')
            if self._timer is None and self._last_word < math.inf:
                self._timer = Timeout(self._node, self._last_word, self.give_up)
        else:
            self._end('', ErrorCode.CANCELED, 'nothing was sent', stopped=True)

    def halt(self) -> None:
        """Keep the request from being sent; in any thread, before `cancel`."""
        self._halted = True

    def give_up(self) -> None:
        """Stop waiting for the response."""
        self._end('', ErrorCode.STOP_UNCONFIRMED, f'{self._name} has not answered',
                  stopped=False, unknown=True)

    def _ready(self) -> bool:
        if self._halted or not self._client.service_is_ready():
            return False
        now = self._node.steady()
        self._kept.ready_at = min(self._kept.ready_at, now + SETTLED)
        return now >= self._kept.ready_at

    def _answered(self, done: Any) -> None:
        error = done.exception()
        if error is None:
            self._judge(done.result())
        elif isinstance(error, NoServer):
            self._end('', ErrorCode.SERVER_MISSING, str(error), stopped=True)
        elif isinstance(error, OtherDefinition):
            self._end('', ErrorCode.GOAL_INVALID, str(error), stopped=True)
        elif isinstance(error, InvalidResponse):
            self._end('aborted', ErrorCode.CALL_FAILED, str(error), stopped=True)
        else:
            code = ErrorCode.SERVER_VANISHED if isinstance(error, WentAway) \
                else ErrorCode.MOTION_TIMEOUT
            self._end('', code, f'{error}; it may have been carried out', stopped=False,
                      unknown=True)

    def _judge(self, response: Any) -> None:
        now = self._node.now()
        evidence = self._success.judge(response, self._client.srv_name, now)
        text = getattr(response, 'message', '')
        said = f': {text}' if isinstance(text, str) and text else ''
        if evidence.verdict is TruthValue.TRUE:
            self._end('succeeded', ErrorCode.NONE, f'answered{said}', stopped=True,
                      result=response, evidence=[evidence.as_dict()])
        else:
            self._end('aborted', ErrorCode.CALL_FAILED,
                      f'{self._name}: {_words(evidence)}{said}', stopped=True, result=response,
                      evidence=[evidence.as_dict()])

    def _end(self, said: str, code: ErrorCode, message: str, **fields: Any) -> None:
        if self.done.done():
            return
        for open_one in (self._call, self._timer):
            if open_one is not None:
                open_one.cancel()
        self.done.set_result(GoalEnd(
            said, code, message, ended=self._node.now(), sent=self._sent, **fields))


def _words(evidence: Evidence) -> str:
    values = ', '.join(f'{fact.name} {value_in_words(fact.as_dict())}'
                       for fact in evidence.facts if fact.value is not None
                       and fact.name != evidence.expression)
    note = f': {evidence.note}' if evidence.note else ''
    return f'{evidence.expression} {_IS[evidence.verdict]}' + (values and f' ({values})') + note
