# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""What follows an error: the same again, a fallback, or the end."""

from __future__ import annotations

import random

from .action import Action
from .states import ErrorCode, Outcome

NOT_TRIED_AGAIN = frozenset({
    ErrorCode.CANCELED, ErrorCode.STOP_UNCONFIRMED, ErrorCode.INTERRUPTED, ErrorCode.GOAL_INVALID,
    ErrorCode.SAFETY_NOT_READY, ErrorCode.SAFETY_STALE, ErrorCode.ESTOP, ErrorCode.LEASE_LAPSED,
})
"""Errors that the same try again can't mend, or must not."""


def after_error(action: Action, rng: random.Random) -> float | Outcome | None:
    """
    Return the seconds until the same try again, the outcome if it ends, or None for a fallback.

    An interrupted action always asks: whether its motion was executed is not known. Errors of
    `NOT_TRIED_AGAIN` go to a fallback only if a person decides there.
    """
    code, retry = action.error_code, action.spec.retry
    strategies = action.spec.fallback[action.next_fallback:]
    if action.cancel_requested:
        return Outcome.CANCELED
    if code is ErrorCode.STOP_UNCONFIRMED or action.strategy == 'give_up':
        return Outcome.FAILED
    if code is ErrorCode.INTERRUPTED:
        return None
    if code not in NOT_TRIED_AGAIN and action.tries < retry.times:
        delay = min(retry.delay * retry.factor ** min(action.tries, 64), retry.max_delay)
        return delay * (1 + retry.jitter * rng.uniform(-1, 1))
    if strategies and (code not in NOT_TRIED_AGAIN or strategies[0].strategy == 'ask'):
        return None
    return Outcome.FAILED
