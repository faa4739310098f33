# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `operator`: shows the open questions of all robots and reads the answers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import math
import os
import select
import sys
import time

from action_lifecycle_msgs.msg import OperatorRequest
from rich.panel import Panel
from rich.text import Text

from .answering import answer_one, list_questions, OpenQuestion, Questions, split_answer
from ..actor import who
from ..client import connect
from ..exits import NotThere
from ..table import console, evidence_text, LONGEST
from ...lifecycle.text_format import printable

WARN_AT = (60.0, 10.0)
"""Remaining times (s) at which the terminal warns the person."""


def operator(options: argparse.Namespace) -> None:
    """Answer questions interactively, or one question with `--answer`, or list them."""
    with connect('', options.wait) as client:
        questions = Questions(client, options.namespace)
        try:
            if options.list:
                list_questions(questions, options)
            elif options.answer is not None:
                answer_one(questions, options)
            else:
                Terminal(questions, options, who(options)).run()
        except KeyboardInterrupt:
            print()


class _Lines:
    """Reads lines from standard input without blocking."""

    def __init__(self) -> None:
        self._buffer = b''
        self._closed = False

    def read(self) -> None:
        """Read the available input."""
        while not self._closed and select.select([sys.stdin], [], [], 0)[0]:
            more = os.read(sys.stdin.fileno(), 65536)
            self._buffer += more
            self._closed = not more

    @property
    def ended(self) -> bool:
        """Whether standard input is closed and all lines are taken."""
        return self._closed and not self._buffer

    def take(self) -> str | None:
        """Return the next line, None while there is none."""
        if b'\n' not in self._buffer and not (self._closed and self._buffer):
            return None
        line, _, self._buffer = self._buffer.partition(b'\n')
        return line.decode('utf-8', 'replace').strip()


class Terminal:
    """Shows one question at a time and sends the person's answers."""

    def __init__(self, questions: Questions, options: argparse.Namespace, actor: str) -> None:
        self.questions = questions
        self.options = options
        self.actor = actor
        self.console = console()
        self.lines = _Lines()
        self.shown: OpenQuestion | None = None
        self.later: set[str] = set()  #: ids of postponed questions
        self.answered: set[str] = set()  #: ids; kept until the node closes the question
        self.warned = math.inf  #: s left at the last warning
        self._prompted = False

    def run(self) -> None:
        """Show questions until Ctrl-C, `q`, the end of the input, or one answer (`--once`)."""
        started = time.monotonic()
        self._print(f'Questions of all robots, answered as {self.actor}. Ctrl-C ends.', 'dim')
        while True:
            self.questions.poll()
            self.questions.client.spin(0.1)
            if not self.questions.askers() and time.monotonic() - started > self.options.wait:
                raise self.questions.nothing()
            self.lines.read()
            if self.step():
                return

    def step(self) -> bool:
        """Show what is new and process one line of input; returns True to end."""
        self._follow()
        # Piped lines are kept for the questions that follow; a person answers what is shown.
        person = sys.stdin.isatty()
        line = self.lines.take() if self.shown is not None or person else None
        if line is not None:
            self._prompted = False
        if line == 'q' or (line is None and self.lines.ended):
            return True
        taken = line is not None and self._took(line)
        if taken and self.options.once:
            return True
        self._follow()
        if person and not self._prompted:
            self._prompted = True
            self.console.print('> ', end='')
            self.console.file.flush()
        return False

    def _follow(self) -> None:
        """Show the next question, or update the shown one: closed, or little time left."""
        still = self.questions.fitting(self.options)
        ids = {question.request.id for question in still}
        self.later &= ids
        self.answered &= ids
        if self.shown is not None and self.shown.request.id not in ids:
            self._print('answered by somebody else, or no longer asked', 'yellow')
            self.shown = None
        if self.shown is None:
            waiting = [question for question in still
                       if question.request.id not in self.later | self.answered]
            if waiting:
                self.shown = waiting[0]
                self._show(waiting[0], len(still))
        else:
            self._warn(self.shown)

    def _warn(self, question: OpenQuestion) -> None:
        """Warn when little time is left, once for each limit in `WARN_AT`."""
        left = self.questions.left(question.request)
        if left is not None and any(left <= limit < self.warned for limit in WARN_AT):
            self.warned = left
            self._print(f'{max(left, 0.0):.0f} s left', 'yellow')

    def _show(self, question: OpenQuestion, count: int) -> None:
        request = question.request
        left = self.questions.left(request)
        self.warned = math.inf if left is None else left
        text = Text('\n').join(_describe(request, left))
        title = '/'.join(filter(None, (request.flow_id, request.action_id))) or request.kind
        self._break_line()
        self.console.print(Panel(
            text, title=Text(printable(title, 200)), title_align='left',
            subtitle=Text(f'{printable(question.asker, 200)}, {request.kind}, {count} open'),
            subtitle_align='right'))
        self._print('Enter: later, q: end' + (
            ', a comment may follow the answer' if request.options else ''), 'dim')

    def _took(self, line: str) -> bool:
        """Process a line; returns True if it was an accepted answer."""
        question, self.shown = self.shown, None
        if question is None:
            self._without_question(line)
            return False
        if not line:
            self.later.add(question.request.id)
            self._print(f'put off: {len(self.later)}; Enter shows what was put off again', 'dim')
            return False
        answer, comment = split_answer(line, question.request.options)
        try:
            response, seq = self.questions.answer(question, answer, self.actor, comment)
        except NotThere as error:
            self._print(str(error), 'red')
            return False
        if response.accepted:
            self._print(f'answered: {answer}' + (f', row {seq}' if seq else ''), 'green')
            self.answered.add(question.request.id)
        else:
            self._print(response.error_msg, 'red')
        return bool(response.accepted)

    def _without_question(self, line: str) -> None:
        """Process a line while no question is shown; Enter shows postponed questions again."""
        if line:
            self._print(f'no question is shown, {printable(line, 100)!r} is not sent'
                        + ('; Enter shows what was put off' if self.later else ''), 'yellow')
        elif self.later:
            self.later.clear()
        else:
            self._print('no question is open', 'dim')

    def _break_line(self) -> None:
        """Start a new line if the cursor is behind a prompt."""
        if self._prompted:
            self._prompted = False
            self.console.print()

    def _print(self, text: str, style: str) -> None:
        self._break_line()
        self.console.print(Text(printable(text, LONGEST), style))


def _describe(request: OperatorRequest, left: float | None) -> Iterator[Text]:
    """Yield the lines of a question; `left`: s until its deadline."""
    yield Text(printable(request.question, LONGEST), 'bold')
    seen = evidence_text(request.evidence)
    if seen:
        yield Text(f'seen: {printable(seen, LONGEST)}', 'dim')
    if request.link:
        yield Text(printable(request.link, LONGEST), 'underline')
    for number, option in enumerate(request.options, 1):
        default = ' (taken when nobody answers)' if option == request.default_answer else ''
        yield Text(f'{number}  {printable(option, 100)}{default}')
    if left is not None:
        yield Text(f'{max(left, 0.0):.0f} s left', 'yellow')
