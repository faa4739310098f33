# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The interfaces of sessions: `~/run_graph`, `~/send_event` and others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
import json
from pathlib import Path
import re
import threading
from typing import Any

from action_lifecycle_msgs import msg
from action_lifecycle_msgs.action import RunGraph
from action_lifecycle_msgs.srv import GetSession, ListSessions, SendSessionEvent
from rclpy.task import Future

from ..shared.heartbeat import GoalFeedback
from ..shared.latched_publisher import Latched
from ..shared.paths import find_file
from ..shared.queries import page_limit
from ...agents.sessions.host import SessionStatus
from ...agents.sessions.hosting import NoSession, SessionOrder, Sessions, SessionView
from ...documents.errors import LifecycleError, TransitionNotAllowed
from ...documents.input_file import read_text
from ...documents.json_text import read_json
from ...journal.row import EntryRefused, JournalError
from ...lifecycle.futures import settle
from ...lifecycle.states import ErrorCode
from ...ros.conversions.basic import to_time
from ...ros.conversions.session import dialogue_entry_to, message_text, session_to
from ...ros.node.lifecycle_node import ManagedNode

ENDED_SHOWN = 20
"""Number of ended sessions that are still published."""
OVER = (msg.Session.ENDED, msg.Session.FAILED, msg.Session.CANCELED)


@dataclass
class _Goals:
    """The goals that follow one session."""

    ended: Any
    handles: list[Any] = field(default_factory=list)
    interrupted: bool = False


class SessionServer:
    """
    Offers the sessions of the agent node; to be created in `configure`.

    `in_network(coroutine)` runs a coroutine in the loop of the sessions and returns its result.
    `sessions` is None while the node is not active.
    """

    def __init__(
        self, node: ManagedNode, folders: list[str], in_network: Callable[[Any], Any]
    ) -> None:
        self.sessions: Sessions | None = None
        self._node = node
        self._folders = folders
        self._in_network = in_network
        self._statuses: dict[str, SessionStatus] = {}  #: those that are published
        self._changed: dict[str, SessionStatus | None] = {}  #: in two threads; None: set aside
        self._changing = threading.Lock()
        self._goals: dict[str, _Goals] = {}
        self._open: list[Any] = []  #: all goals
        self.topic = Latched(node, msg.SessionArray, '~/sessions', self._message)
        node.add_action_server(RunGraph, '~/run_graph', self._execute, cancel=self._cancel)
        node.add_service(SendSessionEvent, '~/send_event', self._send)
        node.add_service(GetSession, '~/get_session', self._get)
        node.add_service(ListSessions, '~/list_sessions', self._list)

    def show(self, statuses: list[SessionStatus]) -> None:
        """Publish these sessions, after a start."""
        kept = [status for status in statuses if status.status not in OVER]
        kept += [status for status in statuses if status.status in OVER][:ENDED_SHOWN]
        self._statuses = {status.id: status for status in reversed(kept)}
        self.topic.publish()

    def changed(self, session: Any) -> None:
        """Publish the status of a session; called in the loop of the sessions."""
        status = session.status()
        self._change(status.id, status)

    def set_aside(self, session_id: str) -> None:
        """Publish a session no more, and end its goals; called in the loop of the sessions."""
        self._change(session_id, None)

    def _change(self, session_id: str, status: SessionStatus | None) -> None:
        with self._changing:
            begin = not self._changed
            self._changed[session_id] = status
        if begin:
            self._node.call_soon(self._take)

    def interrupt(self) -> None:
        """End all goals, as the node stops; the sessions go on when it is active again."""
        self.sessions = None
        for goals in self._goals.values():
            goals.interrupted = True
            settle(goals.ended)

    def _take(self) -> None:
        with self._changing:
            changed, self._changed = self._changed, {}
        for session_id, status in changed.items():
            before = self._statuses.pop(session_id, None)
            if status is not None:
                self._statuses[session_id] = status
                self._log(before, status)
            goals = self._goals.get(session_id)
            if goals is not None:
                for feedback in (handle.feedback for handle in goals.handles):
                    feedback.changed()
                if status is None or status.status in OVER:
                    settle(goals.ended)
        ended = [name for name, status in self._statuses.items() if status.status in OVER]
        for name in ended[:-ENDED_SHOWN]:
            del self._statuses[name]
        self.topic.publish_soon()

    def _log(self, before: SessionStatus | None, status: SessionStatus) -> None:
        if before is None or (before.state, before.status) != (status.state, status.status):
            self._node.get_logger().info(
                f'session {status.id}: {status.state}, {status.status}'
                + (f' ({status.error_msg})' if status.error_msg else ''))

    def _message(self) -> msg.SessionArray:
        return msg.SessionArray(
            stamp=to_time(self._node.now()),
            sessions=[session_to(status) for status in self._statuses.values()])

    # Goals

    def _cancel(self, handle: Any) -> None:
        for session_id, goals in self._goals.items():
            if any(other.handle.goal_id == handle.goal_id for other in goals.handles):
                self._node.spawn(self._end_session, session_id, handle.request.requester)

    async def _end_session(self, session_id: str, actor: str) -> None:
        async def cancel() -> None:
            await self._running().send(session_id, 'cancel', None, actor or 'client')
        try:
            await self._in_network(cancel())
        except LifecycleError as error:
            self._node.get_logger().error(f'cancel of session {session_id}: {error}')

    async def _execute(self, handle: Any) -> RunGraph.Result:
        try:
            status = await self._in_network(self._begin(handle.request))
        except Exception as error:
            handle.abort()
            return RunGraph.Result(
                session_id=handle.request.session_id, reason=msg.Session.FAILED,
                error_code=int(self._code(error)), error_msg=message_text(str(error)))
        session_id = status.id
        goals = self._goals.setdefault(
            session_id, _Goals(Future(executor=self._node.executor)))
        self._open.append(handle)
        follower = _Follower(handle, GoalFeedback(
            self._node, handle, self._open, lambda: RunGraph.Feedback(
                session=session_to(self._statuses.get(session_id, status)))))
        goals.handles.append(follower)
        try:
            follower.feedback.changed(at_once=True)
            if handle.is_cancel_requested:
                self._cancel(handle)
            over = status.status in OVER or self._statuses.get(
                session_id, status).status in OVER
            aside = self.sessions is None or session_id in self.sessions.aside
            if not (over or aside or goals.ended.done()):
                await goals.ended
        finally:
            follower.feedback.close()
            self._open.remove(handle)
            goals.handles.remove(follower)
            if not goals.handles:
                self._goals.pop(session_id, None)
        return await self._result(handle, session_id, goals.interrupted)

    async def _begin(self, goal: Any) -> SessionStatus:
        """Open the session of a goal, or find the one that it is to follow."""
        sessions = self._running()
        if goal.session_id:
            try:
                return sessions.status(goal.session_id)
            except NoSession:
                if not goal.graph or goal.session_id in sessions.aside:
                    raise
        order = await asyncio.to_thread(self._order, goal)
        if goal.session_id in sessions.open:  # a repeated goal has opened it meanwhile
            return sessions.status(goal.session_id)
        return sessions.begin(order).status()

    def _order(self, goal: Any) -> SessionOrder:
        if not goal.graph:
            raise LifecycleError('graph: expected the name of a file or YAML text')
        text, source = goal.graph, goal.source
        if '\n' not in text:
            path = find_file(text, self._folders, 'graph')
            text, source = read_text(path), path.name
        name = re.sub(r'[^A-Za-z0-9_-]+', '_', Path(source).stem).strip('_-')[:40] or 'graph'
        return SessionOrder(text, name, source or 'graph', goal.session_id,
                            _json(goal.input_json, 'input_json'), goal.requester)

    async def _result(
        self, handle: Any, session_id: str, interrupted: bool
    ) -> RunGraph.Result:
        try:
            if interrupted:
                raise LifecycleError('the node stops; the session goes on when it is active again')
            view: SessionView = await self._in_network(self._view(session_id))
        except LifecycleError as error:
            handle.abort()
            code = ErrorCode.NOT_FOUND if isinstance(error, NoSession) else ErrorCode.INTERRUPTED
            return RunGraph.Result(
                session_id=session_id, reason='', error_code=int(code),
                error_msg=message_text(str(error)))
        status = view.status
        if status.status == msg.Session.CANCELED and handle.is_cancel_requested:
            handle.canceled()
        elif status.status == msg.Session.ENDED:
            handle.succeed()
        else:
            handle.abort()
        return RunGraph.Result(
            session_id=session_id, reason=status.status, state=status.state, steps=status.step,
            output=message_text(status.output), context_json=json.dumps(view.context),
            error_code=status.error_code, error_msg=message_text(status.error_msg))

    async def _view(self, session_id: str) -> SessionView:
        return self._running().view(session_id)

    # Services

    async def _send(self, request: Any, response: Any) -> Any:
        async def send() -> tuple[str, SessionStatus]:
            return await self._running().send(
                request.session_id, request.event,
                _json(request.input_json, 'input_json'), request.actor or 'client')
        try:
            output, status = await self._in_network(send())
            response.accepted = True
        except Exception as error:
            response.error_code = int(self._code(error))
            response.error_msg = message_text(str(error))
            try:
                output, status = '', (await self._in_network(self._view(request.session_id))
                                      ).status
            except LifecycleError:
                return response
        response.output = message_text(output)
        response.session = session_to(status)
        response.next_events = list(status.next_events)
        return response

    async def _get(self, request: Any, response: Any) -> Any:
        try:
            view: SessionView = await self._in_network(self._view(request.session_id))
        except LifecycleError as error:
            response.error_code = int(self._code(error))
            response.error_msg = message_text(str(error))
            return response
        response.session = session_to(view.status)
        response.total = len(view.entries)
        end = request.offset + page_limit(request.limit)
        response.dialogue = [dialogue_entry_to(request.session_id, entry)
                             for entry in view.entries[request.offset:end]]
        response.context_json = json.dumps(view.context)
        return response

    async def _list(self, request: Any, response: Any) -> Any:
        async def find() -> list[SessionStatus]:
            return self._running().statuses(request.open_only)
        found = await self._in_network(find())
        response.total = len(found)
        response.sessions = [session_to(status) for status in found[
            request.offset:request.offset + page_limit(request.limit)]]
        return response

    # Helpers

    def _running(self) -> Sessions:
        if self.sessions is None:
            raise LifecycleError('the node is not active')
        return self.sessions

    def _code(self, error: Exception) -> ErrorCode:
        """Return the code of an error; an unexpected one is logged and is INTERNAL."""
        if isinstance(error, NoSession):
            return ErrorCode.NOT_FOUND
        if isinstance(error, TransitionNotAllowed):
            return ErrorCode.NOT_ALLOWED
        if isinstance(error, JournalError) and not isinstance(error, EntryRefused):
            return ErrorCode.JOURNAL_FAILED
        if isinstance(error, LifecycleError):
            return ErrorCode.NOT_READY if self.sessions is None else ErrorCode.INVALID_REQUEST
        self._node.log_exception('session')
        return ErrorCode.INTERNAL


@dataclass(frozen=True, eq=False)
class _Follower:
    """A goal that follows a session."""

    handle: Any
    feedback: GoalFeedback


def _json(text: str, field_name: str) -> Any:
    return read_json(text, f'{field_name}: expected JSON', finite=True) if text else None
