# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A robot, a clock and processes that can be killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from action_lifecycle.lifecycle.work import register_work, WORK
import pytest

from .nested_flows import INNER, OUTER
from .robot import Clock, Process, Robot, Start
from .scheduled import Life, Scheduled
from .task_work import TaskSpec


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


@pytest.fixture
def flow_folder(tmp_path: Path) -> Path:
    """Return a folder with a flow, and with another that runs it."""
    (tmp_path / 'inner.yaml').write_text(INNER)
    (tmp_path / 'outer.yaml').write_text(OUTER)
    return tmp_path


@pytest.fixture
def own_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget after the test the kinds of work that it registers."""
    monkeypatch.setattr(WORK, '_things', dict(WORK))
    monkeypatch.setattr(WORK, '_fields', frozenset())


@pytest.fixture
def task_kind(own_kinds: None) -> None:
    """Register the kind of work `task`."""
    register_work('task')(TaskSpec)


@pytest.fixture
def wall() -> list[float]:
    """Return by how many seconds the wall clock is ahead; the test may change it."""
    return [0.0]


@pytest.fixture
def life(start: Start, clock: Clock, wall: list[float]) -> Life:
    """Return what kills the process, if there is one, and starts the next."""
    lives: list[Scheduled] = []

    def one_more() -> Scheduled:
        if lives:
            lives[-1].process.kill()
        lives.append(Scheduled(start, clock, wall))
        return lives[-1]

    return one_more
