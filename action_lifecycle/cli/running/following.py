# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `run`: sends a flow, shows its progress and prints a summary."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
import contextlib
import json
import math
from pathlib import Path
import signal
import time
from types import FrameType
from typing import Any

from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import ActionStateChange, ErrorCode, FlowChange, FlowStatus
from action_msgs.msg import GoalStatus
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from .progress import ChangeLines
from .summary import sum_up
from ..actor import requester
from ..client import accepted, Client, connect, NODE, publishers
from ..exits import BAD_INPUT, DONE, FLOW_FAILED, NOT_THERE, NotThere
from ..given_parameters import given_parameter
from ..observer import Observer
from ..output_file import JSON, OutputFile
from ..table import console, live_table, waits_for
from ...documents.errors import LifecycleError
from ...documents.input_file import read_text
from ...flow.files.loader import load_flow
from ...ros.calls.journaled_end import FlowOpen, journaled_end, SERVICES
from ...ros.interfaces.qos import event_qos

CANCEL_TIME = 10.0
"""Time (s) that the command waits for a canceled flow to stop."""
ANSWER = 2.0
"""Time (s) after which a goal or the request of its result is repeated; a response may be lost."""


def run(options: argparse.Namespace) -> int:
    """Run a flow; Ctrl-C cancels it and waits until everything has stopped."""
    file = OutputFile('--json', options.json, JSON, [options.flow], force=options.force) \
        if options.json else None  # before anything moves
    goal, steps = _goal(options)
    out = console()
    with connect(options.namespace, options.wait) as client:
        following = _Following(client, out, options)
        result = following.follow(goal, steps)
        changes = following.fetch() if result.flow_id else []
        sum_up(out, options, result, changes, file)
    if result.error_code == ErrorCode.NONE:
        return DONE
    if result.error_code in (ErrorCode.FLOW_INVALID, ErrorCode.FLOW_CYCLE,
                             ErrorCode.INVALID_REQUEST, ErrorCode.FLOW_RUNNING,
                             ErrorCode.RECIPE_REFUSED):
        return BAD_INPUT
    return NOT_THERE if result.error_code in (
        ErrorCode.NOT_READY, ErrorCode.INTERRUPTED) else FLOW_FAILED


def _goal(options: argparse.Namespace) -> tuple[ExecuteFlow.Goal, dict[str, int]]:
    """Return the goal, and the number of motion steps by action id, as far as known."""
    steps: dict[str, int] = {}
    if bool(options.flow) == bool(options.reuse or options.request):
        raise LifecycleError('run: expected either FLOW, --reuse NAME or --request WORDS')
    parameters = dict(map(given_parameter, options.param))
    goal = ExecuteFlow.Goal(
        flow=options.flow or options.reuse or options.request, source=options.flow,
        kind='recipe' if options.reuse else 'request' if options.request else 'file',
        flow_id=options.flow_id, parameters_json=json.dumps(parameters),
        priority=options.priority, lease=options.lease, recipe=options.recipe,
        requester=requester())
    path = Path(options.flow)
    if goal.kind == 'file' and (path.suffix in ('.yaml', '.yml') or '/' in options.flow):
        flow = load_flow(path, **parameters)  # reports faults before a node is called
        if options.recipe or flow.all_refers():  # the node may run in another folder
            goal.source = str(path.absolute())
        steps = {name: len(action.steps) for name, action in flow.named_actions()}
        goal.flow, goal.kind = read_text(path), 'yaml'
    return goal, steps


class _Following:
    """Follows a flow from its goal to its result, also when the node crashes and restarts."""

    def __init__(self, client: Client, out: Console, options: argparse.Namespace) -> None:
        self.client = client
        self.console = out
        self.plain = options.plain or not out.is_terminal
        self.action: Any = None
        self.observer = Observer(client)
        self.progress = ChangeLines(verbose=options.verbose)
        self.changes: list[Any] = []
        self.flow_id = options.flow_id
        self.status: Any = None
        self.status_at = 0.0  #: monotonic time (s) of the last status
        self.said: dict[str, str] = {}  #: the last message by subject
        self.interrupts = 0
        self.live: Live | None = None
        client.node.create_subscription(
            ActionStateChange, f'{NODE}/state_changes', self.changes.append, event_qos())
        client.node.create_subscription(
            FlowChange, f'{NODE}/flow_changes', self.changes.append, event_qos())

    def follow(self, goal: ExecuteFlow.Goal, steps: Mapping[str, int]) -> ExecuteFlow.Result:
        """Send the goal and return its result; `steps`: number of motion steps by action id."""
        self.observer.steps = steps
        self.action = self.client.flow_action()
        old = signal.signal(signal.SIGINT, self._interrupted)
        try:
            with contextlib.nullcontext() if self.plain else Live(
                    console=self.console, refresh_per_second=8) as self.live:
                return self._until_result(goal)
        finally:
            signal.signal(signal.SIGINT, old)

    def _until_result(self, goal: ExecuteFlow.Goal) -> ExecuteFlow.Result:
        handle = self.client.send(self.action, goal, self._feedback)
        if not handle.accepted:
            return ExecuteFlow.Result(
                error_code=ErrorCode.NOT_READY,
                error_msg='the goal was rejected: the node is not active')
        anew = False
        while (result := self._spin(handle)) is None:
            handle = self._follow_anew()
            anew = True
        if anew and result.error_code == ErrorCode.NOT_FOUND:  # ended before the node was back
            result = self._journaled()
        self.status = result.status if result.status.flow_id else self.status
        self.flow_id = result.flow_id or self.flow_id
        self._show()
        return result

    def _journaled(self) -> ExecuteFlow.Result:
        """Return the result from the journal, of a flow that the node does not run any more."""
        reading, response = journaled_end(self.flow_id), None
        try:
            while True:
                kind, request = reading.send(response)
                response = accepted(self.client.call(kind, f'{NODE}/{SERVICES[kind]}', request))
        except StopIteration as read:
            if read.value is None:
                raise NotThere(f'{NODE} does not know the flow {self.flow_id} any more') from None
            result: ExecuteFlow.Result = read.value
            return result
        except FlowOpen as error:
            raise NotThere(f'{error}; `list --flow {self.flow_id}` shows what the journal has of '
                           'it') from error

    def _spin(self, handle: Any) -> ExecuteFlow.Result | None:
        """Show the progress until there is a result; None if the node goes away before."""
        asked = [handle.get_result_async()]
        ask_at = time.monotonic() + ANSWER
        canceled_at = math.inf
        servers: set[str] = set()
        while not any(future.done() for future in asked):
            now = time.monotonic()
            if now > ask_at:
                asked.append(handle.get_result_async())
                ask_at = now + ANSWER * 2 ** len(asked)
            if self.interrupts and canceled_at == math.inf:
                canceled_at = now
                self._say('canceling: waiting until everything has stopped …')
                handle.cancel_goal_async()
            if self.interrupts > 1 or now > canceled_at + CANCEL_TIME:
                return ExecuteFlow.Result(
                    flow_id=self.flow_id, error_code=ErrorCode.CANCELED,
                    error_msg='canceled, but not seen to have stopped')
            self.client.spin(0.1)
            self._show()
            servers = servers or self._servers()
            if not self.action.server_is_ready() or self._servers() - servers:
                return None  # a new server; DDS lists the dead one for a while
        ended = next(future.result() for future in asked if future.done())
        if ended.status == GoalStatus.STATUS_UNKNOWN:
            return None  # a node that was started after this goal was accepted
        result: ExecuteFlow.Result = ended.result
        return result

    def _follow_anew(self) -> Any:
        """
        Wait for the node to come back and follow the flow with a new goal.

        The first goal is lost with the node; the restarted node resumes the flow. Returns the
        handle of the new goal. Raises `NotThere` after `--wait` seconds.
        """
        if not self.flow_id:
            raise NotThere(f'{NODE} has gone before it has told the id of the flow')
        self._say(f'{NODE} has gone; waiting for it to go on with the flow {self.flow_id}')
        goal = ExecuteFlow.Goal(flow_id=self.flow_id, requester=requester())
        back = time.monotonic() + self.client.wait
        while time.monotonic() < back:
            if self.interrupts:
                raise NotThere(f'interrupted; {NODE} goes on with the flow {self.flow_id} when '
                               'it is back, and `watch` shows how')
            self.client.spin(0.1)
            self._show()
            if not self.action.server_is_ready():
                continue
            sent = self.action.send_goal_async(goal, self._feedback)
            if not self.client.spin(ANSWER, sent.done) or not sent.result().accepted:
                continue  # the response may be lost, or the node is not active yet
            self.fetch()
            self._say(f'{NODE} is back and goes on with the flow {self.flow_id}')
            return sent.result()
        raise NotThere(f'{NODE} tells nothing of the flow {self.flow_id} for '
                       f'{self.client.wait:g} s; '
                       f'`list --flow {self.flow_id}` shows what the journal has of it')

    def _servers(self) -> set[str]:
        """Return the DDS ids of the server's endpoints; they change when the server restarts."""
        return publishers(self.client.node, f'{NODE}/execute_flow/_action/status')

    # Output

    def _show(self) -> None:
        """Print new lines, or update the live table and the lines below it."""
        if self.flow_id:  # else the flow of this goal is not known yet
            self._take_changes()
        if words := self.observer.bridge_words():
            self._say(words)
        if self.live is not None and self.status is not None:
            self.live.update(Group(
                live_table(self.status, self.observer.motion_words,
                           time.monotonic() - self.status_at),
                *self.observer.below(self.flow_id)))
        elif self.plain and self.status is not None:
            self._print_beside()

    def _take_changes(self) -> None:
        while self.changes:
            change = self.changes.pop(0)
            if change.flow_id != self.flow_id:
                continue
            if self.progress.misses(change):
                self.fetch()
            self._print(change)

    def fetch(self) -> list[Any]:
        """Fetch all changes from the journal, print those not received; return the actions'."""
        try:
            found = list(self.client.history(NODE, self.flow_id))
        except NotThere:
            return []  # fetched again when the node is back
        for change in found:
            self._print(change)
        return [change for change in found if isinstance(change, ActionStateChange)]

    def _print(self, change: Any) -> None:
        words = self.progress.take(change)
        if words and self.plain:
            self.console.print(Text(words), soft_wrap=True)

    def _print_beside(self) -> None:
        for words in self.observer.questions(self.flow_id):
            self._say(words)
        for action in self.status.actions:
            if waits_for(action):
                self._say(f'{action.action_id} {waits_for(action)}')
        self._say(self.observer.safety_words(), 'safety', 'dim')
        for action in self.status.actions:
            words = self.observer.motion_words(action, brief=True)
            if self.progress.verbose or 'waits for' in words:
                self._say(words and f'{action.action_id:<16} {words}', action.action_id, 'dim')

    def _say(self, words: str, subject: str = '', style: str = 'yellow') -> None:
        """Print a message unless it is the last one of its subject; default: the message."""
        if words and words != self.said.get(subject or words):
            self.said[subject or words] = words
            self.console.print(Text(words, style), soft_wrap=True)

    def _feedback(self, message: Any) -> None:
        self.status = message.feedback.status
        self.status_at = time.monotonic()
        self.flow_id = self.status.flow_id or self.flow_id
        said = self.status.error_msg
        if self.status.state == FlowStatus.START and said:
            self._say(said)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        self.interrupts += 1
