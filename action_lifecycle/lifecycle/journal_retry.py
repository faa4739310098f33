# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Repeats failed journal writes until they succeed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import logging
from typing import Any

from ..documents.errors import LifecycleError

RETRY_PERIOD = 1.0
"""Delay (s) before a failed journal write is repeated."""

Later = Callable[[float, Callable[[], Any]], object]
"""Calls back after a delay (s); see `lifecycle.ports.LifecycleClock.call_later`."""


def until_recorded(
    later: Later, what: str, write: Callable[[], Any], again: Callable[[], Any] | None = None
) -> bool:
    """
    Call `write`; if a journal write in it fails, log this and repeat it until it succeeds.

    `what`: name of the row in the log. `again`: called instead of `write` after a failure.
    Returns whether the first call succeeded.
    """
    try:
        write()
    except (LifecycleError, OSError) as error:
        logging.getLogger('action_lifecycle').error(
            '%s is not recorded, trying again in %.0f s: %s', what, RETRY_PERIOD, error)
        later(RETRY_PERIOD, again or partial(until_recorded, later, what, write))
        return False
    return True
