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

"""Verifiers other than the sensors: a person, a service of any node, a Python callable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from action_lifecycle_msgs.srv import Verify

from .messages import evidence_from, evidence_to
from ..dialogue import OperatorDesk
from ..engine.errors import LifecycleError
from ..lifecycle.checkers import find_checker
from ..lifecycle.ports import Handle, Question, Verdict, VerifyRequest
from ..lifecycle.spec import VerifySpec
from ..ros.lifecycle_node import ManagedNode
from ..ros.timers import Timeout

ANSWERS = ('completed', 'pending', 'error')
LOOK = 0.2
"""Seconds between looks whether the service has appeared."""


class NodeVerifier:
    """Asks whom a flow names; see `lifecycle.ports.Verifier`."""

    def __init__(self, node: ManagedNode, desk: OperatorDesk) -> None:
        self._node = node
        self._desk = desk
        self._clients: dict[str, Any] = {}

    def verify(
        self, spec: VerifySpec, request: VerifyRequest, verdict: Callable[[Verdict], None]
    ) -> Handle:
        """Ask; a service that is not there is waited for, until the caller's time is up."""
        if spec.by == 'operator':
            question = Question(
                'verify', request.flow_id, request.action_id,
                spec.question or f'Is it done? {request.description}', ANSWERS, request.evidence)
            return self._desk.ask(
                question, lambda answer, actor: verdict(Verdict(answer, actor=actor)))
        if spec.by == 'service':
            return _ServiceCall(self._node, self._client(spec.service), request, verdict)
        return Timeout(self._node, 0.0, lambda: verdict(_check(spec.checker, request)))

    def _client(self, name: str) -> Any:
        if name not in self._clients:
            self._clients[name] = self._node.add_client(Verify, name)
        return self._clients[name]


def _check(name: str, request: VerifyRequest) -> Verdict:
    try:
        found = find_checker(name)(request)
    except Exception as error:  # whatever a user's checker raises is its verdict
        return Verdict('error', f'{type(error).__name__}: {error}', actor=name)
    if not isinstance(found, Verdict):
        return Verdict('', f'checker returned {found!r}', actor=name)
    return found


class _ServiceCall:
    """One call of a Verify service."""

    def __init__(
        self, node: ManagedNode, client: Any, request: VerifyRequest,
        verdict: Callable[[Verdict], None],
    ) -> None:
        self._node = node
        self._client = client
        self._request = request
        self._verdict = verdict
        self._over = False
        self._timer: Timeout | None = None
        self._send()

    def _send(self) -> None:
        if not self._client.service_is_ready():
            self._timer = Timeout(self._node, LOOK, self._send)
            return
        request = self._request
        self._client.call_async(Verify.Request(
            flow_id=request.flow_id, action_id=request.action_id, attempt=request.attempt,
            description=request.description,
            evidence=[evidence_to(item) for item in request.evidence],
        )).add_done_callback(self._node.guarded(self._answered))

    def _answered(self, future: Any) -> None:
        if self._over:
            return
        answer = future.result()
        try:
            evidence = [evidence_from(item) for item in answer.evidence]
        except (KeyError, ValueError, LifecycleError) as error:
            self._verdict(Verdict('', f'evidence that makes no sense: {error!r}'))
            return
        self._verdict(Verdict(answer.verdict, answer.reason, evidence, self._client.srv_name))

    def cancel(self) -> None:
        """Take no answer any more."""
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
