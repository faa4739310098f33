# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

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
