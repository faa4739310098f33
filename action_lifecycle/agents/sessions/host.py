# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a session needs from where it is hosted, and how it is seen from outside."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
import time
from typing import Any, NamedTuple

from .record import CONTEXT_LIMIT, SessionRecord
from ..chooser import Chooser
from ..steps import MAX_ITER
from ...invoke import Engine
from ...journal.journal import Journal
from ...lifecycle.question import Question
from ...lifecycle.states import ErrorCode

RUNNING, WORKING, WAITING = 'running', 'working', 'waiting'
POLL, CANCEL, RETRY = 'poll', 'cancel', 'retry'


class SessionStatus(NamedTuple):
    """The status of a session; see action_lifecycle_msgs/msg/Session."""

    id: str  # noqa: A003
    graph: str
    state: str
    status: str
    stamp: float  #: ROS time in s
    step: int = 0
    tasks: int = 0
    tasks_done: int = 0
    progress: float = 0.0
    next_events: tuple[str, ...] = ()
    output: str = ''
    error_code: int = 0
    error_msg: str = ''


async def nobody(question: Question) -> str:
    """Answer nothing, as there is nobody to ask."""
    return ''


@dataclass
class Host:
    """
    The surroundings of sessions; all of it is used in one asyncio loop.

    `agent` has what states call: `call_llm`, `tool_manager`, `execute_motion`, `confirm`.
    `ask(question)` returns the answer of a person, '' if there is none. `max_steps`: maximum
    number of states that run without an event of the user. `state_time_limit`: of one run of a
    state, in s; 0: none. `context_limit` in characters of JSON.
    """

    journal: Journal
    agent: Any = None
    engine: Engine | None = None
    chooser: Chooser | None = None
    choice_timeout: float = 60.0
    state_time_limit: float = 0.0
    authorization_timeout: float = 300.0
    max_steps: int = MAX_ITER
    context_limit: int = CONTEXT_LIMIT
    now: Callable[[], float] = time.time
    ask: Callable[[Question], Awaitable[str]] = nobody
    changed: Callable[[Any], None] = lambda session: None
    ended: Callable[[Any], None] = lambda session: None
    set_aside: Callable[[str], None] = lambda session_id: None
    refused: Callable[[Any, Exception], None] = field(default=lambda session, error: None)
    """Called when the journal refuses a row; the session goes on from its rows later."""


def status_at_end(record: SessionRecord, end: Mapping[str, Any]) -> SessionStatus:
    """Return the status of a session that has ended, from the data of its last row."""
    return SessionStatus(
        record.session_id, str(end['graph']), str(end['state']), str(end['reason']),
        record.stamp, int(end['step']), progress=1.0 if end['reason'] == 'ended' else 0.0,
        output=str(end['output']), error_code=int(end.get('error_code', ErrorCode.NONE)),
        error_msg=str(end.get('error_msg', '')))
