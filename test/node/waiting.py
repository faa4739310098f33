# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What tests that run processes wait for and look at: conditions, journals, logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import time
from typing import Any

from action_lifecycle.journal import JournalError, JournalReader, Row
from action_lifecycle_msgs.action import ExecuteFlow


def serve_until(
    executor: Any, done: Callable[[], Any], timeout: float, what: str, folder: Path
) -> Any:
    """Serve callbacks until something is so; with the logs of the folder in the failure."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.02)
        if value := done():
            return value
    for _ in range(50):  # what came while this process stood still
        executor.spin_once(timeout_sec=0.02)
        if value := done():
            return value
    raise AssertionError(f'{what}: not within {timeout:g} s\n{logs_of(folder)}')


def until_answered(serve_until: Callable[..., Any], client: Any) -> None:
    """
    Wait until a node answers a goal for a flow, one that it refuses.

    rclpy loses what a node that was just started answers. `serve_until(done, timeout, what)`.
    """
    for _ in range(10):
        sent = client.send_goal_async(ExecuteFlow.Goal(flow='[', kind='yaml'))
        end = time.monotonic() + 3.0
        serve_until(lambda sent=sent, end=end: sent.done() or time.monotonic() > end,
                    5.0, 'an answer to the goal')
        if sent.done():
            return
    raise AssertionError('no goal is answered')


def logs_of(folder: Path) -> str:
    """Return the ends of all logs."""
    return '\n'.join(f'--- {path.name}\n{path.read_text(errors="replace")[-4000:]}'
                     for path in folder.glob('*.log'))


def rows_of(path: Path, **query: Any) -> list[Row]:
    """Return what a journal has now; nothing when it can't be read."""
    try:
        with JournalReader(path) as journal:
            return list(journal.rows(**query))
    except JournalError:
        return []
