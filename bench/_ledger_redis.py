# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Measures the cost of the ledger in Redis for bench/ledger.py, with a separate redis-server.

sync_vs_pipeline: rows per second from the journal file to the ledger, relative to redis-py
    pipelining the same bytes from memory in the same batches (one XADD and one HSET per row).
    Above 1 is faster.
offline_mb_per_million: growth (MB) of the resident memory of a process that syncs a backlog of
    `events` rows, scaled to a million rows.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from _redis_server import start_redis
from action_lifecycle.fleet import RedisLedger
from action_lifecycle.fleet.loop_thread import end
from action_lifecycle.fleet.sync import BATCH_ROWS, Synchronizer, SyncStatus
from action_lifecycle.journal import Entry, Journal, JournalReader, Row
import redis

WALK = ('assigned', 'in_progress', 'executing_motion', 'sensor_confirm',
        'status_verification_requested', 'completed', 'terminated')
EVIDENCE = {
    'goal_id': '3fa85f64-5717-4562-b3fc-2c963f66afa6',
    'evidence': {'gripper_gap': {'value': 0.0213, 'stamp': 1795230299.418, 'topic': 'joints'}},
}


def write_journal(path: Path, events: int) -> None:
    """Write a journal of actions that run one after another."""
    with Journal(path) as journal:
        for start in range(0, events, 6000):
            journal.append_many(
                Entry('transition', 'flow', f'pick_{number // 6}', 1, f'to_{WALK[step + 1]}',
                      WALK[step], WALK[step + 1], data=EVIDENCE, final=step == 5,
                      ros_time=1795230299.418)
                for number in range(start, min(start + 6000, events)) for step in (number % 6,))


async def sync(path: Path, url: str) -> None:
    """Sync a whole journal to the ledger."""
    with JournalReader(path) as reader:
        last = reader.last_seq()
    done = asyncio.Event()

    def told(status: SyncStatus) -> None:
        if status.ledger_seq == last:
            done.set()

    running = asyncio.ensure_future(Synchronizer(path, RedisLedger(url), told).run())
    await done.wait()
    await end(running)


def pipeline(client: Any, rows: list[Row]) -> None:
    """Write the same rows with redis-py pipelines."""
    for start in range(0, len(rows), BATCH_ROWS):
        pipe = client.pipeline(transaction=False)
        for row in rows[start:start + BATCH_ROWS]:
            fields = {name: '' if value is None else int(value) if name == 'final' else value
                      for name, value in zip(Row._fields, row)}
            pipe.xadd('plain:events', fields, id=f'{row.seq}-0')
            pipe.hset(f'plain:{row.action_id}', mapping=fields)
        pipe.execute()


def sync_vs_pipeline(folder: Path, url: str, events: int, rounds: int) -> float:
    """Return the row rate of the synchronizer relative to that of a pipeline."""
    write_journal(folder / 'journal', events)
    with JournalReader(folder / 'journal') as reader:
        rows = list(reader.rows())
    client = redis.Redis.from_url(url)
    ratios = []
    for _ in range(rounds):
        client.flushall()
        began = time.perf_counter()
        pipeline(client, rows)
        plain = time.perf_counter() - began
        client.flushall()
        began = time.perf_counter()
        asyncio.run(sync(folder / 'journal', url))
        ratios.append(plain / (time.perf_counter() - began))
    client.flushall()
    client.close()
    return statistics.median(ratios)


def offline_mb_per_million(folder: Path, url: str, events: int) -> float:
    """Return the memory growth (MB) of a process that syncs a million rows."""
    client = redis.Redis.from_url(url)
    peaks = []
    for name, size in ('small', 1000), ('large', events):
        path = folder / name
        write_journal(path, size)
        client.flushall()
        peaks.append(int(subprocess.run(
            [sys.executable, __file__, str(path), url], check=True, text=True,
            capture_output=True, env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
        ).stdout))
    client.close()
    return (peaks[1] - peaks[0]) / 1024 * 1e6 / events


def ledger_ratios(folder: Path, events: int) -> dict[str, float]:
    """Return the ratios of the ledger."""
    with tempfile.TemporaryDirectory(prefix='al-') as short:  # at most 107 bytes for a socket
        server, socket = start_redis(short)
        try:
            url = f'unix://{socket}'
            return {'sync_vs_pipeline': sync_vs_pipeline(folder, url, 20_000, 5),
                    'offline_mb_per_million': offline_mb_per_million(folder, url, events)}
        finally:
            server.kill()
            server.wait()


if __name__ == '__main__':
    asyncio.run(sync(Path(sys.argv[1]), sys.argv[2]))
    # Not getrusage: its peak includes the parent's memory before the exec.
    status = Path('/proc/self/status').read_text(encoding='ascii')
    print(status.partition('VmHWM:')[2].split()[0])
