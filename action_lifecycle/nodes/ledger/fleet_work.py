# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Runs flows that a fleet requests through its ledger, on the action node of this robot.

A request becomes a flow whose motions need a claim. The first motion waits until the ledger has
recorded that something is about to move; from then on no other robot takes the request over. The
progress of the flow is read from the journal, so restarts of either node do not interrupt it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future
import re
import time
from typing import Any
import uuid

from action_lifecycle_msgs import msg
from action_lifecycle_msgs.action import ExecuteFlow
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState

from ..shared.paths import find_flow
from ...dialogue.desk import OperatorDesk
from ...documents.errors import LifecycleError
from ...documents.input_file import read_text
from ...documents.json_text import read_object
from ...fleet.claim_watch import HeldClaim
from ...fleet.errors import RequestInvalid
from ...fleet.operation import Operation, OperationRequest
from ...flow.files.loader import parse_flow
from ...flow.files.sources import Sources
from ...journal.clock import boot_time
from ...journal.reader import JournalReader
from ...journal.row import Row
from ...lifecycle.ports import Question
from ...lifecycle.states import ErrorCode
from ...ros.calls.goal_call import CallEnd, Ending, GoalCall, GoalPolicy
from ...ros.calls.goal_client import kept_goal_client
from ...ros.calls.service_call import RetryPolicy, ServiceCall
from ...ros.calls.threads import start_call
from ...ros.conversions.basic import to_time
from ...ros.node.lifecycle_node import ManagedNode

POLL_PERIOD = 0.1  # polling period (s) of the journal; half of it before the first motion
ASK_STATE = 0.5  # polling period (s) of the action node's lifecycle state
ASK_AGAIN = RetryPolicy(repeat=1.0)  # s; a response of a restarted node may be lost
FRESH = 2.0  # s for which its response is valid
ACCEPT = GoalPolicy(appear=10.0, accept=10.0)  # s
FIELDS = ('flow', 'kind', 'source', 'parameters_json', 'priority', 'requester', 'recipe')
OPTIONS = ('take_over', 'give_up')
AHEAD = 5  # number of tries after the current one that are looked up in the journal

_FINAL = frozenset({ErrorCode.INVALID_REQUEST, ErrorCode.FLOW_CYCLE})
"""The codes of refusals that stay the same on each robot, and in each try."""
_PRIORITIES = range(-2**31, 2**31)
_FLOW_ID = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\Z')


class FlowFailed(LifecycleError):
    """A flow was refused or has failed."""


class FleetWork:
    """
    Runs the requests that this robot's worker takes; see fleet.consumer.OperationWork.

    The coroutines run in the network thread, ROS calls in the executor's thread. A request fails
    if the action node is away for `work_min_idle` s. `changed` is called in the executor's thread
    when `leases` has changed.
    """

    def __init__(
        self, node: ManagedNode, desk: OperatorDesk,
        reader: Callable[[], JournalReader | None], changed: Callable[[], None],
    ) -> None:
        action_node = node.parameter('action_node')
        self._node = node
        self._desk = desk
        self._reader = reader
        self._changed = changed
        self._folders = list(node.parameter('flow_folders'))
        self._patience = float(node.parameter('work_min_idle'))
        self._active_at = -FRESH
        self._claims: dict[str, tuple[str, Operation]] = {}
        self._flows = kept_goal_client(node, ExecuteFlow, f'{action_node}/execute_flow')
        self._states = node.add_client(GetState, f'{action_node}/get_state')
        self._asked: ServiceCall | None = None
        node.add_timer(ASK_STATE, self._ask_state)

    def leases(self) -> list[msg.Lease]:
        """Return the claims of the running flows, also those that have lapsed."""
        return [lease_to(HeldClaim(
            flow_id, operation.request.trace_id, operation.request.tries,
            0.0 if operation.ended else operation.held_until), begun=operation.moved)
            for flow_id, operation in list(self._claims.values())]

    def names(self) -> list[str]:
        """Return the names of the claims."""
        return list(self._claims)

    # Called by the worker, in the network thread

    def ready(self) -> bool:
        """Whether the action node is active."""
        return time.monotonic() - self._active_at < FRESH and self._reader() is not None

    async def gather(self, request: OperationRequest) -> dict[str, Any]:
        """Return the goal; a flow given by name is read here, so that all robots run the same."""
        goal = {name: request.data[name] for name in FIELDS if request.data.get(name)}
        flow, kind = goal.get('flow', ''), goal.get('kind', '')
        if not flow:
            raise RequestInvalid("the request has no field 'flow'")
        _number(goal.get('priority', '0'))
        if kind == 'file' or (not kind and '\n' not in flow):
            path = find_flow(flow, self._folders)  # another robot may have what is missing here
            try:
                goal.update(flow=read_text(path), kind='yaml', source=path.name)
            except UnicodeDecodeError as error:
                raise FlowFailed(f'{path}: expected UTF-8: {error}') from error
        return goal

    async def perform(self, operation: Operation, gathered: dict[str, Any]) -> Any:
        """Run the flow, or follow the one already begun; returns its result."""
        request = operation.request
        begun, new = self._begun(request, operation.moved)
        ended: asyncio.Future[CallEnd] | None = None
        flow_id = begun or new
        self._claims[request.trace_id] = flow_id, operation
        cancel: Callable[[], None] | None = None
        try:
            if begun is None:
                goal = _goal(flow_id, request, gathered)
                cancel, ended = start_call(
                    self._node,
                    lambda: GoalCall(self._node, self._flows, None, ACCEPT).send(goal))
            return await self._follow(operation, flow_id, ended, gathered)
        except BaseException:  # also when the node is away: the goal may still be waiting for it
            if cancel is not None and not operation.moved:
                cancel()
            raise
        finally:
            del self._claims[request.trace_id]
            self._node.call_soon(self._changed)

    def can_resume(self, request: OperationRequest) -> bool:
        """Whether the journal of this robot has the flow of a request."""
        return self._begun(request, True)[0] is not None

    async def take_over(self, request: OperationRequest) -> str:
        """Ask a person whether to repeat a lost robot's work; returns who agreed, or ''."""
        answered: Future[tuple[str, str]] = Future()
        asked: list[Any] = []
        name = request.data.get('flow', '').partition('\n')[0]
        question = Question(
            'takeover', _base(request.trace_id), '',
            "The robot that worked on request {{ request }} ('{{ name }}') is gone, and it had "
            'begun to move. Should this robot do all of it again?', OPTIONS,
            names={'request': request.trace_id, 'name': name})

        def pass_answer(answer: str, actor: str) -> None:
            if not answered.done():  # else another robot has the request now
                answered.set_result((answer, actor))
        self._node.call_soon(lambda: asked.append(self._desk.ask(question, pass_answer)))
        try:
            answer, actor = await asyncio.wrap_future(answered)
        finally:
            self._node.call_soon(lambda: [one.cancel() for one in asked])
        return actor if answer == 'take_over' else ''

    # Following a flow

    def _begun(self, request: OperationRequest, moved: bool) -> tuple[str | None, str]:
        """
        Return the id of a request's last flow (None: none), and an id for the next one.

        A flow that failed before anything moved does not count. After Redis was restored from a
        backup it may deliver a request again; its flow is found in the journal, too.
        """
        base = _base(request.trace_id)
        reader = self._reader()
        last, number = None, request.tries
        for tries in range(1, request.tries + AHEAD) if reader is not None else ():
            flow_id = f'{base}.{tries}'
            rows = list(reader.rows(flow_id=flow_id, kind='flow'))
            if rows:
                last = flow_id if moved or rows[-1].to_state != 'FAIL' else None
                number = max(number, tries + 1)
        return last, f'{base}.{number}'

    async def _follow(
        self, operation: Operation, flow_id: str, ended: asyncio.Future[CallEnd] | None,
        goal: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Read the journal until the flow has ended; record its first motion in Redis."""
        seq = inner = 0
        away_since = None
        while True:
            end = ended.result() if ended is not None and ended.done() else None
            reader = self._reader()
            for row in reader.rows(within=flow_id, after=inner) \
                    if reader is not None and not operation.moved else ():
                inner = row.seq  # of the flows that its actions run
                await self._note_motion(operation, row)
            for row in reader.rows(flow_id=flow_id, after=seq) if reader is not None else ():
                seq = row.seq
                await self._note_motion(operation, row)
                if row.kind == 'flow' and row.final:
                    return self._result(row)
            if end is not None and not seq:
                raise RequestInvalid(_refusal(end)) if await self._never_valid(goal, end) \
                    else FlowFailed(_refusal(end))
            now = time.monotonic()
            away_since = None if self.ready() else away_since or now
            if away_since is not None and now - away_since > self._patience:
                raise FlowFailed('the action node is away')
            await asyncio.sleep(POLL_PERIOD if operation.moved else POLL_PERIOD / 2)

    async def _never_valid(self, goal: Mapping[str, Any], end: CallEnd) -> bool:
        """
        Return whether no robot will ever accept a goal that was refused.

        FLOW_INVALID may also be about a server that is missing now, or on this robot only. So that
        flow is read again: if its text or its parameters are not valid, that is final.
        """
        code = end.result.error_code if end.how is Ending.RESULT else ErrorCode.NONE
        kind = goal.get('kind', 'yaml')
        if code != ErrorCode.FLOW_INVALID or kind != 'yaml':
            return code in _FINAL and kind != 'recipe'  # another robot may have the recipe
        try:
            await asyncio.to_thread(
                parse_flow, goal['flow'], goal.get('source') or 'flow',
                read_object(goal.get('parameters_json', ''), 'parameters_json'),
                Sources(self._folders))
        except LifecycleError:
            return True
        return False

    async def _note_motion(self, operation: Operation, row: Row) -> None:
        if row.to_state == 'executing_motion' and not operation.moved:
            await operation.start_motion()
            self._node.call_soon(self._changed)

    def _result(self, row: Row) -> dict[str, Any]:
        if row.to_state != 'FINISH':
            raise FlowFailed(f'flow {row.flow_id} has failed: {row.cause}')
        return {'flow_id': row.flow_id, 'robot': self._node.get_namespace(),
                'state': row.to_state, 'summary': row.data}

    # ROS, in the executor's thread

    def _ask_state(self) -> None:
        if self._asked is None:
            self._asked = ServiceCall(self._node, self._states, GetState.Request, ASK_AGAIN)
            self._asked.on_done(self._state_answered)

    def _state_answered(self, done: Any) -> None:
        self._asked = None
        if done.exception() is None \
                and done.result().current_state.id == State.PRIMARY_STATE_ACTIVE:
            self._active_at = time.monotonic()


def lease_to(claim: HeldClaim, begun: bool = True) -> msg.Lease:
    """Return the message of a claim; it expires at once if its first motion has not `begun`."""
    left = claim.until - boot_time()
    return msg.Lease(
        flow_id=claim.flow_id, name=claim.name, token=claim.token, held=left > 0,
        expires=to_time(time.time() + left if left > 0 and begun else 0.0))


def _base(trace_id: str) -> str:
    """Return the prefix of the flow ids of a request."""
    return trace_id if _FLOW_ID.match(trace_id) else uuid.uuid5(uuid.NAMESPACE_OID, trace_id).hex


def _goal(flow_id: str, request: OperationRequest, given: Mapping[str, Any]) -> ExecuteFlow.Goal:
    return ExecuteFlow.Goal(
        flow=given['flow'], kind=given.get('kind', ''), source=given.get('source', ''),
        flow_id=flow_id, parameters_json=given.get('parameters_json', ''),
        priority=_number(given.get('priority', '0')),
        requester=given.get('requester', f'request {request.trace_id}'),
        recipe=given.get('recipe', ''), lease=request.trace_id)


def _refusal(end: CallEnd) -> str:
    """Return why a flow did not begin."""
    if end.how is Ending.RESULT:
        return end.result.error_msg or 'the action node has refused the flow'
    return 'the action node is not active' if end.how is Ending.REJECTED \
        else 'the action node gives no answer'


def _number(text: str) -> int:
    if re.fullmatch(r'\s*[+-]?[0-9]{1,10}\s*', text) and int(text) in _PRIORITIES:
        return int(text)
    raise RequestInvalid(f'priority: expected an integer of 32 bits, got {text[:100]!r}')
