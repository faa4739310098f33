# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writes changes of actions and flows to the journal and publishes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
import logging
from typing import Any
import uuid

from ...journal.action_rows import entry_of
from ...journal.durability import STEP
from ...journal.flow_rows import is_flow_change, STAGE
from ...journal.journal import Journal
from ...journal.row import Entry, Row
from ...lifecycle.action import Action
from ...lifecycle.journal_retry import until_recorded
from ...lifecycle.ports import Handle, LifecycleClock

TEXT_PART = 250_000
"""Maximum number of characters of a flow's text in one row."""

CLEAR_STOP = 'clear_stop'
"""Kind of the rows of an order to clear a stop; `action_id` is the id of the order."""


def name_lists(**names: Iterable[str]) -> dict[str, Any]:
    """
    Return the data of a row that lists actions for readers of the ledger.

    Lists that are too long for one row are left out; then the changes of the actions name them.
    """
    lists = {key: list(found) for key, found in names.items()}
    size = sum(len(name) + 3 for found in lists.values() for name in found)
    return {key: found for key, found in lists.items() if found and size <= TEXT_PART}


class JournalRecorder:
    """
    Journals changes of actions and flows, then calls `changed(action, row)` or `flow_row(row)`.

    `flow_row` gets each row that is a change of a flow (see `journal.flow_rows`), in order.
    `call_soon` runs a callable in the orchestrator's thread; barriers are passed in another
    thread.
    """

    def __init__(
        self,
        journal: Journal,
        clock: LifecycleClock,
        call_soon: Callable[[Callable[[], None]], None],
        changed: Callable[[Action, Row], None],
        flow_row: Callable[[Row], None] = lambda row: None,
    ) -> None:
        self.journal = journal
        self.clock = clock
        self.call_soon = call_soon
        self.changed = changed
        self.flow_row = flow_row
        self.action_changed: Callable[[Action], None] = lambda action: None
        #: called before `changed`
        self.row: Row | None = None  #: the last row of a flow or an action
        self._transition: Row | None = None  #: the last row of an action
        self._ended = self._ended_safe = 0
        """Rows of the last end of an action, and of the last one that survives a power loss."""
        self._unpublished: list[Row] = []  #: rows of the change of a flow that takes effect now
        self._log = logging.getLogger('action_lifecycle')

    def transition(self, action: Action, change: Any) -> None:
        """
        Append a change of an action; if it raises JournalError, the change does not take effect.

        Locked resources get rows of kind 'lock' in the same commit; they stay open until `unlock`.
        """
        now = self.clock.now()
        locks = [Entry(kind='lock', action_id=name, event='lock', ros_time=now,
                       cause=f'{action.flow_id}/{action.action_id} was not seen to stop')
                 for name in change.data.get('locked', ())]
        entry = entry_of(
            action, change.event, change.source, change.target, change.data, now)
        if locks:
            self.row = self.journal.append_many([entry, *locks])[0]
        else:
            self.row = self.journal.append(entry)
        self._transition = self.row
        if self.row.final and self.journal.wants_power(self.row):
            self._ended = self.row.seq

    def step(self, action: Action, data: Mapping[str, Any]) -> None:
        """Append that the next step of an action's work begins; if it raises, it must not."""
        state = action.state.value
        self._transition = self.journal.append(Entry(
            kind='note', flow_id=action.flow_id, action_id=action.action_id,
            attempt=action.attempt, event=STEP, from_state=state, to_state=state, data=data,
            final=True, ros_time=self.clock.now()))
        action.begin_step(data)

    def published(self, action: Action, change: Any) -> None:
        """Publish the change that was just appended."""
        assert self.row is not None
        action.dated(self.row.seq, self.row.ros_time or 0.0, self.row.to_state)
        self.action_changed(action)
        self.changed(action, self.row)

    def append(self, *entries: Entry) -> list[Row]:
        """Append entries in one commit, then publish the changes of flows among them."""
        rows = self._append(entries)
        self._publish(rows)
        return rows

    def flow_changed(self, run: Any, change: Any) -> None:
        """
        Append a change of a flow or of its stage, before it takes effect.

        The first change has `flow`, the content of the flow. It is written as two rows in one
        commit: 'accepted' in START, and the change itself. A long text is split into several rows.
        The stages that START has entered are rows of the same commit as its end.
        """
        now = self.clock.now()
        if change.machine is run.stages:
            self._unpublished = self._append([Entry(
                kind='flow', flow_id=run.flow_id, event=STAGE, to_state=run.state,
                data={'stage': change.target}, ros_time=now)])
            self.row = self._unpublished[-1]
            return
        data = dict(change.data)
        flow = data.pop('flow', None)
        columns: dict[str, Any] = {name: str(data.pop(name, '')) for name in ('cause', 'actor')}
        final = bool(data.pop('final', False))
        if change.target == 'START':
            data['stage'] = run.stages.graph.initial
        elif change.source == 'START' and change.target == 'FAIL':
            data['stage'] = run.stage
        entry = Entry(
            kind='flow', flow_id=run.flow_id, event=data.pop('event', change.event.lower()),
            from_state=change.source, to_state=change.target, data=data, final=final,
            ros_time=now, **columns)
        entries = [*self._accepted(run, flow, now, columns), *(Entry(
            kind='flow', flow_id=run.flow_id, event=STAGE, to_state=change.source,
            data={'stage': stage}, ros_time=now)
            for stage in run.new_stages if change.target != 'FAIL'), entry]
        rows = self._append(entries)
        self._unpublished = rows
        self.row = rows[-1]
        run.new_stages.clear()
        if flow is not None:
            run.entered('START', rows[0].wall_time)
        run.entered(change.target, self.row.wall_time)

    @staticmethod
    def _accepted(
        run: Any, flow: Mapping[str, Any] | None, now: float, columns: Mapping[str, Any]
    ) -> list[Entry]:
        """Return the entries of the content of a flow."""
        if flow is None:
            return []
        text, nested = flow['text'], flow.get('nested', [])
        flow = {key: value for key, value in flow.items() if key != 'nested'}
        if nested:  # the texts of nested flows follow that of the flow
            flow = {**flow, 'length': len(text), 'nested': [
                [*place, len(found)] for *place, found in nested]}
            text += ''.join(found for *_, found in nested)
        parts = [text[start:start + TEXT_PART] for start in range(0, len(text), TEXT_PART)]
        stage = run.stages.graph.initial if run.stages.history else run.stage
        head = Entry(kind='flow', flow_id=run.flow_id, event='accepted', to_state='START',
                     data={**flow, 'text': parts[0], 'parts': len(parts), 'stage': stage,
                           **name_lists(action_names=run.flow.actions)}, ros_time=now, **columns)
        return [head, *(Entry(kind='flow', flow_id=run.flow_id, event='text', to_state='START',
                              data={'text': part}, ros_time=now) for part in parts[1:])]

    def flow_published(self, run: Any, change: Any) -> None:
        """Publish the rows of the change of a flow that was just appended."""
        rows, self._unpublished = self._unpublished, []
        self._publish(rows)

    def _append(self, entries: Sequence[Entry]) -> list[Row]:
        if len(entries) == 1:
            return [self.journal.append(entries[0])]
        return self.journal.append_many(entries)

    def _publish(self, rows: Iterable[Row]) -> None:
        for row in filter(is_flow_change, rows):
            try:
                self.flow_row(row)
            except Exception:  # the row is recorded, so the change takes place
                self._log.exception('row %d of flow %s is not published', row.seq, row.flow_id)

    def until_recorded(
        self, what: str, write: Callable[[], Any], again: Callable[[], Any] | None = None
    ) -> bool:
        """Call `write` until it is recorded or the journal is closed; see `journal_retry`."""
        def later(delay: float, repeat: Callable[[], Any]) -> Handle:
            return self.clock.call_later(
                delay, lambda: None if self.journal.closed else repeat())
        return until_recorded(later, what, write, again)

    def note(
        self, flow_id: str, event: str, data: Mapping[str, Any], actor: str, cause: str
    ) -> None:
        """Append a note, which changes no state; a failed write is retried later."""
        self.until_recorded(f'{event} of {flow_id}',
                            lambda: self.order(flow_id, event, data, actor, cause))

    def order(
        self, flow_id: str, event: str, data: Mapping[str, Any], actor: str, cause: str
    ) -> Row:
        """Append a note with a person's order; if it raises JournalError, it has no effect."""
        return self.append(Entry(
            kind='note', flow_id=flow_id, event=event, data=data, actor=actor, cause=cause,
            final=True, ros_time=self.clock.now()))[0]

    def lock(self, name: str, cause: str, data: Mapping[str, Any]) -> Row:
        """Append the lock of a resource; `cause`: why it is locked."""
        return self.journal.append(Entry(
            kind='lock', action_id=name, event='lock', cause=cause, data=data,
            ros_time=self.clock.now()))

    def unlock(self, names: Iterable[str], actor: str, cause: str, order: str = '') -> None:
        """
        Append that `actor` has unlocked resources.

        `order`: the open order of `clear_stop` that this completes, in the same commit.
        """
        entries = [Entry(kind='lock', action_id=name, event='unlock', actor=actor, cause=cause,
                         final=True, ros_time=self.clock.now()) for name in names]
        if order:
            entries.append(self._clear_stop(order, 'done', actor, cause))
        self.journal.append_many(entries)

    def clear_stop_ordered(self, names: Iterable[str], actor: str, cause: str) -> Row:
        """
        Append a person's order to clear a stop and unlock `names`; returns its row.

        The row's `action_id` is the id of the order, which stays open until `unlock` or
        `clear_stop_refused`.
        """
        return self.journal.append(self._clear_stop(
            uuid.uuid4().hex, 'clear_stop', actor, cause, {'resources': list(names)}))

    def clear_stop_refused(self, order: str, actor: str, cause: str) -> None:
        """Append that an order to clear a stop was refused; `cause`: why."""
        self.journal.append(self._clear_stop(order, 'clear_stop_refused', actor, cause))

    def _clear_stop(
        self, order: str, event: str, actor: str, cause: str, data: Mapping[str, Any] = {}
    ) -> Entry:
        return Entry(kind=CLEAR_STOP, action_id=order, event=event, actor=actor, cause=cause,
                     data=data, final=event != 'clear_stop', ros_time=self.clock.now())

    def barrier(self, callback: Callable[[], None]) -> None:
        """Call back when the last transition is as durable as configured."""
        if self._transition is None or self.journal.wants_power(self._transition):
            self.synced(callback)
        else:
            self.call_soon(lambda: self._when_files_are_there(callback))

    def _when_files_are_there(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the files have the rows, as a barrier does."""
        if self.until_recorded('a row before its effect', self.journal.check_files,
                               lambda: self._when_files_are_there(callback)):
            callback()

    @property
    def ends_are_safe(self) -> bool:
        """Whether the ends of actions are as durable as configured, so that a flow may end."""
        return self._ended <= self._ended_safe

    def when_ends_are_safe(self, callback: Callable[[], None]) -> None:
        """Call back when the ends of all actions so far are as durable as configured."""
        ended = self._ended

        def safe() -> None:
            self._ended_safe = max(self._ended_safe, ended)
            callback()

        self.synced(safe)

    def synced(self, callback: Callable[[], None]) -> None:
        """Call back in the orchestrator's thread when all rows so far survive a power loss."""
        def done(future: Future[int]) -> None:
            if self.until_recorded('a row that must survive a power loss', future.result,
                                   lambda: self.synced(callback)):
                callback()

        self.journal.barrier(lambda future: self.call_soon(lambda: done(future)))
