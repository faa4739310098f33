# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Work on requests until killed; the first one never ends.

usage: consumer_process.py URL
"""

import asyncio
import sys

from action_lifecycle.fleet import open_ledger
from action_lifecycle.fleet.consumer import OperationConsumer
import redis.asyncio


class Work:

    def __init__(self, client):
        self.client = client

    def ready(self):
        return True

    async def gather(self, request):
        return {'asked': request.data['text']}

    async def perform(self, operation, gathered):
        if 'motion' in gathered['asked']:
            await operation.start_motion()
        await self.client.set('working', 1)
        await asyncio.Event().wait()


async def main():
    client = redis.asyncio.Redis.from_url(sys.argv[1], decode_responses=True)
    await OperationConsumer(open_ledger(sys.argv[1]), 'requests', 'robots', Work(client),
                            name='first', min_idle=0.3).run()


asyncio.run(main())
