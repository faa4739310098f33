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
