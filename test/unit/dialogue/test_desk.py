# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The desk: what is asked and answered, by whom and until when, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from action_lifecycle.dialogue import AnswerRefused, OperatorDesk
from action_lifecycle.dialogue.questions import MAX_ANSWER, MAX_QUESTION
from action_lifecycle.journal import Entry, Journal, JournalError
from action_lifecycle.lifecycle.ports import Question
from action_lifecycle.lifecycle.states import ErrorCode
from hypothesis import given
from hypothesis import strategies as st
import pytest

from ..flow.robot import Clock

Answers = list[tuple[str, str]]


class Rig:
    """A desk with a journal that can be opened again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = Clock()
        self.facts: dict[str, Any] = {}
        self.answers: Answers = []
        self.expired = 0
        self.open()

    def open(self) -> None:  # noqa: A003
        self.journal = Journal(self.path, clock=self.clock)
        self.desk = OperatorDesk(self.clock, lambda: None, self.journal, lambda: self.facts)

    def restart(self, after: float = 0.0) -> None:
        self.journal.close()
        self.clock._later.clear()
        self.clock.time += after
        self.open()
        for row in self.journal.rows(kind='note'):
            self.desk.read_back(row)

    def ask(self, text: str = 'Well?', **more: Any) -> Any:
        def expire() -> None:
            self.expired += 1

        return self.desk.ask(Question(
            **{'kind': 'fallback', 'flow_id': 'f', 'action_id': 'a', 'options': ('yes', 'no'),
               'key': 'k', 'text': text, **more}),
            lambda answer, actor: self.answers.append((answer, actor)), expire)

    def text(self) -> str:
        (request,) = self.desk.open.values()
        return request.question.text

    def id(self) -> str:  # noqa: A003
        (request_id,) = self.desk.open
        return request_id


@pytest.fixture
def rig(tmp_path: Path) -> Any:
    made = Rig(tmp_path / 'journal')
    yield made
    made.journal.close()


def refused(rig: Rig, request_id: str, answer: str, actor: str = 'anna', comment: str = ''
            ) -> tuple[ErrorCode, str]:
    with pytest.raises(AnswerRefused) as caught:
        rig.desk.respond(request_id, answer, actor, comment)
    return caught.value.code, str(caught.value)


def test_an_answer_is_given_once_and_who_gave_it_is_recorded(rig: Rig) -> None:
    rig.ask()
    request_id = rig.id()
    rig.desk.respond(request_id, 'yes', 'anna', 'it was wet')
    assert rig.answers == [('yes', 'anna')] and not rig.desk.open
    asked, answered = rig.journal.rows(flow_id='f')
    assert (asked.event, asked.data['text']) == ('question_asked', 'Well?')
    assert (answered.event, answered.actor, answered.data['answer'], answered.data['comment']) == (
        'question_answered', 'anna', 'yes', 'it was wet')
    code, text = refused(rig, request_id, 'no', 'berta')
    assert code is ErrorCode.NOT_ALLOWED and 'was answered by anna already: yes' in text
    assert rig.answers == [('yes', 'anna')]


@pytest.mark.parametrize(('answer', 'actor', 'comment', 'message'), [
    ('yess', 'anna', '', "'yess' is not one of the options: yes, no; did you mean 'yes'?"),
    ('', 'anna', '', 'is not one of the options'), ('YES', 'anna', '', 'is not one of'),
    ('yes', '', '', 'actor: '), ('yes', ' ', '', 'actor: '), ('yes', 'x' * 201, '', 'actor: 201'),
    ('x' * 5000, 'anna', '', 'answer: 5000 characters, at most 4096'),
    ('yes', 'anna', 'x' * 5000, 'comment: 5000 characters'),
    ('yes', 'an\x1b[2Jna', '', 'actor: control characters'),
    ('yes', 'anna', '\x00', 'comment: control characters'),
    ('yes', 'anna', '\x1f', 'comment: control characters'),
    ('yes', 'anna', '\ud83d', 'comment: control characters'),
])
def test_what_can_not_be_taken_is_refused_by_name_and_the_question_stays(
    rig: Rig, answer: str, actor: str, comment: str, message: str
) -> None:
    rig.ask()
    code, text = refused(rig, rig.id(), answer, actor, comment)
    assert code is ErrorCode.INVALID_REQUEST and message in text
    assert rig.desk.open and not rig.answers
    rig.desk.respond(rig.id(), 'yes', 'anna')


def test_an_unknown_request_names_the_nearest(rig: Rig) -> None:
    rig.ask()
    request_id = rig.id()
    code, text = refused(rig, request_id[:-1], 'yes')
    assert code is ErrorCode.NOT_FOUND and f"did you mean '{request_id}'?" in text
    assert refused(rig, 'x' * 100_000, 'yes')[1].count('x') < 200


def test_free_text_is_taken_with_unicode_and_lines(rig: Rig) -> None:
    rig.ask(options=())
    assert 'is empty' in refused(rig, rig.id(), '  ')[1]
    rig.desk.respond(rig.id(), 'Ünal 🤖:\n\tdas zweite', 'anna')
    assert rig.answers == [('Ünal 🤖:\n\tdas zweite', 'anna')]


def test_late_is_late(rig: Rig) -> None:
    rig.ask(timeout=10, default='no')
    request_id = rig.id()
    rig.clock.run(9.9)
    assert rig.desk.open
    rig.clock.run(0.2)
    assert rig.answers == [('no', 'nobody')]
    code, text = refused(rig, request_id, 'yes')
    assert code is ErrorCode.DEADLINE_EXCEEDED and 'the time is up: no was taken' in text


def test_without_a_default_whoever_asked_is_told_that_nobody_answered(rig: Rig) -> None:
    rig.ask(timeout=10)
    rig.clock.run(11)
    assert rig.expired == 1 and not rig.answers


def test_a_question_that_was_withdrawn_says_so(rig: Rig) -> None:
    handle = rig.ask()
    request_id = rig.id()
    handle.cancel()
    handle.cancel()
    assert 'was withdrawn' in refused(rig, request_id, 'yes')[1]


def test_after_a_restart_it_is_the_same_question(rig: Rig) -> None:
    rig.facts = {'gap': 1}
    rig.ask('gap {{ facts.gap }}', timeout=100)
    before = next(iter(rig.desk.open.values()))
    rig.restart(60)
    rig.facts = {'gap': 2}
    rig.ask('gap {{ facts.gap }}', timeout=100)
    after = next(iter(rig.desk.open.values()))
    assert (after.id, after.deadline, after.question.text, after.asked_at) == (
        before.id, before.deadline, 'gap 1', before.asked_at)
    rig.clock.run(39)
    assert rig.desk.open
    rig.clock.run(2)
    assert rig.expired == 1
    assert len(list(rig.journal.rows(kind='note'))) == 2


def test_an_answer_from_before_a_restart_counts_and_is_known(rig: Rig) -> None:
    rig.ask()
    request_id = rig.id()
    rig.desk.respond(request_id, 'yes', 'anna')
    rig.answers.clear()
    rig.restart()
    assert 'answered by anna already' in refused(rig, request_id, 'no')[1]
    rig.ask()
    assert rig.answers == [('yes', 'anna')] and not rig.desk.open
    rig.ask()  # asked once more, it is a new question
    assert rig.id() != request_id


def test_a_time_that_was_up_before_a_restart_stays_up(rig: Rig) -> None:
    rig.ask(timeout=10)
    rig.clock.run(20)
    rig.restart()
    rig.ask(timeout=10)
    assert rig.expired == 2 and not rig.desk.open


def test_an_answer_that_can_not_be_recorded_is_not_taken(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.ask()

    def full(entry: object) -> None:
        raise JournalError('disk full')

    with monkeypatch.context() as patch:
        patch.setattr(rig.journal, 'append', full)
        code, text = refused(rig, rig.id(), 'yes')
    assert code is ErrorCode.JOURNAL_FAILED and 'disk full' in text
    assert rig.desk.open and not rig.answers
    rig.desk.respond(rig.id(), 'yes', 'anna')


@pytest.mark.parametrize('template', [
    "{{ ''.__class__.__mro__ }}", '{{ evidence.__class__ }}', "{{ 'a' * 99999999 }}",
    '{{ facts.nothing }}', '{{ nothing }}', '{% for x in y %}', '{{ 1 / 0 }}',
    "{{ '%99999999d' % 1 }}", '{% set x = 1 %}'])
def test_a_template_that_fails_is_asked_as_it_is_and_says_why(rig: Rig, template: str) -> None:
    rig.ask(template, evidence=[{
        'condition': 'confirm', 'expression': 'gap > 2', 'verdict': 'false', 'stamp': 1.0,
        'held': 0.0, 'facts': [{'name': 'gap', 'validity': 'valid', 'numbers': [0.5]}]}])
    assert rig.text().startswith(template) and 'gap > 2 is false (gap=0.5)' in rig.text()
    assert 'object' not in rig.text().split('\n')[0]


@pytest.mark.parametrize('hostile', [
    "{{ ''.__class__ }}", '{% for x in y %}', '[bold red]x[/]', '{{ facts }}'])
def test_what_facts_say_is_never_a_template(rig: Rig, hostile: str) -> None:
    rig.facts = {'label': hostile}
    rig.ask('It reads {{ facts.label }}, {{ error }}', names={'error': hostile})
    assert rig.text() == f'It reads {hostile}, {hostile}'


def test_a_question_sees_facts_evidence_history_and_parameters(rig: Rig) -> None:
    from action_lifecycle.journal import Entry
    rig.journal.append(Entry('transition', 'f', 'a', event='fail', from_state='in_progress',
                             to_state='error', cause='it slipped'))
    rig.facts = {'force': 8.0, 'gap': None}  # no longer read
    rig.ask('{{ part }}: {{ history[-1].cause }}, {{ facts.gap }} m, {{ facts.force }} N, '
            '{{ evidence[0].expression }}, {{ flow }}/{{ action }}', names={'part': 'cup'},
            evidence=[{'condition': 'c', 'expression': 'gap > 2', 'verdict': 'false', 'stamp': 1.0,
                       'held': 0.0, 'facts': [
                           {'name': 'gap', 'validity': 'valid', 'numbers': [0.5]},
                           {'name': 'force', 'validity': 'valid', 'numbers': [1.0]}]}])
    assert rig.text() == 'cup: it slipped, 0.5 m, 8.0 N, gap > 2, f/a'


def test_a_long_question_is_cut_and_a_terminal_can_not_be_driven_by_it(rig: Rig) -> None:
    rig.facts = {'label': '\x1b[2J' + 'x' * 100_000}
    rig.ask('{{ facts.label }}')
    assert len(rig.text()) == MAX_QUESTION and rig.text().startswith('\ufffd[2Jxxx')


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_answer_is_either_taken_as_it_is_or_refused(answer: str, comment: str) -> None:
    taken: Answers = []
    desk = OperatorDesk(Clock(), lambda: None)
    desk.ask(Question('input', '', '', 'Well?', ()), lambda *said: taken.append(said))
    try:
        desk.respond(next(iter(desk.open)), answer, 'anna', comment)
    except AnswerRefused as error:
        str(error).encode('utf-8', 'backslashreplace')
        assert not taken
    else:
        assert taken == [(answer, 'anna')] and len(answer) <= MAX_ANSWER


def test_without_a_journal_it_works_all_the_same() -> None:
    taken: list[Callable[..., Any] | Any] = []
    desk = OperatorDesk(Clock(), lambda: None)
    desk.ask(Question('takeover', 'f', '', 'Take over?', ('yes',), link='https://x'),
             lambda *said: taken.append(said))
    desk.respond(next(iter(desk.open)), 'yes', 'anna')
    assert taken == [('yes', 'anna')]


@pytest.mark.parametrize(('event', 'data'), [
    ('question_asked', {}), ('question_asked', {'id': 'x', 'text': [], 'key': 'k', 'deadline': 0}),
    ('question_asked', {'id': 'x', 'text': 'Well?', 'key': [], 'deadline': 0}),
    ('question_asked', {'id': 'x', 'text': 'Well?', 'key': 'k', 'deadline': 'soon'}),
    ('question_answered', {}), ('question_answered', {'id': 'x', 'answer': ['yes']}),
    ('question_expired', {'id': {}, 'answer': ''})])
def test_a_note_that_can_not_be_read_back_is_left_out_and_logged(
    rig: Rig, caplog: pytest.LogCaptureFixture, event: str, data: dict[str, Any]
) -> None:
    rig.journal.append(Entry(
        kind='note', flow_id='f', action_id='a', event=event, data=data, final=True))
    rig.restart()
    assert f'row 1 of the journal ({event} of f/a) is left out' in caplog.text
    rig.ask()
    rig.desk.respond(rig.id(), 'yes', 'anna')
    assert rig.answers == [('yes', 'anna')]
