# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The states after an error: retries, the fallbacks of the flow, questions to a person."""

from __future__ import annotations

from collections.abc import Mapping
import random

from .runner_base import RunnerBase
from ..action import Action
from ..back_off import back_off
from ..ports import Question
from ..spec import FallbackSpec, StrategySpec
from ..states import ActionOutcome, ErrorCode, FOREIGN_GOAL
from ...documents.errors import LifecycleError

NOT_TRIED_AGAIN = frozenset({
    ErrorCode.CANCELED, ErrorCode.STOP_UNCONFIRMED, ErrorCode.INTERRUPTED, ErrorCode.GOAL_INVALID,
    ErrorCode.SAFETY_NOT_READY, ErrorCode.SAFETY_STALE, ErrorCode.ESTOP, ErrorCode.LEASE_LAPSED,
    FOREIGN_GOAL,
})
"""Errors after which there is no unchanged retry."""
BESIDE_OTHERS = {'retry': 'wait', 'take_over': 'allow', 'give_up': ''}
"""What a person may answer about another client's goal: `foreign_goals` of the next attempt."""


class FallingBack(RunnerBase):
    """The states error, fallback_requested and fallback_received."""

    def _enter_error(self, elapsed: float = 0.0) -> None:
        action = self.action
        self._canceled_by = None  # it is recorded
        step = _after_error(action)
        if isinstance(step, ActionOutcome):
            self._end(step, '', action.error_msg)
        elif step is None:
            self._begin(lambda again: self._fire(
                'request_fallback', again, cause=action.error_msg))
        else:
            self._later(max(0.0, step - elapsed), lambda: self._begin(lambda again: self._fire(
                'retry', again, cause=f'try {action.tries + 2} of {action.spec.retry.times + 1}')))

    def _enter_fallback_requested(self) -> None:
        action = self.action
        if action.failed_with is ErrorCode.INTERRUPTED:
            self._ask(FallbackSpec(strategy='ask'), 'resume', 'It was interrupted, and the '
                      'sensors do not show its outcome. Execute the motion again?',
                      action.next_fallback)
            return
        if action.failed_with is FOREIGN_GOAL and action.foreign_policy == 'ask':
            self._ask(FallbackSpec(strategy='ask', options={
                answer: StrategySpec(strategy='retry' if beside else 'give_up')
                for answer, beside in BESIDE_OTHERS.items()}), 'fallback',
                '{{ error }}. retry: when the other goal has ended; take_over: now, which may '
                'end the other goal; give_up', action.next_fallback, BESIDE_OTHERS)
            return
        index = _next_strategy(action)
        # If a person requests a fallback and none is left, ask a person.
        strategy = FallbackSpec(strategy='ask') if index is None else action.spec.fallback[index]
        following = action.next_fallback if index is None else index + 1
        if strategy.strategy == 'ask':
            self._ask(strategy, 'fallback', strategy.question or 'Failed: {{ error }}. Try again?',
                      following)
        else:
            self._take(strategy, following, 'policy', '')

    def _ask(
        self, asked: FallbackSpec, kind: str, text: str, following: int,
        beside: Mapping[str, str] = {},
    ) -> None:
        action = self.action
        options: Mapping[str, StrategySpec] = asked.options or {
            name: StrategySpec(strategy=name) for name in ('retry', 'give_up')}
        self._under_way.append(self.operator.ask(
            Question(kind, action.flow_id, action.action_id, text, tuple(options),
                     action.evidence, key=f'{kind}:{action.seq}',
                     timeout=asked.timeout, default=asked.default,
                     names={**action.spec.parameters, 'error': action.error_msg,
                            'attempt': action.attempt, 'description': action.spec.description}),
            self._unless_changed(lambda answer, actor: self._take(
                options[answer], following, actor, answer, beside.get(answer, ''))),
            self._unless_changed(lambda: self._fallback_failed(
                ErrorCode.FALLBACK_TIMEOUT, f'nobody answered within {asked.timeout:g} s',
                following))))

    def _take(
        self, strategy: StrategySpec, following: int, actor: str, answer: str,
        foreign_goals: str = '',
    ) -> None:
        """Apply a strategy; one that is not valid counts as failed."""
        action = self.action
        try:
            fields = dict(self.specs.fields(strategy))
            self.specs.render({**action.parameters, **strategy.parameters},
                              fields or action.fields)
        except LifecycleError as error:
            self._fallback_failed(
                ErrorCode.PARSE_ERROR, f'fallback {strategy.strategy}: {error}', following)
            return
        data = {name: value for name, value in (
            ('answer', answer), ('foreign_goals', foreign_goals)) if value}
        self._fire('receive_fallback', strategy=strategy.strategy, actor=actor,
                   parameters=dict(strategy.parameters), fields=fields, next_fallback=following,
                   cause=f'{answer or strategy.strategy}, by {actor}', **data)

    def _fallback_failed(self, code: ErrorCode, reason: str, following: int) -> None:
        self._fail(code, f'{reason}; before: {self.action.error_msg}', next_fallback=following)

    def _enter_fallback_received(self) -> None:
        if self.action.strategy == 'give_up':
            self._fail(self.action.failed_with, self.action.error_msg)
        else:
            self._begin(lambda again: self._fire('apply_fallback', again))


def _after_error(action: Action) -> float | ActionOutcome | None:
    """
    Return the delay (s) of the next retry, the outcome if it ends, or None for a fallback.

    An interrupted action always goes to a fallback, since it is unknown whether its motion was
    executed. The error of the action itself counts, not the error of a fallback.
    """
    code, retry = action.failed_with, action.spec.retry
    if action.skip_requested:
        return ActionOutcome.SKIPPED
    if action.cancel_requested:
        return ActionOutcome.CANCELED
    if code is ErrorCode.STOP_UNCONFIRMED or action.strategy == 'give_up' or action.last or (
            action.error_code is ErrorCode.INTERNAL and code is not ErrorCode.INTERNAL):
        return ActionOutcome.FAILED
    if code is ErrorCode.INTERRUPTED:
        return None
    if code is FOREIGN_GOAL and action.foreign_policy == 'ask':
        return None
    waits = code is FOREIGN_GOAL and action.foreign_policy == 'wait'
    if waits or (not action.once and code not in NOT_TRIED_AGAIN and action.tries < retry.times):
        delay = back_off(action.tries + 1, retry.delay, retry.max_delay, retry.factor)
        return delay * (1 + retry.jitter * random.uniform(-1, 1))
    return ActionOutcome.FAILED if _next_strategy(action) is None else None


def _next_strategy(action: Action) -> int | None:
    """
    Return the index of the next fallback, None if there is none.

    After an error in `NOT_TRIED_AGAIN`, only fallbacks that ask a person or give up are used.
    GOAL_INVALID is an exception, since other values may be valid.
    """
    by_person = action.failed_with in NOT_TRIED_AGAIN \
        and action.failed_with is not ErrorCode.GOAL_INVALID
    for index in range(action.next_fallback, len(action.spec.fallback)):
        if not by_person or action.spec.fallback[index].strategy in ('ask', 'give_up'):
            return index
    return None
