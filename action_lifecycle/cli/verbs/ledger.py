# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `ledger`: rebuilds the ledger of a robot from its journal."""

from __future__ import annotations

import argparse
import asyncio

from ..exits import NotThere
from ...fleet.errors import LedgerUnavailable
from ...fleet.ledger import check_url, open_ledger
from ...fleet.rebuild import rebuild, Rebuilt


def rebuild_ledger(options: argparse.Namespace) -> None:
    """Rebuild a ledger and print the result."""
    check_url(options.url)
    try:
        done = asyncio.run(_rebuild(options))
    except LedgerUnavailable as error:
        raise NotThere(str(error)) from error
    print(f"ledger of robot '{options.robot}': {done.removed} keys removed, filled from "
          f'{options.journal} up to row {done.last}')
    if done.file:
        print(f'{done.saved} rows that only the ledger had are in {done.file}')
    if done.compacted:
        print(f'the journal was compacted: it has not all of the rows up to {done.compacted}')


async def _rebuild(options: argparse.Namespace) -> Rebuilt:
    ledger = open_ledger(options.url, options.robot, journal=options.journal)
    try:
        return await rebuild(options.journal, ledger, other_journal=options.other_journal,
                             folder=options.save_in)
    finally:
        await ledger.close()
