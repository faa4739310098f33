# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Dialogues: what each type of transition leaves, where hooks may change it, hostile input."""

from __future__ import annotations

from typing import Any

from action_lifecycle.dialogue import Dialogue, DialogueEntry, DialogueError, Persistence
from action_lifecycle.dialogue.dialogue import MAX_ENTRIES, MAX_ENTRY
from action_lifecycle.engine import LifecycleError, load_graph, Machine
import action_lifecycle.invoke  # noqa: F401  (registers the state type `invoker`)
from hypothesis import given
from hypothesis import strategies as st
import pytest

GRAPH = load_graph("""\
initial: ask
fields: {template: []}
states:
  ask: {type: user, template: 'What shall I fetch?'}
  told: {type: user, template: 'Told: {{ actor_input }}'}
  look: {type: invoker, invoke: 'm:look', done: plan, template: 'Looking for {{ actor_input }}'}
  think: {type: invoker, invoke: 'm:think', done: show}
  seen: {type: user, template: 'I see {{ actor_input }}.', final: true}
transitions:
  - {event: tell, from: ask, to: told}
  - {event: search, from: ask, to: look}
  - {event: stop, from: [look, think], to: seen}
  - {event: plan, from: look, to: think}
  - {event: show, from: [look, think, told], to: seen}
""")

# where it starts, the event, type, actor, persistence, what is recorded
TRANSITIONS = [
    ('ask', 'tell', ('user', 'user'), 'user', 'RENDERED', 'Told: the cup'),
    ('ask', 'search', ('user', 'invoker'), 'user', 'RAW', 'the cup'),
    ('think', 'show', ('invoker', 'user'), 'assistant', 'RENDERED', 'I see the cup.'),
    ('look', 'plan', ('invoker', 'invoker'), 'assistant', 'NONE', None),
]

# the places of a transition, in their order; those in between may change what is kept
PLACES = [
    'validators', 'cond', 'before_transition', 'before_{event}', 'on_exit_state',
    'on_exit_{source}', 'on_transition', 'on_{event}', 'on_enter_state', 'on_enter_{target}',
    'after_{event}', 'after_transition',
]
TOO_EARLY, TOO_LATE = PLACES[:2], PLACES[-1:]


class Hook:
    """Changes the persistence in one place."""

    def __init__(self, place: str, dialogue: Dialogue, persistence: Persistence | str) -> None:
        def change() -> bool:
            dialogue.dialogue_persistence = persistence
            return True
        setattr(self, place, change)


def said(dialogue: Dialogue) -> list[tuple[str, str]]:
    return [(entry.actor, entry.text) for entry in dialogue.entries]


@pytest.mark.parametrize('start, event, kind, actor, persistence, text', TRANSITIONS)
def test_a_transition_keeps_what_the_table_says(
    start: str, event: str, kind: tuple[str, str], actor: str, persistence: str, text: str | None
) -> None:
    seen: dict[str, Any] = {}

    class Spy:

        def on_exit_state(self) -> None:
            seen.update(vars(dialogue), dialogue_persistence=dialogue.dialogue_persistence)

    dialogue = Dialogue(GRAPH, clock=lambda: 7.0)
    machine = Machine(GRAPH, listeners=[dialogue, Spy()], state=start)
    machine.fire(event, actor_input='the cup')
    assert (seen['transition_type'], seen['actor'], seen['dialogue_persistence']) == (
        kind, actor, Persistence[persistence])
    assert seen['actor_input'] == 'the cup'
    assert seen['current_template'] == GRAPH.states[machine.state].config.get('template')
    expected = DialogueEntry(7.0, machine.state, actor, Persistence[persistence], text)
    assert list(dialogue.entries) == ([expected] if text else [])


@pytest.mark.parametrize('place', PLACES)
@pytest.mark.parametrize('start, event, actor', [
    (start, event, actor) for start, event, _, actor, _, _ in TRANSITIONS])
@pytest.mark.parametrize('wanted', list(Persistence))
def test_persistence_may_be_changed_from_before_transition_until_after_transition(
    place: str, start: str, event: str, actor: str, wanted: Persistence
) -> None:
    rendered = {'ask.tell': 'Told: the cup', 'ask.search': 'Looking for the cup',
                'think.show': 'I see the cup.', 'look.plan': 'the cup'}[f'{start}.{event}']
    default = next(row[4] for row in TRANSITIONS if row[:2] == (start, event))
    transition, = GRAPH.table[start][event]
    dialogue = Dialogue(GRAPH)
    name = place.format(event=event, source=start, target=transition.target)
    machine = Machine(GRAPH, listeners=[dialogue, Hook(name, dialogue, wanted)], state=start)
    machine.fire(event, actor_input='the cup')
    kept = default if place in TOO_EARLY + TOO_LATE else wanted.value
    text = {'NONE': None, 'RAW': 'the cup', 'RENDERED': rendered}[kept]
    assert said(dialogue) == ([(actor, text)] if text else [])


def test_what_is_not_kept_is_shown_all_the_same() -> None:
    dialogue = Dialogue(GRAPH)
    hook = Hook('on_enter_seen', dialogue, 'NONE')
    Machine(GRAPH, listeners=[dialogue, hook], state='think').fire('show', actor_input='a cup')
    assert (dialogue.output, dialogue.entries) == ('I see a cup.', ())


def test_a_persistence_that_does_not_exist_is_refused_before_anything_happens() -> None:
    dialogue = Dialogue(GRAPH)
    machine = Machine(GRAPH, listeners=[dialogue, Hook('on_tell', dialogue, 'RENDRED')])
    with pytest.raises(DialogueError, match="'RENDRED'; did you mean 'RENDERED'"):
        machine.fire('tell', actor_input='x')
    assert machine.state == 'ask'


@pytest.mark.parametrize('value, kept', [
    (b'\x89PNG secret', '[binary input, 11 bytes]'),
    ('\x1b[2Jgone', '[binary input, 8 bytes]'),
    ('half \ud83d', '[binary input, 8 bytes]'),
    ({'button': 'secret'}, '[control input]'),
    (['secret'], '[control input]'),
    (3, '[control input]'),
    (True, '[control input]'),
])
def test_binary_and_control_input_is_never_kept_raw(value: Any, kept: str) -> None:
    dialogue = Dialogue(GRAPH)
    Machine(GRAPH, listeners=[dialogue]).fire('search', actor_input=value)
    assert said(dialogue) == [('user', kept)]


def test_a_template_gets_no_binary_data_but_what_else_a_control_says() -> None:
    graph = load_graph("""\
a: {template: '', transition: {next: [b]}}
b: {template: '{{ actor_input.name }}: {{ actor_input.files }}', final: true}
fields: {template: []}
""")
    dialogue = Dialogue(graph)
    Machine(graph, listeners=[dialogue]).fire(
        'b', actor_input={'name': 'kit', 'files': [b'secret'], b'key': 1})
    assert said(dialogue) == [('user', "kit: ['[binary input, 6 bytes]']")]


@pytest.mark.parametrize('text', [
    "{{ ''.__class__ }}", '{% for x in y %}', '{{ 9 * 9 }}', '{# #}', '}}{{', '{{ names }}'])
def test_templates_in_the_input_stay_text(text: str) -> None:
    dialogue = Dialogue(GRAPH)
    Machine(GRAPH, listeners=[dialogue]).fire('tell', actor_input=text)
    assert said(dialogue) == [('user', f'Told: {text}')]


@pytest.mark.parametrize('template', [
    "{{ ''.__class__.__mro__ }}", '{{ actor_input.__class__ }}', "{{ 'a' * 9999999 }}",
    '{{ nothing }}', '{{ [].append(1) }}'])
def test_a_template_can_not_leave_its_sandbox(template: str) -> None:
    dialogue = Dialogue(GRAPH)

    class Hooks:

        def on_enter_told(self) -> None:
            dialogue.current_template = template

    machine = Machine(GRAPH, listeners=[dialogue, Hooks()])
    with pytest.raises(DialogueError, match="state 'told': template"):
        machine.fire('tell', actor_input='x')
    assert dialogue.entries == ()


def test_faulty_templates_are_refused_when_the_dialogue_is_made() -> None:
    graph = load_graph("""\
fields: {template: []}
a: {template: '{{ oops', transition: {next: [b]}}
b: {template: [1], final: true}
""")
    with pytest.raises(DialogueError) as caught:
        Dialogue(graph)
    first, second = str(caught.value).splitlines()
    assert "state 'a': template, line 1" in first and "state 'b': template: expected" in second


def test_too_long_input_is_refused_and_a_too_long_answer_is_cut() -> None:
    dialogue = Dialogue(GRAPH)
    machine = Machine(GRAPH, listeners=[dialogue])
    with pytest.raises(DialogueError, match=f'{MAX_ENTRY + 1} characters'):
        machine.fire('tell', actor_input='x' * (MAX_ENTRY + 1))
    assert (machine.state, dialogue.entries) == ('ask', ())
    machine = Machine(GRAPH, listeners=[dialogue], state='think')
    machine.fire('show', actor_input='x' * 10_000_000)
    text = dialogue.entries[0].text
    assert len(text) == MAX_ENTRY and text.endswith('… [10000007 characters]')


def test_templates_see_what_was_said_and_the_names_of_the_owner() -> None:
    graph = load_graph("""\
fields: {template: []}
a: {template: 'Hello {{ name }}.', transition: {next: [b]}}
b: {template: '{{ dialogue[0].actor }} said: {{ dialogue[0].text }} ({{ state }})', final: true}
""")
    dialogue = Dialogue(graph, names=lambda: {'name': 'Ünal 🤖'})
    dialogue.greet('a')
    Machine(graph, listeners=[dialogue]).fire('b')
    assert said(dialogue) == [('assistant', 'Hello Ünal 🤖.'),
                              ('user', 'assistant said: Hello Ünal 🤖. (b)')]


def test_the_oldest_entries_go_and_each_new_one_is_told() -> None:
    told: list[DialogueEntry] = []
    old = [DialogueEntry(0.0, 'ask', 'user', Persistence.RAW, str(number))
           for number in range(2000)]
    dialogue = Dialogue(GRAPH, entries=old, recorded=told.append)
    Machine(GRAPH, listeners=[dialogue]).fire('search', actor_input='new')
    assert len(dialogue.entries) == MAX_ENTRIES and dialogue.entries[-1] == told[0]
    assert len(told) == 1


@given(st.text(max_size=200))
def test_any_text_is_kept_word_for_word_or_not_at_all(text: str) -> None:
    dialogue = Dialogue(GRAPH)
    Machine(GRAPH, listeners=[dialogue]).fire('search', actor_input=text)
    kept = [entry.text for entry in dialogue.entries]
    assert kept in ([], [text]) or kept[0].startswith('[binary input, ')
    ''.join(kept).encode()


def test_an_exception_before_the_commit_leaves_no_entry() -> None:
    dialogue = Dialogue(GRAPH)

    def refuse(change: object) -> None:
        raise LifecycleError('the disk is full')

    machine = Machine(GRAPH, listeners=[dialogue], commit=refuse)
    with pytest.raises(LifecycleError, match='disk'):
        machine.fire('tell', actor_input='x')
    assert (machine.state, dialogue.entries, dialogue.output) == ('ask', (), '')
