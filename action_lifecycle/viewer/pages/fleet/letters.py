# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Dead letters: requests that failed for good, each with a button to send it again."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
import time

from nicegui import ui

from ..controls import short
from ..order_button import OrderButton
from ..orders import PageOrders
from ...fleet_watch import Fleet, FleetOrders
from ...fleet_words import flow_words
from ...robots import Answer
from ....fleet.work_status import DeadLetter, StreamWork
from ....lifecycle.text_format import printable

MAX_TEXT = 1000


class Letters:
    """Made in the current container; the orders go to `fleet`."""

    def __init__(self, fleet: Fleet, orders: PageOrders) -> None:
        self._fleet, self._orders = fleet, orders
        self._cards: dict[tuple[str, str], LetterCard] = {}
        self._title = ui.label('Dead letters').classes('now-title')
        self._none = ui.label('No request has failed for good.').classes('now-empty')
        self._list = ui.column().classes('fleet-letters')
        self._more = ui.label().classes('now-soft')

    def show(self, work: Sequence[StreamWork], letters: Mapping[str, Sequence[DeadLetter]]
             ) -> None:
        """Show the letters of these streams; what is there already stays as it is."""
        total = sum({one.stream: one.dead for one in work}.values())
        wanted = {(one.stream, one.letter_id): one for found in letters.values() for one in found}
        for key in self._cards.keys() - wanted.keys():
            self._cards.pop(key).delete()
        for number, (key, letter) in enumerate(wanted.items()):
            if key not in self._cards:
                with self._list:
                    self._cards[key] = LetterCard(self._fleet, self._orders, letter, number)
            self._cards[key].allow()
        self._title.set_text(f'Dead letters ({total})' if total else 'Dead letters')
        self._none.set_visibility(not total)
        left = total - len(wanted)
        self._more.set_text(f'and {left} older ones' if left > 0 else '')
        self._more.set_visibility(left > 0)


class LetterCard:
    """A dead letter at a place of the list."""

    def __init__(
        self, fleet: Fleet, orders: PageOrders, letter: DeadLetter, number: int,
    ) -> None:
        self._fleet, self._orders, self._letter = fleet, orders, letter
        self._name = short(letter.trace_id or letter.request_id)
        when = time.strftime('%d %b %Y %H:%M:%S', time.localtime(letter.time))
        with ui.element('article').classes('fleet-letter') as self._card:
            self._card.props['aria-label'] = f'Dead letter of request {self._name}'
            with ui.row().classes('now-head'):
                ui.label(printable(flow_words(letter), MAX_TEXT) or 'no flow').classes(
                    'fleet-flow foreign')
                self._button = OrderButton('Send again', self._send, icon='replay')
                self._button.props['aria-label'] = f'Send request {self._name} again'
                self._button.props('outline dense')
            ui.label(printable(letter.error, MAX_TEXT) or 'without a reason').classes(
                'fleet-reason foreign')
            ui.label(printable(
                f'request {letter.trace_id or letter.request_id} · stream {letter.stream} · '
                f'try {letter.attempt} · {when}', MAX_TEXT)).classes('now-soft foreign')
        self._card.move(target_index=number)

    def allow(self) -> None:
        """Let the letter be sent, or say why it can't be."""
        self._button.allow(
            self._orders.why_not or ('' if self._letter.data else 'its content is lost'),
            'The request runs again, from its start')

    def delete(self) -> None:
        """Remove the card."""
        self._card.delete()

    async def _send(self, _: int) -> None:
        letter = self._letter

        def send(orders: FleetOrders, actor: str) -> Awaitable[Answer]:
            return orders.resend(letter.stream, letter.letter_id, actor)

        await self._orders.send(
            self._fleet, f'send request {self._name} again', send,
            button=self._button,
            confirm=f'Send request {self._name} of stream {short(letter.stream)} again? A robot '
                    f'runs all of it from its start. It failed: {short(letter.error)}')
