# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The motions and conditions of sessions: flows of one action that the action node runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from ...agents.tool_state import ToolError
from ...flow.files.loader import parse_flow
from ...lifecycle.states import ErrorCode
from ...ros.calls.flow_calls import FlowCalls, FlowEnd

STEP_FIELDS = ('server', 'type', 'goal', 'server_timeout', 'timeout')
_NEVER_RUN = frozenset({
    ErrorCode.INVALID_REQUEST, ErrorCode.GOAL_INVALID, ErrorCode.FLOW_INVALID,
    ErrorCode.FLOW_CYCLE, ErrorCode.FLOW_RUNNING})


class Motions:
    """
    Executes motions and judges conditions for the states `motion` and `confirm`.

    The fields of a motion are those of an action in a flow file, with `server`, `type`, `goal` and
    their time limits beside them. `confirm` is required. `time_limit` in s.
    """

    def __init__(self, flows: FlowCalls, time_limit: float, user: str = '') -> None:
        self._flows = flows
        self._time_limit = time_limit
        self._user = user

    async def execute_motion(
        self, motion: Mapping[str, Any], context: Any = None, *, call_id: str = '',
        again: bool = False,
    ) -> bool | str:
        """
        Execute a motion; returns True, or why it has failed.

        `call_id`: id of its flow; `again`: an earlier process may have sent it. Raises
        LifecycleError for a motion that is not valid, or if its fate is not known.
        """
        fields = dict(motion)
        step = {name: fields.pop(name) for name in STEP_FIELDS if name in fields}
        end = await self._run({'motion': {**fields, 'motion': step}}, call_id, again)
        return True if not end.error_code else end.error_msg

    async def confirm(self, condition: str, within: float | None = None) -> bool | None:
        """Judge a condition; None if it is unknown."""
        judged: dict[str, Any] = {'condition': condition}
        if within is not None:
            judged['within'] = within
        end = await self._run({'confirm': {'confirm': judged}}, '', False)
        if not end.error_code:
            return True
        return False if ErrorCode.REFUTED in end.codes else None

    async def stop_call(self, call_id: str) -> None:
        """Stop the motion of an earlier process, and wait until its flow has ended."""
        await self._flows.stop(call_id)

    async def _run(self, actions: Mapping[str, Any], flow_id: str, again: bool) -> FlowEnd:
        text = yaml.safe_dump({'flow': 'session', 'actions': actions}, allow_unicode=True,
                              sort_keys=False)
        parse_flow(text, 'session')
        end = await self._flows.run(text, 'session', user=self._user, flow_id=flow_id,
                                    time_limit=self._time_limit, again=again)
        if not _NEVER_RUN.isdisjoint(end.codes):
            raise ToolError(end.error_msg)
        return end
