# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verbs `session list`, `show`, `send` and `run`: sessions of the agent node."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import json
from pathlib import Path
import signal
import sys
import time
from typing import Any

from action_lifecycle_msgs.action import RunGraph
from action_lifecycle_msgs.msg import ErrorCode, Session
from action_lifecycle_msgs.srv import GetSession, ListSessions, SendSessionEvent
from rclpy.action import ActionClient

from ..actor import who
from ..client import accepted, Client, connect
from ..exits import BAD_INPUT, DONE, FLOW_FAILED, NOT_THERE, NotThere
from ..table import console, date_of, print_json, print_rows
from ...documents.errors import LifecycleError
from ...documents.input_file import read_text
from ...documents.json_text import DuplicateKey, read_json
from ...documents.stamps import to_seconds
from ...graphs.loader import load_graph
from ...lifecycle.text_format import printable
from ...ros.conversions.plain_data import code_name

AGENT = 'agent'
"""Name of the agent node."""
PAGE = 1000
POLL_PERIOD = 0.2
"""Period (s) of polls for the end of work."""
ANSWER = 3.0
"""Time (s) after which a request that nobody has answered is repeated."""


def list_sessions(options: argparse.Namespace) -> None:
    """Print the sessions, the newest change first."""
    found: list[dict[str, Any]] = []
    with connect(options.namespace, options.wait) as client:
        while True:
            page = accepted(client.call(
                ListSessions, f'{AGENT}/list_sessions', ListSessions.Request(
                    open_only=options.open, offset=len(found), limit=PAGE)))
            found += map(_data, page.sessions)
            if not page.sessions or len(found) >= page.total:
                break
    if options.json:
        print_json(found)
    else:
        print_rows(('session', 'graph', 'state', 'status', 'next events', 'changed'), (
            (one['id'], one['graph'], one['state'], one['status'],
             ', '.join(one['next_events']), date_of(one['time'])) for one in found))


def show_session(options: argparse.Namespace) -> None:
    """Print a session with its dialogue, and with its context as JSON."""
    entries: list[Any] = []
    with connect(options.namespace, options.wait) as client:
        while True:
            answer = accepted(client.call(GetSession, f'{AGENT}/get_session', GetSession.Request(
                session_id=options.session, offset=len(entries), limit=PAGE)))
            entries += answer.dialogue
            if not answer.dialogue or len(entries) >= answer.total:
                break
    data = _data(answer.session)
    data['dialogue'] = [{
        'time': to_seconds(entry.stamp), 'state': entry.state, 'actor': entry.actor,
        'text': entry.text} for entry in entries]
    data['context'] = read_json(answer.context_json or 'null', 'context_json')
    if options.json:
        print_json(data)
        return
    out = console()
    out.print(_line(answer.session), soft_wrap=True, markup=False)
    for entry in entries:
        at = time.strftime('%H:%M:%S', time.localtime(to_seconds(entry.stamp)))
        text = printable(entry.text).replace('\n', '\n' + ' ' * 21)
        out.print(f'{at}  {entry.actor:<9}  {text}', soft_wrap=True, markup=False)


def send_event(options: argparse.Namespace) -> int:
    """Send an event to a session, wait for the end of work, and print the output."""
    name = f'{AGENT}/send_event'
    with connect(options.namespace, options.wait) as client:
        request = SendSessionEvent.Request(
            session_id=options.session, event=options.event, actor=who(options),
            input_json=_json(options.input))
        poll = SendSessionEvent.Request(session_id=options.session, event='poll')
        client.call(SendSessionEvent, name, poll)  # the node knows this client then
        reply = client.call(SendSessionEvent, name, request, again=options.event == 'poll')
        if reply.error_code:
            hint = f"; next events: {', '.join(reply.next_events) or 'none'}" \
                if reply.session.id else ''
            reply.error_msg += hint
            accepted(reply)
        while list(reply.next_events) == ['poll'] and not options.no_wait:
            client.spin(POLL_PERIOD)
            reply = accepted(client.call(SendSessionEvent, name, poll))
        if options.json:
            print_json({'output': reply.output, **_data(reply.session)})
        else:
            print(printable(reply.output or reply.session.output))
            print(_line(reply.session), file=sys.stderr)
        failed = reply.session.status == Session.FAILED or reply.session.error_msg
        return FLOW_FAILED if failed else DONE


def run_graph(options: argparse.Namespace) -> int:
    """Run a graph as a session and print its changes; Ctrl-C cancels it."""
    goal = RunGraph.Goal(graph=options.graph, session_id=options.id, requester=who(options),
                         input_json=_json(options.input))
    path = Path(options.graph)
    if options.graph and (path.suffix in ('.yaml', '.yml') or '/' in options.graph):
        for folder in options.states:
            from ...graphs.state_types import REGISTRY
            REGISTRY.load_folder(folder)
        load_graph(path)  # reports faults before a node is called
        goal.graph, goal.source = read_text(path), path.name
    if not (goal.graph or goal.session_id):
        raise LifecycleError('session run: expected GRAPH, or --id of a session to follow')
    with connect(options.namespace, options.wait) as client:
        result = _Following(client).until_result(goal, options.no_wait)
        if result is None:
            return DONE
        if options.json:
            print_json({
                'session_id': result.session_id, 'reason': result.reason, 'state': result.state,
                'steps': result.steps, 'output': result.output,
                'context': read_json(result.context_json or 'null', 'context_json'),
                'error_code': code_name(result.error_code), 'error_msg': result.error_msg})
        else:
            print(printable(result.output))
    if result.reason == Session.ENDED:
        return DONE
    print(f'{result.session_id} {result.reason}: {printable(result.error_msg)}', file=sys.stderr)
    if result.reason in (Session.FAILED, Session.CANCELED) and result.state:
        return FLOW_FAILED
    return NOT_THERE if result.error_code in (
        ErrorCode.NOT_FOUND, ErrorCode.NOT_READY, ErrorCode.INTERRUPTED) else BAD_INPUT


class _Following:
    """Follows a session to its end, also when the node is restarted."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._action = ActionClient(client.node, RunGraph, f'{AGENT}/run_graph')
        self._said = ''
        self._session_id = ''
        self._interrupts = 0

    def until_result(self, goal: RunGraph.Goal, no_wait: bool) -> RunGraph.Result | None:
        """Send the goal; returns its result, or None when the session has begun."""
        old = signal.signal(signal.SIGINT, self._interrupted)
        try:
            while True:
                handle = self._send(goal)
                result = self._result(handle, no_wait)
                if result is not None or no_wait:
                    return result
                goal = RunGraph.Goal(session_id=self._session_id, requester=goal.requester)
        finally:
            signal.signal(signal.SIGINT, old)

    def _send(self, goal: RunGraph.Goal) -> Any:
        name = self._client.node.resolve_service_name(f'{AGENT}/run_graph')
        self._client.until(self._action.server_is_ready, f"the action '{name}' is not there",
                           name)
        self._client.until_heard(AGENT)
        handle = self._client.send(self._action, goal, self._feedback)
        if not handle.accepted:
            raise NotThere(f'{AGENT} is not active')
        return handle

    def _result(self, handle: Any, no_wait: bool) -> RunGraph.Result | None:
        """Wait for the result; None if the node went away, or the session has begun."""
        asked = handle.get_result_async()
        canceled = 0
        absent: Callable[[], bool] = lambda: not self._action.server_is_ready()  # noqa: E731
        while not asked.done():
            self._client.spin(0.5, lambda: asked.done() or bool(self._session_id and no_wait))
            if no_wait and self._session_id and not asked.done():
                print(self._session_id)
                return None
            if self._interrupts > canceled:
                canceled = self._interrupts
                handle.cancel_goal_async()
            if absent() and self._session_id:
                print(f'{AGENT} is away; waiting for it', file=sys.stderr)
                return None
        return asked.result().result

    def _feedback(self, message: Any) -> None:
        session = message.feedback.session
        self._session_id = session.id
        line = _line(session)
        if line != self._said:
            self._said = line
            print(line, file=sys.stderr)

    def _interrupted(self, number: int, frame: Any) -> None:
        self._interrupts += 1
        if self._interrupts > 2:
            raise KeyboardInterrupt


def _line(session: Any) -> str:
    """Return a session as one line of text."""
    line = f'{session.id}: {session.state}, {session.status}'
    if session.status == Session.WORKING:
        line += f' {session.progress:.0%}'
    elif session.next_events and list(session.next_events) != ['poll']:
        line += f"; next events: {', '.join(session.next_events)}"
    return line + (f' ({printable(session.error_msg)})' if session.error_msg else '')


def _data(session: Any) -> dict[str, Any]:
    """Return a session as plain data."""
    return {
        'id': session.id, 'graph': session.graph, 'state': session.state,
        'status': session.status, 'time': to_seconds(session.stamp), 'step': session.step,
        'tasks': session.tasks, 'tasks_done': session.tasks_done, 'progress': session.progress,
        'next_events': list(session.next_events), 'output': session.output,
        'error_code': code_name(session.error_code), 'error_msg': session.error_msg}


def _json(text: str) -> str:
    """Return an input as JSON: JSON unchanged, any other text as a string."""
    if not text:
        return ''
    try:
        read_json(text, 'the input')
    except DuplicateKey:
        raise
    except LifecycleError:
        return json.dumps(text)
    return text
