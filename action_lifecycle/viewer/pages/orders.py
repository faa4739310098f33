# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The one place that turns a click into an order: checks the session and the rate, asks, sends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
import logging
from typing import Literal

from nicegui import Client, ui

from ..access import Access
from ..gate import cookie_value
from ..robots import Answer, Orders, Robot
from ...documents.errors import LifecycleError
from ...lifecycle.text_format import printable

WAIT = 60.0
"""Maximum time (s) to wait for the answer to an order."""
END_PERIOD = 2.0
"""Time (s) between two looks for sessions that have ended."""
MAX_TEXT = 500
"""Maximum number of characters of an answer that are shown."""
_STORED = 'action_lifecycle.orders'
_LOG = logging.getLogger(__name__)


class PageOrders:
    """
    The orders of the person who has fetched a page.

    The session is checked again at each order, so a page that stays open after its session has
    ended, or a message that was made by hand, orders nothing.
    """

    def __init__(self, access: Access | None, cookies: str) -> None:
        self._access = access
        self._cookie = cookie_value(cookies, access.cookie) if access else ''
        self._under_way: set[tuple[str, str]] = set()
        self._had_session = bool(self.actor)

    @property
    def actor(self) -> str:
        """Name of the person; '' without a session."""
        session = self._access.session(self._cookie) if self._access else None
        return session.actor if session else ''

    @property
    def allowed(self) -> bool:
        """Whether there is a session now."""
        return not self.why_not

    @property
    def why_not(self) -> str:
        """Why no order can be given; '' if one can."""
        if self._access is None or not self._access.has_token:
            return 'read-only: the viewer was started without a token'
        return '' if self.actor else 'sign in to give orders'

    @property
    def ended(self) -> bool:
        """Whether the session has ended that the page was fetched with."""
        return self._had_session and not self.actor

    async def send(
        self, robot: Robot, description: str,
        order: Callable[[Orders, str], Awaitable[Answer]], *, confirm: str = '',
    ) -> bool:
        """
        Send an order and show the answer; returns whether the robot has accepted it.

        description: the order in words, as "pause pick"; order: gets the robot's orders and the
        actor; confirm: what the person is asked first. A second click while an order is under way
        is ignored.
        """
        key = (robot.name, description)
        if key in self._under_way:
            return False
        self._under_way.add(key)
        try:
            client = ui.context.client
            if not self._refused(robot, description):
                if confirm and not await _confirmed(confirm):
                    return False
                with client:
                    if not confirm or not self._refused(robot, description):
                        return await self._sent(robot, description, order)
            return False
        finally:
            self._under_way.discard(key)

    def _refused(self, robot: Robot, description: str) -> bool:
        """Tell why an order can't be given; returns whether that is so."""
        why = self.why_not or ('' if robot.orders else 'there is no live robot')
        if why:
            _tell(f'Not sent: {description}. {why.capitalize()}.', 'warning')
        return bool(why)

    async def _sent(
        self, robot: Robot, description: str, order: Callable[[Orders, str], Awaitable[Answer]],
    ) -> bool:
        session = self._access.session(self._cookie) if self._access else None
        if session is None or self._access is None or robot.orders is None:
            return False
        refusal = self._access.refusal(session)
        if refusal:
            _tell(f'Not sent: {description}. {refusal}', 'warning')
            return False
        client = ui.context.client
        _LOG.info('%s: %r orders: %s', robot.name, session.actor, printable(description, MAX_TEXT))
        try:
            answer = await asyncio.wait_for(order(robot.orders, session.actor), WAIT)
        except asyncio.TimeoutError:
            answer = Answer(False, f'no answer within {WAIT:.0f} s; it may still be carried out')
        except LifecycleError as error:
            answer = Answer(False, str(error))
        if not client.is_deleted:
            with client:
                said = f': {answer.text}' if answer.text else ''
                _tell(f"{'Done' if answer.ok else 'Refused'}: {description}{said}",
                      'positive' if answer.ok else 'negative')
        return answer.ok


def page_orders() -> PageOrders:
    """Return the orders of the page that is being built, or that an event comes from."""
    found = ui.context.client.storage.get(_STORED)
    return found if isinstance(found, PageOrders) else PageOrders(None, '')


def set_page_orders(access: Access) -> PageOrders:
    """Make the orders of the page that is being built, for the session it was fetched with."""
    client = ui.context.client
    orders = PageOrders(access, client.request.headers.get('cookie', ''))
    client.storage[_STORED] = orders
    return orders


async def end_pages() -> None:
    """Have browsers load those pages again whose sessions have ended; runs until cancelled."""
    while True:
        await asyncio.sleep(END_PERIOD)
        for client in list(Client.instances.values()):
            orders = client.storage.get(_STORED)
            if isinstance(orders, PageOrders) and orders.ended:
                client.run_javascript('location.reload()')


async def _confirmed(question: str) -> bool:
    """Ask in a dialog; Escape is no."""
    with ui.dialog() as dialog, ui.card().classes('shell-dialog').props(
            'role=alertdialog aria-labelledby=confirm-question'):
        ui.label(question).props('id=confirm-question')
        with ui.row().classes('shell-dialog-buttons'):
            ui.button('No', on_click=lambda: dialog.submit(False)).props('flat no-caps autofocus')
            ui.button('Yes', on_click=lambda: dialog.submit(True)).props(
                'unelevated no-caps color=primary data-confirm')
    try:
        return bool(await dialog)
    finally:
        if not dialog.is_deleted:
            dialog.delete()


def _tell(text: str, kind: Literal['positive', 'negative', 'warning']) -> None:
    ui.notify(printable(text, MAX_TEXT), type=kind, multi_line=True, close_button='Close',
              timeout=4000 if kind == 'positive' else 10000, position='bottom')
