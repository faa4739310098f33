# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The limits of orders on a viewer that runs, for pages of one session and of many."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
import time

from action_lifecycle.viewer.access import ALL_ORDERS, ORDER_PERIOD, ORDERS
import pytest

from .served import Page, run, Served, served, Socket, WAIT

httpx = pytest.importorskip('httpx')
pytest.importorskip('nicegui')
pytest.importorskip('aiohttp')

DONE = 'Done: pause pick: <b>done</b>'
REFUSED = 'Not sent: pause pick. Too many orders at once. Try again in '


@pytest.fixture
def viewer(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, str(tmp_path / 'journal'), '127.0.0.1', '0') as viewer:
        yield viewer


class Person:
    """A session with pages of its own."""

    def __init__(self, viewer: Served, actor: str) -> None:
        self._viewer = viewer
        with httpx.Client(base_url=viewer.address) as client:
            assert viewer.sign_in(client, actor).status_code == 303
            self._cookie = '; '.join(f'{name}={value}' for name, value in client.cookies.items())

    async def order(self, count: int) -> list[str]:
        """Give orders one after another on a new page; returns what it says of each."""
        headers = {'Origin': self._viewer.address, 'Cookie': self._cookie}
        async with httpx.AsyncClient(base_url=self._viewer.address) as client:
            page = Page((await client.get('/order', headers=headers)).text)
        async with Socket(self._viewer, page, headers) as socket:
            for number in range(count):
                await socket.send('event', page.click('Pause'))
                end = time.monotonic() + WAIT
                while len(said := [data['message'] for event, data in socket.messages
                                   if event == 'notify']) <= number:
                    assert time.monotonic() < end, socket.messages
                    await asyncio.sleep(0.005)
        return said


def test_a_session_that_orders_too_fast_is_refused_and_others_are_not(viewer: Served) -> None:
    anna, bert = Person(viewer, 'anna'), Person(viewer, 'bert')

    async def attempt() -> tuple[list[str], list[str], list[str]]:
        return await anna.order(2 * ORDERS), await anna.order(2), await bert.order(2)
    began = time.monotonic()
    said, on_another_page, of_another = run(attempt())
    more = ORDERS * (time.monotonic() - began) / ORDER_PERIOD  # it may give these meanwhile
    assert said[:ORDERS] == [DONE] * ORDERS
    refused = [text for text in [*said, *on_another_page] if text != DONE]
    assert len(refused) >= ORDERS + 2 - more
    assert all(text.startswith(REFUSED) for text in refused), refused
    assert of_another == [DONE] * 2
    given = Counter(actor for *_, actor in viewer.orders())
    assert given == {'anna': 2 * ORDERS + 2 - len(refused), 'bert': 2}


def test_all_sessions_together_have_a_limit(viewer: Served) -> None:
    people = [Person(viewer, f'person {number}') for number in range(2 * ALL_ORDERS // ORDERS)]

    async def attempt() -> list[list[str]]:
        return await asyncio.gather(*(person.order(ORDERS) for person in people))
    began = time.monotonic()
    said = [text for each in run(attempt()) for text in each]
    more = ALL_ORDERS * (time.monotonic() - began) / ORDER_PERIOD
    refused = [text for text in said if text != DONE]
    assert all(text.startswith(REFUSED) for text in refused), refused
    assert ALL_ORDERS <= len(said) - len(refused) <= ALL_ORDERS + more
    assert refused, 'too slow to reach the limit'
    assert len(viewer.orders()) == len(said) - len(refused)
