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
from ..place import FLOW, NOW, RUNS, TIMELINE, View
from ..robots import Robot

_OF_FLOW = {FLOW: flow_page, TIMELINE: timeline_page}
_OF_ROBOT = {NOW: lambda robot: now_page(robot, page_orders()), RUNS: runs_page}


def show_view(view: View, robot: Robot, flow_id: str, moment: Moment, pick: Pick) -> Any:
    """Make the content of a view in the current container; returns an awaitable or None."""
    if not view.of_flow:
        return _OF_ROBOT[view](robot)
    return _OF_FLOW[view](robot, flow_id, moment, pick) if flow_id else _nothing_yet(robot)


def _nothing_yet(robot: Robot) -> None:
    with ui.element('section').classes('shell-empty'):
        ui.icon('hourglass_empty').props('aria-hidden=true')
        ui.label('No flow has run yet').classes('shell-empty-title')
        ui.label('The first one is shown here as soon as it starts.' if robot.now.live
                 else 'The journal has no flow.')
