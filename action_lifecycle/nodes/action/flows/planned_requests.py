# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The status of requests that have no flow yet, or for which none could be made."""

from __future__ import annotations

from collections.abc import Callable, Container

from action_lifecycle_msgs.msg import FlowStatus

from ....flow.planning.planning import Planned, Planner
from ....lifecycle.states import ErrorCode
from ....ros.conversions.basic import to_time

PLANNING = 'planning'
"""Stage of a request for which the planner has made no flow yet."""
KEPT = 20
"""Number of requests without a flow that are still published after their end."""


class PlannedRequests:
    """Publishes requests beside the flows; `changed()` is called when there is something new."""

    def __init__(self, now: Callable[[], float], changed: Callable[[], None]) -> None:
        self.planner: Planner | None = None
        self._now = now
        self._changed = changed
        self._given_up: dict[str, FlowStatus] = {}

    def status(self, flow_id: str, text: str) -> FlowStatus:
        """Return the status of a request that is being planned; `text`: its progress."""
        return FlowStatus(
            stamp=to_time(self._now()), flow_id=flow_id, state=FlowStatus.START, stage=PLANNING,
            constellation_state=FlowStatus.CREATED, error_msg=text, planning=text)

    def open(self, runs: Container[str]) -> list[FlowStatus]:  # noqa: A003
        """Return the status of each request that is being planned; `runs`: the known flows."""
        asked = self.planner.open.items() if self.planner is not None else ()
        return [self.status(flow_id, request.progress) for flow_id, request in asked
                if flow_id not in runs]

    def ended(self, runs: Container[str]) -> list[FlowStatus]:
        """Return the status of each request that has ended without a flow."""
        return [status for flow_id, status in self._given_up.items() if flow_id not in runs]

    def progressed(self, flow_id: str) -> None:
        """Publish the progress of a request."""
        self._given_up.pop(flow_id, None)
        self._changed()

    def given_up(self, planned: Planned) -> None:
        """Publish that a request has ended without a flow."""
        canceled = planned.error_code is ErrorCode.CANCELED
        flow_id = planned.order.flow_id
        self._given_up[flow_id] = FlowStatus(
            stamp=to_time(self._now()), flow_id=flow_id, state=FlowStatus.FAIL, stage=PLANNING,
            constellation_state=FlowStatus.CANCELLED if canceled else FlowStatus.FAILED,
            error_code=int(planned.error_code), error_msg=planned.error_msg)
        for old in list(self._given_up)[:-KEPT]:
            del self._given_up[old]
        self._changed()
