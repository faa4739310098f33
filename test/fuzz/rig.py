# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows that run on a journal of their own, with a robot that only exists here."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import os
from pathlib import Path
import random
import shutil
import tempfile
from typing import Any

from action_lifecycle.flow import LoadedFlow, parse_flow
from unit.flow.robot import Clock, Process, Robot

MEMORY = Path('/dev/shm')


def folder(stem: str) -> Path:
    """Return a new folder, in memory where there is one."""
    return Path(tempfile.mkdtemp(
        prefix=f'fuzz-{stem}-{os.getpid()}-', dir=MEMORY if MEMORY.is_dir() else None))


class Rig:
    """One life of an action node without ROS; `close` removes what it has written."""

    def __init__(self, stem: str) -> None:
        self.folder = folder(stem)
        self.clock = Clock()
        self.robot = Robot(self.clock)
        self.process = Process(self.folder / 'journal', self.clock, self.robot)
        self.orchestrator = self.process.orchestrator
        self._numbers = 0

    def submit(self, flow: LoadedFlow | str) -> Any:
        """Start a flow."""
        self._numbers += 1
        return self.orchestrator.submit(
            parse_flow(flow, 'f.yaml') if isinstance(flow, str) else flow, f'f{self._numbers}')

    def rest(self) -> None:
        """End what moves, forget what is asked, and let 20 s pass."""
        self.robot.by_hand.clear()
        for motion in self.robot.motions:
            if not motion.canceled:
                motion.end('canceled')
        self.robot.motions.clear()
        self.robot.questions.clear()
        self.clock.run(20.0)

    def close(self) -> None:
        """End it without a word."""
        self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def file_in_memory(stem: str, suffix: str) -> Iterator[Path]:
    """Give the path of a file that is removed afterwards."""
    where = MEMORY if MEMORY.is_dir() else Path(tempfile.gettempdir())
    path = where / f'fuzz-{stem}-{os.getpid()}{suffix}'
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def hand_over(rng: random.Random, robot: Robot) -> None:
    """Let the robot do some things only when it is told to, and refute some outcomes."""
    for name in ('motion', 'require', 'confirm', 'maintain'):
        if rng.random() < 0.3:
            robot.by_hand.add(name)
        else:
            robot.by_hand.discard(name)
