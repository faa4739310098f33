# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page `Fleet`: the robots of the ledger, their work, and dead letters."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
import time

from nicegui import ui

from .fleet.letters import Letters
from .fleet.robots_table import RobotsTable
from .fleet.streams import Streams
from .listening import listen_while_shown
from .now_page import STYLE as NOW_STYLE
from .orders import PageOrders
from ..fleet_watch import Fleet
from ...lifecycle.text_format import printable

STYLE = Path(__file__).parent / 'fleet' / 'fleet.css'
MAX_FAULT = 500


def fleet_page(fleet: Fleet, orders: PageOrders, known: Collection[str]) -> None:
    """Build the page in the current container; `known`: names of robots that have pages."""
    ui.add_css(NOW_STYLE.read_text(encoding='utf-8'))
    ui.add_css(STYLE.read_text(encoding='utf-8'))
    _FleetPage(fleet, orders, known)


class _FleetPage:

    def __init__(self, fleet: Fleet, orders: PageOrders, known: Collection[str]) -> None:
        self._fleet = fleet
        with ui.element('div').classes('fleet') as root:
            self._status = ui.label('The ledger is being read …').classes('now-soft foreign')
            self._status.props['role'] = 'status'
            with ui.element('section').classes('now-card now-section').props('aria-label=Robots'):
                self._robots = RobotsTable(known)
            with ui.element('section').classes('now-card now-section').props('aria-label=Work'):
                self._streams = Streams()
            with ui.element('section').classes('now-card now-section').props(
                    'aria-label="Dead letters"'):
                self._letters = Letters(fleet, orders)
        listen_while_shown(fleet, root, self._show)
        if fleet.now.read_at:
            self._show()

    def _show(self) -> None:
        now = self._fleet.now
        self._status.classes(add='now-lost' if now.fault else '',
                             remove='' if now.fault else 'now-lost')
        when = time.strftime('%H:%M:%S', time.localtime(now.read_at))
        since = f' What follows was read at {when}.' if now.read_at else ''
        self._status.set_text(
            f"The ledger can't be read: {printable(now.fault, MAX_FAULT)}.{since}"
            if now.fault else '')
        self._status.set_visibility(bool(now.fault))
        if now.read_at:
            self._robots.show(now.robots)
            self._streams.show(now.work)
            self._letters.show(now.work, now.letters)
