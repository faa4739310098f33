# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Logs each fault of a ledger once, although several parts of a process meet it again and again.

All parts of one robot share a `FaultLog`: its sync, its status, its claims and its streams. They
run in one thread.
"""

from __future__ import annotations

import logging

from .errors import LedgerForbidden, LedgerUnavailable
from ..documents.errors import LifecycleError

_LOG = logging.getLogger(__name__)

LONGEST_DELAY = 10.0
"""Maximum time (s) after which a part tries again what has failed."""


class FaultLog:
    """The faults that the parts of a process have."""

    def __init__(self) -> None:
        self._parts: list[PartFaults] = []

    def part(self, subject: str) -> PartFaults:
        """Return what reports the faults of a part; `subject`: its name in the log."""
        self._parts.append(PartFaults(self, subject))
        return self._parts[-1]

    def has(self, cause: str) -> bool:
        """Return whether a part has a fault now."""
        return any(cause in part.causes for part in self._parts)


class PartFaults:
    """Logs the faults of a part as warnings, if no part has had them since its last success."""

    def __init__(self, log: FaultLog, subject: str) -> None:
        self.causes: set[str] = set()  #: faults may alternate
        self._log = log
        self._subject = subject
        self._broken = False  # at the last attempt

    def report(self, error: Exception) -> None:
        """
        Log a fault, unless a part has it already; what failed will be tried again.

        A connection that breaks is logged if the next one breaks, too: of a server that has ended
        the next attempt tells that it can't be reached.
        """
        unavailable = isinstance(error, LedgerUnavailable)
        broke_before, self._broken = self._broken, getattr(error, 'broken', False)
        if self._broken and not broke_before:
            return
        if self._is_new(error.cause if isinstance(error, LedgerUnavailable) else str(error)):
            # that the server can't be used is not about this part
            about = '' if unavailable and not isinstance(error, LedgerForbidden) \
                else f'{self._subject}: '
            _LOG.warning('%s%s; the robot goes on, tried again in at most %g s', about, error,
                         LONGEST_DELAY, exc_info=not isinstance(error, LifecycleError))

    def warn(self, text: str) -> None:
        """Log what is wrong although the part works: its other faults have ended."""
        self._broken = False
        self.causes &= {text}
        if self._is_new(text):
            _LOG.warning('%s', text)

    def clear(self) -> None:
        """Note that the part has no fault any more, so that the next one is logged."""
        self._broken = False
        self.causes.clear()

    def _is_new(self, cause: str) -> bool:
        known = self._log.has(cause)
        self.causes.add(cause)
        return not known
