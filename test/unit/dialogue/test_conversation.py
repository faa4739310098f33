# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conversations: what the user gets for an event."""

from __future__ import annotations

import threading
from typing import NamedTuple

from action_lifecycle.dialogue import Conversation, Dialogue
from action_lifecycle.engine import load_graph, Machine, TransitionNotAllowed
import action_lifecycle.invoke  # noqa: F401  (registers the state type `invoker`)
import pytest

GRAPH = load_graph("""\
initial: ask
fields: {template: []}
states:
  ask: {type: user, template: 'What?'}
  more: {type: user, template: 'More than {{ actor_input }}?'}
  look: {type: invoker, invoke: 'm:look', done: found}
  end: {type: user, final: true}
transitions:
  - {event: answer, from: [ask, more], to: more}
  - {event: search, from: [more, look], to: look}
  - {event: found, from: look, to: end}
""")


class Step(NamedTuple):
    total: int = 2
    done: int = 0
    fraction: float = 0.0


class Outside:
    """Work whose course the test decides."""

    def __init__(self) -> None:
        self.progress: Step | None = None
        self.error = ''

    def poll(self) -> Step | None:
        return self.progress


def test_it_begins_with_the_template_of_the_first_state() -> None:
    dialogue = Dialogue(GRAPH)
    reply = Conversation(Machine(GRAPH, listeners=[dialogue]), dialogue).poll()
    assert (reply.output, reply.next_events) == ('What?', ('answer',))
    assert [(entry.actor, entry.text) for entry in dialogue.entries] == [('assistant', 'What?')]


def test_while_work_runs_a_poll_offers_only_itself_and_then_the_output() -> None:
    dialogue, work = Dialogue(GRAPH), Outside()
    machine = Machine(GRAPH, listeners=[dialogue])
    talk = Conversation(machine, dialogue, work)
    assert talk.send('answer', 'one').output == 'More than one?'
    work.progress = Step()
    reply = talk.send('search', 'two')
    assert (reply.output, reply.next_events, reply.progress) == ('two', ('poll',), Step())
    reply = talk.poll()
    assert (reply.output, reply.next_events) == ('', ('poll',))
    machine.fire('found', actor_input='a cup')
    work.progress = None
    reply = talk.poll()
    assert (reply.output, reply.next_events, reply.progress) == ('a cup', (), None)


def test_what_a_person_sends_after_a_failure_is_the_persons() -> None:
    dialogue, work = Dialogue(GRAPH), Outside()
    machine = Machine(GRAPH, listeners=[dialogue], state='look')
    talk = Conversation(machine, dialogue, work)
    work.error = 'the task is lost'
    reply = talk.poll()
    assert (reply.error, reply.next_events) == ('the task is lost', ('search', 'found'))
    talk.send('search', '\x00 again')
    assert dialogue.transition_type == ('user', 'invoker')
    assert [(entry.actor, entry.text) for entry in dialogue.entries] == [
        ('user', '[binary input, 7 bytes]')]


def test_an_event_that_is_not_possible_is_refused() -> None:
    dialogue = Dialogue(GRAPH)
    talk = Conversation(Machine(GRAPH, listeners=[dialogue]), dialogue)
    with pytest.raises(TransitionNotAllowed, match='possible events: answer'):
        talk.send('found')
    assert talk.poll().output == 'What?'


def test_a_poll_waits_for_the_event_that_runs() -> None:
    entered, leave = threading.Event(), threading.Event()

    class Slow:

        def on_enter_more(self) -> None:
            entered.set()
            leave.wait(10)

    dialogue = Dialogue(GRAPH)
    talk = Conversation(Machine(GRAPH, listeners=[dialogue, Slow()]), dialogue)
    sender = threading.Thread(target=talk.send, args=('answer', 'x'))
    sender.start()
    assert entered.wait(10)
    replies: list[str] = []
    poller = threading.Thread(target=lambda: replies.append(talk.poll().output))
    poller.start()
    poller.join(0.2)
    assert poller.is_alive() and not replies
    leave.set()
    poller.join(10)
    sender.join(10)
    assert replies == ['More than x?']
