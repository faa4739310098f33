# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows that a session has sent are stopped, however often the action node goes away meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
import threading
import time
from typing import Any

from action_lifecycle.agents.sessions.detach import DETACH, Detach
from action_lifecycle.ros.calls import flow_call, flow_calls
from action_lifecycle.ros.calls.flow_calls import FlowCalls
from action_lifecycle.ros.node.executor import make_executor
from action_lifecycle.ros.node.lifecycle_node import ManagedNode
from action_lifecycle.tools import ToolError
from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import ErrorCode
from isolation import domain_id
import pytest
import rclpy
from rclpy.action import ActionServer, CancelResponse
from rclpy.context import Context
from rclpy.task import Future

from .ending import destroy


class Caller(ManagedNode):
    """A node that runs flows."""

    def configure(self) -> None:
        self.flows = FlowCalls(self, 'action_lifecycle')


class ActionNode:
    """Takes flows; `ends` are the error codes of goals that are not ended by a cancel."""

    def __init__(self, node: Any, *ends: int) -> None:
        self.ends = list(ends)
        self.goals: list[ExecuteFlow.Goal] = []
        self.canceled: list[str] = []
        self.may_end: Any = Future()
        self._cancels: dict[bytes, Any] = {}
        self.server = ActionServer(
            node, ExecuteFlow, 'action_lifecycle/execute_flow', self._execute,
            cancel_callback=self._cancel)

    def _cancel(self, handle: Any) -> CancelResponse:
        self.canceled.append(handle.request.flow_id)
        future = self._cancels.setdefault(bytes(handle.goal_id.uuid), Future())
        if not future.done():
            future.set_result(None)
        return CancelResponse.ACCEPT

    async def _execute(self, handle: Any) -> ExecuteFlow.Result:
        self.goals.append(handle.request)
        code = ErrorCode.CANCELED
        if self.ends and (self.ends[0] != ErrorCode.INTERRUPTED or not handle.request.flow):
            code = self.ends.pop(0)
        else:
            await self._cancels.setdefault(bytes(handle.goal_id.uuid), Future())
            if self.ends:
                code = self.ends.pop(0)
            else:
                await self.may_end
        handle.abort()
        return ExecuteFlow.Result(error_code=code, flow_id=handle.request.flow_id)


class Rig:
    """A caller, and the node on which a test puts the action node."""

    def __init__(self) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain_id())
        self.executor = make_executor(context=self.context)
        self.caller = Caller('caller', context=self.context)
        self.other = rclpy.create_node('other', context=self.context)
        self.executor.add_node(self.caller)
        self.executor.add_node(self.other)
        assert self.caller.start()
        self.thread = threading.Thread(target=self.executor.spin, daemon=True)
        self.thread.start()

    def run(self, time_limit: float = 30.0) -> Any:
        """Return the task of a flow."""
        return asyncio.ensure_future(self.caller.flows.run(
            'flow: f', 'test', time_limit=time_limit, flow_id='talk.1.0'))

    def close(self) -> None:
        self.executor.shutdown()
        self.thread.join(10.0)
        self.caller.trigger_shutdown()
        destroy(self.caller, self.other)
        self.context.try_shutdown()


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setattr(flow_call, 'PAUSE', 0.05)
    monkeypatch.setattr(flow_calls, 'STOP_LIMIT', 0.1)
    rig = Rig()
    yield rig
    rig.close()


async def until(condition: Any) -> None:
    limit = time.monotonic() + 20.0
    while not condition():
        assert time.monotonic() < limit, 'it never came true'
        await asyncio.sleep(0.01)


def test_a_stop_goes_on_until_the_action_node_is_there_and_the_flow_has_ended(rig: Rig) -> None:
    async def main() -> None:
        stop = asyncio.ensure_future(rig.caller.flows.stop('talk.1.0'))
        assert not (await asyncio.wait([stop], timeout=0.5))[0]  # nobody is there
        action_node = ActionNode(rig.other, ErrorCode.INTERRUPTED, ErrorCode.NOT_READY)
        await until(lambda: action_node.canceled)
        assert not (await asyncio.wait([stop], timeout=0.5))[0]  # it has not stopped yet
        action_node.may_end.set_result(None)
        await stop
        assert [(goal.flow, goal.flow_id) for goal in action_node.goals] == [('', 'talk.1.0')] * 3
    asyncio.run(main())


def test_a_flow_that_a_killed_node_did_not_take_is_looked_for_at_the_next_one_at_once(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed node is discovered for 20 s more; without a response for `accept` s."""
    monkeypatch.setattr(flow_call, '_FOLLOWED', replace(flow_call._FOLLOWED, accept=600.0))

    async def main() -> None:
        asked: list[Any] = []

        async def lose(taken: Any) -> None:
            asked.append(taken[1])

        killed = ActionNode(rig.other).server
        for name in ('_execute_goal_request', '_execute_get_result_request'):
            monkeypatch.setattr(killed, name, lose)
        task = rig.run()
        await until(lambda: any(hasattr(request, 'goal') for request in asked))
        again = ActionNode(rig.other)
        await until(lambda: again.goals)
        assert [(goal.flow, goal.flow_id) for goal in again.goals] == [('', 'talk.1.0')]
        task.cancel()
        again.may_end.set_result(None)
        await asyncio.wait([task], timeout=20.0)
        assert task.done()
    asyncio.run(main())


def test_a_flow_that_nobody_knows_is_stopped(rig: Rig) -> None:
    action_node = ActionNode(rig.other, ErrorCode.NOT_FOUND)
    asyncio.run(rig.caller.flows.stop('talk.1.0'))
    assert len(action_node.goals) == 1 and not action_node.canceled


def test_a_flow_that_has_run_before_is_followed_and_not_run_again(rig: Rig) -> None:
    async def main() -> None:
        action_node = ActionNode(rig.other, ErrorCode.FLOW_RUNNING, ErrorCode.NONE)
        assert (await rig.run()).error_code == ErrorCode.NONE
        assert [(goal.flow, goal.flow_id) for goal in action_node.goals] == [
            ('flow: f', 'talk.1.0'), ('', 'talk.1.0')]
    asyncio.run(main())


def test_a_cancelled_run_ends_when_its_flow_has_ended(rig: Rig) -> None:
    async def main() -> None:
        action_node = ActionNode(rig.other, ErrorCode.INTERRUPTED)  # its node stops
        task = rig.run()
        await until(lambda: action_node.goals)
        task.cancel()
        await until(lambda: len(action_node.canceled) == 2)
        assert not (await asyncio.wait([task], timeout=0.5))[0]
        task.cancel()  # it is awaited all the same
        assert not (await asyncio.wait([task], timeout=0.5))[0]
        action_node.may_end.set_result(None)
        await asyncio.wait([task])
        assert task.cancelled()
        assert [goal.flow for goal in action_node.goals] == ['flow: f', '']
    asyncio.run(main())


def test_a_cancelled_run_is_left_alone_when_its_session_is_detached(rig: Rig) -> None:
    async def main() -> None:
        action_node, detach = ActionNode(rig.other, ErrorCode.INTERRUPTED), Detach()
        DETACH.set(detach)
        task = rig.run()
        await until(lambda: action_node.goals)
        task.cancel()
        await until(lambda: len(action_node.canceled) == 2)
        detach.is_set = True  # the process of the session ends, too
        task.cancel()
        assert (await asyncio.wait([task], timeout=10.0))[0] and task.cancelled()
    asyncio.run(main())


def test_a_run_that_is_late_fails_when_its_flow_has_ended(rig: Rig) -> None:
    async def main() -> None:
        action_node = ActionNode(rig.other, ErrorCode.INTERRUPTED)  # its node stops
        task = rig.run(0.5)
        await until(lambda: len(action_node.canceled) == 2)
        assert not (await asyncio.wait([task], timeout=0.5))[0]
        action_node.may_end.set_result(None)
        with pytest.raises(ToolError, match='not done within 0.5 s; it was canceled'):
            await task
    asyncio.run(main())


def test_a_late_run_that_was_never_sent_fails_at_once(rig: Rig) -> None:
    async def main() -> None:
        with pytest.raises(ToolError, match='the action node is not there after 0.3 s'):
            await rig.run(0.3)
    asyncio.run(main())


def test_a_run_that_was_never_sent_is_cancelled_at_once(rig: Rig) -> None:
    async def main() -> None:
        task = rig.run()
        await asyncio.wait([task], timeout=0.3)
        task.cancel()
        assert (await asyncio.wait([task], timeout=10.0))[0] and task.cancelled()
    asyncio.run(main())


def test_the_flow_of_a_detached_run_is_left_alone(rig: Rig) -> None:
    async def main() -> None:
        action_node, detach = ActionNode(rig.other), Detach()
        DETACH.set(detach)
        task = rig.run()
        await until(lambda: action_node.goals)
        detach.is_set = True
        task.cancel()
        assert (await asyncio.wait([task], timeout=10.0))[0] and task.cancelled()
        assert not action_node.canceled
    asyncio.run(main())
