# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""All sessions of a journal: opened, found, restored after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
import json
import logging
import re
from typing import Any
import uuid

from .host import CANCEL, Host, POLL, SessionStatus, status_at_end
from .hosted_graph import check_graph
from .record import ACTION, KIND, read_session, SessionRecord, size_of
from .session import HostedSession
from ...dialogue import DialogueEntry
from ...dialogue.flow_dialogue import dialogue_rows, entries_of
from ...documents.errors import LifecycleError
from ...documents.suggestions import nearest
from ...graphs.loader import load_graph
from ...journal.compactor import Compactor
from ...journal.row import Entry, JournalError, Row

RETRY_DELAY = 5.0
"""Delay (s) after which a session goes on whose row the journal has refused."""
MAX_OPEN = 1000
"""Maximum number of open sessions."""
KEPT = 10_000
"""Maximum number of ended sessions that are listed."""
_SESSION_ID = re.compile(r'[A-Za-z0-9][A-Za-z0-9_-]{0,99}\Z')
"""Without a dot, since the ids of a session's flows are this id and numbers, joined by dots."""
_LOG = logging.getLogger('action_lifecycle')


class NoSession(LifecycleError):
    """There is no session with this id."""


@dataclass(frozen=True)
class SessionOrder:
    """A session to be opened: a graph as YAML text, its name and source, and the input."""

    graph: str
    name: str
    source: str
    session_id: str = ''
    context_input: Any = None
    requester: str = ''


@dataclass(frozen=True)
class SessionView:
    """A session with its dialogue and its context."""

    status: SessionStatus
    entries: tuple[DialogueEntry, ...]
    context: Any


class Sessions:
    """
    The sessions of a host. All methods are called in the host's asyncio loop.

    `compact_keep`: number of rows that compaction keeps, beside those of open sessions; 0: all.
    """

    def __init__(self, host: Host, compact_keep: int = 100_000) -> None:
        self.host = host
        self.open: dict[str, HostedSession] = {}
        self.ended: dict[str, SessionStatus] = {}
        self.aside: dict[str, str] = {}
        """Sessions whose rows can't be used, with the reason."""
        self._compactor = Compactor(host.journal, compact_keep) if compact_keep else None
        self._on_end: Callable[[HostedSession], None] = host.ended
        self._closed = False
        host.ended = self._ended
        host.refused = self._refused

    def restore(self) -> None:
        """Go on with the open sessions of the journal."""
        journal = self.host.journal
        opened = journal.checked_open_rows(KIND)
        for row, fault in journal.checked_rows(kind=KIND):
            if not fault and row.final and row.event == 'ended':
                self._note_end(row)
        for row, fault in opened:
            if fault:
                self._set_aside(str(row.flow_id), f'row {row.seq} of the journal {fault}')
            else:
                self._restore(row.flow_id)

    def begin(self, order: SessionOrder) -> HostedSession:
        """Open a session; raises LifecycleError, JournalError. Nothing is half opened."""
        session_id = order.session_id or f'{order.name}-{uuid.uuid4().hex[:8]}'
        if not _SESSION_ID.match(session_id):
            raise LifecycleError(f'session_id {session_id[:200]!r}: expected up to 100 letters, '
                                 'digits, _ and -')
        if session_id in self.open or session_id in self.aside or next(
                self.host.journal.rows(flow_id=session_id, limit=1), None) is not None:
            raise LifecycleError(f"session_id '{session_id}' is in the journal already")
        if len(self.open) >= MAX_OPEN:
            raise LifecycleError(f'{MAX_OPEN} sessions are open already')
        graph = load_graph(order.graph, name=order.source)
        check_graph(graph, self.host)
        given = order.context_input
        context = given if isinstance(given, (dict, list)) else [] if given is None else [given]
        if size_of(context) > self.host.context_limit:
            raise LifecycleError(f'the input has {size_of(context)} characters of JSON, at most '
                                 f'{self.host.context_limit} are kept')
        row = self.host.journal.append(Entry(
            KIND, session_id, ACTION, event='opened', to_state=graph.initial,
            actor=order.requester, ros_time=self.host.now(), data={
                'graph': order.graph, 'name': order.name, 'source': order.source,
                'context': context, 'input': given}))
        record = SessionRecord(session_id, self.host.context_limit)
        record.apply(row)
        return self._start(record)

    def status(self, session_id: str) -> SessionStatus:
        """Return the status of a session; raises NoSession."""
        session = self.open.get(session_id)
        if session is not None:
            return session.status()
        found = self.ended.get(session_id)
        if found is None:
            raise self._unknown(session_id)
        return found

    def view(self, session_id: str) -> SessionView:
        """Return a session with dialogue and context; raises NoSession."""
        session = self.open.get(session_id)
        if session is not None:
            return SessionView(session.status(), session.dialogue.entries,
                               json.loads(json.dumps(session.record.context)))
        status = self.status(session_id)
        journal = self.host.journal
        end: Mapping[str, Any] = {}
        for row in journal.rows(flow_id=session_id, action_id=ACTION, kind=KIND):
            end = row.data if row.final else end
        return SessionView(status, tuple(entries_of(dialogue_rows(journal, session_id))),
                           end.get('context'))

    def statuses(self, open_only: bool = False) -> list[SessionStatus]:
        """Return all sessions, the newest change first."""
        found = [session.status() for session in self.open.values()]
        if not open_only:
            found += self.ended.values()
        return sorted(found, key=lambda status: status.stamp, reverse=True)

    async def send(
        self, session_id: str, event: str, actor_input: Any = None, actor: str = ''
    ) -> tuple[str, SessionStatus]:
        """Send an event; returns the output for the user and the status. See HostedSession."""
        session = self.open.get(session_id)
        if session is None:
            status = self.status(session_id)
            if event not in (POLL, CANCEL):
                raise LifecycleError(f"session '{session_id}' has ended: {status.status}")
            return status.output, status
        reply = await session.send(event, actor_input, actor)
        return reply.output, session.status()

    async def close(self) -> None:
        """Leave all sessions as they are, in the journal; close the engine first."""
        self._closed = True
        await asyncio.gather(*(session.detach() for session in self.open.values()))
        self.open.clear()
        if self._compactor is not None:
            await asyncio.to_thread(self._compactor.join)

    # -- callbacks of sessions

    def _ended(self, session: HostedSession) -> None:
        session_id = session.record.session_id
        if self.open.get(session_id) is session:
            del self.open[session_id]
        self._keep(session.status())
        self._on_end(session)
        if self._compactor is not None:
            seq = self.host.journal.last_seq()
            self._compactor.update(seq, seq)

    def _refused(self, session: HostedSession, error: Exception) -> None:
        _LOG.error('session %s goes on in %g s, from its last row: %s',
                   session.record.session_id, RETRY_DELAY, error)
        asyncio.get_running_loop().call_later(RETRY_DELAY, self._again, session)

    def _again(self, session: HostedSession) -> None:
        if self._closed or self.open.get(session.record.session_id) is not session:
            return

        async def restart() -> None:
            await session.detach()
            if not self._closed:
                self._restore(session.record.session_id, session.canceling.actor)
                session.leave_work()
        self._restarting = asyncio.ensure_future(restart())

    # -- helpers

    def _start(self, record: SessionRecord, canceled_by: str | None = None) -> HostedSession:
        session = HostedSession(self.host, record)
        self.open[record.session_id] = session
        session.proceed(canceled_by)
        return session

    def _restore(self, session_id: str, canceled_by: str | None = None) -> None:
        """Go on with a session; `canceled_by`: of a cancel that is not recorded yet."""
        self.open.pop(session_id, None)
        try:
            record = read_session(session_id, self.host.journal.checked_rows(
                flow_id=session_id), self.host.context_limit)
            if record.end is not None:  # an earlier version could write rows after the end
                self._keep(status_at_end(record, record.end))
                return
            self._start(record, canceled_by)
        except Exception as error:  # a bad row must not affect other sessions
            self._set_aside(
                session_id, str(error) if isinstance(error, LifecycleError) else repr(error))
        else:
            _LOG.info('goes on with session %s', session_id)

    def _set_aside(self, session_id: str, reason: str) -> None:
        """Leave a session as it is in the journal, as long as this process runs."""
        broken = self.open.pop(session_id, None)
        if broken is not None:
            broken.closed = True
        self.aside[session_id] = reason
        _LOG.error('session %s is set aside: %s', session_id, reason)
        self.host.set_aside(session_id)

    def _note_end(self, row: Row) -> None:
        try:
            record = SessionRecord(row.flow_id)
            record.apply(row)
            self._keep(status_at_end(record, row.data))
        except (JournalError, LookupError, TypeError, ValueError) as error:
            _LOG.error('row %d of the journal (end of session %s) is left out: %s', row.seq,
                       row.flow_id, error)

    def _keep(self, status: SessionStatus) -> None:
        self.ended[status.id] = status
        while len(self.ended) > KEPT:
            del self.ended[next(iter(self.ended))]

    def _unknown(self, session_id: str) -> NoSession:
        if session_id in self.aside:
            return NoSession(f"session '{session_id}' is set aside: {self.aside[session_id]}")
        return NoSession(f"there is no session '{session_id[:100]}'"
                         + nearest(session_id[:100], [*self.open, *self.ended]))
