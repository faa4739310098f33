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

"""A session that a person is asked about when it pauses for an authorisation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ..engine.states import Pause
from ..engine.steps import MAX_ITER, Session, StepsResult

MAX_PAUSES = 10
"""How often one run asks a person."""


async def run_attended(
    session: Session, authorize: Callable[[Pause], Awaitable[bool]], max_iter: int = MAX_ITER,
) -> StepsResult:
    """
    Run a session; `authorize(pause)` says whether what it pauses for was granted.

    Then it resumes, with the same call of the same tool; otherwise it stays paused. A pause
    without a link is no question of authorisation and is returned as it is.
    """
    result = await session.run(max_iter)
    for _ in range(MAX_PAUSES):
        if result.pause is None or not result.pause.link or not await authorize(result.pause):
            break
        result = await session.resume(max_iter=max_iter)
    return result
