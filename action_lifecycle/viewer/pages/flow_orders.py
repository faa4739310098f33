# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The buttons for orders to the flow that a page shows."""

from __future__ import annotations

from nicegui import ui

from .controls import Controls
from .followed_flow import FollowedFlow
from .orders import page_orders
from ..record.flow_record import FlowRecord
from ..robots import Robot

PERIOD = 0.1
"""Shortest time (s) between two updates of the buttons."""


class FlowOrders:
    """Made in the current container; `show` fills it for a flow, and it follows that flow."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._flow_id = ''
        self._box = ui.element('div').classes('shell-orders')
        self._box.set_visibility(False)

    def show(self, flow_id: str, name: str) -> None:
        """Take the orders for this flow; '': for none."""
        if flow_id == self._flow_id or self._robot.orders is None or self._box.is_deleted:
            return
        self._flow_id = flow_id
        self._box.clear()
        self._box.set_visibility(False)
        if not flow_id:
            return
        with self._box, ui.element('div') as root:
            controls = Controls(self._robot, page_orders(), flow_id, '', name)

        def show(record: FlowRecord, _: object) -> None:
            controls.update(record)
            self._box.set_visibility(not record.flow().ended)

        FollowedFlow(self._robot, flow_id, root, show, lambda fault: None, period=PERIOD)
