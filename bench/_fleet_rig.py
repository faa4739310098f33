# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The processes of a fleet: a redis-server, and processes with some robots each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
import contextlib
import json
import os
from pathlib import Path
import signal
import sys
import tempfile
import time
from typing import Any

from _fleet_robot import GROUP, STREAM
from _process import Process
from _redis_server import start_redis
from action_lifecycle.fleet.backends.redis.keys import dead_letters
import redis

ROBOT = Path(__file__).with_name('_fleet_robot.py')
PER_PROCESS = 10
LIMIT = 120.0  #: time (s) in which everything has to come to rest


class Server:
    """A redis-server on a Unix socket, and what it holds."""

    def __init__(self, folder: str) -> None:
        self.process, self.socket = start_redis(folder, '--maxclients', '5000')
        self.url = f'unix://{self.socket}'
        self.client = redis.Redis.from_url(self.url, decode_responses=True)
        self.clear()

    def clear(self) -> None:
        """Remove everything; the stream of the work is empty then."""
        self.client.flushall()
        self.client.xgroup_create(STREAM, GROUP, id='0', mkstream=True)

    def submit(self, work: Iterable[str], before: float = 0.0, after: float = 0.0) -> None:
        """Add pieces of work that take so many seconds before and after their motion."""
        pipe = self.client.pipeline(transaction=False)
        for trace_id in work:
            pipe.xadd(STREAM, {'trace_id': trace_id, 'before': before, 'after': after})
        pipe.execute()

    def held(self) -> list[dict[str, Any]]:
        """Return the requests that workers hold; see redis-py's xpending_range."""
        return list(self.client.xpending_range(STREAM, GROUP, '-', '+', 10_000))

    def is_done(self) -> bool:
        """Return whether no request waits or is held."""
        group, = self.client.xinfo_groups(STREAM)
        return group['pending'] == 0 and group['lag'] == 0

    def letters(self) -> list[dict[str, str]]:
        """Return the dead letters."""
        return [letter for _, letter in self.client.xrange(dead_letters(STREAM))]

    def result(self, trace_id: str) -> Any:
        """Return the result of a piece of work; None if there is none."""
        found = self.client.get(f'sg:result:{trace_id}')
        return None if found is None else json.loads(found)

    def close(self) -> None:
        """End the server."""
        self.client.close()
        self.process.kill()
        self.process.wait()


class RobotProcess(Process):
    """A process with some robots; it may be killed, stopped and started again."""

    def __init__(self, folder: str | Path, url: str, names: Sequence[str]) -> None:
        self.names = names
        super().__init__(ROBOT, {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
                         folder, url, *names)

    @property
    def pid(self) -> int:
        """Return the id of the process."""
        return self._process.pid

    def order(self, **order: Any) -> None:
        """Give an order; see _fleet_robot.py."""
        self.tell(json.dumps(order))

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)  # nothing if it has ended


@contextlib.contextmanager
def server() -> Iterator[Server]:
    """Give a redis-server."""
    with tempfile.TemporaryDirectory(prefix='al-') as folder:  # at most 107 bytes for a socket
        started = Server(folder)
        try:
            yield started
        finally:
            started.close()


@contextlib.contextmanager
def fleet(folder: str | Path, url: str, count: int) -> Iterator[list[RobotProcess]]:
    """Give the processes of `count` robots, when all of them are ready."""
    processes: list[RobotProcess] = []
    Path(folder).mkdir(exist_ok=True)
    try:
        for start in range(0, count, PER_PROCESS):
            processes.append(RobotProcess(folder, url, [
                f'robot{number}' for number in range(start, min(count, start + PER_PROCESS))]))
        for process in processes:
            process.line()
        yield processes
    finally:
        for process in processes:
            process.end()


def reports(processes: Iterable[RobotProcess]) -> list[Any]:
    """Return what was measured since the last report, when all rows are in the ledger."""
    processes = list(processes)
    for process in processes:
        process.order(report=True)
    return [json.loads(process.line()) for process in processes]


def until(done: Callable[[], object], limit: float = LIMIT) -> None:
    """Poll until something is so; raises SystemExit after `limit` s."""
    deadline = time.monotonic() + limit
    while not done():
        if time.monotonic() > deadline:
            raise SystemExit('the fleet has not come to rest')
        time.sleep(0.02)
