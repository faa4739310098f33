# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Decides what follows an error: a retry, a fallback, or the end."""

from __future__ import annotations

import random

from ..action import Action
from ..states import ActionOutcome, ErrorCode

NOT_TRIED_AGAIN = frozenset({
    ErrorCode.CANCELED, ErrorCode.STOP_UNCONFIRMED, ErrorCode.INTERRUPTED, ErrorCode.GOAL_INVALID,
    ErrorCode.SAFETY_NOT_READY, ErrorCode.SAFETY_STALE, ErrorCode.ESTOP, ErrorCode.LEASE_LAPSED,
})
"""Errors after which there is no unchanged retry."""


def after_error(action: Action, rng: random.Random) -> float | ActionOutcome | None:
    """
    Return the delay (s) of the next retry, the outcome if it ends, or None for a fallback.

    An interrupted action always goes to a fallback, since it is unknown whether its motion was
    executed. The error of the action itself counts, not the error of a fallback.
    """
    code, retry = action.failed_with, action.spec.retry
    if action.cancel_requested:
        return ActionOutcome.CANCELED
    if code is ErrorCode.STOP_UNCONFIRMED or action.strategy == 'give_up' or action.last or (
            action.error_code is ErrorCode.INTERNAL and code is not ErrorCode.INTERNAL):
        return ActionOutcome.FAILED
    if code is ErrorCode.INTERRUPTED:
        return None
    if code not in NOT_TRIED_AGAIN and action.tries < retry.times:
        delay = min(retry.delay * retry.factor ** min(action.tries, 64), retry.max_delay)
        return delay * (1 + retry.jitter * rng.uniform(-1, 1))
    return ActionOutcome.FAILED if next_strategy(action) is None else None


def next_strategy(action: Action) -> int | None:
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
