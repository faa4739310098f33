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
