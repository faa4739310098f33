# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Runs a session and asks a person when it pauses for an authorisation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ..engine.states import Pause
from ..engine.steps import MAX_ITER, Session, StepsResult

MAX_PAUSES = 10
"""Maximum number of questions to a person in one run."""


async def run_attended(
    session: Session, authorize: Callable[[Pause], Awaitable[bool]], max_iter: int = MAX_ITER,
) -> StepsResult:
    """
    Run a session; at a pause with a link, `authorize(pause)` returns whether it was authorised.

    If so, the session resumes and repeats the same call; otherwise it stays paused. A pause
    without a link is not about authorisation and is returned.
    """
    result = await session.run(max_iter)
    for _ in range(MAX_PAUSES):
        if result.pause is None or not result.pause.link or not await authorize(result.pause):
            break
        result = await session.resume(max_iter=max_iter)
    return result
