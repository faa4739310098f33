# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Bring a journal into the ledger until killed.

usage: sync_process.py JOURNAL URL
"""

import asyncio
import sys

from action_lifecycle.fleet import RedisLedger
from action_lifecycle.fleet.sync import Synchronizer


async def main():
    await Synchronizer(sys.argv[1], RedisLedger(sys.argv[2]), lambda status: None).run()


asyncio.run(main())
