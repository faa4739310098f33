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

"""Asks a person to authorise a tool and awaits the answer in an asyncio loop."""

from __future__ import annotations

import asyncio

from action_lifecycle_msgs.msg import OperatorRequest

from .clock import NodeClock
from ..dialogue import OperatorDesk
from ..engine.states import Pause
from ..lifecycle.ports import Question

AUTHORIZED, GIVE_UP = 'authorized', 'give_up'


async def ask_for_authorization(
    clock: NodeClock, desk: OperatorDesk, pause: Pause, timeout: float
) -> bool:
    """
    Ask a person with the message and the link of `pause`; returns True if authorised.

    Returns False if nobody answers within `timeout` s. The message comes from a tool, so it is
    passed to the template as data. If this coroutine is cancelled, the question is withdrawn.
    """
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[str] = loop.create_future()
    handles: list[object] = []

    def take(answer: str) -> None:
        loop.call_soon_threadsafe(lambda: answered.done() or answered.set_result(answer))

    def ask() -> None:
        handles.append(desk.ask(Question(
            OperatorRequest.KIND_AUTHORIZE, '', '', '{{ message }}', (AUTHORIZED, GIVE_UP),
            timeout=timeout, default=GIVE_UP, link=pause.link, names={'message': pause.message},
        ), lambda answer, actor: take(answer), lambda: take(GIVE_UP)))

    clock.call_soon(ask)
    try:
        return await answered == AUTHORIZED
    finally:
        clock.call_soon(lambda: [handle.cancel() for handle in handles])  # type: ignore
