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
"""Verifiers besides the sensors: a person, a service of any type, a Python callable."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import Any

from action_lifecycle_msgs.srv import Verify

from .messages import evidence_from, evidence_to
from .operators import KnownFacts
from .verify_service import filled_request, judged, VERIFY
from ..dialogue import ask_for_verdict, OperatorDesk
from ..dialogue.questions import known_facts
from ..engine.errors import LifecycleError
from ..lifecycle.checkers import check
from ..lifecycle.ports import Handle, Verdict, VerifyRequest
from ..lifecycle.spec import VerifySpec
from ..ros.lifecycle_node import ManagedNode
from ..ros.timers import Timeout
from ..ros.types import service_class

LOOK = 0.2
"""Polling period (s) for the service's presence."""
PATIENCE = 5.0
"""Time (s) after which a request without response is repeated for the first time."""


class NodeVerifier:
    """Calls the verifiers that flows name; see `lifecycle.ports.Verifier`."""

    def __init__(
        self, node: ManagedNode, desk: OperatorDesk, facts: KnownFacts,
        call_soon: Callable[[Callable[[], None]], None],
    ) -> None:
        self._node = node
        self._desk = desk
        self._facts = facts
        self._call_soon = call_soon
        self._clients: dict[tuple[str, str], Any] = {}

    def verify(
        self, spec: VerifySpec, request: VerifyRequest, verdict: Callable[[Verdict], None]
    ) -> Handle:
        """Call a verifier; waits for a missing service until the caller cancels."""
        if spec.by == 'operator':
            return ask_for_verdict(self._desk, spec, request, verdict)
        if spec.by == 'service':
            client = self._client(spec)
            facts = known_facts(request.evidence, self._facts())
            return _ServiceCall(self._node, client, spec, request, facts, verdict)
        return _Check(spec.checker, request, verdict, self._call_soon)

    def _client(self, spec: VerifySpec) -> Any:
        key = spec.type, spec.service
        if key not in self._clients:
            self._clients[key] = self._node.add_client(service_class(spec.type), spec.service)
        return self._clients[key]


class _Check:
    """
    One call of a checker, in a separate thread.

    It does not block the node, however long it takes; after `cancel` its result is ignored.
    """

    def __init__(
        self, name: str, request: VerifyRequest, verdict: Callable[[Verdict], None],
        call_soon: Callable[[Callable[[], None]], None],
    ) -> None:
        self._verdict: Callable[[Verdict], None] | None = verdict
        self._call_soon = call_soon
        threading.Thread(
            target=self._run, args=(name, request), name=f'checker {name}', daemon=True).start()

    def _run(self, name: str, request: VerifyRequest) -> None:
        found = check(name, request)
        self._call_soon(lambda: self._found(found))

    def _found(self, verdict: Verdict) -> None:
        if self._verdict is not None:
            self._verdict(verdict)

    def cancel(self) -> None:
        """Take no answer any more."""
        self._verdict = None


class _ServiceCall:
    """
    One request to a service.

    The request is repeated if the server went away and came back. Without a response it is
    repeated, too, with growing pauses, since a response may be lost during discovery.
    """

    def __init__(
        self, node: ManagedNode, client: Any, spec: VerifySpec, request: VerifyRequest,
        facts: dict[str, Any], verdict: Callable[[Verdict], None],
    ) -> None:
        self._node = node
        self._client = client
        self._spec = spec
        self._request = request
        self._facts = facts
        self._verdict = verdict
        self._over = False
        self._sent: list[Any] = []
        self._again = 0.0
        self._timer: Timeout | None = None
        self._look()

    def _look(self) -> None:
        there, now = self._client.service_is_ready(), self._node.steady()
        if not there:
            self._forget()
        elif not self._sent:
            self._send()
            self._again = now + PATIENCE
        elif now >= self._again:
            self._send()
            self._again = now + PATIENCE * 2 ** len(self._sent)
        if not self._over:
            self._timer = Timeout(self._node, LOOK, self._look)

    def _send(self) -> None:
        try:
            message = self._message()
        except LifecycleError as error:
            self._end(Verdict('', str(error), actor=self._client.srv_name))
            return
        call = self._client.call_async(message)
        self._sent.append(call)
        call.add_done_callback(self._node.guarded(
            self._answered, what=f'answer of service {self._client.srv_name}'))

    def _message(self) -> Any:
        request = self._request
        if self._spec.type != VERIFY:
            return filled_request(self._spec, request, self._facts)
        return Verify.Request(
            flow_id=request.flow_id, action_id=request.action_id, attempt=request.attempt,
            description=request.description,
            evidence=[evidence_to(item) for item in request.evidence])

    def _answered(self, future: Any) -> None:
        if self._over:
            return
        answer, name = future.result(), self._client.srv_name
        if self._spec.type != VERIFY:
            self._end(judged(self._spec, self._request, answer, name))
            return
        try:
            evidence = [evidence_from(item) for item in answer.evidence]
        except (KeyError, ValueError, LifecycleError) as error:
            self._end(Verdict('', f'the evidence is not valid: {error!r}', actor=name))
        else:
            self._end(Verdict(answer.verdict, answer.reason, evidence, name))

    def _end(self, verdict: Verdict) -> None:
        self.cancel()
        self._verdict(verdict)

    def _forget(self) -> None:
        for call in self._sent:
            self._client.remove_pending_request(call)
        self._sent = []

    def cancel(self) -> None:
        """Take no answer any more."""
        self._over = True
        self._forget()
        if self._timer is not None:
            self._timer.cancel()
