# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page Fleet in Chromium: a real Redis, and robots that sync their journals to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import os
from pathlib import Path
import re
import sys
import time
from typing import Any

from chromium import PHONE
import pytest
from unit.fleet.fleet_robots import failed_letter, FleetRobot, FlowWork, STREAM
from unit.fleet.redis_server import RedisServer

from .browser_rig import Pages, Viewer
from .contrast import LEAST, texts
from .double_rig import TOKEN

pytest.importorskip('playwright')
from playwright.sync_api import expect  # noqa: E402, I100

REASON = ' '.join(['cold'] * 150)
FORGED = '<img src=x onerror=window.hacked=1>'


class Lab:
    """A Redis, robots, and the viewer of the journal of one of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = RedisServer()
        self.robots: list[FleetRobot] = []
        self.viewer: Viewer | None = None

    def robot(self, name: str, work: Any = None) -> FleetRobot:
        self.robots.append(FleetRobot(self.folder, self.server.url, name, work))
        return self.robots[-1]

    def start_viewer(self) -> None:
        self.viewer = Viewer(
            [sys.executable, '-c', 'import sys; from action_lifecycle.cli import main; '
             'sys.exit(main())', 'view', self.robots[0].journal.path, '--port', '0',
             '--ledger', self.server.url], self.folder,
            {**os.environ, 'ACTION_LIFECYCLE_WEB_TOKEN': TOKEN})

    def open(self, pages: Pages, actor: str = '', **options: Any) -> Any:  # noqa: A003
        """Return the page; `actor`: who signs in first."""
        assert self.viewer is not None
        address = f'{self.viewer.address}/fleet'
        if not actor:
            return pages.open(address, **options)
        return pages.open_as(actor, TOKEN, address, **options)

    def end(self) -> None:
        if self.viewer is not None:
            self.viewer.end()
        for robot in self.robots:
            robot.close()
        self.server.close()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(tmp_path)
    try:
        lab.robot('left', FlowWork()).act('pick-1', 'grasp')
        lab.robot('right').act('place-1', FORGED)
        lab.start_viewer()
        yield lab
    finally:
        lab.end()


def row(page: Any, name: str) -> Any:
    return page.locator('.fleet-table tbody tr', has=page.locator('td:first-child', has_text=name))


def orders(server: RedisServer) -> list[dict[str, str]]:
    return [fields for _, fields in server.client.xrange(STREAM)]


def test_robots_work_and_letters_are_shown_and_a_letter_is_sent_again(
        lab: Lab, pages: Pages) -> None:
    letter = failed_letter(lab.server.client, 't-1', 'demo', f'cold {FORGED}')
    failed_letter(lab.server.client, 't-2', 'demo')
    key, = lab.server.client.keys('al:{left}:transition:pick-1:grasp')
    lab.server.client.hset(key, 'blocked_reason', REASON)
    page = lab.open(pages, 'anna')
    other = lab.open(pages, 'bob', size=PHONE, dark=True)
    reader = lab.open(pages)
    expect(row(page, 'left')).to_contain_text('pick-1/grasp: executing_motion')
    expect(row(page, 'left')).to_contain_text(STREAM)
    expect(row(page, 'right')).to_contain_text(f'place-1/{FORGED}: executing_motion')
    for one in page, other:  # two lines of a long reason; all of it when one points at it
        said = row(one, 'left').locator('.fleet-short', has_text='waits: cold cold')
        expect(said).to_have_attribute('title', re.compile(f'waits: {REASON}$'))
        assert said.evaluate('it => it.clientHeight <= 2.1 * parseFloat('
                             'getComputedStyle(it).lineHeight) && it.scrollHeight > 100')
    expect(page.locator('.fleet-streams')).to_contain_text(
        f'{STREAM}: 0 waiting, 0 running, 2 dead letters (group robots)')
    cards = {one: one.get_by_role('article', name='Dead letter of request t-1')
             for one in (page, other, reader)}
    expect(cards[page]).to_contain_text(f'cold {FORGED}')
    # without a session nothing is sent, and it is said why
    button = cards[reader].get_by_role('button', name='Send request t-1 again')
    expect(button).to_have_attribute('aria-disabled', 'true')
    button.click(force=True)  # Playwright waits for what is not disabled
    expect(reader.get_by_text('Not possible now: sign in to give orders')).to_be_visible()
    # two people press at the same time, one by the keyboard
    for one in page, other:
        cards[one].get_by_role('button', name='Send request t-1 again').focus()
        one.keyboard.press('Enter')
        dialog = one.get_by_role('alertdialog')
        expect(dialog).to_contain_text('A robot runs all of it from its start')
        expect(dialog.get_by_role('button', name='No')).to_be_focused()
    for one in page, other:
        one.locator('[data-confirm]').click(no_wait_after=True)
    expect(page.get_by_text('Done: send request t-1 again')).to_be_visible()
    for one in page, other, reader:
        expect(cards[one]).to_have_count(0)
        expect(one.get_by_role('article', name='Dead letter of request t-2')).to_be_visible()
    sent, = orders(lab.server)
    assert sent['resent_by'] in ('anna', 'bob') and sent['trace_id'] == f't-1-{letter}'
    assert page.evaluate('window.hacked') is None
    assert other.evaluate('document.documentElement.scrollWidth') <= PHONE[0]
    for one in page, other:  # light and dark
        faint = [text for text in texts(one, '.fleet-table', '.fleet-letter')
                 if text.ratio < LEAST]
        assert not faint


@pytest.mark.long
def test_what_goes_wrong_is_shown_until_it_is_over(lab: Lab, pages: Pages) -> None:
    page = lab.open(pages)
    expect(row(page, 'left')).to_contain_text('connected')
    expect(row(page, 'right')).to_contain_text('connected')
    expect(page.locator('.fleet .now-title').first).to_have_text(re.compile(r'Robots \(2, 0'))
    lab.robots[1].end()
    expect(row(page, 'right')).to_contain_text('silent for', timeout=15_000)
    expect(row(page, 'right').get_by_role('img', name='needs attention')).to_be_visible()
    page.get_by_role('switch', name='Only those that need attention').click()
    expect(row(page, 'left')).to_have_count(0)
    page.get_by_role('switch', name='Only those that need attention').click()
    status = page.locator('.fleet [role=status]')
    expect(status).to_be_hidden()
    lab.server.kill()
    expect(status).to_contain_text("The ledger can't be read: ledger:")
    expect(row(page, 'left')).to_contain_text('pick-1/grasp')
    lab.server.start()
    expect(status).to_be_hidden()
    lab.robot('third').act('place-2', 'put')
    expect(row(page, 'third')).to_contain_text('place-2/put')
    page.get_by_label('Filter of the robots').fill('third')
    expect(row(page, 'left')).to_have_count(0)
    page.keyboard.press('Escape')


@pytest.mark.long
def test_one_reader_serves_all_pages_and_none_reads_without_a_page(
        lab: Lab, pages: Pages) -> None:
    def reads() -> int:
        return int(lab.server.client.info('commandstats').get(
            'cmdstat_smembers', {}).get('calls', 0))
    before = reads()
    opened = [lab.open(pages) for _ in range(3)]
    for page in opened:
        expect(row(page, 'left')).to_contain_text('connected')
    expect_soon(lambda: reads() > before)
    first = reads()
    opened[0].wait_for_timeout(3000)
    assert reads() - first <= 5
    for page in opened:
        page.close()
    # a page that is closed is kept for some seconds, as it may come back
    expect_soon(lambda: _still(reads))


def _still(read: Callable[[], int]) -> bool:
    before = read()
    time.sleep(2.5)
    return read() == before


def expect_soon(wanted: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not wanted():
        assert time.monotonic() < end
        time.sleep(0.1)
