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

"""What the action ~/execute_flow takes, without a middleware."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.nodes.flow_check import FlowRefused
from action_lifecycle.nodes.flow_server import FlowServer
from action_lifecycle_msgs.action import ExecuteFlow
import pytest


class Sources:
    """Checks a flow, while its goal is canceled."""

    recipes = None

    def __init__(self, handle: SimpleNamespace) -> None:
        self.handle = handle

    async def load(self, order: Any, told: Any) -> Any:
        self.handle.is_cancel_requested = True
        return SimpleNamespace()


def test_a_flow_that_is_canceled_while_it_is_checked_never_begins() -> None:
    handle = SimpleNamespace(
        request=ExecuteFlow.Goal(flow='flow: f\nactions: {}\n', flow_id='f', requester='ann'),
        is_cancel_requested=False)
    node: Any = SimpleNamespace(add_action_server=lambda *arguments, **named: None)
    server = FlowServer(node, Sources(handle), SimpleNamespace(), attach=False)  # type: ignore
    server.orchestrator = SimpleNamespace(runs={})  # type: ignore[assignment]
    server.planner = SimpleNamespace(open={})  # type: ignore[assignment]
    with pytest.raises(FlowRefused) as refused:
        server._take(handle.request, handle).send(None)
    assert refused.value.code is ErrorCode.CANCELED


def test_a_cancel_while_it_is_checked_cancels_the_flow_that_another_goal_has_begun() -> None:
    class Slow:
        """Checks a flow, while another goal begins it and this one is canceled."""

        recipes = None

        async def load(self, order: Any, told: Any) -> Any:
            server.orchestrator.runs['f'] = run  # type: ignore[union-attr]
            handle.is_cancel_requested = True
            server._cancel(handle)
            return SimpleNamespace()

    canceled: list[tuple[str, str]] = []
    run = SimpleNamespace(flow_id='f', ended=False)
    handle = SimpleNamespace(
        request=ExecuteFlow.Goal(flow='flow: f\nactions: {}\n', flow_id='f', requester='ann'),
        is_cancel_requested=False)
    node: Any = SimpleNamespace(add_action_server=lambda *arguments, **named: None)
    server = FlowServer(node, Slow(), SimpleNamespace(), attach=True)  # type: ignore[arg-type]
    server.orchestrator = SimpleNamespace(  # type: ignore[assignment]
        runs={}, cancel=lambda flow_id, actor, reason: canceled.append((flow_id, actor)))
    server.planner = SimpleNamespace(open={})  # type: ignore[assignment]
    with pytest.raises(StopIteration) as taken:
        server._take(handle.request, handle).send(None)
    assert taken.value.value is run  # so it follows the flow, and is canceled with it
    assert canceled == [('f', 'ann')]


class Handle(SimpleNamespace):
    """A goal's handle that keeps how the goal ended."""

    def abort(self) -> None:
        self.ended = 'aborted'

    def succeed(self) -> None:
        self.ended = 'succeeded'


def server_with(sources: Any) -> FlowServer:
    node: Any = SimpleNamespace(
        add_action_server=lambda *arguments, **named: None, now=lambda: 12.0)
    server = FlowServer(node, sources, SimpleNamespace(name=''), attach=False)  # type: ignore
    server.orchestrator = SimpleNamespace(runs={})  # type: ignore[assignment]
    server.planner = SimpleNamespace(open={})  # type: ignore[assignment]
    return server


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


def test_the_status_of_an_interrupted_flow_says_that_it_goes_on() -> None:
    handle = Handle(request=ExecuteFlow.Goal(), is_cancel_requested=False)
    result = server_with(SimpleNamespace(recipes=None))._result(handle, 'f', None)
    assert (result.flow_id, result.status.flow_id) == ('f', 'f')
    assert (result.status.state, result.status.error_code) == (
        'CONTINUE', ErrorCode.INTERRUPTED)
    assert result.error_msg == result.status.error_msg != ''
