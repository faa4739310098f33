# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The panel beside the content, with the selected action; on a phone it covers the content."""

from __future__ import annotations

import logging

from nicegui import ui

from .action_panel import action_panel
from ..moment import Moment
from ..pick import Pick
from ..robots import Robot
from ...lifecycle.text_format import printable

MAX_NAME = 120
_LOG = logging.getLogger(__name__)


class SidePanel:
    """Made in the current container; `show` fills it with the action that is selected."""

    def __init__(self, robot: Robot, moment: Moment, pick: Pick) -> None:
        self._robot = robot
        self._moment = moment
        self._pick = pick
        self._shown = ('', '')
        with ui.element('aside').classes('shell-side') as self._side:
            self._side.props['tabindex'] = '-1'
            ui.button(icon='close', on_click=lambda: pick.set('')).props(
                'flat round dense data-key=Escape aria-label="Close the panel" '
                'title="Close (Esc)"').classes('shell-side-close')
            self._content = ui.element('div').classes('shell-side-content')
        self._side.set_visibility(False)

    def show(self, flow_id: str) -> None:
        """Show the selected action of a flow."""
        shown = (flow_id, self._pick.path)
        if self._side.is_deleted or shown == self._shown:
            return
        self._shown = shown
        self._side.set_visibility(bool(flow_id and self._pick.path))
        self._side.props['aria-label'] = f'Action {printable(self._pick.path, MAX_NAME)}'
        self._side.update()
        self._content.clear()
        if flow_id and self._pick.path:
            self._fill(*shown)

    def _fill(self, flow_id: str, path: str) -> None:
        with self._content:
            try:
                action_panel(self._robot, flow_id, path, self._moment)
            except Exception as error:
                _LOG.exception('panel of an action of %s', self._robot.name)
                ui.label(f"This action can't be shown now: {printable(str(error), 300)}")
