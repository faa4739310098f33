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

"""A call of the bridge's service `~/evaluate`: evaluates conditions with the current facts."""

from __future__ import annotations

from collections.abc import Callable
import json
from typing import Any

from action_lifecycle_msgs import msg
from action_lifecycle_msgs.srv import Evaluate

from .messages import condition_to, evidence_from, to_code
from ..engine.errors import LifecycleError
from ..lifecycle.ports import Confirmation, ConfirmRequest
from ..lifecycle.states import ErrorCode
from ..ros.lifecycle_node import ManagedNode
from ..ros.service_call import call_service

ANSWER = 3.0
"""Time (s) for the response, in addition to the bridge's wait for facts."""

_VERDICTS = {msg.Evidence.TRUE: 'confirmed', msg.Evidence.FALSE: 'refuted'}


class Evaluation:
    """One call; `patience`: time (s) to wait for a bridge that is not there yet."""

    def __init__(
        self, node: ManagedNode, client: Any, request: ConfirmRequest, wait: float,
        patience: float, result: Callable[[Confirmation], None],
    ) -> None:
        self._node = node
        self._client = client
        self._wait = wait
        self._patience = patience
        self._result: Callable[[Confirmation], None] | None = result
        self._question = Evaluate.Request(
            conditions=[condition_to(item, request.name) for item in request.conditions],
            parameters_json=json.dumps(dict(request.parameters)), wait=wait)
        if node.executor is not None:
            node.executor.create_task(self._ask)

    def cancel(self) -> None:
        """Ignore the response."""
        self._result = None

    async def _ask(self) -> None:
        try:
            response = await call_service(
                self._node, self._client, self._question, wait=self._patience,
                timeout=self._wait + ANSWER)
            answer = Confirmation(
                _VERDICTS.get(response.verdict, 'stale'),
                [evidence_from(item) for item in response.evidence],
                to_code(response.error_code), response.error_msg)
        except LifecycleError as error:
            answer = Confirmation('stale', (), ErrorCode.NOT_READY, str(error))
        result, self._result = self._result, None
        if result is not None:
            self._node.guarded(
                result, what=f'answer of service {self._client.srv_name}')(answer)
