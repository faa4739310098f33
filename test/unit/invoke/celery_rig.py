# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Real Celery workers on a real Redis server."""

from __future__ import annotations

import os
from pathlib import Path
import re
import subprocess
import sys
import time

from ..fleet.redis_server import RedisServer

TASKS = Path(__file__).parent / 'tasks'


class CeleryRig:
    """A broker and its workers, each of which can be killed."""

    def __init__(self) -> None:
        self.server = RedisServer()
        self.url = self.server.url
        self.workers: list[subprocess.Popen[bytes]] = []
        self.log = self.server.folder / 'workers.log'

    def start_worker(self, concurrency: int = 2, redeliver_after: float = 60.0) -> int:
        """Start a worker and wait until it listens; return its process id."""
        worker = self.launch_worker(concurrency, redeliver_after)
        deadline = time.monotonic() + 30
        ready = f'action_lifecycle-{worker.pid}@'.encode()
        while not re.search(ready + rb'\S+ ready\.', self.log.read_bytes()):
            assert worker.poll() is None and time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)
        return worker.pid

    def launch_worker(
        self, concurrency: int = 2, redeliver_after: float = 60.0, url: str = ''
    ) -> subprocess.Popen[bytes]:
        """Start a worker that reaches the server at `url`, by default the socket of the server."""
        paths = os.pathsep.join([str(TASKS), *filter(None, sys.path)])
        with open(self.log, 'ab') as log:
            worker = subprocess.Popen(
                [sys.executable, '-m', 'action_lifecycle.invoke.celery_worker', '--broker',
                 url or self.url, '--concurrency', str(concurrency), '--redeliver-after',
                 str(redeliver_after), '--log-level', 'info'],
                env={**os.environ, 'PYTHONPATH': paths}, stdout=log, stderr=subprocess.STDOUT)
        self.workers.append(worker)
        return worker

    def kill_workers(self) -> None:
        """End all workers as a power switch would."""
        for worker in self.workers:
            worker.kill()
            worker.wait(10)

    def close(self) -> None:
        """End everything; what the workers have started ends with them."""
        self.kill_workers()
        self.server.close()
