# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The functions of the action node for verifiers: calls of services, checks in threads."""

from __future__ import annotations

from collections.abc import Callable
import functools
from typing import Any

from action_lifecycle_msgs.srv import Verify

from .service_verifier import filled_request, judged, service_faults, VERIFY
from ...shared.in_thread import InThread
from ...shared.operators import KnownFacts
from ....dialogue.questions import known_facts
from ....documents.errors import LifecycleError
from ....lifecycle.ports import Handle, Operator, Verdict, VerifyRequest
from ....lifecycle.verifier_kinds import ServiceVerify
from ....ros.calls.service_call import RetryPolicy, ServiceCall
from ....ros.conversions.evidence import evidence_to
from ....ros.interfaces.types import service_class
from ....ros.node.lifecycle_node import ManagedNode
from ....world.evidence_messages import evidence_from

POLICY = RetryPolicy(repeat=5.0, growth=2.0)
"""A service is waited for, and asked again, until the caller cancels."""


class NodeVerifier:
    """The functions of the action node for verifiers; see `lifecycle.verifiers.Verifier`."""

    def __init__(self, node: ManagedNode, operator: Operator, facts: KnownFacts) -> None:
        self.node = node
        self.operator = operator
        self._facts = facts
        self._client = functools.cache(
            lambda kind, service: node.add_client(service_class(kind), service))
        self.service_faults = service_faults

    def in_thread(
        self, name: str, check: Callable[[], Verdict], verdict: Callable[[Verdict], None]
    ) -> Handle:
        """Call a function in a separate thread."""
        return InThread(name, check, verdict, self.node.call_soon)

    def call_service(
        self, spec: ServiceVerify, request: VerifyRequest, verdict: Callable[[Verdict], None]
    ) -> Handle:
        """Call a service; waits for a missing one until the caller cancels."""
        facts = known_facts(request.evidence, self._facts())
        client = self._client(spec.type, spec.service)
        return ServiceCall(
            self.node, client, lambda: _message(spec, request, facts), POLICY,
        ).on_done(lambda done: verdict(_verdict(spec, request, done, client.srv_name)))


def _message(spec: ServiceVerify, request: VerifyRequest, facts: dict[str, Any]) -> Any:
    if spec.type != VERIFY:
        return filled_request(spec, request, facts)
    return Verify.Request(
        flow_id=request.flow_id, action_id=request.action_id, attempt=request.attempt,
        description=request.description, evidence=[evidence_to(item) for item in request.evidence])


def _verdict(spec: ServiceVerify, request: VerifyRequest, done: Any, name: str) -> Verdict:
    if error := done.exception():
        return Verdict('', str(error), actor=name)
    answer = done.result()
    if spec.type != VERIFY:
        return judged(spec, request, answer, name)
    try:
        evidence = [evidence_from(item) for item in answer.evidence]
    except (KeyError, ValueError, LifecycleError) as error:
        return Verdict('', f'the evidence is not valid: {error!r}', actor=name)
    return Verdict(answer.verdict, answer.reason, evidence, name)
