# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The built-in kinds of verifiers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from pydantic import Field

from .checkers import check, find_checker
from .question import Handle, Question
from .verifiers import register_verifier, Verdict, Verifier, VerifyRequest, VerifySpec
from ..documents.errors import LifecycleError

ANSWERS = {'yes': 'completed', 'not yet': 'pending', 'no': 'error'}
"""The possible answers of a person, with their verdicts."""


@register_verifier('sensor')
class SensorVerify(VerifySpec):
    """The sensors: the evidence of `confirm` is enough. The default."""

    def uses(self) -> Iterator[tuple[str, str, str]]:
        yield from ()

    def ask(
        self, request: VerifyRequest, verifier: Verifier, verdict: Callable[[Verdict], None]
    ) -> None:
        verdict(Verdict('completed', actor='sensors'))


@register_verifier('operator')
class OperatorVerify(VerifySpec):
    """A person, who answers yes, not yet or no."""

    question: str = Field(default='', description='Template of what the person is asked.')

    late = ('question',)

    def uses(self) -> Iterator[tuple[str, str, str]]:
        yield from ()

    def ask(
        self, request: VerifyRequest, verifier: Verifier, verdict: Callable[[Verdict], None]
    ) -> Handle:
        return verifier.operator.ask(
            Question(
                'verify', request.flow_id, request.action_id,
                self.question or 'Is it done? {{ description }}', tuple(ANSWERS),
                request.evidence, key=request.key, timeout=self.timeout,
                names={**request.parameters, 'attempt': request.attempt, 'error': '',
                       'description': request.description},
                aliases={meaning: answer for answer, meaning in ANSWERS.items()}),
            lambda answer, actor: verdict(Verdict(
                ANSWERS.get(answer, answer), f'{answer}, says {actor}', actor=actor)))


@register_verifier('service')
class ServiceVerify(VerifySpec):
    """A ROS service of any type; by default `action_lifecycle_msgs/srv/Verify`."""

    service: str = Field(default='', description='Name of the service.')
    type: str = Field(default='action_lifecycle_msgs/srv/Verify',  # noqa: A003
                      description='Type of the service, such as std_srvs/srv/Trigger.')
    request: dict[str, Any] = Field(
        default={}, description='Fields of the request, with templates; not for Verify.')
    verdict: str = Field(
        default='', description='Expression over the fields of the response that is true, false, '
        'completed, pending or error; not for Verify.')
    reason: str = Field(
        default='', description='Expression over the fields of the response: the reason.')

    late = ('request',)

    def uses(self) -> Iterator[tuple[str, str, str]]:
        yield 'service', self.service, self.type

    def faults(self) -> Iterator[tuple[str, str]]:
        if not self.service:
            yield '', "a verifier by service needs 'service', its name"

    def faults_in_node(
        self, parameters: Collection[str], verifier: Verifier
    ) -> Iterator[tuple[str, str]]:
        return verifier.service_faults(self, parameters)

    def ask(
        self, request: VerifyRequest, verifier: Verifier, verdict: Callable[[Verdict], None]
    ) -> Handle:
        return verifier.call_service(self, request, verdict)


@register_verifier('checker')
class CheckerVerify(VerifySpec):
    """A registered Python function."""

    checker: str = Field(default='', description='Name of the checker.')

    repeats = False

    def uses(self) -> Iterator[tuple[str, str, str]]:
        yield 'checker', self.checker, 'checker'

    def faults(self) -> Iterator[tuple[str, str]]:
        if not self.checker:
            yield '', "a verifier by checker needs 'checker', its name"

    def faults_in_node(
        self, parameters: Collection[str], verifier: Verifier
    ) -> Iterator[tuple[str, str]]:
        try:
            find_checker(self.checker)
        except LifecycleError as error:
            yield 'checker', str(error)

    def ask(
        self, request: VerifyRequest, verifier: Verifier, verdict: Callable[[Verdict], None]
    ) -> Handle:
        return verifier.in_thread(
            f'checker {self.checker}', lambda: check(self.checker, request), verdict)
