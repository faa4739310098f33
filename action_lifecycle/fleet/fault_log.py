# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Logs a fault once, however often the same attempt fails."""

from __future__ import annotations

import logging


class FaultLog:
    """Logs the faults of one `subject` as warnings, each once until `clear` is called."""

    def __init__(self, logger: logging.Logger, subject: str) -> None:
        self._logger = logger
        self._subject = subject
        self._last = ''

    def report(self, error: Exception) -> None:
        """Log a fault, unless it is the last one again."""
        if str(error) != self._last:
            self._last = str(error)
            self._logger.warning('%s: %s', self._subject, error)

    def clear(self) -> None:
        """Note that there is no fault any more, so that the next one is logged."""
        self._last = ''
