# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Combines the verdicts of several verifiers of one action, with their time limits.

If a response has no valid verdict, the verifier is called again until its timeout; then the
verification fails. A checker is not called again, since it would return the same. Only the verdict
`completed` completes an action.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from .ports import Handle, LifecycleClock
from .states import ErrorCode
from .text_format import printable
from .verifiers import Verdict, VERDICTS, Verifier, VerifyRequest, VerifySpec

MAX_PENDING = 3
"""Maximum number of repeated requests to a verifier that answers pending."""
MAX_REASON = 2000
"""Maximum length of a reason, in characters."""
INVALID_VERDICT_DELAY = 1.0
"""Delay (s) before a verifier is called again after an invalid verdict."""


@dataclass(frozen=True)
class Verified(Verdict):
    """The combined verdict; `error_code` is set if it is `error`."""

    error_code: ErrorCode = ErrorCode.NONE


@dataclass
class _AskedVerifier:
    """One verifier and its response."""

    spec: VerifySpec
    request: VerifyRequest
    handles: list[Handle] = field(default_factory=list)
    nonsense: str = ''
    answer: Verified | None = None


class Verification:
    """
    Calls all verifiers; `done` is called once with the combined verdict.

    `elapsed`: time (s) of their timeouts that had passed before a restart.
    """

    def __init__(
        self, specs: Sequence[VerifySpec], when: str, request: VerifyRequest, verifier: Verifier,
        clock: LifecycleClock, done: Callable[[Verified], None], elapsed: float = 0.0,
    ) -> None:
        self._all = when == 'all'
        self._elapsed = elapsed
        self._verifier = verifier
        self._clock = clock
        self._done: Callable[[Verified], None] | None = done
        self._asked = [
            _AskedVerifier(spec, replace(request, key=f'{request.key}:{index}'))
            for index, spec in enumerate(specs)]
        for asked in self._asked:
            self._start(asked)

    def _start(self, asked: _AskedVerifier) -> None:
        self._ask(asked)  # before the timer, so that a question to a person expires first
        if asked.answer is None and self._done is not None:
            asked.handles.append(self._clock.call_later(
                max(0.0, asked.spec.timeout - self._elapsed), lambda: self._timed_out(asked)))

    def _ask(self, asked: _AskedVerifier) -> None:
        if asked.answer is None and self._done is not None:
            handle = asked.spec.ask(
                asked.request, self._verifier, lambda verdict: self._heard(asked, verdict))
            if handle is not None:
                asked.handles.append(handle)

    def _heard(self, asked: _AskedVerifier, verdict: Verdict) -> None:
        if asked.answer is not None:
            return
        reason = printable(str(verdict.reason), MAX_REASON)
        actor = verdict.actor or asked.spec.by
        if verdict.verdict in VERDICTS:
            code = ErrorCode.VERIFY_FAILED if verdict.verdict == 'error' else ErrorCode.NONE
            self._answered(asked, Verified(verdict.verdict, reason, verdict.evidence, actor, code))
        elif asked.spec.repeats:
            asked.nonsense = printable(
                f'{verdict.verdict!r} {verdict.reason}'.strip(), MAX_REASON)
            asked.handles.append(self._clock.call_later(
                INVALID_VERDICT_DELAY, lambda: self._ask(asked)))
        else:
            self._answered(asked, Verified('error', reason, (), actor, ErrorCode.PARSE_ERROR))

    def _timed_out(self, asked: _AskedVerifier) -> None:
        if asked.answer is not None:
            return
        reason = f'{asked.spec.by}: no verdict within {asked.spec.timeout:g} s'
        code = ErrorCode.VERIFY_TIMEOUT
        if asked.nonsense:
            reason += f', only {asked.nonsense}'
            code = ErrorCode.PARSE_ERROR
        self._answered(asked, Verified('error', reason, (), asked.spec.by, code))

    def _answered(self, asked: _AskedVerifier, answer: Verified) -> None:
        asked.answer = answer
        for handle in asked.handles:
            handle.cancel()
        together = self._together()
        if together is not None and self._done is not None:
            done = self._done
            self.cancel()
            done(together)

    def _together(self) -> Verified | None:
        """Return the combined verdict; None while responses are missing."""
        answers = [asked.answer for asked in self._asked if asked.answer is not None]
        decisive = 'error' if self._all else 'completed'
        for answer in answers:
            if answer.verdict == decisive:
                return answer
        if len(answers) < len(self._asked):
            return None
        for answer in answers:
            if answer.verdict == 'pending':
                return answer
        return answers[-1]

    def cancel(self) -> None:
        """Cancel all requests."""
        self._done = None
        for asked in self._asked:
            for handle in asked.handles:
                handle.cancel()
