# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Does work of the kind `graph`: sessions of the agent node, followed by their id."""

from __future__ import annotations

from collections.abc import Sequence
import json
from pathlib import Path
import re
from typing import Any

from action_lifecycle_msgs.action import RunGraph
from action_lifecycle_msgs.msg import Session

from .followed import Followed, FollowedWork, shown
from .task_modules import graph_faults
from ...shared.background_worker import Apart
from ...shared.paths import find_file
from ....agents.sessions.hosted_graph import check_graph
from ....documents.errors import LifecycleError
from ....documents.input_file import read_text
from ....documents.json_text import read_json
from ....graphs.loader import load_graph
from ....lifecycle.ports import Handle
from ....lifecycle.running.work_states import MAX_RESULT
from ....lifecycle.states import ErrorCode
from ....lifecycle.work import WorkRequest, WorkResult
from ....ros.calls.goal_call import CallEnd, Ending, GoalCall, GoalPolicy
from ....ros.calls.goal_client import GoalClient, kept_goal_client
from ....ros.conversions.basic import to_code
from ....ros.node.lifecycle_node import ManagedNode
from ....work.graph import GraphSpec

PAUSE = 1.0
"""Delay (s) before the agent node is asked again."""
STOP_LIMIT = 30.0
"""Maximum time (s) for a session to stop."""
_POLICY = GoalPolicy(accept=10.0, repeat=5.0, watch=1.0, silence=8.0)
_LATER = (ErrorCode.NOT_READY, ErrorCode.INTERRUPTED, ErrorCode.JOURNAL_FAILED)
"""Error codes after which the agent node is asked again."""


class GraphWorker(Followed):
    """
    Runs graphs in the node `agent`; to be created in `configure`.

    `folders`: those of the graph files. `appear`: time (s) for the agent node to appear.
    `modules`: see `module_faults`.
    """

    def __init__(
        self, node: ManagedNode, apart: Apart, agent: str, folders: list[str], appear: float,
        modules: Sequence[str],
    ) -> None:
        super().__init__(node)
        self._modules = modules
        self._apart = apart
        self._folders = folders
        self._appear = appear
        self._server = f'{agent}/run_graph'

    async def faults(  # type: ignore[override]
        self, spec: GraphSpec, parameters: Any
    ) -> list[tuple[str, str]]:
        """Return why the graph can't be loaded, or not be run as a session."""
        def check() -> None:
            text, source = self._read(spec)
            graph = load_graph(text, name=source)
            check_graph(graph, _Hosted())
            if '\n' in spec.graph and (faults := list(graph_faults(graph, self._modules))):
                raise LifecycleError('; '.join(faults))

        self._client()  # so that discovery has time until the action starts
        try:
            await self._apart.do(check)
        except LifecycleError as error:
            return [('graph', str(error))]
        return []

    def _client(self) -> GoalClient:
        """Return the client of the agent node, made at the first call."""
        return kept_goal_client(self.node, RunGraph, self._server)

    def _read(self, spec: GraphSpec) -> tuple[str, str]:
        """Return the text of the graph, and its name for messages."""
        if '\n' in spec.graph:
            return spec.graph, 'graph'
        path: Path = find_file(spec.graph, self._folders, 'graph')
        return read_text(path), path.name

    def make(self, spec: GraphSpec, request: WorkRequest) -> FollowedWork:
        """Open the session with the id of the request, or follow it."""
        text, source = self._read(spec)
        goal = RunGraph.Goal(
            graph=text if '\n' in text else text + '\n', source=source, session_id=request.id,
            input_json='' if spec.input is None else json.dumps(spec.input),
            requester=re.sub(r'\s+', ' ', f'{request.flow_id}/{request.action_id}'))
        return _FollowedSession(self.node, self._client(), goal, self._appear, spec.time_limit)


class _Hosted:
    """Stands in for the host of the sessions in a check of a graph."""

    engine: Any = object()


class _FollowedSession(FollowedWork):
    """A session, whichever of the two nodes restarts."""

    def __init__(
        self, node: ManagedNode, client: GoalClient, goal: RunGraph.Goal, appear: float,
        time_limit: float,
    ) -> None:
        super().__init__(node)
        self._client = client
        self._goal = goal
        self._appear = appear
        self._since = node.steady()
        self._begun = False  #: the agent node may know the session
        self._left = False
        self._stop_as: WorkResult | None = None
        self._timers: list[Handle] = []
        if time_limit:
            self._timers.append(node.call_later(time_limit, lambda: self._stop(WorkResult(
                'failed', 0.0, error_code=ErrorCode.MOTION_TIMEOUT,
                error_msg=f'not ended within {time_limit:g} s; it was canceled'))))
        self._ask()

    def _ask(self) -> None:
        """Send the goal; the agent node opens the session or follows it."""
        if self._left:
            return
        policy = _POLICY if self._begun else GoalPolicy(
            self._appear, _POLICY.accept, _POLICY.repeat, _POLICY.watch, _POLICY.silence)
        self._call = GoalCall(self.node, self._client, None, policy,
                              on_state=self._on_state, on_feedback=self._feedback)
        self._call.done.add_done_callback(self.node.guarded(
            lambda future: self._answered(future.result()), what='run_graph'))
        self._call.send(self._goal)

    def _on_state(self, state: str) -> None:
        if state == 'executing':
            self._begun = True
            if self._stop_as is not None:
                self._call.cancel()
        elif state == 'waiting_for_server':
            self.told(-1.0, 'the agent node is not there')

    def _feedback(self, feedback: Any) -> None:
        session = feedback.session
        progress = session.progress if session.status == Session.WORKING else -1.0
        said = f': {session.output[:100]}' if session.status == Session.WAITING else ''
        self.told(progress, f'{session.state}, {session.status}, step {session.step}{said}')

    def _answered(self, end: CallEnd) -> None:
        if self._left:
            return
        result = end.result
        if end.how is Ending.ABSENT:
            self.fail(ErrorCode.SERVER_MISSING,
                      f'{self._client.server} is not there within {self._appear:g} s')
        elif end.how is Ending.CANCELED and not self._begun and self._stop_as is not None:
            self._stopped()
        elif end.how is not Ending.RESULT or result.error_code in _LATER:
            self._begun = self._begun or end.how is not Ending.REJECTED
            if not self._begun and self.node.steady() - self._since > self._appear:
                self.fail(ErrorCode.SERVER_MISSING, 'the agent node takes no goals')
            else:  # also after the end, to cancel the session when the agent node is back
                self.node.call_later(PAUSE, self._ask)
        elif self._stop_as is not None:
            self._stopped()
        elif result.reason == Session.ENDED:
            self.end(self._success(result))
        else:
            code = ErrorCode.WORK_FAILED if result.reason else to_code(result.error_code)
            self.fail(code, result.error_msg or f'the session was {result.reason} in the agent '
                      f"node, in the state '{result.state}'")

    def _success(self, result: Any) -> WorkResult:
        found = {'state': result.state, 'output': result.output}
        note = ''
        if len(result.context_json) + len(json.dumps(found)) < MAX_RESULT:
            try:
                found['context'] = read_json(result.context_json or 'null', 'the context')
            except LifecycleError as error:
                note = f'not kept: {error}'
        else:
            note = f'the context of {len(result.context_json)} characters is not kept'
        return WorkResult('executed', self.node.now(), shown(result.output or result.state),
                          result=found, note=note)

    def cancel(self) -> None:
        """Cancel the session; it ends when what it does has stopped."""
        self._stop(WorkResult('canceled', 0.0, 'the session is canceled'))

    def _stop(self, as_: WorkResult) -> None:
        if self._stop_as is not None or self.result is not None:
            return
        self._stop_as = as_
        self._timers.append(self.node.call_later(STOP_LIMIT, self._stopped))
        self._call.cancel()

    def _stopped(self) -> None:
        assert self._stop_as is not None
        self._stop_as.ended = self.node.now()
        self.end(self._stop_as)

    def leave(self) -> None:
        """Leave the session as it is."""
        super().leave()
        self._left = True
        self._call.end(CallEnd(Ending.CANCELED, self.node.now(), stopped=False))

    def over(self) -> None:
        """Stop the timers."""
        for timer in self._timers:
            timer.cancel()
