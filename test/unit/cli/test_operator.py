# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The lines of the operator's terminal."""

from __future__ import annotations

from argparse import Namespace
import os
import time
from typing import Any

from action_lifecycle.cli.operators.answering import OpenQuestion, Questions, split_answer
from action_lifecycle.cli.operators.terminal import _Lines, Terminal
from action_lifecycle.ros.calls.order_call import Given
from action_lifecycle_msgs.msg import OperatorRequest
from action_lifecycle_msgs.srv import Respond
import pytest

OPTIONS = ['retry', 'retry softly', 'leave it']


@pytest.mark.parametrize(('line', 'expected'), [
    ('1', ('retry', '')), ('2 it is wet', ('retry softly', 'it is wet')),
    ('retry', ('retry', '')), ('retry now', ('retry', 'now')),
    ('retry softly', ('retry softly', '')), ('retry softly 3', ('retry softly', '3')),
    ('leave it', ('leave it', '')), ('leave', ('leave', '')), ('0', ('0', '')), ('4', ('4', '')),
    ('²', ('²', '')),
])
def test_an_answer_is_a_number_or_a_name_and_the_rest_a_comment(
    line: str, expected: tuple[str, str]
) -> None:
    assert split_answer(line, OPTIONS) == expected


def test_free_text_is_the_answer_as_a_whole() -> None:
    assert split_answer('2 cups, please', []) == ('2 cups, please', '')


def test_lines_are_taken_one_by_one_and_the_last_needs_no_end(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader) as stdin:
        monkeypatch.setattr('sys.stdin', stdin)
        lines = _Lines()
        lines.read()
        assert lines.take() is None and not lines.ended
        os.write(writer, 'retry\n\nÜnal'.encode())
        lines.read()
        assert (lines.take(), lines.take(), lines.take()) == ('retry', '', None)
        os.close(writer)
        lines.read()
        assert not lines.ended and lines.take() == 'Ünal'
        assert lines.ended and lines.take() is None


class Asked:
    """Open questions without nodes; `time_left` is what each of them has."""

    def __init__(self) -> None:
        self.open: dict[str, OpenQuestion] = {}
        self.answers: list[tuple[str, str, str]] = []
        self.time_left: float | None = None

    def ask(self, name: str) -> None:
        self.open[name] = OpenQuestion('/node', OperatorRequest(
            id=name, flow_id='f', action_id=name, question=f'{name}?',
            options=['yes', 'not yet', 'no']))

    def fitting(self, options: Any) -> list[OpenQuestion]:
        return list(self.open.values())

    def left(self, request: Any) -> float | None:
        return self.time_left

    def answer(self, question: OpenQuestion, answer: str, actor: str, comment: str) -> Given:
        self.answers.append((question.request.id, answer, comment))
        return Given(Respond.Response(accepted=True), 0)


class Person:
    """A person at a terminal: types lines, and reads what came since."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
                 ) -> None:
        reader, self._writer = os.pipe()
        self._stdin = os.fdopen(reader)
        monkeypatch.setattr('sys.stdin', TypedLines(self._stdin))
        self._capsys = capsys
        self.asked = Asked()
        self.terminal = Terminal(
            self.asked, Namespace(once=False, wait=1.0), 'anna')  # type: ignore[arg-type]

    def types(self, text: str = '') -> str:
        os.write(self._writer, text.encode())
        self.terminal.lines.read()
        assert not self.terminal.step()
        return self._capsys.readouterr().out


class TypedLines:
    """A terminal in place of a pipe."""

    def __init__(self, stream: Any) -> None:
        self.fileno = stream.fileno

    def isatty(self) -> bool:
        return True


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Person:
    return Person(monkeypatch, capsys)


def test_a_question_that_was_put_off_comes_back_and_no_line_is_lost(person: Person) -> None:
    person.asked.ask('look')
    said = person.types()
    assert 'look?' in said and said.endswith('> ')
    said = person.types('\n')
    assert 'put off: 1; Enter shows' in said and said.endswith('> ')
    said = person.types('yes\n')
    assert "no question is shown, 'yes' is not sent; Enter shows what was put off" in said
    assert said.endswith('> ') and not person.asked.answers
    said = person.types('\n')
    assert 'look?' in said and said.endswith('> ')
    said = person.types('yes it is dry\n')
    assert 'answered: yes' in said and said.endswith('> ')
    assert person.asked.answers == [('look', 'yes', 'it is dry')]
    assert 'look?' not in person.types('\n')  # the node has not told yet that it is closed
    person.asked.open.clear()
    assert 'no question is open' in person.types('\n')


def test_putting_off_goes_on_to_the_next_question(person: Person) -> None:
    person.asked.ask('look')
    person.asked.ask('grip')
    assert 'look?' in person.types()
    assert 'grip?' in person.types('\n')
    assert person.types('2\n').count('answered: not yet') == 1
    assert person.asked.answers == [('grip', 'not yet', '')]


def test_the_time_that_is_left_is_shown_and_told_again_when_it_gets_short(person: Person) -> None:
    person.asked.ask('look')
    person.asked.time_left = 90.0
    assert '90 s left' in person.types()
    person.asked.time_left = 61.0
    assert person.types() == ''
    for left, told in ((59.6, '60 s left'), (30.0, ''), (9.5, '10 s left'), (5.0, '')):
        person.asked.time_left = left
        said = person.types()
        assert (told in said and said.endswith('> ')) if told else said == ''


class StoppedClock:
    """A node of the operator on simulated time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.simulated = False

    def get_parameter(self, name: str) -> Any:
        return Namespace(value=self.simulated)

    def set_parameters(self, parameters: Any) -> None:
        self.simulated = parameters[0].value

    def get_clock(self) -> Any:
        return Namespace(now=lambda: Namespace(nanoseconds=int(self.seconds * 1e9)))


@pytest.mark.parametrize(('deadline', 'now', 'left'), [
    (0, 5.0, None), (125, 5.0, 120.0), (125, 0.0, None)])
def test_time_left_is_counted_on_the_clock_of_the_robot(
    deadline: int, now: float, left: float | None
) -> None:
    node = StoppedClock(now)
    questions = Questions(Namespace(node=node), '')  # type: ignore[arg-type]
    request = OperatorRequest()
    request.deadline.sec = deadline
    assert questions.left(request) == left
    assert node.simulated is (deadline > 0)


def test_time_left_is_counted_on_the_wall_clock_for_a_real_robot() -> None:
    request = OperatorRequest()
    request.deadline.sec = int(time.time()) + 100
    left = Questions(Namespace(node=None), '').left(request)  # type: ignore[arg-type]
    assert left is not None and 40.0 < left <= 100.0
