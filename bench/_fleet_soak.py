# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A fleet under faults: processes of robots are killed, stand still, and lose the network.

Each fault hits all robots of a process and lasts longer than their claims, except that a part of
the killed processes is started again at once. Afterwards the robots work until nothing is left,
and everything is judged; see _fleet_world.py.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
import random
import signal
import time

from _fleet_rig import RobotProcess, Server
from _fleet_world import judge, Judged, WORLD, World
from _network import Link, Old
from action_lifecycle.fleet.backends.redis.keys import robot_meta
from action_lifecycle.journal import JournalReader

POLL_PERIOD = 0.1
REST = 120.0  #: time (s) in which all work has to be done after the last fault, at least
CLAIMS = 6  #: the same in lifetimes of a claim


class Soak:
    """A fleet of processes with a network each; a part of them suffers a fault at any time."""

    def __init__(
        self, server: Server, folder: Path, *, processes: int, robots: int, min_idle: float,
        seed: int,
    ) -> None:
        self._server = server
        self._folder = folder
        self._min_idle = min_idle
        self._names = [[f'robot{number * robots + robot}' for robot in range(robots)]
                       for number in range(processes)]
        self._random = random.Random(seed)
        self.works: list[str] = []
        self.counts: Counter[str] = Counter()

    async def run(self, seconds: float, rate: float) -> Judged:
        """Submit `rate` pieces of work a second for a time with faults, then judge the fleet."""
        links = [Link(self._server.socket) for _ in self._names]
        for link in links:
            await link.start()
        self._links = links
        self._processes = list(await asyncio.gather(
            *(self._started(number) for number in range(len(links)))))
        try:
            end = time.monotonic() + seconds
            faults = [asyncio.ensure_future(self._faults(kind, end)) for kind in (
                self._kill, self._stop, self._cut)]
            await self._submit(end, rate)
            await asyncio.gather(*faults)
            await self._until_done()
            return self._judge()
        finally:
            for process in self._processes:
                process.send_signal(signal.SIGCONT)
                process.end()
            for link in links:
                await link.close()

    async def _started(self, number: int) -> RobotProcess:
        process = RobotProcess(self._folder, self._links[number].url, self._names[number])
        await asyncio.to_thread(process.line)
        process.order(work=self._min_idle)
        return process

    async def _submit(self, end: float, rate: float) -> None:
        while (now := time.monotonic()) < end:
            work = f'work{len(self.works)}'
            self.works.append(work)
            self._server.submit([work], before=self._random.uniform(0, self._min_idle),
                                after=self._random.uniform(0, 2 * self._min_idle))
            await asyncio.sleep(min(self._random.expovariate(rate), end - now))

    async def _faults(self, fault: Callable[[int], Awaitable[None]], end: float) -> None:
        """Make one kind of fault again and again, each time to another process."""
        while time.monotonic() < end:
            await asyncio.sleep(self._random.uniform(0.2, 1.0) * self._min_idle)
            number = self._random.randrange(len(self._processes))
            await fault(number)

    async def _kill(self, number: int) -> None:
        process = self._processes[number]
        process.end()
        again_at_once = self._random.random() < 0.5
        self.counts['kills'] += 1
        if not again_at_once:
            await asyncio.sleep(self._longer_than_a_claim())
        self._processes[number] = await self._started(number)

    async def _stop(self, number: int) -> None:
        process = self._processes[number]
        process.send_signal(signal.SIGSTOP)
        self.counts['stops'] += 1
        await asyncio.sleep(self._longer_than_a_claim())
        if process is self._processes[number]:
            process.send_signal(signal.SIGCONT)

    async def _cut(self, number: int) -> None:
        link = self._links[number]
        link.cut()
        self.counts['cuts'] += 1
        await asyncio.sleep(self._longer_than_a_claim())
        link.mend(Old.ENDED if self._random.random() < 0.5 else Old.LATE)

    def _longer_than_a_claim(self) -> float:
        return self._min_idle * self._random.uniform(1.1, 2.5)

    async def _until_done(self) -> None:
        began = time.monotonic()
        while not (self._server.is_done() and self._is_synced()):
            if time.monotonic() > began + max(REST, CLAIMS * self._min_idle):
                raise SystemExit(f'the fleet has not come to rest: {self._server.held()[:5]}, '
                                 f'ledger behind: {self._behind()[:5]}')
            await asyncio.sleep(POLL_PERIOD)

    def _is_synced(self) -> bool:
        return not self._behind()

    def _behind(self) -> list[str]:
        """Return the robots whose journal is not in the ledger."""
        behind = []
        for names in self._names:
            for name in names:
                with JournalReader(self._folder / f'{name}.journal') as reader:
                    last, = reader.rows(after=reader.last_seq() - 1) if reader.last_seq() \
                        else (None,)
                if last is not None and self._server.client.hmget(
                        robot_meta(name), ['seq', 'hash']) != [str(last.seq), last.hash]:
                    behind.append(name)
        return behind

    def _judge(self) -> Judged:
        client = self._server.client
        return judge(World(self._folder / WORLD).lines(), self.works,
                     {work: client.hgetall(f'sg:trace:{work}') for work in self.works},
                     {work: self._server.result(work) for work in self.works},
                     self._server.letters())
