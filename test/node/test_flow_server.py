# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the action ~/execute_flow takes, without a middleware."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from action_lifecycle.flow.orchestrator import FlowKnown, Orchestrator
from action_lifecycle.journal.row import JournalError
from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.nodes.action.flows import flow_server
from action_lifecycle.nodes.action.flows.flow_check import FlowRefused
from action_lifecycle.nodes.action.flows.flow_server import FlowServer
from action_lifecycle_msgs.action import ExecuteFlow
import pytest


class Sources:
    """Checks flows; `meanwhile` happens during the check."""

    recipes = None

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self.meanwhile = meanwhile

    async def load(self, order: Any, told: Any) -> Any:
        self.meanwhile()
        return SimpleNamespace(flow=SimpleNamespace(steering=False, schedule=None, name='f'),
                               origin={})


def goal(flow_id: str = 'f') -> SimpleNamespace:
    """Return the handle of a goal."""
    return SimpleNamespace(
        request=ExecuteFlow.Goal(flow='flow: f\nactions: {}\n', flow_id=flow_id, requester='ann'),
        goal_id=object(), is_cancel_requested=False)


def server_with(sources: Any, *, attach: bool = False) -> FlowServer:
    node: Any = SimpleNamespace(
        add_action_server=lambda *arguments, **named: None, now=lambda: 12.0)
    server = FlowServer(node, sources, SimpleNamespace(name=''), attach=attach)  # type: ignore
    server.orchestrator = SimpleNamespace(  # type: ignore[assignment]
        runs={}, new_id=lambda name, wanted: wanted, submit=lambda *arguments, **named: 'begun',
        recorder=SimpleNamespace(journal=SimpleNamespace(check_room=lambda: None)))
    server.planner = SimpleNamespace(  # type: ignore[assignment]
        open={}, cancel=lambda flow_id, actor: None)
    return server


def cancel(server: FlowServer, handle: SimpleNamespace) -> None:
    """Cancel a goal as rclpy does."""
    handle.is_cancel_requested = True
    server._cancel(handle)


def taken(server: FlowServer, handle: SimpleNamespace) -> Any:
    """Return what a goal has begun or follows."""
    with pytest.raises(StopIteration) as returned:
        server._take(handle.request, handle).send(None)
    return returned.value.value


def test_a_flow_that_is_canceled_while_it_is_checked_never_begins() -> None:
    handle = goal()
    server = server_with(Sources(lambda: cancel(server, handle)))
    with pytest.raises(FlowRefused) as refused:
        server._take(handle.request, handle).send(None)
    assert refused.value.code is ErrorCode.CANCELED


def test_a_cancel_while_it_is_checked_cancels_the_flow_that_another_goal_has_begun() -> None:
    canceled: list[tuple[str, str]] = []
    run, handle = SimpleNamespace(flow_id='f', ended=False), goal()

    def begin_and_cancel() -> None:
        orchestrator.runs['f'] = run
        cancel(server, handle)

    server = server_with(Sources(begin_and_cancel), attach=True)
    orchestrator: Any = server.orchestrator
    orchestrator.cancel = lambda flow_id, actor, reason: canceled.append((flow_id, actor))
    assert taken(server, handle) is run  # so it follows the flow, and is canceled with it
    assert canceled == [('f', 'ann')]


@pytest.mark.parametrize(('flow_id', 'begun'), [('f', False), ('g', True), ('', True)])
def test_a_cancel_while_it_is_checked_withdraws_the_other_goals_of_its_flow(
    flow_id: str, begun: bool
) -> None:
    first, second = goal('f' if flow_id else ''), goal(flow_id)
    outcomes: list[Any] = []

    def check_another_and_cancel() -> None:
        sources.meanwhile = lambda: cancel(server, first)
        try:
            server._take(second.request, second).send(None)
        except StopIteration as returned:
            outcomes.append(returned.value)
        except FlowRefused as refused:
            outcomes.append(refused.code)

    sources = Sources(check_another_and_cancel)
    server = server_with(sources, attach=True)
    with pytest.raises(FlowRefused) as refused:
        server._take(first.request, first).send(None)
    assert refused.value.code is ErrorCode.CANCELED
    assert outcomes == ['begun' if begun else ErrorCode.CANCELED]
    assert not server._checking


class Handle(SimpleNamespace):
    """A goal's handle that keeps how the goal ended."""

    def abort(self) -> None:
        self.ended = 'aborted'

    def succeed(self) -> None:
        self.ended = 'succeeded'


@pytest.mark.parametrize('canceled', [False, True])
def test_a_goal_that_follows_a_flow_waits_for_its_check_and_its_cancel_withdraws_it(
    monkeypatch: pytest.MonkeyPatch, canceled: bool
) -> None:
    monkeypatch.setattr(flow_server, 'sleep', lambda node, delay: asyncio.sleep(0))
    first, follower = goal(), goal()
    follower.request.flow = ''
    run = SimpleNamespace(flow_id='f', ended=False)

    class SlowSources(Sources):
        """Its check goes on for a while."""

        async def load(self, order: Any, told: Any) -> Any:
            await asyncio.sleep(0)
            return await super().load(order, told)

    server = server_with(SlowSources(lambda: None))
    orchestrator: Any = server.orchestrator

    def submit(*arguments: Any, **named: Any) -> Any:
        orchestrator.runs['f'] = run
        return run
    orchestrator.submit = submit
    begins, follows = (server._take(handle.request, handle) for handle in (first, follower))
    begins.send(None)
    follows.send(None)
    if canceled:
        cancel(server, follower)
        for task in (follows, begins):
            with pytest.raises(FlowRefused) as refused:
                task.send(None)
            assert refused.value.code is ErrorCode.CANCELED
    else:
        for task in (begins, follows):
            with pytest.raises(StopIteration) as returned:
                task.send(None)
            assert returned.value.value is run
    assert not server._checking


def test_the_status_of_a_refused_flow_says_that_it_failed_and_why() -> None:
    class Refusing:
        recipes = None

        async def load(self, order: Any, told: Any) -> Any:
            raise FlowRefused(ErrorCode.FLOW_INVALID, 'f.yaml:1:1: no actions')

    handle = Handle(request=ExecuteFlow.Goal(flow='flow: f\n', flow_id='f'),
                    is_cancel_requested=False)
    with pytest.raises(StopIteration) as returned:
        server_with(Refusing())._execute(handle).send(None)
    result = returned.value.value
    assert handle.ended == 'aborted'
    for told in (result, result.status):
        assert (told.state, told.constellation_state) == ('FAIL', 'failed')
        assert told.error_code == ErrorCode.FLOW_INVALID
        assert told.error_msg == 'f.yaml:1:1: no actions'
    assert (result.status.flow_id, result.status.stamp.sec) == ('f', 12)
    assert (result.flow_id, result.summary_json) == ('', '{}')


def test_a_journal_that_refuses_rows_is_no_fault_of_the_request() -> None:
    code = server_with(SimpleNamespace(recipes=None))._code(JournalError('the disk is full'))
    assert code is ErrorCode.JOURNAL_FAILED


def test_a_flow_that_the_journal_has_is_followed_by_who_sends_it_again() -> None:
    """Also after a restart, since when it is no run of the orchestrator any more."""
    journal = SimpleNamespace(rows=lambda flow_id, limit: iter(['row'] * (flow_id == 'ended')))
    orchestrator: Any = SimpleNamespace(recorder=SimpleNamespace(journal=journal))
    assert Orchestrator.new_id(orchestrator, 'f', 'new') == 'new'
    with pytest.raises(FlowKnown, match="'ended' is in the journal already") as known:
        Orchestrator.new_id(orchestrator, 'f', 'ended')
    assert server_with(None)._code(known.value) is ErrorCode.FLOW_RUNNING


def test_the_status_of_an_interrupted_flow_says_that_it_goes_on() -> None:
    handle = Handle(request=ExecuteFlow.Goal(), is_cancel_requested=False)
    result = server_with(SimpleNamespace(recipes=None))._result(handle, 'f', None)
    assert (result.flow_id, result.status.flow_id) == ('f', 'f')
    assert (result.status.state, result.status.error_code) == (
        'CONTINUE', ErrorCode.INTERRUPTED)
    assert result.error_msg == result.status.error_msg != ''
