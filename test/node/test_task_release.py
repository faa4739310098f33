# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tasks do not stay in memory after they have ended, whatever they have awaited."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
import gc
import time
from typing import Any
import weakref

from action_lifecycle.ros.node.executor import has_events_executor, make_executor
import pytest
import rclpy
from rclpy.context import Context
from rclpy.task import Future


class NextSpin:
    """Awaited, it lets other callbacks run."""

    def __await__(self) -> Generator[None, None, None]:
        yield None


@pytest.fixture(params=['events', 'single_threaded'])
def executor(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == 'events' and not has_events_executor():
        pytest.skip('this rclpy has none that runs coroutines')
    context = Context()
    rclpy.init(context=context)
    executor = make_executor(request.param, context)
    yield executor
    executor.shutdown()
    rclpy.shutdown(context=context)


def soon(executor: Any) -> Future:
    future = Future(executor=executor)
    executor.create_task(future.set_result, None)
    return future


async def at_once(executor: Any) -> None:
    return


async def a_future(executor: Any) -> None:
    await soon(executor)


async def last_a_future(executor: Any) -> None:
    for _ in range(3):
        await NextSpin()
        await soon(executor)


async def last_a_spin(executor: Any) -> None:
    for _ in range(3):
        await soon(executor)
        await NextSpin()


async def another_task(executor: Any) -> None:
    await executor.create_task(last_a_future, executor)
    await executor.create_task(last_a_spin, executor)


@pytest.mark.parametrize('work', [at_once, a_future, last_a_future, last_a_spin, another_task])
def test_a_task_is_released_when_it_has_ended(
    executor: Any, work: Callable[[Any], Any]
) -> None:
    tasks = [weakref.ref(executor.create_task(work, executor)) for _ in range(200)]
    end = time.monotonic() + 10.0
    while any(task() is not None for task in tasks) and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.01)
        gc.collect(0)
    assert sum(task() is not None for task in tasks) == 0
