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

"""Repeats what the journal has refused, until it is recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import logging
from typing import Any

from ..engine.errors import LifecycleError

RETRY_PERIOD = 1.0
"""Delay (s) before a failed journal write is repeated."""

Later = Callable[[float, Callable[[], Any]], object]
"""Calls back after a delay (s); see `lifecycle.ports.Clock.call_later`."""


def until_recorded(
    later: Later, what: str, write: Callable[[], Any], again: Callable[[], Any] | None = None
) -> bool:
    """
    Call `write`; if a journal write in it fails, log this and repeat it until it succeeds.

    `what`: names the row in the log. `again`: is called instead of `write` after a failure.
    Returns whether the first call has succeeded.
    """
    try:
        write()
    except (LifecycleError, OSError) as error:
        logging.getLogger('action_lifecycle').error(
            '%s is not recorded, trying again in %.0f s: %s', what, RETRY_PERIOD, error)
        later(RETRY_PERIOD, again or partial(until_recorded, later, what, write))
        return False
    return True
