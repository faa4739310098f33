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

"""Sends a flow, shows how it goes, and sums it up: the verb `run`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import datetime
import json
import math
from pathlib import Path
import signal
import time
from types import FrameType
from typing import Any

from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import (
    ActionStateChange,
    ErrorCode,
    FlowStatus,
    FlowStatusArray,
    OperatorRequestArray,
)
from rclpy.action import ActionClient
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from .arguments import requester
from .client import Client, connect
from .exits import BAD_INPUT, DONE, FLOW_FAILED, NOT_THERE, NotThere
from .orders import NODE
from .table import attempts_table, console, line, live_table, waits_for
from ..engine.document import parse_document
from ..engine.errors import DocumentError, LifecycleError
from ..flow.loading import load_flow
from ..flow.metrics import metrics_table
from ..nodes.messages import asked_in_words
from ..ros.qos import event_qos, state_qos

CANCEL_TIME = 10.0
"""Seconds that a canceled flow may take to stop before the command gives up waiting."""
CANCEL_AGAIN = 2.0
"""Seconds until a node that was started anew is asked again: its answers may be lost."""


def run(options: argparse.Namespace) -> int:
    """Run a flow; Ctrl-C cancels it and waits until everything has stopped."""
    goal = _goal(options)
    out = console()
    with connect(options.namespace) as client:
        following = _Following(client, out, options)
        result = following.follow(goal)
        _sum_up(client, out, options, result)
    if result.error_code == ErrorCode.NONE:
        return DONE
    if result.error_code in (ErrorCode.FLOW_INVALID, ErrorCode.FLOW_CYCLE,
                             ErrorCode.INVALID_REQUEST, ErrorCode.FLOW_RUNNING,
                             ErrorCode.RECIPE_REFUSED):
        return BAD_INPUT
    return NOT_THERE if result.error_code in (
        ErrorCode.NOT_READY, ErrorCode.INTERRUPTED) else FLOW_FAILED


def _goal(options: argparse.Namespace) -> ExecuteFlow.Goal:
    if bool(options.flow) == bool(options.reuse or options.request):
        raise LifecycleError('run: expected either FLOW, --reuse NAME or --request WORDS')
    parameters = dict(map(_parameter, options.param))
    goal = ExecuteFlow.Goal(
        flow=options.flow or options.reuse or options.request, source=options.flow,
        kind='recipe' if options.reuse else 'request' if options.request else 'file',
        flow_id=options.flow_id, parameters_json=json.dumps(parameters),
        priority=options.priority, lease=options.lease, recipe=options.recipe,
        requester=requester())
    path = Path(options.flow)
    if goal.kind == 'file' and (path.suffix in ('.yaml', '.yml') or '/' in options.flow):
        if options.recipe:  # so that a node in another folder finds out whether it has changed
            goal.source = str(path.absolute())
        load_flow(path, **parameters)  # what is wrong with the file is told before anything else
        goal.flow, goal.kind = path.read_text(encoding='utf-8'), 'yaml'
    return goal


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition('=')
    if not equals:
        raise LifecycleError(f'--param {text}: expected NAME=VALUE')
    if not value:
        return name, ''
    try:
        return name, parse_document(value, name).data
    except DocumentError as error:
        raise LifecycleError(
            f'--param {text}: the value is not YAML: {error.faults[0].message}') from error


class _Following:
    """One goal, from sending to its result."""

    def __init__(self, client: Client, console: Console, options: argparse.Namespace) -> None:
        self.client = client
        self.console = console
        self.wait = options.wait
        self.plain = options.plain or not console.is_terminal
        self.action = ActionClient(client.node, ExecuteFlow, f'{NODE}/execute_flow')
        self.changes: list[Any] = []
        self.status: Any = None
        self.asked: list[Any] = []  #: open questions of all flows
        self.said: set[str] = set()
        self.interrupts = 0
        client.node.create_subscription(
            ActionStateChange, f'{NODE}/state_changes', self.changes.append, event_qos())
        client.node.create_subscription(
            OperatorRequestArray, f'{NODE}/operator_requests',
            lambda message: setattr(self, 'asked', message.requests), state_qos())

    def follow(self, goal: ExecuteFlow.Goal) -> ExecuteFlow.Result:
        name = self.client.node.resolve_topic_name(f'{NODE}/execute_flow')
        self.client.until(self.action.server_is_ready, self.wait,
                          f"the action '{name}' is not there", name)
        self.client.until_heard(NODE, self.wait)
        old = signal.signal(signal.SIGINT, self._interrupted)
        try:
            sent = self.action.send_goal_async(goal, self._feedback)
            self.client.until(sent.done, self.wait, 'the goal was not answered')
            handle = sent.result()
            if not handle.accepted:
                return ExecuteFlow.Result(
                    error_code=ErrorCode.NOT_READY,
                    error_msg='the goal was rejected: the node is not active')
            return self._until_result(handle)
        finally:
            signal.signal(signal.SIGINT, old)

    def _until_result(self, handle: Any) -> ExecuteFlow.Result:
        result = handle.get_result_async()
        if self.plain:
            self._spin(handle, result, self._print_lines)
        else:
            with Live(console=self.console, refresh_per_second=8) as live:
                self._spin(handle, result, lambda: self.status and live.update(
                    Group(live_table(self.status), *(
                        Text(words, 'yellow') for words in self._questions()))))
                if result.done():
                    live.update(live_table(result.result().result.status))
        if not result.done() and not self.interrupts:
            return self._end_in_next_life()
        if not result.done():
            return ExecuteFlow.Result(
                flow_id=self.status.flow_id if self.status else '', error_code=ErrorCode.CANCELED,
                error_msg='canceled, but not seen to have stopped')
        answer: ExecuteFlow.Result = result.result().result
        return answer

    def _spin(self, handle: Any, result: Any, show: Callable[[], Any]) -> None:
        canceled_at = 0.0
        servers: set[str] = set()
        while not result.done():
            if self.interrupts and not canceled_at:
                canceled_at = time.monotonic()
                self.console.print('canceling: waiting until everything has stopped …')
                handle.cancel_goal_async()
            if self.interrupts > 1 or (
                    canceled_at and time.monotonic() - canceled_at > CANCEL_TIME):
                return
            self.client.spin(0.1)
            show()
            servers = servers or self._servers()
            if not self.action.server_is_ready() or self._servers() - servers:
                return  # the dead one is still seen for a while
        self.status = self.status or result.result().result.status
        show()

    def _end_in_next_life(self) -> ExecuteFlow.Result:
        """Wait for the end of a flow whose goal died with the node: by the topic of all flows."""
        if self.status is None or not self.status.flow_id:
            raise NotThere(f'{NODE} has gone before it has told the id of the flow')
        flow_id = self.status.flow_id
        self._say(f'{NODE} has gone; waiting for it to go on with the flow {flow_id}')
        told: list[Any] = []
        topic = self.client.node.resolve_topic_name(f'{NODE}/flow')
        self.client.node.create_subscription(
            FlowStatusArray, topic, lambda message: told.__setitem__(slice(None), [message.flows]),
            state_qos())
        back = time.monotonic() + self.wait
        cancel_at = give_up_at = math.inf
        while True:
            self.client.spin(0.1)
            now = time.monotonic()
            if self.interrupts and give_up_at == math.inf:
                cancel_at, give_up_at = now, now + CANCEL_TIME
            if told and now >= cancel_at:
                cancel_at = now + CANCEL_AGAIN
                self._cancel(flow_id)
            if self.interrupts > 1 or now > give_up_at or (self.interrupts and not told):
                raise NotThere(f'interrupted; {NODE} goes on with the flow {flow_id} when it is '
                               'back, and `watch` shows how')
            flow = next((flow for flow in told[0] if flow.flow_id == flow_id), None) \
                if told else None
            if flow is not None:
                self._say(f'{NODE} is back and goes on with the flow {flow_id}')
                self.status = flow
                back = now + self.wait
            if self.plain:
                self._print_lines()
            if flow is not None and flow.state in (FlowStatus.FINISH, FlowStatus.FAIL):
                return ExecuteFlow.Result(
                    flow_id=flow_id, state=flow.state, status=flow,
                    constellation_state=flow.constellation_state, summary_json='{}',
                    error_code=flow.error_code, error_msg=flow.error_msg)
            if not self.action.server_is_ready():
                told.clear()
            if now > back:
                raise NotThere(f'{NODE} tells nothing of the flow {flow_id} for {self.wait:g} s; '
                               f'`list --flow {flow_id}` shows what the journal has of it')

    def _cancel(self, flow_id: str) -> None:
        """Cancel a flow whose goal died with the node, by a goal that follows the flow."""
        def follows(sent: Any) -> None:
            if sent.result().accepted:
                sent.result().cancel_goal_async()

        self._say('canceling: waiting until everything has stopped …')
        self.action.send_goal_async(ExecuteFlow.Goal(
            flow_id=flow_id, requester=requester())).add_done_callback(follows)

    def _servers(self) -> set[str]:
        """Return what tells one life of the server from the next."""
        found = self.client.node.get_publishers_info_by_topic(
            self.client.node.resolve_topic_name(f'{NODE}/execute_flow') + '/_action/status')
        return {str(list(endpoint.endpoint_gid)) for endpoint in found}

    def _print_lines(self) -> None:
        if self.status is None:
            return  # of which flow is not known yet
        while self.changes:
            change = self.changes.pop(0)
            if change.flow_id == self.status.flow_id:
                self.console.print(Text(line(change)), soft_wrap=True)
        for words in self._questions():
            self._say(words)
        for action in self.status.actions:
            if waits_for(action):
                self._say(f'{action.action_id} {waits_for(action)}')

    def _questions(self) -> list[str]:
        """Return the open questions of this flow, a line each."""
        return [asked_in_words(request) for request in self.asked
                if self.status is not None and request.flow_id == self.status.flow_id]

    def _say(self, words: str) -> None:
        """Print what was not said before."""
        if words not in self.said:
            self.said.add(words)
            self.console.print(Text(words, 'yellow'), soft_wrap=True)

    def _feedback(self, message: Any) -> None:
        self.status = message.feedback.status
        said = self.status.error_msg
        if self.status.state == FlowStatus.START and said:
            self._say(said)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        self.interrupts += 1


def _sum_up(
    client: Client, console: Console, options: argparse.Namespace, result: ExecuteFlow.Result
) -> None:
    summary = json.loads(result.summary_json or '{}')
    if options.json:
        Path(options.json).write_text(json.dumps(
            {'flow_id': result.flow_id, 'state': result.state, 'error_code': result.error_code,
             'error_msg': result.error_msg, **summary}, indent=2) + '\n', encoding='utf-8')
    if 'job' in summary:
        _print_job(console, summary['job'])
    elif result.flow_id:
        console.print(attempts_table(
            client.history(NODE, options.wait, result.flow_id)))
    if 'total' in summary:
        _print_summary(console, summary, result.error_code == ErrorCode.NONE)
    if result.error_msg:
        console.print(Text(result.error_msg, 'bold red'), soft_wrap=True)


def _print_job(console: Console, job: dict[str, Any]) -> None:
    following = job['next']
    if job['clock'] == 'wall' and following is not None:
        following = datetime.fromtimestamp(following).astimezone().isoformat(timespec='seconds')
    when = f'next at {following}' if following is not None else 'no further time'
    console.print(Text(f"scheduled as job {job['id']} ({job['schedule']}), {when} "
                       f"by the {job['clock']} clock", 'green'), soft_wrap=True)


def _print_summary(console: Console, summary: dict[str, Any], good: bool) -> None:
    if summary.get('metrics'):
        console.print(Text(metrics_table(summary['metrics'])), soft_wrap=True)
    recipe = summary.get('recipe')
    if recipe and 'file' in recipe:
        console.print(Text(f"recipe {recipe['name']}: {recipe['file']}", 'green'), soft_wrap=True)
    elif recipe:
        console.print(Text(f"no recipe {recipe['name']}: {recipe['why_not']}", 'yellow'),
                      soft_wrap=True)
    console.print(Text(
        f"verified {summary['succeeded'] - summary['unverified']} of {summary['total']}, "
        f"recovered {summary['recovered']}, failed {summary['failed']}, "
        f"skipped {summary['skipped']}, canceled {summary['canceled']}, "
        f"unverified: {summary['unverified']}   ({summary['duration']:.1f} s)",
        'bold green' if good else 'bold red'))
