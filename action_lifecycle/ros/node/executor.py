# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Selects the executor of a process.

rclpy's EventsExecutor needs a tenth of the CPU time of the SingleThreadedExecutor, but its first
releases could not run coroutines: a service callback raised TypeError
(https://github.com/ros2/rclpy/issues/1473), and a coroutine could hang although its future was
done (https://github.com/ros2/rclpy/pull/1469). Both executors run all callbacks in the one thread
that spins, so callbacks must not block.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any

import rclpy
from rclpy.executors import Executor, SingleThreadedExecutor

from .task_release import release_tasks

EVENTS_SINCE = {7: (7, 1, 11), 9: (9, 1, 4)}
"""
First rclpy with both fixes, by major version (7: Jazzy, 9: Kilted).

By the changelogs, pull request 1469 is in 7.1.9, 9.1.4 and at the latest 10.0.4; 1478, which fixes
issue 1473, is in 7.1.11, 9.1.2 and 10.0.1.
"""
EVENTS_SINCE_OTHERS = (10, 0, 4)  #: of the other major versions
CHOICES = ('auto', 'events', 'single_threaded')


def rclpy_version() -> tuple[int, ...]:
    """Return the installed version of rclpy; an empty tuple if unknown."""
    try:
        return tuple(int(part) for part in metadata.version('rclpy').split('.')[:3])
    except (metadata.PackageNotFoundError, ValueError):
        return ()


def has_events_executor() -> bool:
    """Return whether the installed rclpy has an EventsExecutor that runs coroutines."""
    version = rclpy_version()
    return version >= EVENTS_SINCE.get(version[0] if version else 0, EVENTS_SINCE_OTHERS)


def make_executor(choice: str = 'auto', context: Any = None) -> Executor:
    """Create an executor: `events`, `single_threaded`, or `auto` (by the version of rclpy)."""
    if choice not in CHOICES:
        raise ValueError(f"executor '{choice}': expected one of {', '.join(CHOICES)}")
    context = context or rclpy.get_default_context()
    if choice == 'events' or (choice == 'auto' and has_events_executor()):
        try:
            from rclpy.experimental import EventsExecutor
        except ImportError:
            if choice == 'events':
                raise
        else:
            executor = EventsExecutor(context=context)
            release_tasks(executor)
            return executor
    return SingleThreadedExecutor(context=context)
