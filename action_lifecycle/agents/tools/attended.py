# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs a session and asks a person when it pauses for an authorisation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ..steps import MAX_ITER, Session, StepsResult
from ...graphs.state_types import Pause

MAX_PAUSES = 10
"""Maximum number of questions to a person in one run."""


async def run_attended(
    session: Session, authorize: Callable[[Pause], Awaitable[bool]], max_iter: int = MAX_ITER,
) -> StepsResult:
    """
    Run a session; at a pause with a link, `authorize(pause)` returns whether it was authorised.

    If it was, the session resumes and repeats the call; otherwise it stays paused. A pause without
    a link needs no authorisation and ends the run.
    """
    result = await session.run(max_iter)
    for _ in range(MAX_PAUSES):
        if result.pause is None or not result.pause.link or not await authorize(result.pause):
            break
        result = await session.resume(max_iter=max_iter)
    return result
