# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The end of a flow that the action node does not run any more, read from that node's journal.

The reader makes requests and is sent their responses, so it is the same for a program that waits
for a service and for a node that must not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
import json
from typing import Any

from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import FlowStatus
from action_lifecycle_msgs.srv import GetHistory, ListActions

from ...documents.errors import LifecycleError
from ...lifecycle.states import ErrorCode

SERVICES = {ListActions: 'list_actions', GetHistory: 'get_history'}
"""The services of the action node that are called, by type."""
PAGE = 1000
"""Maximum number of actions or changes of one response."""


class FlowOpen(LifecycleError):
    """A flow has begun and not ended, but the action node does not run it."""

    def __init__(self, flow_id: str, actions: Sequence[Any]) -> None:
        names = ', '.join(action.action_id for action in actions)
        super().__init__(
            f'the action node does not go on with the flow {flow_id}, which has not ended in its '
            'journal' + (f'; open: {names}' if names else ''))


def journaled_end(flow_id: str) -> Generator[tuple[type, Any], Any, ExecuteFlow.Result | None]:
    """
    Yield service type and request, each to be answered by `send` with the response.

    Returns the result, with the flow's own actions in `status.actions`; None if the journal has
    nothing of the flow. Raises FlowOpen. Actions of nested flows do not count, because one of
    their runs may fail and the next one succeed. `send` takes no response with an error code.
    """
    actions: list[Any] = []
    page: Any = None
    while page is None or len(page.actions) == PAGE:
        page = yield ListActions, ListActions.Request(
            flow_id=flow_id, offset=len(actions), limit=PAGE)
        actions += page.actions
    # The end of a flow follows those of all its actions.
    after, end, begun = max((action.seq for action in actions), default=0), None, bool(actions)
    own = [action for action in actions if '/' not in action.action_id]
    page = None
    while page is None or page.more:
        page = yield GetHistory, GetHistory.Request(flow_id=flow_id, after_seq=after, limit=PAGE)
        changes = [*page.changes, *page.flow_changes]
        after = max((change.seq for change in changes), default=after)
        begun = begun or bool(changes)
        for change in page.flow_changes:  # of nested flows, too
            if change.flow_id == flow_id and change.to_state in (
                    FlowStatus.FINISH, FlowStatus.FAIL):
                end = change
    if end is not None:
        result = ExecuteFlow.Result(
            flow_id=flow_id, state=end.to_state, error_code=end.error_code, error_msg=end.cause,
            summary_json=end.data_json)
    elif begun:
        result = _of_actions(flow_id, own)
    else:
        return None
    result.status.actions = own
    return result


def _of_actions(flow_id: str, actions: Sequence[Any]) -> ExecuteFlow.Result:
    """Return the result of a flow whose end the journal does not have any more."""
    outcomes = Counter(action.state.outcome for action in actions)
    if not actions or outcomes['']:
        raise FlowOpen(flow_id, [action for action in actions if not action.state.outcome])
    succeeded = outcomes['succeeded']
    code = ErrorCode.NONE if succeeded + outcomes['skipped'] == len(actions) else \
        ErrorCode.CANCELED if outcomes['canceled'] else \
        ErrorCode.FLOW_PARTIALLY_FAILED if succeeded else ErrorCode.FLOW_FAILED
    return ExecuteFlow.Result(
        flow_id=flow_id, state=FlowStatus.FAIL if code else FlowStatus.FINISH,
        error_code=int(code),
        error_msg='; '.join(f'{action.action_id}: {action.error_msg}' for action in actions
                            if action.state.outcome in ('failed', 'canceled')),
        summary_json=json.dumps({
            'total': len(actions),
            **{name: outcomes[name] for name in ('succeeded', 'failed', 'canceled', 'skipped')},
            'recovered': sum(action.attempt > 1 and action.state.outcome == 'succeeded'
                             for action in actions),
            'unverified': sum(action.state.outcome == 'succeeded' and not action.evidence
                              for action in actions)}))
