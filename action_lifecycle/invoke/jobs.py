# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Jobs for engines, and their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Optional

Names = Mapping[str, Any]
CLOSED = 'the engine was closed'
LOST = 'it was lost in a restart; whether it was done is not known'


class Outcome(NamedTuple):
    """The result of a task: a value, or an error."""

    value: Any
    error: str = ''


class Job(NamedTuple):
    """
    One task for an engine.

    `names`: `actor_input` and other names for templates. Without `call`, the value is the rendered
    `input`. If `wanted()` is false, the result is not needed any more. A failed job is retried up
    to `retries` times, after 1, 2, 4… 60 s, minus up to 20 %.

    A job with an `id` can be found again, also by a later process, see `Engine.resume`: `sent()`
    is called before a worker can get it, and may raise to keep it from being sent. `keep`: its
    result can be found until `Engine.release`. `lost_retries`: maximum number of retries if the
    machine or the worker that performs it is lost, instead of `retries` if that is less.
    `dropped()` is called instead of `reply` when a job that is not wanted has not started, or has
    stopped.
    """

    call: str
    input: Any  # noqa: A003
    names: Names
    time_limit: Optional[float]
    wanted: Callable[[], bool]
    reply: Callable[[Outcome], None]
    retries: int = 0
    id: str = ''  # noqa: A003
    sent: Callable[[], None] = lambda: None
    keep: bool = False
    lost_retries: int = 0
    dropped: Callable[[], None] = lambda: None


def max_retries(job: Job) -> int:
    """Return the maximum number of retries of a job, for whatever reason."""
    return max(job.retries, job.lost_retries)


class Attempt(NamedTuple):
    """One attempt at a job, due at steady time `due` (s), after `failures` failures."""

    due: float
    number: int  #: unique per engine
    failures: int
    job: Job
