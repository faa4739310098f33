# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The frame of each page: header, navigation, notices; keeps its address up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
import inspect
import json
import logging
from pathlib import Path
from typing import Any

from nicegui import background_tasks, ui
from nicegui.element import Element

from .fleet_page import fleet_page
from .flow_orders import FlowOrders
from .header import Header
from .listening import listen_while_shown
from .notices import Notices
from .orders import page_orders, set_page_orders
from .side_panel import SidePanel
from .views import show_view
from ..access import Access
from ..fleet_watch import Fleet
from ..moment import Moment
from ..pick import Pick
from ..place import FLEET, FLOW, Place, RUNS, View, VIEWS
from ..record.shown import FlowHead
from ..robots import Heard, Robot, ROWS
from ...lifecycle.text_format import printable

FLOWS = 50
"""Number of flows in the list of the header."""
ADDRESS_DELAY = 0.4
"""Time (s) after which the address follows the moment and the selected action."""
HEADS_PERIOD = 1.0
"""Shortest time (s) between two readings of the list of flows."""
RETRY = 2.0
"""Time (s) after which something that could not be shown is tried again."""
FILES = {'shell.css': '/viewer/shell.css', 'shell.js': '/viewer/shell.js'}
_LOG = logging.getLogger(__name__)


def add_shell_files(app: Any) -> None:
    """Serve the style and the keyboard script of all pages."""
    for name, url in FILES.items():
        app.add_static_file(local_file=Path(__file__).with_name(name), url_path=url)


class Shell:
    """One page in one tab of a browser."""

    def __init__(
        self, view: View, robots: Sequence[Robot], access: Access, place: Place,
        fleet: Fleet | None = None,
    ) -> None:
        self._view = view
        self._robots = robots
        self._robot = next((one for one in robots if one.name == place.robot), robots[0])
        self._unknown = place.robot if place.robot not in ('', self._robot.name) else ''
        self._access = access
        self._fleet = fleet
        self._place = place._replace(robot=self._robot.name if len(robots) > 1 else '')
        self._moment = Moment(place.seq)
        self._pick = Pick(place.pick)
        self._flow = place.flow
        self._heads: list[FlowHead] = []
        self._links: dict[View, Element] = {}
        self._side: SidePanel | None = None
        self._orders: FlowOrders | None = None
        self._shown: str | None = None  #: flow of the content
        self._address: asyncio.TimerHandle | None = None
        self._reading = False
        self._again = False
        self._fault = ''

    def build(self) -> None:
        """Make the page; what needs the journal follows when the browser is connected."""
        orders = set_page_orders(self._access)
        ui.add_head_html(f'<link rel="stylesheet" href="{FILES["shell.css"]}">'
                         f'<script src="{FILES["shell.js"]}" defer></script>')
        with ui.element('a').classes('shell-skip') as skip:
            skip.props['href'] = '#content'
            ui.label('Skip to content')
        self._header = Header(
            self._robots, self._robot, orders, self._access, self._go_robot, self._go_flow)
        with ui.element('div').classes('shell-bar'):
            with ui.element('nav').classes('shell-nav') as nav:
                nav.props['aria-label'] = 'Views'
                for view in (*VIEWS, FLEET) if self._fleet else VIEWS:
                    self._links[view] = _tab(view, view is self._view)
            if self._view.of_flow:
                self._orders = FlowOrders(self._robot)
        self._notices = Notices(self._moment, follows=self._view.of_flow)
        takes_orders = self._robot.orders is not None and self._view is not RUNS
        if (takes_orders or self._view is FLEET) and orders.why_not:
            self._notices.read_only(orders.why_not, can_sign_in=self._access.has_token)
        if self._unknown:
            self._notices.say('robot', f'There is no robot {printable(self._unknown, 80)}; '
                              f'{self._robot.name or "another"} is shown.')
        with ui.element('div').classes('shell-body'):
            with ui.element('main').classes('shell-content') as self._content:
                self._content.props.update({'id': 'content', 'tabindex': '-1'})
                ui.spinner(size='lg').classes('shell-wait')
            if self._view.of_flow:
                self._side = SidePanel(self._robot, self._moment, self._pick)
        self._set_links()
        listen_while_shown(self._robot, self._content, self._heard)
        for source in (self._moment, self._pick):
            listen_while_shown(source, self._content, self._changed_place)
        self._update()
        ui.timer(0.0, self._read, once=True)

    def _go_robot(self, name: str) -> None:
        ui.navigate.to(Place(name).url(self._view))

    def _go_flow(self, flow_id: str) -> None:
        view = self._view if self._view.of_flow else FLOW
        ui.navigate.to(Place(self._place.robot, flow_id).url(view))

    def _heard(self, heard: Heard) -> None:
        self._update()
        if heard.kind == ROWS and heard.update is not None:
            self._notices.say('journal', f"The journal can't be read: {heard.update.lost}"
                              if heard.update.lost else '')
            damage = self._robot.record.damage
            self._notices.say('damage', 'The journal is damaged; damaged rows are left out: '
                              f'{damage}' if damage else '')
            self._soon()

    def _update(self) -> None:
        self._header.update(self._robot, self._heads, self._flow,
                            past=self._view.of_flow and not self._moment.live)
        lost = self._robot.now.lost if self._robot.now.live else ''
        self._notices.say('robot_lost', f'Nothing is heard from the robot: {lost}' if lost else '')

    def _soon(self) -> None:
        """Read the list of flows again, once in HEADS_PERIOD."""
        if self._reading:
            self._again = True
            return
        self._reading = True
        background_tasks.create(self._read_slowly(), context=self._content)

    async def _read_slowly(self) -> None:
        try:
            while True:
                self._again = False
                await self._read()
                await asyncio.sleep(HEADS_PERIOD)
                if not self._again or self._content.is_deleted:
                    return
        finally:
            self._reading = False

    async def _read(self) -> None:
        """Read the newest flows, and show the one of the address, or the newest."""
        fault = ''
        try:
            self._heads = list(await self._robot.record.heads(limit=FLOWS))
        except Exception as error:  # of one reading; the next one may succeed
            fault = f"The list of flows can't be read: {error}"
            if fault != self._fault:
                _LOG.warning('%s: %s', self._robot.name, fault)
            self._retry()
        self._fault = fault
        self._notices.say('flows', fault)
        if self._content.is_deleted:
            return
        if not self._flow or not self._place.flow and self._moment.live and not self._pick.path:
            self._flow = self._heads[0].flow_id if self._heads else ''
        self._update()
        wanted = self._flow if self._view.of_flow else ''
        if self._shown != wanted:
            self._shown = wanted
            if self._orders is not None:
                self._orders.show(self._flow, next(
                    (head.name for head in self._heads if head.flow_id == self._flow), ''))
            await self._show()
        self._show_action()

    def _retry(self) -> None:
        asyncio.get_running_loop().call_later(
            RETRY, lambda: None if self._content.is_deleted else self._soon())

    async def _show(self) -> None:
        self._content.clear()
        with self._content:
            try:
                made = self._make()
                if inspect.isawaitable(made):
                    await made
            except Exception as error:
                _LOG.exception('page %s of %s', self._view.label, self._robot.name)
                self._shown = None
                self._retry()
                if not self._content.is_deleted:
                    ui.label(f"This page can't be shown now: {printable(str(error), 300)}")

    def _make(self) -> Any:
        """Make the content; returns an awaitable or None."""
        if self._view is FLEET and self._fleet is not None:
            fleet_page(self._fleet, page_orders(), {robot.name for robot in self._robots})
            return None
        return show_view(self._view, self._robot, self._flow, self._moment, self._pick)

    def _show_action(self) -> None:
        if self._side is not None:
            self._side.show(self._flow)

    def _changed_place(self) -> None:
        self._update()
        self._show_action()
        if self._address is None:
            self._address = asyncio.get_running_loop().call_later(
                ADDRESS_DELAY, self._follow_address)

    def _follow_address(self) -> None:
        """Let the address and the links say what is shown, so that it can be sent and reloaded."""
        self._address = None
        if self._content.is_deleted:
            return
        self._place = self._place._replace(
            seq=self._moment.seq, pick=self._pick.path,
            flow=self._flow if self._moment.seq is not None or self._pick.path
            else self._place.flow)
        self._set_links()
        url = json.dumps(self._place.url(self._view))
        self._content.client.run_javascript(f'history.replaceState(history.state, "", {url})')

    def _set_links(self) -> None:
        for view, link in self._links.items():
            link.props['href'] = self._place.url(view)
            link.update()


def _tab(view: View, here: bool) -> Element:
    with ui.element('a').classes('shell-tab') as link:
        link.props['data-key'] = view.key
        link.props['title'] = f'{view.about.capitalize()} ({view.key})'
        if here:
            link.props['aria-current'] = 'page'
        ui.icon(view.icon).props('aria-hidden=true')
        ui.label(view.label)
    return link
