# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verification of an action, by the verifiers in the flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .runner_base import RunnerBase
from ..ports import Confirmation, Evidence
from ..states import ErrorCode
from ..verification import MAX_PENDING, Verification, Verified
from ..verifier_kinds import SensorVerify
from ..verifiers import VerifyRequest

SENSORS_ONLY = (SensorVerify(by='sensor'),)
"""The verifiers of an action that names none."""


class Verifying(RunnerBase):
    """The states status_verification_requested and pending."""

    def _enter_status_verification_requested(self, elapsed: float = 0.0) -> None:
        action = self.action
        if action.sensors_said == 'confirmed' or (action.spec.steps and not action.spec.confirm):
            self._verify(action.evidence, elapsed)
        else:
            self._confirm('confirm', action.spec.confirm, action.motion_ended or action.changed_at,
                          lambda answer: self._seen(answer, elapsed))

    def _seen(self, answer: Confirmation, elapsed: float) -> None:
        if answer.verdict == 'confirmed':
            self._verify([*answer.evidence, *self.action.evidence], elapsed)
        else:
            self._refused(answer)

    def _verify(self, evidence: Sequence[Evidence], elapsed: float) -> None:
        action, spec = self.action, self.action.spec
        request = VerifyRequest(
            action.flow_id, action.action_id, action.attempt, spec.description, evidence,
            spec.parameters, f'verify:{action.seq}')
        self._under_way.append(Verification(
            spec.verify or SENSORS_ONLY, spec.verify_when, request, self.verifier, self.clock,
            self._unless_changed(lambda verified: self._verified(verified, evidence)), elapsed))

    def _verified(self, answer: Verified, evidence: Sequence[Evidence]) -> None:
        data: dict[str, Any] = {
            'evidence': [*evidence, *answer.evidence], 'actor': answer.actor}
        if self.action.spec.confirm:
            data['sensors_said'] = 'confirmed'
        if answer.verdict == 'completed':
            self._fire('verified', cause=answer.reason or f'verified by {answer.actor}', **data)
        elif answer.verdict == 'error':
            self._fail(answer.error_code, answer.reason, **data)
        elif self.action.pendings >= MAX_PENDING:
            self._fail(ErrorCode.RETRY_EXHAUSTED,
                       f"{answer.actor} answered 'pending' more than {MAX_PENDING} times", **data)
        else:
            self._fire('postpone', cause=answer.reason, **data)

    def _enter_pending(self, elapsed: float = 0.0) -> None:
        self._later(max(0.0, self.action.spec.ask_again - elapsed),
                    lambda: self._fire('ask_again'))
