# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The content of each view."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from .flow_page import flow_page
from .now_page import now_page
from .orders import page_orders
from .runs_page import runs_page
from .timeline_page import timeline_page
from ..moment import Moment
from ..pick import Pick
from ..place import FLOW, NOW, TIMELINE, View
from ..robots import Robot


def show_view(view: View, robot: Robot, flow_id: str, moment: Moment, pick: Pick) -> Any:
    """Make the content of a view in the current container; returns an awaitable or None."""
    if view == NOW:
        return now_page(robot, page_orders())
    if view in (FLOW, TIMELINE):
        if not flow_id:
            return _nothing_yet(robot)
        page = flow_page if view == FLOW else timeline_page
        return page(robot, flow_id, moment, pick)
    return runs_page(robot)


def _nothing_yet(robot: Robot) -> None:
    with ui.element('section').classes('shell-empty'):
        ui.icon('hourglass_empty').props('aria-hidden=true')
        ui.label('No flow has run yet').classes('shell-empty-title')
        ui.label('The first one is shown here as soon as it starts.' if robot.now.live
                 else 'The journal has no flow.')
