# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `respond`: lists and answers the open questions of all nodes on the ROS graph."""

from __future__ import annotations

import argparse
from functools import partial
import time
from typing import Any, NamedTuple

from action_lifecycle_msgs.msg import OperatorRequest, OperatorRequestArray
from action_lifecycle_msgs.srv import GetRows, Respond
from rclpy.parameter import Parameter

from ..actor import who
from ..client import accepted, Client, connect
from ..exits import NotThere
from ..node_data import question_data
from ..table import is_simulated, print_json, print_rows
from ...documents.stamps import to_seconds
from ...ros.calls.order_call import Given
from ...ros.interfaces.qos import state_qos

TOPIC_TYPE = 'action_lifecycle_msgs/msg/OperatorRequestArray'
TOPIC, SERVICE = '/operator_requests', '/respond'


class OpenQuestion(NamedTuple):
    """An open question and the node that asks it."""

    asker: str
    request: OperatorRequest


class Questions:
    """The open questions of all nodes on the ROS graph, by asker and id."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self._prefix = f"/{namespace.strip('/')}/" if namespace.strip('/') else '/'
        self._topics: dict[str, Any] = {}
        self._open: dict[str, list[OperatorRequest]] = {}

    def poll(self) -> None:
        """Subscribe to the topics of new nodes; drop the questions of nodes that have gone."""
        for name, types in self.client.node.get_topic_names_and_types():
            if TOPIC_TYPE in types and name.endswith(TOPIC) and name not in self._topics \
                    and name.startswith(self._prefix):
                self._topics[name] = self.client.node.create_subscription(
                    OperatorRequestArray, name, partial(self._take, name.removesuffix(TOPIC)),
                    state_qos())

        for name in self._topics:
            if not self.client.node.count_publishers(name):
                self._open.pop(name.removesuffix(TOPIC), None)  # published again on restart

    def _take(self, asker: str, message: OperatorRequestArray) -> None:
        self._open[asker] = list(message.requests)

    def askers(self) -> int:
        """Return the number of nodes that publish questions."""
        return len(self._topics)

    def left(self, request: OperatorRequest) -> float | None:
        """Return the time (s) until a question's deadline; None: no deadline, or not known."""
        deadline = to_seconds(request.deadline)
        if not deadline:
            return None
        if not is_simulated(deadline):
            return deadline - time.time()
        node = self.client.node
        if not node.get_parameter('use_sim_time').value:
            node.set_parameters([Parameter('use_sim_time', value=True)])
        now = float(node.get_clock().now().nanoseconds) * 1e-9
        return deadline - now if now else None

    def answer(self, question: OpenQuestion, answer: str, actor: str, comment: str) -> Given:
        """Send an answer; returns the response of the node that asked, and the row."""
        client = self.client.until_there(Respond, question.asker + SERVICE)
        rows = self.client.service(GetRows, f'{question.asker}/get_rows')
        has_rows = self.client.node.count_services(rows.srv_name)
        return self.client.give(client, rows if has_rows else None, Respond.Request(
            id=question.request.id, answer=answer, actor=actor, comment=comment))

    def fitting(self, options: argparse.Namespace) -> list[OpenQuestion]:
        """Return the open questions that match --id, --flow and --action, the oldest first."""
        found = [OpenQuestion(asker, request) for asker, requests in self._open.items()
                 for request in requests if request.id.startswith(options.id)
                 and options.flow in ('', request.flow_id)
                 and options.action in ('', request.action_id)]
        return sorted(found, key=lambda item: (item.request.stamp.sec, item.request.stamp.nanosec))

    def wait_for(self, options: argparse.Namespace) -> list[OpenQuestion]:
        """Wait for matching questions and return them; an empty list after `--wait` seconds."""
        end = time.monotonic() + self.client.wait
        while time.monotonic() < end:
            self.poll()
            self.client.spin(0.1)
            if found := self.fitting(options):
                return found
        return []

    def nothing(self) -> NotThere:
        """Return the error for no matching question, or for no node that asks questions."""
        return NotThere(
            f'no such question within {self.client.wait:g} s, from {self.askers()} nodes that '
            'could ask' if self.askers()
            else f'no node that asks questions is there after {self.client.wait:g} s')


def respond(options: argparse.Namespace) -> None:
    """Answer the oldest matching question; without ANSWER, list the questions."""
    with connect('', options.wait) as client:
        questions = Questions(client, options.namespace)
        if options.answer is None:
            list_questions(questions, options)
        else:
            answer_one(questions, options)


def list_questions(questions: Questions, options: argparse.Namespace) -> None:
    """Print the matching open questions; waits for one for at most `--wait` seconds."""
    found = questions.wait_for(options)
    if not questions.askers():
        raise questions.nothing()
    data = [question_data(asker, request, questions.left(request)) for asker, request in found]
    if options.json:
        print_json(data)
        return
    print_rows(('id', 'flow', 'action', 'question', 'options', 'left'), (
        (item['id'][:8], item['flow_id'], item['action_id'], item['question'],
         ', '.join(item['options']), '' if item['left'] is None else f"{item['left']:.0f} s")
        for item in data))


def answer_one(questions: Questions, options: argparse.Namespace) -> None:
    """Answer the oldest matching question."""
    found = questions.wait_for(options)
    if not found:
        raise questions.nothing()
    answer, behind = split_answer(options.answer, found[0].request.options)
    if behind:  # --comment gives the comment, so ANSWER has none
        answer = options.answer
    response, seq = questions.answer(found[0], answer, who(options), options.comment)
    accepted(response)
    print(f'{found[0].request.id} {answer}' + (f', row {seq}' if seq else ''))


def split_answer(line: str, options: list[str]) -> tuple[str, str]:
    """Return the option that a line names by number or name, and the comment that follows it."""
    for option in sorted(options, key=len, reverse=True):
        if line == option or line.startswith(option + ' '):
            return option, line[len(option):].strip()
    number, _, comment = line.partition(' ')
    if number.isdecimal() and 1 <= int(number) <= len(options):
        return options[int(number) - 1], comment.strip()
    return line, ''
