# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Asks a person to authorise a tool and awaits the answer in an asyncio loop."""

from __future__ import annotations

from action_lifecycle_msgs.msg import OperatorRequest
from rclpy.task import Future

from ..shared.clock import NodeClock
from ...dialogue.desk import OperatorDesk
from ...graphs.state_types import Pause
from ...lifecycle.ports import Handle, Question
from ...ros.calls.threads import in_executor
from ...ros.node.lifecycle_node import ManagedNode

AUTHORIZED, GIVE_UP = 'authorized', 'give_up'


async def ask_for_authorization(
    node: ManagedNode, desk: OperatorDesk, pause: Pause, timeout: float
) -> bool:
    """
    Ask a person with the message and the link of `pause`; returns True if authorised.

    Returns False if nobody answers within `timeout` s. The message comes from a tool, so it is
    passed to the template as data. If this coroutine is cancelled, the question is withdrawn.
    """
    answered = Future()
    handles: list[Handle] = []

    def ask() -> Future:
        handles.append(desk.ask(Question(
            OperatorRequest.KIND_AUTHORIZE, '', '', '{{ message }}', (AUTHORIZED, GIVE_UP),
            timeout=timeout, default=GIVE_UP, link=pause.link, names={'message': pause.message},
        ), lambda answer, actor: answered.set_result(answer),
            lambda: answered.set_result(GIVE_UP)))
        return answered

    try:
        return bool(await in_executor(node, ask) == AUTHORIZED)
    finally:
        NodeClock(node).call_soon(lambda: [handle.cancel() for handle in handles])
