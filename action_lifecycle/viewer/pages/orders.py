# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The one place that turns a click into an order: checks the session and the rate, asks, sends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
import logging
from typing import Literal, Protocol, TypeVar

from nicegui import Client, ui

from ..access import Access
from ..gate import cookie_value
from ..robots import Answer
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
T = TypeVar('T')
T_co = TypeVar('T_co', covariant=True)


class Taker(Protocol[T_co]):
    """A robot, or something else that takes orders: its name, and the orders if it takes any."""

    @property
    def name(self) -> str:
        """Return the name of the robot; '' if it is none."""

    @property
    def orders(self) -> T_co | None:
        """Return its orders; None if it takes none."""


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
        self, taker: Taker[T], description: str,
        order: Callable[[T, str], Awaitable[Answer]], *, confirm: str = '',
        changed: Callable[[], str] = str, button: ui.button | None = None,
    ) -> bool:
        """
        Send an order and show the answer; returns whether it was accepted.

        description: the order in words, as "pause pick"; order: gets the taker's orders and the
        actor; confirm: what the person is asked first; changed: why the order is no longer for
        what the person saw, '' if it is; button: shows that the order is under way. A second click
        meanwhile is ignored.
        """
        key = (taker.name, description)
        if key in self._under_way:
            return False
        self._under_way.add(key)
        try:
            with ui.context.client:
                if self._refused(taker, description, changed):
                    return False
                if confirm and (not await _confirmed(confirm, taker.name)
                                or self._refused(taker, description, changed)):
                    return False
                with _busy(button):
                    return await self._sent(taker, description, order)
        finally:
            self._under_way.discard(key)

    def _refused(
        self, taker: Taker[T], description: str, changed: Callable[[], str]
    ) -> bool:
        """Tell why an order can't be given; returns whether that is so."""
        why = self.why_not or ('' if taker.orders else 'there is no live robot') or changed()
        if why:
            tell(f'Not sent: {description}. {why[0].upper()}{why[1:]}.', 'warning')
        return bool(why)

    async def _sent(
        self, taker: Taker[T], description: str, order: Callable[[T, str], Awaitable[Answer]],
    ) -> bool:
        session = self._access.session(self._cookie) if self._access else None
        if session is None or self._access is None or taker.orders is None:
            return False
        refusal = self._access.refusal(session)
        if refusal:
            tell(f'Not sent: {description}. {refusal}', 'warning')
            return False
        client = ui.context.client
        _LOG.info('%s: %r orders: %s', taker.name or 'fleet', session.actor,
                  printable(description, MAX_TEXT))
        try:
            answer = await asyncio.wait_for(order(taker.orders, session.actor), WAIT)
        except asyncio.TimeoutError:
            answer = Answer(False, f'no answer within {WAIT:.0f} s; it may still be carried out')
        except LifecycleError as error:
            answer = Answer(False, str(error))
        if not client.is_deleted:
            with client:
                said = f': {answer.text}' if answer.text else ''
                tell(f"{'Done' if answer.ok else 'Refused'}: {description}{said}",
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
    """Have browsers load those pages again whose sessions have ended; runs until canceled."""
    while True:
        await asyncio.sleep(END_PERIOD)
        for client in list(Client.instances.values()):
            orders = client.storage.get(_STORED)
            if isinstance(orders, PageOrders) and orders.ended:
                client.run_javascript('location.reload()')


@contextmanager
def _busy(button: ui.button | None) -> Iterator[None]:
    """Show that the order of a button is under way."""
    if button is None:
        yield
        return
    button.props['loading'] = True
    try:
        yield
    finally:
        if not button.is_deleted:
            button.props['loading'] = False


async def _confirmed(question: str, robot: str) -> bool:
    """Ask in a dialog, in which No has the focus; Escape is no."""
    with ui.dialog() as dialog, ui.card().classes('shell-dialog').props(
            'role=alertdialog aria-modal=true aria-labelledby=confirm-question'):
        ui.label(printable(question, MAX_TEXT)).props('id=confirm-question')
        if robot:
            ui.label(f'Robot: {printable(robot, MAX_TEXT)}').classes('shell-dialog-note')
        with ui.row().classes('shell-dialog-buttons'):
            ui.button('No', on_click=lambda: dialog.submit(False)).props(
                'flat no-caps autofocus data-autofocus')
            ui.button('Yes', on_click=lambda: dialog.submit(True)).props(
                'unelevated no-caps color=primary data-confirm')
    dialog.on('hide', dialog.delete)  # then the button has the focus again
    return bool(await dialog)


def tell(text: str, kind: Literal['positive', 'negative', 'warning']) -> None:
    """Show a notification on the page of the present context."""
    ui.notify(printable(text, MAX_TEXT), type=kind, multi_line=True, close_button='Close',
              timeout=4000 if kind == 'positive' else 10000, position='bottom')
