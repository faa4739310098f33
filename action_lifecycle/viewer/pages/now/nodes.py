# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The nodes of a robot, and whether they are there."""

from __future__ import annotations

from nicegui import ui

from .symbols import StateChip
from .ticking import Ticking
from ...robots import Robot
from ....report.looks import LOOKS

LOOK = {'active': 'completed', 'inactive': 'paused', 'gone': 'failed', 'never seen': 'waiting'}


class Nodes:
    """A line of nodes, each with its state and since when."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._found: dict[str, tuple[StateChip, Ticking]] = {}
        with ui.element('section').classes('now-card now-section').props('aria-label=Nodes'):
            ui.label('Nodes').classes('now-title')
            self._list = ui.element('div').classes('nodes')
            self._none = ui.label('No nodes are known.').classes('now-empty')

    def show(self) -> None:
        """Show the nodes as they are now."""
        nodes = self._robot.now.nodes
        if nodes.keys() != self._found.keys():
            self._list.clear()
            self._found = {}
            with self._list:
                for name in nodes:
                    with ui.element('div').classes('node-line'):
                        ui.label(name).classes('node-name foreign')
                        self._found[name] = StateChip(), Ticking().classes('now-soft')
        for name, seen in nodes.items():
            chip, since = self._found[name]
            chip.show(LOOKS[LOOK.get(seen.state, 'waiting')], seen.state)
            since.set_visibility(bool(seen.since))
            since.show(seen.since)
        self._none.set_visibility(not nodes)
