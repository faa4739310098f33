# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `ledger`: rebuilds the ledger of a robot from its journal."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from ..exits import NotThere
from ...fleet.errors import LedgerError, LedgerRefused
from ...fleet.ledger import check_url, open_ledger
from ...fleet.sync import rebuild


def rebuild_ledger(options: argparse.Namespace) -> None:
    """Rebuild a ledger and print the result."""
    check_url(options.url)
    try:
        done = asyncio.run(_rebuild(options))
    except LedgerRefused:
        raise
    except LedgerError as error:
        raise NotThere(f'{options.url}: {error}') from error
    print(f"ledger of robot '{options.robot}': {done.removed} keys removed, filled from "
          f'{options.journal} up to row {done.last}')
    if done.compacted:
        print(f'the journal was compacted: it has not all of the rows up to {done.compacted}')


async def _rebuild(options: argparse.Namespace) -> Any:
    ledger = open_ledger(options.url, options.robot, journal=options.journal)
    try:
        return await rebuild(options.journal, ledger)
    finally:
        await ledger.close()
