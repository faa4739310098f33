# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What it costs to sync the journal of one robot.

`_fleet_sync.py sync|bare JOURNAL URL` syncs a journal until it is killed: `sync` with the
Synchronizer of the ledger node, `bare` with a loop that reads the new rows with SQLite ten times a
second and writes the same bytes with redis-py, without any check.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
import contextlib
import os
from pathlib import Path
import sqlite3
import subprocess
import sys
import threading
import time

from _fleet_rig import Server, until
from _ledger_redis import EVIDENCE, WALK
from _nodes import cpu_s
from _process import ros_environment
from action_lifecycle.fleet import RedisLedger
from action_lifecycle.fleet.backends.redis.keys import robot_meta
from action_lifecycle.fleet.sync import POLL_PERIOD, Synchronizer
from action_lifecycle.journal import Entry, Journal, Row
import redis.asyncio

RATE = 20.0  #: rows a second
SECONDS = 20.0
COLUMNS = ', '.join(Row._fields)


@contextlib.contextmanager
def written(path: Path) -> Iterator[None]:
    """Write rows to a journal in a thread, `RATE` a second."""
    ended = threading.Event()

    def write() -> None:
        with Journal(path) as journal:
            start, number = time.monotonic(), 0
            while not ended.wait(max(0.0, start + number / RATE - time.monotonic())):
                action, step = divmod(number, len(WALK) - 1)
                journal.append(Entry(
                    'transition', 'flow', f'pick_{action}', 1, f'to_{WALK[step + 1]}',
                    WALK[step], WALK[step + 1], data=EVIDENCE, final=step == len(WALK) - 2))
                number += 1
    thread = threading.Thread(target=write)
    thread.start()
    try:
        until(path.exists)
        yield
    finally:
        ended.set()
        thread.join()


def points(command: list[str], environment: dict[str, str], ready: Callable[[], object]) -> float:
    """Return the CPU of a process, in points of a core, while rows are written."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        until(ready)
        time.sleep(2.0)
        began, used = time.monotonic(), cpu_s(process.pid)
        time.sleep(SECONDS)
        assert process.poll() is None, command
        return 100 * (cpu_s(process.pid) - used) / (time.monotonic() - began)
    finally:
        process.kill()
        process.wait()


def costs(folder: Path, server: Server) -> dict[str, float]:
    """Return the CPU of the sync alone, of a bare loop, and of the ledger node."""
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
    figures = {}
    for name in 'sync', 'bare':
        path = folder / f'{name}.journal'
        with written(path):
            key = robot_meta('robot') if name == 'sync' else 'bare:events'
            server.client.delete(key)
            figures[f'{name}_points'] = points(
                [sys.executable, __file__, name, str(path), server.url], environment,
                lambda key=key: server.client.exists(key))  # type: ignore[misc]
        server.clear()
    return {**figures, 'sync_vs_bare': figures['sync_points'] / figures['bare_points'],
            **node_costs(folder, server)}


def node_costs(folder: Path, server: Server) -> dict[str, float]:
    """Return the CPU of a ledger node, with and without a ledger; {} without ROS."""
    try:
        from ament_index_python.packages import get_package_prefix
    except ImportError:
        return {}
    program = Path(get_package_prefix('action_lifecycle'), 'lib', 'action_lifecycle', 'ledger')
    environment = {**os.environ, **ros_environment(str(folder))}
    path = folder / 'node.journal'
    command = [str(program), '--ros-args', '-p', 'autostart:=true', '-p',
               f'journal_path:={path}']
    with written(path):
        node = points([*command, '-p', f'ledger_url:={server.url}'], environment,
                      lambda: server.client.exists(robot_meta('robot')))
        began = time.monotonic()
        without = points(command, environment, lambda: time.monotonic() > began + 5.0)
    server.clear()
    return {'node_points': node, 'node_without_ledger_points': without}


async def bare(path: str, url: str) -> None:
    """Sync without any check."""
    client = redis.asyncio.Redis.from_url(url)
    connection = sqlite3.connect(path)
    last = 0
    while True:
        pipe = client.pipeline(transaction=False)
        for row in map(Row._make, connection.execute(
                f'SELECT {COLUMNS} FROM entry WHERE seq > ? ORDER BY seq', (last,))):
            last = row.seq
            fields = {name: '' if value is None else int(value) if name == 'final' else value
                      for name, value in zip(Row._fields, row)}
            pipe.xadd('bare:events', fields, id=f'{row.seq}-0')
            pipe.hset(f'bare:{row.action_id}', mapping=fields)
        await pipe.execute()
        await asyncio.sleep(POLL_PERIOD)


async def sync(path: str, url: str) -> None:
    """Sync as the ledger node does."""
    await Synchronizer(path, RedisLedger(url), lambda status: None).run()


if __name__ == '__main__':
    asyncio.run({'sync': sync, 'bare': bare}[sys.argv[1]](*sys.argv[2:]))
