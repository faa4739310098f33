# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Futures between the executor's thread and other threads, one function for each direction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future as ThreadFuture
import contextlib
from typing import Any

from rclpy.task import Future

from .flow_call import FlowCall
from .goal_call import GoalCall
from .service_call import RetryPolicy, ServiceCall
from ..node.lifecycle_node import ManagedNode
from ...documents.errors import LifecycleError
from ...lifecycle.futures import settle


def from_thread(node: ManagedNode, future: ThreadFuture[Any]) -> Future:
    """
    Return a future to be awaited in the executor's thread.

    It is done, without a result, when `future`, of another thread, is done.
    """
    done: Any = Future(executor=node.executor)
    future.add_done_callback(lambda _: node.spawn(settle, done))
    return done


def pass_on(future: Any, answered: asyncio.Future[Any]) -> asyncio.Future[Any]:
    """Pass the outcome of an rclpy future to `answered`, in its asyncio loop; returns it."""
    def copy_outcome() -> None:
        if answered.done():
            return
        if future.exception() is not None:
            answered.set_exception(future.exception())
        else:
            answered.set_result(future.result())

    def ended(_: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            answered.get_loop().call_soon_threadsafe(copy_outcome)

    future.add_done_callback(ended)
    return answered


async def in_executor(node: ManagedNode, start: Callable[[], Any]) -> Any:
    """
    Call `start` in the executor's thread and await its rclpy future in an asyncio loop.

    Raises LifecycleError if the node is not spun, and what `start` or its future raises.
    """
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Any] = loop.create_future()

    def begin() -> None:
        try:
            pass_on(start(), answered)
        except Exception as error:
            loop.call_soon_threadsafe(
                lambda error=error: answered.done() or answered.set_exception(error))

    executor = node.executor
    if executor is None:
        raise LifecycleError('the node is not spun')
    executor.create_task(node.guarded(begin))
    return await answered


def start_call(
    node: ManagedNode, make: Callable[[], GoalCall | ServiceCall | FlowCall]
) -> tuple[Callable[[], None], asyncio.Future[Any]]:
    """Start a call from an asyncio loop; returns a function that cancels it, and its future."""
    calls: list[GoalCall | ServiceCall | FlowCall] = []
    canceled: list[bool] = []

    def start() -> Any:
        calls.append(make())
        if canceled:
            calls[0].cancel()
        return calls[0].done

    def cancel_started() -> None:
        canceled.append(True)
        for call in calls:
            call.cancel()

    def cancel() -> None:
        node.call_soon(cancel_started)
    return cancel, asyncio.ensure_future(in_executor(node, start))


async def call_from_loop(
    node: ManagedNode, client: Any, request: Any, policy: RetryPolicy
) -> Any:
    """Call a service from an asyncio loop; see `ServiceCall`. The call ends with the task."""
    cancel, done = start_call(node, lambda: ServiceCall(node, client, lambda: request, policy))
    try:
        return await done
    finally:
        cancel()
