# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The dialogue of each flow: the robot's questions, the answers, and how the flow ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
import logging
from typing import Any

from .desk import Listener, NOBODY, OpenRequest, OperatorDesk
from .dialogue import Dialogue, DialogueEntry, MAX_ENTRIES, Persistence
from .hooks import make_hooks
from ..documents.errors import LifecycleError
from ..flow.run.flow_hooks import Extension
from ..flow.run.flow_run import FlowRun
from ..graphs.machine import Machine
from ..graphs.packaged import packaged_graph
from ..journal.journal import Journal
from ..journal.reader import JournalReader
from ..journal.row import Entry, Row
from ..lifecycle.ports import LifecycleClock

EVENT = 'dialogue'
"""Event of the journal notes with entries."""


class FlowDialogue(Listener):
    """
    The dialogue of one flow, on the graph `dialogue.yaml`.

    The listeners of its machine are, in this order, the `Dialogue`, this object, and the hooks
    that the flow names. Errors here are logged and do not affect the flow.
    """

    def __init__(
        self, run: FlowRun, journal: Journal, clock: LifecycleClock,
        entries: Iterable[DialogueEntry], *, begun: bool,
    ) -> None:
        self._flow_id = run.flow_id
        self._journal = journal
        self._clock = clock
        self._waiting: set[str] = set()
        self._log = logging.getLogger('action_lifecycle')
        spec = run.flow.spec.dialogue
        names = {**run.flow.parameters, 'flow': run.flow_id, 'name': run.flow.name}
        self.dialogue = Dialogue(
            packaged_graph('dialogue'), templates={
                state: text for state in ('working', 'asking', 'ended')
                if (text := getattr(spec, state))},
            names=lambda: names, entries=entries, recorded=self._record, clock=clock.now)
        self.machine = Machine(
            packaged_graph('dialogue'),
            listeners=[self.dialogue, self, *self._hooks(spec.hooks)], name=run.flow_id,
            state='working' if begun else 'quiet')

    def _hooks(self, name: str) -> list[object]:
        try:
            return make_hooks(name, self.dialogue)
        except LifecycleError as error:
            self._log.error('dialogue of %s: %s', self._flow_id, error)
            return []

    def fire(self, event: str, text: Any, **data: Any) -> None:
        """Fire an event; `text`: a person's answer, or a mapping that describes a choice."""
        try:
            self.machine.fire(event, actor_input=text, **data)
        except Exception as error:  # hooks are user-defined
            self._log.error('dialogue of %s, %s: %r', self._flow_id, event, error)

    def asked(self, request: OpenRequest, again: bool) -> None:
        """Record a question; `again`: whether it was recorded before a restart."""
        self._waiting.add(request.id)
        question = request.question
        self.fire('ask', {
            'text': f'{question.action_id}: {question.text}' if question.action_id
            else question.text,
            'action': question.action_id, 'question': question.text, 'kind': question.kind,
            'options': list(question.options), 'default': question.default}, sender='invoker',
            again=again)

    def answered(self, request: OpenRequest, answer: str, actor: str, comment: str) -> None:
        """Record an answer, or a timeout."""
        self._waiting.discard(request.id)
        question = request.question
        about: dict[str, Any] = {
            'action': question.action_id, 'answer': answer, 'who': actor, 'comment': comment,
            'question': question.text, 'kind': question.kind, 'options': []}
        if actor == NOBODY:
            taken = f': {answer} was taken' if answer else ''
            self.fire('expire', {**about, 'text': f'{question.action_id}: nobody answered in '
                                 f'time{taken}'}, sender='invoker')
        elif question.options:
            said = f': {comment}' if comment else ''
            self.fire('choose', {**about, 'text': f'{answer} ({actor}){said}'}, sender='user')
        else:
            self.fire('answer', answer, sender='user')

    def withdrawn(self, request: OpenRequest) -> None:
        """Record that a question was withdrawn."""
        self._waiting.discard(request.id)
        self.fire('withdraw', None, sender='invoker')

    # Guard and hooks of the machine

    def others_wait(self) -> bool:
        """Return whether another question is open."""
        return bool(self._waiting)

    def before_ask(self, again: bool = False) -> None:
        """Do not record a question that was recorded before a restart."""
        if again:
            self.dialogue.dialogue_persistence = Persistence.NONE

    def before_choose(self) -> None:
        """Record the description of a choice, since control input is not recorded unchanged."""
        self.dialogue.dialogue_persistence = Persistence.RENDERED

    def before_answer(self) -> None:
        """Show a text answer unchanged."""
        self.dialogue.current_template = None

    def before_expire(self) -> None:
        """Record the timeout of a question."""
        self.dialogue.dialogue_persistence = Persistence.RENDERED

    def before_withdraw(self) -> None:
        """Record nothing."""
        self.dialogue.dialogue_persistence = Persistence.NONE
        self.dialogue.current_template = None

    def _record(self, entry: DialogueEntry) -> None:
        self._journal.append(Entry(
            kind='note', flow_id=self._flow_id, event=EVENT, actor=entry.actor, final=True,
            data={'state': entry.state, 'persistence': entry.persistence.value,
                  'text': entry.text}, ros_time=entry.stamp))


class FlowDialogues(Extension):
    """The dialogues of the running flows; listener of the operator desk."""

    def __init__(self, journal: Journal, clock: LifecycleClock, desk: OperatorDesk) -> None:
        self._journal = journal
        self._clock = clock
        self._open: dict[str, FlowDialogue] = {}
        self._read: dict[str, deque[DialogueEntry]] = {}  #: entries of restored flows
        desk.listeners = self._open
        desk.note_read = self._read_back

    def began(self, run: FlowRun) -> None:
        """Start the dialogue of a flow, or resume it after a restart."""
        entries = self._read.pop(run.flow_id, ())
        talk = FlowDialogue(run, self._journal, self._clock, entries, begun=bool(entries))
        self._open[run.flow_id] = talk
        if not entries:
            talk.fire('begin', run.origin.get('request'))

    def _read_back(self, row: Row) -> None:
        """Restore an entry of a flow's dialogue."""
        if row.event == EVENT:
            self._read.setdefault(row.flow_id, deque(maxlen=MAX_ENTRIES)).extend(entries_of([row]))

    def flow_ended(self, run: FlowRun) -> None:
        """Record how a flow ended."""
        talk = self._open.pop(run.flow_id, None)
        if talk is not None:
            talk.fire('end', {'text': how_it_ended(run), 'state': run.state,
                              'summary': dict(run.summary), 'error': run.error_msg},
                      sender='invoker')


def how_it_ended(run: FlowRun) -> str:
    """Return the end of a flow as a one-line string."""
    summary: Mapping[str, Any] = run.summary
    done = f"{summary.get('succeeded', 0)} of {summary.get('total', 0)} actions succeeded"
    return f'{done}: {run.error_msg}' if run.error_msg else done


def dialogue_rows(reader: JournalReader, flow_id: str) -> list[Row]:
    """Return the notes with a flow's dialogue, in order."""
    return [row for row in reader.rows(flow_id=flow_id, kind='note') if row.event == EVENT]


def entries_of(rows: Iterable[Row]) -> Iterator[DialogueEntry]:
    """Yield the entries in notes; invalid notes are logged and skipped."""
    for row in rows:
        try:
            data = row.data
            state, text = data['state'], data['text']
            if not (isinstance(state, str) and isinstance(text, str)):
                raise TypeError('state and text: expected strings')
            entry = DialogueEntry(row.ros_time or row.wall_time, state, row.actor,
                                  Persistence(data['persistence']), text)
        except Exception as error:  # a row may be damaged
            logging.getLogger('action_lifecycle').error(
                'row %d of the journal (dialogue of %s) is left out: %r',
                row.seq, row.flow_id, error)
        else:
            yield entry
