# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""A robot, a clock and processes that can be killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .robot import Clock, Process, Robot


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def robot(clock: Clock) -> Robot:
    return Robot(clock)


@pytest.fixture
def start(tmp_path: Path, clock: Clock, robot: Robot) -> Iterator[Callable[[], Process]]:
    processes: list[Process] = []

    def one_more() -> Process:
        processes.append(Process(tmp_path / 'journal', clock, robot))
        return processes[-1]

    yield one_more
    for process in processes:
        process.journal.close()
