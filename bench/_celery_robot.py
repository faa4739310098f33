# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A robot of bench/celery_fleet.py: sends its jobs at a steady rate and writes down their outcomes.

usage: _celery_robot.py NAME URL FOLDER FIRST NUMBER RATE

Files: NAME.sent has a line for each attempt, before it is sent; NAME.ended one for each outcome. A
process that finds these files goes on as one that resumes after a crash.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
import queue
import random
import sys
import time

from action_lifecycle.invoke import CeleryEngine, Job, Outcome

RETRIES = 30
"""Retries of a job, unless it must not be repeated."""


def may_be_repeated(number: int) -> bool:
    """Return whether a job has retries; one in ten has none."""
    return number % 10 != 0


def seconds(number: int) -> float:
    """Return how long a job takes; one in fifty longer than the visibility timeout."""
    chosen = random.Random(number)
    return chosen.uniform(3.0, 8.0) if number % 50 == 7 else chosen.uniform(0.02, 0.3)


class Lines:
    """A file of lines, each written at once."""

    def __init__(self, path: Path) -> None:
        self.before = path.read_text().splitlines() if path.exists() else []
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def add(self, line: str) -> None:
        """Write a line."""
        os.write(self._file, f'{line}\n'.encode())


class Robot:
    """The jobs that one process has to send, and those whose outcome it waits for."""

    def __init__(self, name: str, url: str, folder: Path) -> None:
        self._sent = Lines(folder / f'{name}.sent')
        self._ended = Lines(folder / f'{name}.ended')
        self._begun = Lines(folder / f'{name}.begun')
        self._jobs = folder / 'jobs'
        self._engine = CeleryEngine(url, time_limit=30.0, name=name)
        self._open: queue.SimpleQueue[int] = queue.SimpleQueue()

    def run(self, first: int, number: int, rate: float) -> None:
        """Send the jobs that have no outcome, and wait for all outcomes."""
        if not self._begun.before:
            self._begun.add(repr(time.time()))
        began = float(self._begun.before[0]) if self._begun.before else time.time()
        sent = {int(line) for line in self._sent.before}
        ended = {json.loads(line)['job'] for line in self._ended.before}
        missing = [job for job in range(first, first + number) if job not in ended]
        with self._engine:
            for job in sorted(missing, key=lambda job: (job not in sent, job)):
                due = began + (job - first) / rate
                if job not in sent:
                    time.sleep(max(0.0, due - time.time()))
                self._engine.resume(self._job(job, due), job in sent)
            for _ in missing:
                self._open.get()

    def _job(self, number: int, due: float) -> Job:
        def reply(outcome: Outcome) -> None:
            self._ended.add(json.dumps({
                'job': number, 'value': outcome.value, 'error': outcome.error,
                'latency': time.time() - due}))
            self._engine.release([job])
            self._open.put(number)

        job = Job('tasks_of_fleets:work', None,
                  {'actor_input': [str(self._jobs), number, seconds(number)]}, None, lambda: True,
                  reply, RETRIES if may_be_repeated(number) else 0, id=str(number),
                  sent=lambda: self._sent.add(str(number)), keep=True)
        return job


if __name__ == '__main__':
    robot_name, broker, where, lowest, count, per_s = sys.argv[1:]
    Robot(robot_name, broker, Path(where)).run(int(lowest), int(count), float(per_s))
