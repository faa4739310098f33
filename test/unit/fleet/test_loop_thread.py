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

"""Whatever runs in the thread of the network is ended, at whatever moment."""

from __future__ import annotations

import threading
import time

from action_lifecycle.fleet.backends.redis.connection import connect
from action_lifecycle.fleet.loop_thread import LoopThread


def test_thread_ends_what_talks_to_the_server_at_any_moment(redis_server):
    for pause in range(20):
        thread = LoopThread()
        talking = threading.Event()

        async def talk(talking=talking):
            client = connect(redis_server.url)
            try:
                while True:
                    await client.ping()
                    talking.set()
            finally:
                await client.connection_pool.disconnect()
        ended = thread.submit(talk())
        assert talking.wait(10)
        time.sleep(pause * 1e-4)
        thread.stop()
        assert ended.cancelled()
