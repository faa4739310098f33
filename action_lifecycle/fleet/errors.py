# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The errors of the ledger."""

from __future__ import annotations

from ..documents.errors import LifecycleError


class LedgerError(LifecycleError):
    """The ledger can't be reached or used; the message names the ledger and the cause."""


class LedgerUnavailable(LedgerError):
    """
    The server of the ledger can't be reached, or reports an error.

    `cause`: the message without the reply of the server, which may differ in each attempt;
    `broken`: a connection was lost while it was used, so the next attempt may tell more.
    """

    def __init__(self, message: str, cause: str = '', broken: bool = False) -> None:
        super().__init__(message)
        self.cause = cause or message
        self.broken = broken


class RequestInvalid(LedgerError):
    """A request of the fleet fails in every try: its flow or its arguments are not valid."""


class LedgerForbidden(LedgerUnavailable):
    """The server of the ledger does not permit its user a command or a key."""


class LedgerRefused(LedgerError):
    """The ledger refused a batch of rows; nothing was written."""
