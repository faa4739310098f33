# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Engines that the tests share, tasks that their workers find, and machines that work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import sys
from time import monotonic, sleep
from typing import Any

from action_lifecycle.dialogue import Conversation, Dialogue
from action_lifecycle.engine import load_graph, Machine
from action_lifecycle.invoke import CeleryEngine, Engine, Invoker, LocalEngine
import pytest

from .celery_rig import CeleryRig, TASKS


@pytest.fixture(scope='session', autouse=True)
def _tasks() -> Iterator[None]:
    sys.path.append(str(TASKS))
    yield
    sys.path.remove(str(TASKS))


@pytest.fixture(scope='session')
def local_engine(_tasks: None) -> Iterator[LocalEngine]:
    with LocalEngine(workers=2, time_limit=30.0) as engine:
        yield engine


@pytest.fixture(scope='session')
def celery_rig() -> Iterator[CeleryRig]:
    pytest.importorskip('celery')
    rig = CeleryRig()
    try:
        rig.start_worker()
        yield rig
    finally:
        rig.close()


@pytest.fixture(scope='session')
def celery_engine(celery_rig: CeleryRig) -> Iterator[CeleryEngine]:
    with CeleryEngine(celery_rig.url, time_limit=30.0) as engine:
        yield engine


@pytest.fixture(scope='session', params=['local', 'celery'])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine after the other: what holds for one holds for both."""
    return request.getfixturevalue(f'{request.param}_engine')


@pytest.fixture
def eventually() -> Callable[[Callable[[], Any]], Any]:
    """Return what a condition gives as soon as it is true."""
    def wait(condition: Callable[[], Any], within: float = 30.0) -> Any:
        deadline = monotonic() + within
        while not (found := condition()):
            assert monotonic() < deadline, 'it never came true'
            sleep(0.005)
        return found
    return wait


class Talk(Conversation):
    """A conversation with all that it is made of."""

    def __init__(self, text: str, engine: Engine, hooks: object = None, **options: Any) -> None:
        graph = load_graph(text)
        self.dialogue = Dialogue(graph)
        self.invoker = Invoker(graph, engine, **options)
        hooks = [] if hooks is None else [hooks]
        self.machine = Machine(graph, listeners=[self.dialogue, *hooks, self.invoker])
        super().__init__(self.machine, self.dialogue, self.invoker)

    def finish(self, within: float = 30.0) -> Any:
        """Poll until no work runs; return the last reply."""
        deadline = monotonic() + within
        while (reply := self.poll()).next_events == ('poll',):
            assert monotonic() < deadline, 'it polls for ever'
            sleep(0.002)
        return reply


@pytest.fixture
def talk() -> type[Talk]:
    return Talk
