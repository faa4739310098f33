# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Asks a person to authorise a tool and awaits the answer in an asyncio loop."""

from __future__ import annotations

import asyncio

from action_lifecycle_msgs.msg import OperatorRequest

from ..shared.clock import NodeClock
from ...dialogue.desk import OperatorDesk
from ...graphs.state_types import Pause
from ...lifecycle.ports import Question

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
