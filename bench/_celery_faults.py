# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The fleet of bench/celery_fleet.py, and the faults that befall it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
import contextlib
import heapq
import itertools
import os
from pathlib import Path
import random
import shutil
import signal
import subprocess
import sys
import time

from _network import Link, Network, Old
import psutil
from unit.invoke.celery_rig import CeleryRig

CONCURRENCY = 3
REDELIVER_AFTER = 5.0
"""Visibility timeout (s); some jobs take longer."""
LONG = 9.0, 16.0
"""How long (s) a process hangs, or a link is cut, that is to exceed the lease of a worker."""
SHORT = 0.2, 4.0


class Member:
    """A worker or a robot: its process and its link to the server."""

    def __init__(self, link: Link, launch: Callable[[str], subprocess.Popen[bytes]]) -> None:
        self.link = link
        self._launch = launch
        self.is_hurt = False
        self.process = launch(link.url)

    def kill(self) -> None:
        """Kill the process, not its child processes."""
        self.process.kill()
        self.process.wait()

    def start(self) -> None:
        """Start a new process."""
        self.process = self._launch(self.link.url)

    def children(self) -> list[psutil.Process]:
        """Return the child processes of the process."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self.process.pid).children(recursive=True)
        return []


class Fleet:
    """A redis-server, workers and robots, each of which can fail."""

    def __init__(
        self, folder: Path, workers: int, robots: int, jobs: int, per_s: float, seed: int
    ) -> None:
        self._random = random.Random(seed)
        self._folder = folder
        self.rig = CeleryRig()
        self._server = self.rig.server
        self._network = Network(f'{self._server.folder}/s')
        self._is_server_hurt = False
        self._mending: list[tuple[float, int, Callable[[], None]]] = []  # a heap
        self._order = itertools.count()
        self._deck: list[str] = []
        self.befell: Counter[str] = Counter()
        self.workers = [Member(self._network.link(), lambda url: self.rig.launch_worker(
            CONCURRENCY, REDELIVER_AFTER, url)) for _ in range(workers)]
        bounds = [jobs * robot // robots for robot in range(robots + 1)]
        self.robots = [Member(self._network.link(), self._robot(
            f'robot{robot}', bounds[robot], bounds[robot + 1] - bounds[robot], per_s / robots))
            for robot in range(robots)]

    def _robot(
        self, name: str, first: int, number: int, rate: float
    ) -> Callable[[str], subprocess.Popen[bytes]]:
        def launch(url: str) -> subprocess.Popen[bytes]:
            with open(self._folder / f'{name}.log', 'ab') as log:
                return subprocess.Popen(
                    [sys.executable, str(Path(__file__).with_name('_celery_robot.py')), name, url,
                     str(self._folder), str(first), str(number), str(rate)],
                    env={**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))},
                    stdout=log, stderr=subprocess.STDOUT)
        return launch

    def hurt(self) -> None:
        """Let the next fault happen, if something is whole that it can befall."""
        if not self._deck:
            self._deck = [name for name, (weight, _) in FAULTS.items() for _ in range(weight)]
            self._random.shuffle(self._deck)
        name = self._deck.pop()
        if FAULTS[name][1](self):
            self.befell[name] += 1

    def mend(self, all_of_it: bool = False) -> None:
        """End the faults whose time has come, or all."""
        while self._mending and (all_of_it or self._mending[0][0] <= time.monotonic()):
            heapq.heappop(self._mending)[2]()

    def are_robots_done(self) -> bool:
        """Return whether all robots have ended; raises SystemExit if one has failed."""
        codes = [robot.process.poll() for robot in self.robots]
        if any(code and not robot.is_hurt for code, robot in zip(codes, self.robots)):
            raise SystemExit(f'a robot has failed: see {self._folder}/*.log')
        return all(code == 0 for code in codes)

    def close(self) -> None:
        """End all processes."""
        self.mend(all_of_it=True)
        for member in (*self.robots, *self.workers):
            for process in (*member.children(), member.process):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            member.process.wait()
        self.rig.close()

    def _later(self, bounds: tuple[float, float], end: Callable[[], None]) -> None:
        heapq.heappush(self._mending, (
            time.monotonic() + self._random.uniform(*bounds), next(self._order), end))

    def _befall(
        self, members: list[Member], begin: Callable[[Member], None],
        end: Callable[[Member], None], bounds: tuple[float, float],
    ) -> bool:
        """Hurt a member for a while; False if too many are hurt or it has ended."""
        whole = [member for member in members
                 if not member.is_hurt and member.process.poll() is None]
        if len(whole) < len(members) / 2:
            return False
        member = self._random.choice(whole)

        def ended() -> None:
            end(member)
            member.is_hurt = False

        member.is_hurt = True
        begin(member)
        self._later(bounds, ended)
        return True

    def kill_worker(self) -> bool:
        """Kill the main process of a worker, and start it again."""
        return self._befall(self.workers, Member.kill, Member.start, SHORT)

    def kill_task_process(self) -> bool:
        """Kill a process in which a worker runs tasks."""
        children = [child for worker in self.workers for child in worker.children()]
        with contextlib.suppress(psutil.NoSuchProcess):
            if children:
                self._random.choice(children).kill()
        return bool(children)

    def hang_worker(self) -> bool:
        """Stop the main process of a worker for longer than its lease."""
        return self._befall(
            self.workers, lambda worker: worker.process.send_signal(signal.SIGSTOP),
            lambda worker: worker.process.send_signal(signal.SIGCONT), LONG)

    def hang_worker_and_tasks(self) -> bool:
        """Stop the processes of tasks, too."""
        stopped: list[psutil.Process] = []

        def stop(worker: Member) -> None:
            stopped.extend([psutil.Process(worker.process.pid), *worker.children()])
            for process in stopped:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.suspend()

        def go_on(worker: Member) -> None:
            for process in stopped:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.resume()

        return self._befall(self.workers, stop, go_on, LONG)

    def kill_robot(self) -> bool:
        """Kill a robot, and let another process of its name go on."""
        return self._befall(self.robots, Member.kill, Member.start, SHORT)

    def cut_worker(self) -> bool:
        """Cut the network of a worker."""
        return self._cut(self.workers)

    def cut_robot(self) -> bool:
        """Cut the network of a robot."""
        return self._cut(self.robots)

    def _cut(self, members: list[Member]) -> bool:
        silent = self._random.random() < 0.5
        return self._befall(
            members, lambda member: self._network.cut(member.link, refuses=not silent),
            lambda member: self._network.mend(member.link, Old.FORGOTTEN),
            self._random.choice((SHORT, LONG)))

    def restart_server(self) -> bool:
        """Kill the server and start it with what it has on disk."""
        return self._befall_server(self._server.kill, self._server.start, SHORT)

    def empty_server(self) -> bool:
        """Kill the server and start it without what it had, as one that keeps nothing on disk."""
        def start() -> None:
            shutil.rmtree(self._server.folder / 'appendonlydir')
            self._server.start()
        return self._befall_server(self._server.kill, start, SHORT)

    def hang_server(self) -> bool:
        """Stop the server for a while."""
        return self._befall_server(self._server.pause, self._server.resume, (2.0, 8.0))

    def _befall_server(
        self, begin: Callable[[], None], end: Callable[[], None], bounds: tuple[float, float]
    ) -> bool:
        if self._is_server_hurt:
            return False

        def ended() -> None:
            end()
            self._is_server_hurt = False

        self._is_server_hurt = True
        begin()
        self._later(bounds, ended)
        return True


FAULTS: dict[str, tuple[int, Callable[[Fleet], bool]]] = {
    'kill_worker': (3, Fleet.kill_worker), 'kill_task_process': (2, Fleet.kill_task_process),
    'hang_worker': (1, Fleet.hang_worker),
    'hang_worker_and_tasks': (1, Fleet.hang_worker_and_tasks),
    'kill_robot': (1, Fleet.kill_robot), 'cut_worker': (2, Fleet.cut_worker),
    'cut_robot': (1, Fleet.cut_robot), 'restart_server': (1, Fleet.restart_server),
    'empty_server': (1, Fleet.empty_server), 'hang_server': (1, Fleet.hang_server),
}
"""The faults, with their number in each round; the order within a round is random."""
