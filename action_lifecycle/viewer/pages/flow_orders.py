# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The buttons for orders to the flow that a page shows."""

from __future__ import annotations

import logging

from nicegui import background_tasks, ui

from .controls import Controls
from .orders import page_orders
from ..robots import Heard, Robot, ROWS

ENDED = ('FINISH', 'FAIL')
_LOG = logging.getLogger(__name__)


class FlowOrders:
    """Made in the current container; `show` fills it for a flow, and it follows that flow."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._flow_id = ''
        self._controls: Controls | None = None
        self._box = ui.element('div').classes('shell-orders')
        self._box.set_visibility(False)
        self._box.client.on_delete(robot.listen(self._heard))

    def show(self, flow_id: str, name: str) -> None:
        """Take the orders for this flow; '': for none."""
        if flow_id == self._flow_id or self._robot.orders is None or self._box.is_deleted:
            return
        self._flow_id = flow_id
        self._box.clear()
        self._box.set_visibility(False)
        self._controls = None
        if flow_id:
            with self._box:
                self._controls = Controls(self._robot, page_orders(), flow_id, '', name)
            self._soon()

    def _heard(self, heard: Heard) -> None:
        if heard.kind == ROWS and heard.update is not None and self._flow_id in heard.update.flows:
            self._soon()

    def _soon(self) -> None:
        background_tasks.create(self._update(), context=self._box)

    async def _update(self) -> None:
        flow_id = self._flow_id
        try:
            record = await self._robot.record.flow(flow_id)
        except Exception as error:  # of one reading; again after the next rows
            _LOG.warning('%s: %s', self._robot.name, error)
            return
        if self._controls is not None and flow_id == self._flow_id and not self._box.is_deleted:
            flow = record.flow()
            self._controls.update(flow)
            self._box.set_visibility(flow.state not in ENDED)
