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
