# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A hosted session: a graph of typed states that is journaled step by step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
import logging
import threading
from types import SimpleNamespace
from typing import Any

from .cancel import Cancel
from .driver import Driver
from .host import (
    CANCEL,
    Host,
    POLL,
    RETRY,
    RUNNING,
    SessionStatus,
    status_at_end,
    WAITING,
    WORKING,
)
from .hosted_graph import invoker_states, working_states
from .record import (
    ACTION,
    ENDED,
    entry_of_dialogue,
    FAILED,
    KIND,
    recordable,
    SessionRecord,
    size_of,
    STATE,
    USER,
    WORK,
)
from .work_log import SessionWorkLog
from ..handler import StateHandler
from ..steps import Session
from ...dialogue import Conversation, Dialogue, DialogueEntry, Reply
from ...dialogue.hooks import make_hooks
from ...documents.errors import LifecycleError, TransitionNotAllowed
from ...graphs.hooks import find_hooks
from ...graphs.loader import load_graph
from ...graphs.machine import Change, Machine
from ...invoke import EarlierWork, Invoker, Progress, to_json_data, WireError
from ...journal.row import Entry, EntryRefused, JournalError
from ...lifecycle.states import ErrorCode

_LOG = logging.getLogger('action_lifecycle')


class HostedSession(Session):
    """
    A session whose states, context, dialogue and outside work are in the journal.

    States of types `user`, `terminal` and none wait for an event of the user, `invoker` states for
    their work; all others run by themselves. All methods are called in the loop of the host.
    `proceed` begins the session, or goes on where its record ends.
    """

    def __init__(self, host: Host, record: SessionRecord) -> None:
        graph = load_graph(record.graph_text, name=record.graph_source)
        self.host = host
        self.record = record
        self._loop = asyncio.get_running_loop()
        self._writing = threading.Lock()
        self.works = working_states(graph)
        self.dialogue = Dialogue(
            graph, names=self._names, entries=record.entries, recorded=self._keep_entry,
            clock=host.now, works=self.works | invoker_states(graph))
        self.dialogue.output = record.output
        self._hooks = make_hooks(graph.listener, self.dialogue)
        listeners: list[object] = [self.dialogue, SimpleNamespace(
            cond=self.cond, after_transition=self.after_transition), *self._hooks]
        self.invoker: Invoker | None = None
        if invoker_states(graph):
            if host.engine is None:
                raise LifecycleError(f"graph '{graph.name}' has states of type invoker, but no "
                                     'engine is configured')
            self.invoker = Invoker(
                graph, host.engine, names=self._names, log=SessionWorkLog(self),
                call_soon=lambda call: self._loop.call_soon_threadsafe(self._guarded, call))
            listeners.append(self.invoker)
        super().__init__(
            StateHandler(graph=graph, untyped=True), record.context, chooser=host.chooser,
            choice_timeout=host.choice_timeout, machine=Machine(
                graph, listeners=listeners, commit=self._commit, on_error=self._hook_failed,
                state=record.state, name=record.session_id))
        self.conversation = Conversation(self.machine, self.dialogue, self, restored=True,
                                         next_events=self._next_events)
        record.entries = []  # the dialogue has them
        self.closed = False
        self.people = any(state.type == 'user' for state in graph.states.values())
        self._entry: DialogueEntry | None = None
        self._driver = Driver(self)
        self.canceling = Cancel(self, self._driver)

    # -- from outside

    def status(self) -> SessionStatus:
        """Return the present status."""
        record = self.record
        if record.end is not None:
            return status_at_end(record, record.end)
        progress = self.invoker.progress if self.invoker is not None else None
        events = self._next_events()
        error = '' if events == (POLL,) else self.error
        return SessionStatus(
            record.session_id, record.graph_name, record.state,
            WORKING if progress is not None else
            RUNNING if events == (POLL,) and not self._driver.asks else WAITING,
            record.stamp, record.step, *(progress or (0, 0, 0.0)), events, self.dialogue.output,
            int(ErrorCode.WORK_FAILED if error else ErrorCode.NONE), error)

    async def send(self, event: str, actor_input: Any = None, actor: str = '') -> Reply:
        """
        Fire an event of the user, or `retry` or `cancel`; `poll` only returns the present state.

        Raises TransitionNotAllowed, JournalError, or LifecycleError with what a hook or validator
        has raised; then nothing has changed.
        """
        if self.record.end is not None and event != POLL:
            raise TransitionNotAllowed(event, self.record.state, (), 'the session has ended')
        if event == CANCEL:
            self.canceling.begin(actor)
            await self.canceling.wait()
        elif event == RETRY and RETRY in self._next_events() \
                and RETRY not in self.machine.graph.events:
            self.write('again', {}, actor=actor)
        else:
            try:
                reply = self.conversation.send(event, actor_input, actor=actor)
            except TransitionNotAllowed as error:
                possible = self._next_events()
                raise TransitionNotAllowed(
                    error.event, error.state, possible,
                    'work is running' if possible == (POLL,) else error.reason) from error
            except LifecycleError:
                raise
            except Exception as error:  # hooks are user-defined
                _LOG.debug('a hook failed', exc_info=True)
                raise LifecycleError(
                    f"event '{event}' is refused: {str(error) or type(error).__name__}") from error
            self.wake()
            return reply._replace(next_events=self._next_events())
        self.wake()
        return Reply('', self._next_events(), None, '')

    async def detach(self) -> None:
        """Leave the session as it is; its record goes on later, in another object."""
        self._driver.detach.is_set = self.closed = True
        await self.canceling.detach()
        await self._driver.end()

    def leave_work(self) -> None:
        """Stop the tasks that no other object of this session has taken over."""
        if self.invoker is not None:
            self.invoker.give_up('the session goes on from its record')

    def proceed(self, canceled_by: str | None = None) -> None:
        """Go on where the record ends; `canceled_by`: of a cancel that is not recorded yet."""
        try:
            if self.record.canceled_by is not None or canceled_by is not None:
                self.canceling.begin(canceled_by or '')
                return
            self._settle()
            if self.machine.graph.states[self.record.state].final:
                self.finish(ENDED)
        except LifecycleError as error:
            self._give_up(error)
        self.wake()

    def wake(self) -> None:
        """Run the states that run by themselves, in a task."""
        self.host.changed(self)
        self._driver.wake()

    # -- the record

    def write(
        self, event: str, data: Mapping[str, Any], source: str = '', target: str = '',
        actor: str = '', final: bool = False, note: Entry | None = None,
    ) -> None:
        """
        Journal an event, in one commit with `note`, then apply it; raises JournalError.

        Other threads may call it, too.
        """
        entry = Entry(
            KIND, self.record.session_id, ACTION, event=event, from_state=source,
            to_state=target, actor=actor, data=data, final=final, ros_time=self.host.now())
        journal = self.host.journal
        with self._writing:  # so that no row follows the end
            if self.closed or self.record.end is not None:
                raise JournalError(f'session {self.record.session_id} takes no more rows')
            row = journal.append(entry) if note is None else \
                journal.append_many([note, entry])[-1]
            self.record.apply(row)
        self._loop.call_soon_threadsafe(self.host.changed, self)

    def finish(
        self, reason: str, code: ErrorCode = ErrorCode.NONE, message: str = ''
    ) -> None:
        """End the session; does nothing if it has ended."""
        record = self.record
        if record.end is not None or self.closed:
            return
        context = record.context
        if size_of(context) > 2 * self.host.context_limit:
            context = None
        try:
            self.write('ended', {
                'reason': reason, 'graph': record.graph_name, 'state': record.state,
                'step': record.step, 'output': self.dialogue.output, 'error_code': int(code),
                'error_msg': recordable(message), 'context': context}, final=True)
        except JournalError as error:
            self.refuse(error)
            return
        if self.invoker is not None:
            self.invoker.give_up('the session has ended')
        self.host.ended(self)

    def refuse(self, error: Exception) -> None:
        """Close the session, as the journal refused a row; the host goes on with it later."""
        if not self.closed and self.record.end is None:
            self._refuse(error)

    def refuse_soon(self, error: Exception) -> None:
        """Do the same from any thread; nothing more is recorded from now on."""
        if not self.closed:
            self.closed = True
            self._loop.call_soon_threadsafe(self._refuse, error)

    def _refuse(self, error: Exception) -> None:
        self.closed = self._driver.detach.is_set = True
        self.host.refused(self, error)

    # -- hooks of the machine

    def cond(self, source: str, driven: bool = False) -> bool:
        """Permit events of the user only in states that wait for one."""
        record = self.record
        if record.end is not None or record.canceled_by is not None or self.closed:
            return False
        return source not in self.works or driven or self._driver.waits()

    def after_transition(self, target: str) -> None:
        """Record that the transition is complete; end the session in a final state."""
        entry, self._entry = self._entry, None
        self.write('entered', {'output': self.dialogue.output}, note=None if entry is None
                   else entry_of_dialogue(self.record.session_id, entry))
        if self.machine.graph.states[target].final:
            self.finish(ENDED)
        elif self.record.runs >= self.host.max_steps and target not in self.works:
            self._driver.check_steps()

    def _keep_entry(self, entry: DialogueEntry) -> None:
        self._entry = entry

    def _commit(self, change: Change) -> None:
        data = change.data
        by = STATE if data.get('driven') else WORK if data.get('invocation') else USER
        row: dict[str, Any] = {'event': change.event, 'by': by}
        if by != STATE:
            try:
                row['input'] = to_json_data(data.get('actor_input'))
            except WireError as error:
                raise WireError(f"event '{change.event}': actor_input: {error}") from None
        progress = self.invoker.progress if self.invoker is not None else None
        if progress is not None and \
                change.event == self.machine.graph.states[change.source].config.get('done'):
            row['progress'] = list(progress)
        self.write('moved', row, change.source, change.target, str(data.get('actor', '')))

    def _hook_failed(self, change: Change, error: Exception) -> None:
        self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """End the session, as it can't go on after an error."""
        if isinstance(error, JournalError) and not isinstance(error, EntryRefused):
            self.refuse(error)
        else:
            self.finish(FAILED, ErrorCode.WORK_FAILED, str(error) or type(error).__name__)

    # -- the work of states of type invoker; see InvokedWork

    @property
    def error(self) -> str:
        """Return the error of the last run or work; '' if it did not fail."""
        return self.record.error or (self.invoker.error if self.invoker is not None else '')

    def poll(self) -> Progress | None:
        """Return the progress of the running work; None if nothing runs."""
        progress = self.invoker.poll() if self.invoker is not None else None
        return Progress() if progress is None and self._driver.runs() else progress

    def _next_events(self) -> tuple[str, ...]:
        if self.record.end is not None:
            return ()
        if self.closed or self._driver.runs() or self.record.canceled_by is not None \
                or (self.invoker is not None and self.invoker.progress is not None):
            return (POLL,)
        try:
            events = self.machine.possible_events()
        except Exception:  # of a guard, which may need the data of an event
            events = tuple(self.machine.graph.table[self.machine.state])
        return (*events, RETRY) if self.record.state in self.works and RETRY not in events \
            else events

    def _settle(self) -> None:
        """Complete the last transition, or resume the work of its state."""
        record = self.record
        move, state = record.move, record.state
        if not record.settled and move:
            self.dialogue.before_transition(
                move['source'], state, record.actor_input, 'user' if move['by'] == USER else '')
            self._repeat_hooks(move)
            self.dialogue.after_transition(state)
        elif not record.settled:
            self.dialogue.greet(state)
        if not record.settled:
            self.after_transition(state)
        if self.invoker is not None and state in invoker_states(self.machine.graph) \
                and record.end is None:
            before = Progress(*move.get('progress', ()))
            self.invoker.resume(self.machine, record.actor_input,
                                record.work or EarlierWork('', before, ()))

    def _repeat_hooks(self, move: Mapping[str, Any]) -> None:
        """Call the registered hooks of a transition that an earlier process has not completed."""
        graph = self.machine.graph
        for made in graph.table[move['source']].get(move['event'], ()):
            if made.target == move['target']:
                hooks = find_hooks(graph, made, self._hooks)
                data = {'actor_input': self.record.actor_input}
                scope = {**data, 'event': made.event, 'source': made.source,
                         'target': made.target, 'machine': self.machine,
                         'change': Change(made, data, self.machine)}
                try:
                    for state, calls in ((made.source, hooks.before), (made.target, hooks.after)):
                        for call in calls:
                            call({**scope, 'state': state})
                except Exception as error:  # hooks are user-defined
                    raise LifecycleError(str(error) or type(error).__name__) from error
                return

    def _guarded(self, call: Callable[[], None]) -> None:
        """Call back with the end of work; the session then goes on."""
        try:
            call()
        except Exception as error:
            self._give_up(error)
        self.wake()

    def _names(self) -> dict[str, Any]:
        return {'context': self.record.context, 'session': self.record.session_id}
