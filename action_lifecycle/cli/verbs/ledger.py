# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `ledger`: rebuilds the ledger of a robot from its journal."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from ..exits import DONE, NotThere


def add_parser(commands: Any) -> None:
    """Add the verb and its subcommands."""
    ledger = commands.add_parser(
        'ledger', help='rebuild the ledger of a robot in Redis',
        description='Rebuild the ledger of a robot in Redis.')
    parts = ledger.add_subparsers(required=True, metavar='COMMAND')
    rebuild = parts.add_parser(
        'rebuild', help='delete the ledger of a robot and fill it again from the journal',
        description='Remove all keys of a robot in Redis, and fill its ledger from its journal. '
        'The nodes of the robot may run meanwhile. User and password come from the environment, '
        'as for the ledger node.',
        epilog='example:\n  action_lifecycle ledger rebuild ~/.ros/action_lifecycle/robot.journal '
        '--url redis://localhost:6379/0',
        formatter_class=argparse.RawDescriptionHelpFormatter)
    rebuild.add_argument('journal', metavar='JOURNAL', help='the journal of the robot')
    rebuild.add_argument('--url', required=True, metavar='URL',
                         help='the Redis server, as parameter ledger_url of the ledger node')
    rebuild.add_argument('--robot', default='robot', metavar='NAME',
                         help='name of the robot in the ledger (default: robot)')
    rebuild.set_defaults(command=run_rebuild)


def run_rebuild(options: argparse.Namespace) -> int:
    """Rebuild a ledger and print the result."""
    from ...fleet.errors import LedgerError, LedgerRefused
    from ...fleet.ledger import check_url
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
    return DONE


async def _rebuild(options: argparse.Namespace) -> Any:
    from ...fleet.ledger import open_ledger
    from ...fleet.sync import rebuild
    ledger = open_ledger(options.url, options.robot, journal=options.journal)
    try:
        return await rebuild(options.journal, ledger)
    finally:
        await ledger.close()
