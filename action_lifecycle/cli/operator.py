# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

# flake8: noqa: A005
"""The command `operator`: shows the open questions of all robots, and answers them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
import getpass
import json
import os
import select
import socket
import sys
import time
from typing import Any, NamedTuple

from action_lifecycle_msgs.msg import OperatorRequest, OperatorRequestArray
from action_lifecycle_msgs.srv import Respond
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from .client import Client, connect
from .exits import BAD_INPUT, DONE, NOT_THERE, NotThere
from .table import evidence_text
from ..lifecycle.words import printable
from ..ros.qos import state_qos

TOPIC_TYPE = 'action_lifecycle_msgs/msg/OperatorRequestArray'
TOPIC, SERVICE = '/operator_requests', '/respond'
LOOK = 1.0
"""Seconds between looks at which nodes ask."""
LONGEST = 4096
"""Characters of a question that are shown."""
A_DAY = 86400.0


class Question(NamedTuple):
    """An open question and the node that asks it."""

    asker: str
    request: OperatorRequest


class Questions:
    """The open questions of every node on the graph, by asker and id."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self._prefix = f"/{namespace.strip('/')}/" if namespace.strip('/') else '/'
        self._topics: dict[str, Any] = {}
        self._open: dict[str, list[OperatorRequest]] = {}
        self._looked = -LOOK

    def look(self) -> None:
        """Subscribe to the topics of nodes that have appeared; forget what dead ones asked."""
        if time.monotonic() - self._looked < LOOK:
            return
        self._looked = time.monotonic()
        for name, types in self.client.node.get_topic_names_and_types():
            if TOPIC_TYPE in types and name.endswith(TOPIC) and name not in self._topics \
                    and name.startswith(self._prefix):
                self._topics[name] = self.client.node.create_subscription(
                    OperatorRequestArray, name, partial(self._take, name.removesuffix(TOPIC)),
                    state_qos())

        for name in self._topics:
            if not self.client.node.count_publishers(name):
                self._open.pop(name.removesuffix(TOPIC), None)  # it asks again when it is back

    def _take(self, asker: str, message: OperatorRequestArray) -> None:
        self._open[asker] = list(message.requests)

    def askers(self) -> int:
        """Return how many nodes could ask."""
        return len(self._topics)

    def open(self) -> list[Question]:  # noqa: A003
        """Return what is open now, the oldest first."""
        found = [Question(asker, request) for asker, requests in self._open.items()
                 for request in requests]
        return sorted(found, key=lambda item: (item.request.stamp.sec, item.request.stamp.nanosec))

    def answer(
        self, question: Question, answer: str, actor: str, comment: str, wait: float
    ) -> Any:
        """Answer; returns the response of the node that asked."""
        return self.client.call(Respond, question.asker + SERVICE, Respond.Request(
            id=question.request.id, answer=answer, actor=actor, comment=comment), wait,
            again=False)


def operator(options: argparse.Namespace) -> int:
    """Answer questions: those that a person is shown, or one from the command line."""
    actor = options.actor or f'{getpass.getuser()}@{socket.gethostname()}'
    with connect('') as client:
        questions = Questions(client, options.namespace)
        try:
            if options.list:
                return _list(questions, options)
            if options.answer is not None:
                return _answer_one(questions, options, actor)
            return _Terminal(questions, options, actor).run()
        except KeyboardInterrupt:
            print()
            return DONE


def _wait_for(questions: Questions, options: argparse.Namespace) -> Question | None:
    """Return the oldest question that fits, None if none comes in time."""
    end = time.monotonic() + options.wait
    while time.monotonic() < end:
        questions.look()
        questions.client.spin(0.1)
        for question in questions.open():
            if _fits(question.request, options):
                return question
    return None


def _fits(request: OperatorRequest, options: argparse.Namespace) -> bool:
    return request.id.startswith(options.id) and options.flow in ('', request.flow_id) \
        and options.action in ('', request.action_id)


def _nothing(questions: Questions, options: argparse.Namespace) -> NotThere:
    askers = questions.askers()
    return NotThere(
        f'no such question within {options.wait:g} s, from {askers} nodes that could ask'
        if askers else f'no node that asks questions is there after {options.wait:g} s')


def _list(questions: Questions, options: argparse.Namespace) -> int:
    _wait_for(questions, options)
    if not questions.askers():
        raise _nothing(questions, options)
    found = [question for question in questions.open() if _fits(question.request, options)]
    print(json.dumps([{
        'id': request.id, 'kind': request.kind, 'asker': asker, 'flow_id': request.flow_id,
        'action_id': request.action_id, 'question': request.question,
        'options': list(request.options), 'default': request.default_answer,
        'deadline': request.deadline.sec + request.deadline.nanosec * 1e-9,
        'link': request.link} for asker, request in found], indent=2, ensure_ascii=False))
    return DONE


def _answer_one(questions: Questions, options: argparse.Namespace, actor: str) -> int:
    question = _wait_for(questions, options)
    if question is None:
        raise _nothing(questions, options)
    answer, behind = split_answer(options.answer, question.request.options)
    if behind:  # a comment has an argument of its own here
        answer = options.answer
    response = questions.answer(question, answer, actor, options.comment, options.wait)
    if not response.accepted:
        print(f'action_lifecycle: {response.error_msg}', file=sys.stderr)
        return NOT_THERE if response.error_code == 4 else BAD_INPUT
    print(f'{question.request.id} {answer}')
    return DONE


class _Lines:
    """Lines from standard input, without waiting for them."""

    def __init__(self) -> None:
        self._buffer = b''
        self._closed = False

    def read(self) -> None:
        """Take in what has come."""
        while not self._closed and select.select([sys.stdin], [], [], 0)[0]:
            more = os.read(sys.stdin.fileno(), 65536)
            self._buffer += more
            self._closed = not more

    @property
    def ended(self) -> bool:
        """Whether there will be no further line."""
        return self._closed and not self._buffer

    def take(self) -> str | None:
        """Return the next line, None while there is none."""
        if b'\n' not in self._buffer and not (self._closed and self._buffer):
            return None
        line, _, self._buffer = self._buffer.partition(b'\n')
        return line.decode('utf-8', 'replace').strip()


class _Terminal:
    """Shows one question after the other and takes the answers of a person."""

    def __init__(self, questions: Questions, options: argparse.Namespace, actor: str) -> None:
        self.questions = questions
        self.options = options
        self.actor = actor
        self.console = Console(highlight=False, width=None if sys.stdout.isatty() else 100)
        self.lines = _Lines()
        self.shown: Question | None = None
        self.later: set[str] = set()

    def run(self) -> int:
        """Ask until Ctrl-C, `q`, the end of the input, or one answer (`--once`)."""
        started = time.monotonic()
        self._say(f'Questions of all robots, answered as {self.actor}. Ctrl-C ends.', 'dim')
        while True:
            self.questions.look()
            self.questions.client.spin(0.1)
            if not self.questions.askers() and time.monotonic() - started > self.options.wait:
                raise _nothing(self.questions, self.options)
            self._follow()
            self.lines.read()
            # What a program has written is for the questions to come; a person sees what is there.
            line = self.lines.take() if self.shown is not None or sys.stdin.isatty() else None
            if line == 'q' or (line is None and self.lines.ended):
                return DONE
            if line is not None and self._took(line) and self.options.once:
                return DONE

    def _follow(self) -> None:
        """Show the next question, or tell that the one shown has gone."""
        still = [question for question in self.questions.open()
                 if _fits(question.request, self.options)]
        ids = {question.request.id for question in still}
        if self.shown is not None and self.shown.request.id not in ids:
            self._say('answered by somebody else, or no longer asked', 'yellow')
            self.shown = None
        self.later &= ids
        if self.shown is None:
            waiting = [question for question in still if question.request.id not in self.later]
            if waiting:
                self.shown = waiting[0]
                self._show(waiting[0], len(still))

    def _show(self, question: Question, count: int) -> None:
        request = question.request
        text = Text('\n').join(_describe(request))
        title = '/'.join(filter(None, (request.flow_id, request.action_id))) or request.kind
        self.console.print(Panel(
            text, title=Text(printable(title, 200)), title_align='left',
            subtitle=Text(f'{printable(question.asker, 200)}, {request.kind}, {count} open'),
            subtitle_align='right'))
        self._say('Enter: later, q: end' + (
            ', a comment may follow the answer' if request.options else ''), 'dim')

    def _took(self, line: str) -> bool:
        """Take a line; whether it was an answer that was accepted."""
        question = self.shown
        if question is None:
            return False
        self.shown = None
        if not line:
            self.later.add(question.request.id)
            return False
        answer, comment = split_answer(line, question.request.options)
        try:
            response = self.questions.answer(
                question, answer, self.actor, comment, self.options.wait)
        except NotThere as error:
            self._say(str(error), 'red')
            return False
        if response.accepted:
            self._say(f'answered: {answer}', 'green')
            self.later.add(question.request.id)  # until the node has told that it is closed
        else:
            self._say(response.error_msg, 'red')
        return bool(response.accepted)

    def _say(self, text: str, style: str) -> None:
        self.console.print(Text(printable(text, LONGEST), style))


def _describe(request: OperatorRequest) -> Iterator[Text]:
    """Yield the lines of a question."""
    yield Text(printable(request.question, LONGEST), 'bold')
    seen = evidence_text(request.evidence)
    if seen:
        yield Text(f'seen: {printable(seen, LONGEST)}', 'dim')
    if request.link:
        yield Text(printable(request.link, LONGEST), 'underline')
    for number, option in enumerate(request.options, 1):
        default = ' (taken when nobody answers)' if option == request.default_answer else ''
        yield Text(f'{number}  {printable(option, 100)}{default}')
    left = request.deadline.sec - time.time()
    if 0 < left < 10 * A_DAY:
        yield Text(f'{left:.0f} s left', 'yellow')


def split_answer(line: str, options: list[str]) -> tuple[str, str]:
    """Return the option that a line names, by number or name, and the comment behind it."""
    for option in sorted(options, key=len, reverse=True):
        if line == option or line.startswith(option + ' '):
            return option, line[len(option):].strip()
    number, _, comment = line.partition(' ')
    if number.isdecimal() and 1 <= int(number) <= len(options):
        return options[int(number) - 1], comment.strip()
    return line, ''
