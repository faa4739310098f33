# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The dialogue of a flow: what is kept of questions and answers, by whom, and over a restart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from action_lifecycle.dialogue import Dialogue, FlowDialogues, register_hooks
from action_lifecycle.dialogue.flow_dialogue import dialogue_rows, entries_of
from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.graphs.packaged import packaged_graph
from action_lifecycle.journal import Entry as JournalEntry
from action_lifecycle.lifecycle.ports import Question
import pytest

from ..flow.robot import Clock, Process, Robot

FLOW = """\
flow: one
parameters: {{part: {{default: cup}}}}
{dialogue}
actions:
  pick:
    confirm: z > 0
    fallback: [{{strategy: ask, question: 'The {{{{ part }}}} slipped. Again?', timeout: 60,
                default: give_up}}, ask]
  place: {{confirm: z > 1, fallback: ask}}
"""
PLACES = [
    'validators', 'cond', 'before_transition', 'before_choose', 'on_exit_state', 'on_exit_asking',
    'on_transition', 'on_choose', 'on_enter_state', 'on_enter_working', 'after_choose',
    'after_transition']


class Rig:
    """Flows with dialogues, in a process that can be killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.robot = Robot(self.clock)
        self.start()

    def start(self) -> None:
        self.process = Process(self.folder / 'journal', self.clock, self.robot)
        self.desk = self.process.desk
        self.dialogues = FlowDialogues(self.process.journal, self.clock, self.desk)
        self.process.orchestrator.extensions.append(self.dialogues)

    def submit(self, dialogue: str = '', **options: Any) -> Any:
        self.robot.verdicts = {('pick', 'confirm'): ['refuted'] * 9,
                               ('place', 'confirm'): ['confirmed'] * 9}
        run = self.process.submit(FLOW.format(dialogue=dialogue), **options)
        self.clock.run(5)
        return run

    def answer(self, text: str, comment: str = '') -> None:
        request_id = next(iter(self.desk.open))
        self.desk.respond(request_id, text, 'anna', comment)
        self.clock.run(5)

    def said(self) -> list[tuple[str, str, str]]:
        return [(entry.actor, entry.persistence.value, entry.text) for entry in entries_of(
            dialogue_rows(self.process.journal, 'f'))]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path)
    yield made
    made.process.journal.close()


ASKED = ('assistant', 'RENDERED', 'pick: The cup slipped. Again? (retry, give_up)')
AGAIN = ('assistant', 'RENDERED', 'pick: Failed: z > 0 is false (z=0.5). Try again? '
         '(retry, give_up)')


def test_questions_answers_and_the_end_stand_in_it_by_who_said_them(rig: Rig) -> None:
    rig.submit()
    assert rig.said() == [ASKED]
    rig.answer('retry', 'it was wet')
    rig.answer('give_up')
    rig.clock.run()
    end = ('assistant', 'RENDERED', '1 of 2 actions succeeded: pick: z > 0 is false (z=0.5)')
    assert rig.said() == [
        ASKED, ('user', 'RENDERED', 'retry (anna): it was wet'), AGAIN,
        ('user', 'RENDERED', 'give_up (anna)'), end]


def test_what_the_user_asked_for_in_words_is_kept_word_for_word(rig: Rig) -> None:
    words = 'Bring the {{ part }}, please 🤖'
    rig.submit(origin={'kind': 'request', 'request': words})
    assert rig.said()[0] == ('user', 'RAW', words)


def test_an_answer_in_words_is_kept_raw_and_binary_input_never(rig: Rig) -> None:
    rig.robot.by_hand.add('confirm')  # the flow goes on working
    rig.submit()
    text = 'left of the {{ part }}'
    for _ in range(2):
        rig.desk.ask(Question('input', 'f', 'pick', 'Where?', ()), lambda *said: None)
    first, second = rig.desk.open
    rig.desk.respond(first, text, 'anna')
    rig.desk.respond(second, 'on the table', 'anna')
    asked = ('assistant', 'RENDERED', 'pick: Where?')
    # While the second question is open it is from user to user, which is rendered.
    assert rig.said() == [asked, asked, ('user', 'RENDERED', text),
                          ('user', 'RAW', 'on the table')]
    rig.desk.ask(Question('input', 'f', 'pick', 'Where?', ()), lambda *said: None)
    rig.dialogues._open['f']._waiting.clear()
    rig.dialogues._open['f'].fire('answer', b'\x89PNG secret', sender='user')
    assert rig.said()[-1] == ('user', 'RAW', '[binary input, 11 bytes]')


def test_nobody_answers_and_the_dialogue_says_so(rig: Rig) -> None:
    rig.submit()
    rig.clock.run(100)
    assert ('assistant', 'RENDERED', 'pick: nobody answered in time: give_up was taken') \
        in rig.said()


def test_a_restart_loses_nothing_and_says_nothing_twice(rig: Rig) -> None:
    rig.submit()
    rig.process.kill()
    rig.start()
    rig.process.orchestrator.restore()
    rig.clock.run(1)
    assert rig.said() == [ASKED]
    rig.answer('retry')
    rig.answer('give_up')
    rig.clock.run()
    assert [text for _, _, text in rig.said()][1:4] == ['retry (anna)', AGAIN[2], 'give_up (anna)']


def test_a_flow_says_it_in_its_own_words(rig: Rig) -> None:
    rig.submit("dialogue: {asking: 'Hilfe! {{ actor_input.question }}', working: 'Danke, "
               "{{ actor_input.who }}.', ended: '{{ name }} {{ actor_input.state }}'}")
    rig.answer('give_up')
    rig.clock.run()
    assert [text for _, _, text in rig.said()] == [
        'Hilfe! The cup slipped. Again?', 'Danke, anna.', 'one FAIL']


@pytest.mark.parametrize('dialogue', [
    "dialogue: {asking: '{{ oops'}", "dialogue: {asking: '{{ nothing }}'}",
    "dialogue: {askng: 'x'}", "dialogue: {ended: '{% set x = 1 %}'}"])
def test_faulty_words_are_refused_with_their_line(rig: Rig, dialogue: str) -> None:
    with pytest.raises(LifecycleError, match=r'f\.yaml:3:'):
        rig.submit(dialogue)


def test_words_that_fail_when_they_are_said_do_not_touch_the_flow(rig: Rig) -> None:
    run = rig.submit("dialogue: {asking: '{{ actor_input.nothing }}'}")
    rig.answer('retry')
    rig.answer('give_up')
    rig.clock.run()
    assert run.state == 'FAIL' and rig.said()[-1][2].startswith('1 of 2')


@pytest.mark.parametrize('wanted', ['NONE', 'RAW', 'RENDERED'])
@pytest.mark.parametrize('place', PLACES)
def test_hooks_that_a_flow_names_change_what_is_kept_of_an_answer(
    rig: Rig, place: str, wanted: str
) -> None:
    @register_hooks('of_tests')
    def make(dialogue: Dialogue) -> object:
        class Hooks:
            """Changes the persistence in one place, of answers only."""

        def change(event: str = '') -> bool:
            if event == 'choose':
                dialogue.dialogue_persistence = wanted
            return True
        setattr(Hooks, place, staticmethod(change))
        return Hooks()

    rig.submit('dialogue: {hooks: of_tests}')
    rig.answer('give_up')
    kept = [entry for entry in rig.said() if entry[0] == 'user']
    late = place in ('validators', 'cond', 'before_transition', 'after_transition')
    expected = {'NONE': [], 'RAW': [('user', 'RAW', '[control input]')],
                'RENDERED': [('user', 'RENDERED', 'give_up (anna)')]}
    assert kept == expected['RENDERED' if late else wanted]


def test_hooks_that_raise_do_not_touch_the_flow(rig: Rig) -> None:
    @register_hooks('broken')
    def make(dialogue: Dialogue) -> object:
        class Hooks:
            """Fails."""

            def on_choose(self) -> None:
                raise ZeroDivisionError

        return Hooks()

    run = rig.submit('dialogue: {hooks: broken}')
    rig.answer('give_up')
    rig.clock.run()
    assert run.state == 'FAIL'


def test_the_graph_has_the_four_types_of_transitions() -> None:
    dialogue = Dialogue(packaged_graph('dialogue'))
    party: Callable[[str], str] = dialogue._party
    kinds = {(party(source), party(transition.target))
             for source, events in packaged_graph('dialogue').table.items()
             for transitions in events.values() for transition in transitions}
    assert {('user', 'invoker'), ('invoker', 'user'), ('user', 'user')} <= kinds


@pytest.mark.parametrize('data', [
    {}, {'state': 'asking', 'text': 'x', 'persistence': 'ODD'},
    {'state': 'asking', 'text': 5, 'persistence': 'RAW'}])
def test_an_entry_that_can_not_be_read_back_is_left_out_and_logged(
    rig: Rig, caplog: pytest.LogCaptureFixture, data: dict[str, Any]
) -> None:
    rig.submit()
    before = rig.said()
    rig.process.journal.append(JournalEntry(
        kind='note', flow_id='f', event='dialogue', data=data, final=True))
    rig.process.kill()
    rig.start()
    rig.process.orchestrator.restore()
    rig.clock.run(1)
    assert rig.said() == before
    assert '(dialogue of f) is left out' in caplog.text
    rig.answer('give_up')
    assert rig.said() != before
