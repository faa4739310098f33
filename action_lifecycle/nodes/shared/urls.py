# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks of URLs in parameters, which anybody can read, so that they have no password."""

from __future__ import annotations

from ...fleet.errors import LedgerError
from ...fleet.ledger import check_url


def url_fault(url: str) -> str:
    """Return the fault of a URL of a server; '' if it is valid or empty."""
    try:
        if url:
            check_url(url)
    except LedgerError as error:
        return str(error)
    return ''
