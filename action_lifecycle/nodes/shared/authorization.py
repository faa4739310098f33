# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs a session with tools and asks a person when it pauses for an authorisation."""

from __future__ import annotations

from action_lifecycle_msgs.msg import OperatorRequest
from rclpy.task import Future

from ...agents.steps import Session
from ...dialogue.desk import OperatorDesk
from ...graphs.state_types import Pause
from ...lifecycle.ports import Handle, Question
from ...ros.calls.threads import in_executor
from ...ros.node.lifecycle_node import ManagedNode

MAX_PAUSES = 10
"""Maximum number of questions to a person in one run."""
AUTHORIZED, GIVE_UP = 'authorized', 'give_up'


async def run_attended(
    session: Session, max_iter: int, node: ManagedNode, desk: OperatorDesk, timeout: float
) -> None:
    """
    Run a session; at a pause with a link, ask a person to authorise it.

    If it was authorised, the session resumes and repeats the call; otherwise it stays paused. A
    pause without a link needs no authorisation and ends the run.
    """
    result = await session.run(max_iter)
    for _ in range(MAX_PAUSES):
        if result.pause is None or not result.pause.link or not await ask_for_authorization(
                node, desk, result.pause, timeout):
            break
        result = await session.resume(max_iter=max_iter)


async def ask_for_authorization(
    node: ManagedNode, desk: OperatorDesk, pause: Pause, timeout: float, *, flow_id: str = '',
    action_id: str = '', key: str = '',
) -> bool:
    """
    Ask a person with the message and the link of `pause`; returns True if authorised.

    Returns False if nobody answers within `timeout` s. The message comes from a tool, so it is
    passed to the template as data. If this coroutine is canceled, the question is withdrawn.
    `flow_id`, `action_id` and `key`: see Question.
    """
    return await ask_person(node, desk, Question(
        OperatorRequest.KIND_AUTHORIZE, flow_id, action_id, '{{ message }}',
        (AUTHORIZED, GIVE_UP), timeout=timeout, default=GIVE_UP, link=pause.link,
        names={'message': pause.message}, key=key)) == AUTHORIZED


async def ask_person(node: ManagedNode, desk: OperatorDesk, question: Question) -> str:
    """
    Ask a question and return the answer, '' if nobody answers in time and it has no default.

    It is awaited in an asyncio loop. If this coroutine is canceled, the question is withdrawn.
    """
    answered = Future()
    handles: list[Handle] = []

    def ask() -> Future:
        handles.append(desk.ask(
            question, lambda answer, actor: answered.set_result(answer),
            lambda: answered.set_result(question.default)))
        return answered

    try:
        return str(await in_executor(node, ask))
    finally:
        node.call_soon(lambda: [handle.cancel() for handle in handles])
