# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What is known of a session: it follows from the session's rows in the journal.

`SessionRecord.apply` takes each row, both when it was just written and when it is read back, so
that memory and journal can't differ. The events:

================ ==================================================================================
`opened`         graph, input, requester
`entered`        a transition is complete, with its output for the user
`effect`         a call of the state to the outside begins (only if it must not be repeated)
`effect_done`    its result or its error
`effect_void`    it was not made: the user has to authorise it first
`updated`        the run of a state ended, with its update of the context
`failed`         the run of a state failed, and a person may decide what follows
`paused`         a state waits for a person
`again`          a state runs again: after a failure or a pause
`moved`          a transition: event, states, who fired it, its input
`work`           the work of an invoker state begins
`task_sent`      a task of this work is given to a worker
`task_ended`     the outcome of a task
`canceling`      somebody cancels the session
`ended`          the end, with reason, output and context
================ ==================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
import json
from typing import Any

from ..steps import add_update
from ...dialogue.dialogue import DialogueEntry
from ...dialogue.flow_dialogue import entries_of
from ...dialogue.flow_dialogue import EVENT as DIALOGUE
from ...invoke import EarlierWork, from_json_data, Outcome, Progress
from ...journal.reader import CheckedRow
from ...journal.row import Entry, JournalError, Row

CONTEXT_LIMIT = 200_000
"""Default limit of a context, in characters of JSON."""
MAX_MESSAGE = 4000
"""Maximum length of an error message, in characters."""
PLAN = 'plan'
"""Key of an update that is the plan of a planner."""
KIND = 'session'
ACTION = 'session'
"""`action_id` of all rows of a session, so that compaction keeps them while it is open."""

Number = int | str
"""Number of an effect of a run of a state; of a call in a skill, such as 2.0."""
RUN = -1
"""Number of the effect that is the run itself, of a state that must not be repeated."""

ENDED, FAILED, CANCELED = 'ended', 'failed', 'canceled'
USER, STATE, WORK = 'user', 'state', 'work'  # who fires an event


@dataclass
class SessionRecord:
    """A session as the journal has it."""

    session_id: str
    context_limit: int = CONTEXT_LIMIT
    graph_text: str = ''
    graph_source: str = ''
    graph_name: str = ''
    requester: str = ''
    context: Any = None
    state: str = ''
    step: int = 0               #: number of states entered
    visit: int = 0              #: number of runs of states begun; part of the ids of effects
    runs: int = 0               #: runs of states since the last event of the user
    settled: bool = False       #: the last transition is complete
    output: str = ''
    move: dict[str, Any] = field(default_factory=dict)  #: data of the last transition
    actor_input: Any = None     #: input of the last transition
    update: Any = None          #: of the last run of the state
    updated: bool = False       #: the state has run, and is to be left
    next_state: str | None = None  #: decided by the state itself
    error: str = ''             #: of the last run of the state
    pause: dict[str, str] | None = None
    pauses: int = 0             #: number of pauses so far
    begun: dict[Number, dict[str, Any]] = field(default_factory=dict)  #: effects of this visit
    done: dict[Number, dict[str, Any]] = field(default_factory=dict)
    work: EarlierWork | None = None
    canceled_by: str | None = None
    end: dict[str, Any] | None = None
    stamp: float = 0.0          #: ROS time (s) of the last row
    entries: list[DialogueEntry] = field(default_factory=list)  #: only those that were read back

    @property
    def reason(self) -> str:
        """Return why the session ended; '' while it is open."""
        return str(self.end['reason']) if self.end else ''

    def apply(self, row: Row) -> None:
        """Apply a row; raises JournalError if it can't be used."""
        self.stamp = row.ros_time or row.wall_time
        try:
            getattr(self, f'_{row.event}')(row.data, row)
        except JournalError:
            raise
        except Exception as error:  # a row may have any content
            raise JournalError(f"row {row.seq}: '{row.event}' of session {row.flow_id} has data "
                               f'that can not be used: {error!r}') from error

    def _opened(self, data: Mapping[str, Any], row: Row) -> None:
        self.graph_text, self.graph_source = data['graph'], data['source']
        self.graph_name, self.requester = data['name'], row.actor
        self.context, self.actor_input = data['context'], data.get('input')
        self.state, self.step, self.visit = row.to_state, 1, 1

    def _entered(self, data: Mapping[str, Any], row: Row) -> None:
        self.output, self.settled = data['output'], True

    def _effect(self, data: dict[str, Any], row: Row) -> None:
        self.begun[data['n']] = data

    def _effect_done(self, data: dict[str, Any], row: Row) -> None:
        self.done[data['n']] = data

    def _effect_void(self, data: dict[str, Any], row: Row) -> None:
        self.begun.pop(data['n'], None)

    def _updated(self, data: dict[str, Any], row: Row) -> None:
        self.update, self.next_state = data.get('update'), data.get('next')
        self.runs += 1
        self._add(self.state, self.update)
        if data['ready']:
            self.updated = True
        else:
            self._new_visit()

    def _failed(self, data: Mapping[str, Any], row: Row) -> None:
        self.error = data['error']

    def _paused(self, data: Mapping[str, Any], row: Row) -> None:
        self.pauses += 1
        self.pause = {'message': data['message'], 'link': data['link']}
        self.begun.pop(RUN, None)  # it has ended, so its fate is known

    def _again(self, data: Mapping[str, Any], row: Row) -> None:
        if self.error and not self.updated:  # else only the choice of the next state failed
            self._new_visit()
        self.error, self.pause, self.runs = '', None, 0

    def _moved(self, data: dict[str, Any], row: Row) -> None:
        by = data['by']
        self.move = {**data, 'source': row.from_state, 'target': row.to_state}
        given = data.get('input')  # plain JSON, as the context is
        self.actor_input = said(self.update) if by == STATE else \
            from_json_data(given) if by == WORK else given
        if by == USER:
            self.runs = 0
        elif by == WORK:
            self.runs += 1
        if by != STATE:
            self._add(row.from_state, given)
        self.state, self.settled, self.update, self.updated = row.to_state, False, None, False
        self.step += 1
        self.error, self.pause, self.work = '', None, None
        self._new_visit()

    def _work(self, data: Mapping[str, Any], row: Row) -> None:
        self.work = EarlierWork(data['run'], Progress(*data['before']), [])

    def _task_sent(self, data: Mapping[str, Any], row: Row) -> None:
        self._note_task(data, None)

    def _task_ended(self, data: Mapping[str, Any], row: Row) -> None:
        self._note_task(data, Outcome(from_json_data(data.get('value')), data.get('error', '')))

    def _note_task(self, data: Mapping[str, Any], outcome: Outcome | None) -> None:
        if self.work is not None and self.work.run_id == data['run']:
            self.work.tasks.append((data['task'], outcome))  # type: ignore[attr-defined]

    def _canceling(self, data: Mapping[str, Any], row: Row) -> None:
        self.canceled_by = row.actor

    def _ended(self, data: dict[str, Any], row: Row) -> None:
        self.end = data

    def _add(self, state: str, update: Any) -> None:
        add_update(self.context, state, update)
        if isinstance(self.context, list):
            _drop_oldest(self.context, self.context_limit)

    def _new_visit(self) -> None:
        self.visit += 1
        self.begun, self.done = {}, {}
        self.next_state = None


def size_of(context: Any) -> int:
    """Return the size of a context, in characters of JSON."""
    return len(json.dumps(context))


def _drop_oldest(context: list[Any], limit: int) -> None:
    """Drop the oldest items after the first one, the request; the last plan is kept."""
    size = size_of(context)
    while size > limit and len(context) > 2:
        plans = [index for index, item in enumerate(context)
                 if isinstance(item, Mapping) and PLAN in item]
        index = 2 if plans and plans[-1] == 1 else 1
        if index >= len(context) - 1:
            return
        size -= size_of(context.pop(index)) + 2


def said(update: Any) -> Any:
    """Return what an update says to the user: the content of a message, else all of it."""
    if isinstance(update, Mapping) and 'content' in update and 'role' in update:
        return update['content']
    return update


def recordable(message: str) -> str:
    """Return an error message as a row can have it: cut, and without lone surrogates."""
    return message[:MAX_MESSAGE].encode('utf-8', 'replace').decode()


def read_session(
    session_id: str, rows: Iterable[CheckedRow], context_limit: int = CONTEXT_LIMIT
) -> SessionRecord:
    """Return the record of a session from its rows; raises JournalError for a damaged one."""
    record = SessionRecord(session_id, context_limit)
    for row, fault in rows:
        if fault:
            raise JournalError(f'row {row.seq} of the journal {fault}')
        if row.kind == KIND:
            record.apply(row)
        elif row.kind == 'note' and row.event == DIALOGUE:
            record.entries += entries_of([row])
    if not record.graph_text:
        raise JournalError(f'session {session_id} has no row with its graph')
    return record


def entry_of_dialogue(session_id: str, entry: DialogueEntry) -> Entry:
    """Return the note of an entry of the dialogue."""
    return Entry(kind='note', flow_id=session_id, action_id=ACTION, event=DIALOGUE,
                 actor=entry.actor, final=True, ros_time=entry.stamp,
                 data={'state': entry.state, 'persistence': entry.persistence.value,
                       'text': entry.text})
