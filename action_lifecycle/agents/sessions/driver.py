# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs the states of a session that run by themselves, one after the other, in a task."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
import logging
from typing import Any, Protocol

from .detach import DETACH, Detach
from .effects import AGAIN, ANSWERS, DONE, Effects, RecordedAgent
from .effects import FAILED as SAID_FAILED
from .host import Host
from .record import ACTION, FAILED, recordable, RUN, said, SessionRecord, size_of
from ..chooser import awaited
from ..time_limit import limited, unlimited
from ...documents.errors import LifecycleError
from ...graphs.graph import Transition
from ...graphs.machine import Machine
from ...graphs.state_types import Pause, State
from ...journal.row import EntryRefused, JournalError
from ...lifecycle.question import Question
from ...lifecycle.states import ErrorCode

AUTHORIZED, GIVE_UP = 'authorized', 'give_up'
_LOG = logging.getLogger('action_lifecycle')


class DrivenSession(Protocol):
    """What the driver needs of its session."""

    host: Host
    record: SessionRecord
    machine: Machine
    works: frozenset[str]
    closed: bool
    people: bool

    @property
    def state(self) -> State:
        """Return the object of the current state."""

    def renew_state(self) -> None:
        """Let the next run have a new object."""

    def write(self, event: str, data: Mapping[str, Any]) -> None:
        """Journal an event, then apply it."""

    def finish(self, reason: str, code: ErrorCode = ErrorCode.NONE, message: str = '') -> None:
        """End the session."""

    def refuse(self, error: Exception) -> None:
        """Close the session, as the journal refused a row."""

    async def next_transition(
        self, state: State, wanted: str | None, **data: Any
    ) -> Transition | None:
        """Return the transition to be made."""


class Driver:
    """Runs states until one waits for an event or for work; see `HostedSession`."""

    def __init__(self, session: DrivenSession) -> None:
        self.session = session
        self.detach = Detach()
        self.asks = False  #: whether a person is asked
        self._task: asyncio.Task[None] | None = None

    @property
    def record(self) -> SessionRecord:
        """Return the record of the session."""
        return self.session.record

    def wake(self) -> None:
        """Run the states, if one is to run."""
        if self.runs() and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._drive())

    async def end(self) -> None:
        """Cancel the state that runs, and wait for its end."""
        task = self._task
        if task is not None and task is not asyncio.current_task() and not task.done():
            task.cancel()
            await asyncio.wait([task])

    def waits(self) -> bool:
        """Whether a state that runs by itself waits for a person."""
        record = self.record
        return bool(record.error) or bool(record.pause and not record.pause['link'])

    def runs(self) -> bool:
        """Whether the current state runs, or is to run."""
        record, session = self.record, self.session
        return (record.state in session.works and record.end is None and not session.closed
                and record.canceled_by is None and not self.waits())

    async def _drive(self) -> None:
        DETACH.set(self.detach)
        try:
            while self.runs():
                if not self.check_steps():
                    await self._step(self.session.state)
        except JournalError as error:
            self.session.refuse(error)
        except Exception as error:
            _LOG.exception('session %s', self.record.session_id)
            self.session.finish(FAILED, ErrorCode.INTERNAL, repr(error))
        self.session.host.changed(self.session)

    def check_steps(self) -> bool:
        """End the session if too many states have run since the last event of the user."""
        if self.record.runs < self.session.host.max_steps:
            return False
        self.session.finish(
            FAILED, ErrorCode.WORK_FAILED,
            f'max_steps: {self.record.runs} states have run without an event of the user')
        return True

    async def _step(self, state: State) -> None:
        """Run a state and leave it, or only leave it if it has run before a restart."""
        record, step = self.record, self.record.step
        try:
            if record.pause is not None:
                if not await self._authorized(record.pause):
                    return
            elif not record.updated:
                await self._run_state(state)
            if record.updated:
                await self._leave_state(state)
        except EntryRefused as error:  # it would be refused again
            self._fail(state, f'what it says can not be recorded: {error}')
        except JournalError:
            raise
        except asyncio.TimeoutError:
            self._fail(state, f'not done within {self.session.host.state_time_limit:g} s')
        except Exception as error:  # states are user-defined
            _LOG.debug('a state failed', exc_info=True)
            self._fail(state, str(error) or type(error).__name__)
        finally:
            if record.step != step or record.updated or record.error or record.pause:
                self.session.renew_state()  # else the state was not ready, and runs on

    async def _run_state(self, state: State) -> None:
        if not state.repeatable and not await self._may_run(state):
            return
        run = awaited(state.run(self.record.context, RecordedAgent(
            self.session.host.agent, Effects(self))))
        update = await limited(run, self.session.host.state_time_limit or None)
        if isinstance(update, Pause):
            self.session.write('paused', {'message': update.message, 'link': update.link})
            return
        self._write_update(state, update)

    def _write_update(self, state: State, update: Any) -> None:
        try:
            self.session.write('updated', {
                'update': update, 'next': state.next_state(self.record.context),
                'ready': bool(state.check_transition_ready(self.record.context))})
        except EntryRefused as error:
            raise LifecycleError(f'its update can not be recorded: {error}') from error
        size = size_of(self.record.context)
        if size > self.session.host.context_limit:
            raise LifecycleError(f'the context has {size} characters of JSON, at most '
                                 f'{self.session.host.context_limit} are kept')

    async def _leave_state(self, state: State) -> None:
        transition = await self.session.next_transition(
            state, self.record.next_state, driven=True)
        if transition is None:
            raise LifecycleError(f"blocked: no transition leads from state '{state.name}'")
        self.session.machine.fire(
            transition.event, expect=state.name, driven=True, actor_input=said(self.record.update))

    async def _may_run(self, state: State) -> bool:
        """Record that a state begins that must not be repeated; ask if it had begun before."""
        if RUN not in self.record.begun:
            self.session.write('effect', {'n': RUN, 'kind': 'run', 'key': state.name})
            await self.barrier()
            return True
        begun = self.record.begun[RUN]
        asked = begun.get('asked', 0)
        answer = await self.ask_what_happened(f"the run of state '{state.name}'",
                                              f'run.{asked}')
        if answer == DONE:
            self._write_update(state, None)
        elif answer == SAID_FAILED:
            raise LifecycleError('it has failed, a person says')
        else:
            self.session.write('effect', {**begun, 'asked': asked + 1})
            await self.barrier()
        return answer == AGAIN

    def _fail(self, state: State, error: str) -> None:
        """Offer the next events if people take part, else end the session."""
        _LOG.error("session %s, state '%s': %s", self.record.session_id, state.name, error)
        if self.session.people:
            self.session.write('failed', {
                'error': recordable(f"state '{state.name}': {error}")})
        else:
            self.session.finish(FAILED, ErrorCode.WORK_FAILED, f"state '{state.name}': {error}")

    # -- the log of effects

    def write(self, event: str, data: Mapping[str, Any]) -> None:
        """
        Journal an event of the session, then apply it.

        If the journal refuses it, the session is closed, since states may handle the exception.
        """
        try:
            self.session.write(event, data)
        except EntryRefused:
            raise
        except JournalError as error:
            self.session.refuse(error)
            raise

    async def barrier(self) -> None:
        """Wait until all rows survive a power loss."""
        await asyncio.wrap_future(self.session.host.journal.barrier())

    # -- questions to people

    async def ask_what_happened(self, what: str, key: str) -> str:
        """Ask a person what became of a call; returns one of ANSWERS. `key`: of the question."""
        return await self._ask(Question(
            'resume', self.record.session_id, ACTION,
            '{{ what }} had begun before the restart. Was it done? again: repeat it, done: go on '
            'without a result, failed: it has failed', ANSWERS,
            key=f'{self.record.visit}.{key}' + (
                f'.after{self.record.pauses}' if self.record.pauses else ''),
            names={'what': what})) or SAID_FAILED

    async def _authorized(self, pause: Mapping[str, str]) -> bool:
        answer = await self._ask(Question(
            'authorize', self.record.session_id, ACTION, '{{ message }}', (AUTHORIZED, GIVE_UP),
            key=f'pause.{self.record.pauses}', timeout=self.session.host.authorization_timeout,
            default=GIVE_UP, link=pause['link'], names={'message': pause['message']}))
        if answer == AUTHORIZED:
            self.session.write('again', {})
            return True
        self.session.write('again', {})
        raise LifecycleError(f"not authorised: {pause['message']}")

    async def _ask(self, question: Question) -> str:
        self.asks = True
        self.session.host.changed(self.session)
        try:
            with unlimited():
                return await self.session.host.ask(question)
        finally:
            self.asks = False
