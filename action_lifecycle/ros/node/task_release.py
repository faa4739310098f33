# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Has rclpy's EventsExecutor release the tasks that have ended.

It takes a reference to each task, and drops it if the task ends where the executor iterates it. A
task that awaits a future ends in a callback of the future (rclpy pull request 1469), so the task
and its result, such as the response of a service, stay in memory for ever: seen in rclpy 7.1.11.
"""

from __future__ import annotations

from typing import Any
import weakref

from rclpy.task import Future, Task

SPINS = 4
"""Number of events after which a task that awaits a future has ended."""
_AWAITS = '_awaits_future'
_kinds: list[type] = []  # executors that keep tasks; empty: rclpy is as it was


def release_tasks(executor: Any) -> None:
    """Have executors of this type release their tasks; this one has no nodes yet."""
    if type(executor) in _kinds or not hasattr(Task, '_add_resume_callback') \
            or not keeps_tasks(executor):
        return
    if not _kinds:
        _patch()
    _kinds.append(type(executor))


def keeps_tasks(executor: Any) -> bool:
    """Whether a task that has awaited a future is still there after it has ended."""
    future = Future(executor=executor)

    async def wait() -> None:
        await future

    task = weakref.ref(executor.create_task(wait))
    executor.spin_once(timeout_sec=0.0)
    future.set_result(None)
    for _ in range(SPINS):
        executor.spin_once(timeout_sec=0.0)
    found = task()
    return found is not None and found.done()


def _patch() -> None:
    suspend, step = Task._add_resume_callback, Task._execute_coroutine_step

    def add_resume_callback(task: Any, future: Any, executor: Any) -> None:
        suspend(task, future, executor)
        setattr(task, _AWAITS, True)

    def execute_coroutine_step(task: Any, coroutine: Any) -> None:
        awaited = getattr(task, _AWAITS, False)
        setattr(task, _AWAITS, False)
        step(task, coroutine)
        if awaited and not task._pending() and task._exception is None:
            executor = task._executor()
            if type(executor) in _kinds:
                executor._call_task_in_next_spin(task)  # sees that it has ended, and drops it

    Task._add_resume_callback = add_resume_callback
    Task._execute_coroutine_step = execute_coroutine_step
