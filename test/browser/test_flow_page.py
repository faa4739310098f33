# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page of a flow in Chromium: what it shows, how it follows, how it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
import time
from typing import Any

from action_lifecycle.report.looks import LOOKS
from chromium import PHONE
import pytest

from .browser_rig import Pages, Viewer
from .made_flow import MadeFlow, viewer_command

HOSTILE = '<img src=x onerror=alert(1)> ${1} ]]> \u202e' + 'x' * 300
ACTIONS = {'a': {}, 'b': {'a': ''}, 'c': {'a': 'completion'}, 'd': {'b': '', 'c': ''}}
COUNT = """() => { window.changes = []; new MutationObserver(all => window.changes.push(...all.map(
    one => one.target.closest?.('g.box')?.dataset.path ?? one.type))).observe(
    document.querySelector('.flow-graph').shadowRoot,
    {subtree: true, childList: true, attributes: true, characterData: true}); }"""


@pytest.fixture(scope='module')
def cell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MadeFlow, Viewer]]:
    """Return a journal and a viewer of it."""
    folder = tmp_path_factory.mktemp('cell')
    made = MadeFlow(folder / 'journal', ACTIONS, description=HOSTILE)
    viewer = Viewer(viewer_command(folder / 'journal'), folder)
    yield made, viewer
    viewer.end()
    made.journal.close()


@pytest.fixture
def flow(cell: tuple[MadeFlow, Viewer], request: pytest.FixtureRequest) -> MadeFlow:
    """Return a flow of the test's own."""
    return cell[0].accept(request.node.name)


@pytest.fixture
def address(cell: tuple[MadeFlow, Viewer], flow: MadeFlow) -> str:
    return f'{cell[1].address}/?flow={flow.flow_id}'


def wait_for_rows(page: Any, count: int) -> None:
    page.wait_for_function(
        f'document.querySelectorAll(".ag-center-cols-container .ag-row").length == {count}')


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20.0
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def box(page: Any, path: str) -> Any:
    return page.locator(f'g.box[data-path="{path}"]')


def test_a_flow_is_shown_and_followed(flow: MadeFlow, address: str, pages: Pages) -> None:
    flow.ends('a')
    page = pages.open(address)
    box(page, 'a').wait_for()
    assert box(page, 'a').get_attribute('aria-label') == 'a, succeeded'
    assert 'look-waiting' in box(page, 'd').get_attribute('class')
    page.locator('.ag-row[row-id="a"] .look-succeeded').wait_for()
    page.get_by_text('1 of 4', exact=True).wait_for()
    page.evaluate(COUNT)
    flow.begins('b')
    flow.waits('c', 'dependency: arm is locked')
    page.locator('g.box.look-in-progress.active[data-path="b"]').wait_for()
    page.locator('g.box.look-blocked[data-path="c"]').wait_for()
    assert box(page, 'b').locator('.symbol').get_attribute('d') == LOOKS['in_progress'].symbol
    assert box(page, 'b').locator('.detail').text_content() == 'in progress'
    assert box(page, 'c').get_attribute('aria-label') == 'c, blocked, waits: arm is locked'
    page.locator('.ag-row[row-id="b"] .look-in-progress').wait_for()
    assert not page.locator('.ag-row[row-id="b"] .look-waiting').count()
    page.locator('.flow-wait', has_text='waits: arm is locked').wait_for()
    page.locator('.flow-chip', has_text='blocked').wait_for()
    assert set(page.evaluate('window.changes')) <= {'b', 'c', 'childList', 'attributes'}
    assert len(page.evaluate('window.changes')) <= 12
    assert page.locator('img').count() == 0 and 'onerror' in box(page, 'a').text_content()


def test_an_action_is_picked_by_mouse_and_by_keys(address: str, pages: Pages) -> None:
    page = pages.open(address)
    box(page, 'b').click()
    page.wait_for_url('**pick=b**')
    assert 'picked' in box(page, 'b').get_attribute('class')
    page.locator('.ag-row-selected[row-id="b"]').wait_for()
    box(page, 'a').focus()
    page.keyboard.press('ArrowDown')  # along an edge, to the nearest
    page.keyboard.press('ArrowDown')
    assert page.evaluate('document.activeElement.shadowRoot.activeElement.dataset.path') == 'd'
    assert page.locator('g.box[tabindex="0"]').count() == 1
    assert page.locator('path.edge.near').count() == 2
    page.keyboard.press('Enter')
    page.wait_for_url('**pick=d**')
    page.locator('.ag-row[row-id="c"] .ag-cell').first.click()
    page.wait_for_url('**pick=c**')
    page.keyboard.press('ArrowUp')
    page.keyboard.press('Enter')
    page.wait_for_url('**pick=b**')


def test_the_list_is_filtered_and_sorted(flow: MadeFlow, address: str, pages: Pages) -> None:
    flow.ends('a')
    flow.ends('c', 'failed')
    page = pages.open(address)
    rows = page.locator('.action-list .ag-center-cols-container .ag-row')
    wait_for_rows(page, 4)
    page.locator('.flow-chip', has_text='failed').click()
    page.locator('.flow-chip', has_text='succeeded').click()
    wait_for_rows(page, 2)
    page.locator('.flow-chip[aria-pressed=true]', has_text='failed').click()
    wait_for_rows(page, 1)
    assert rows.first.get_attribute('row-id') == 'a'
    page.locator('.flow-chip[aria-pressed=true]').click()
    page.get_by_placeholder('Filter actions').fill('fail')
    page.locator('.ag-row[row-id="c"]').wait_for()
    wait_for_rows(page, 1)


def test_the_view_is_moved(address: str, pages: Pages) -> None:
    page = pages.open(address, PHONE)
    box(page, 'a').wait_for()
    listed, drawn = page.locator('.flow-side').bounding_box(), page.locator(
        '.flow-left').bounding_box()
    assert listed['y'] + listed['height'] <= drawn['y']  # the list comes first
    assert page.evaluate('document.documentElement.scrollWidth') <= PHONE[0]
    before = box(page, 'a').bounding_box()['width']
    page.get_by_label('Zoom in (+)').click()
    until(lambda: box(page, 'a').bounding_box()['width'] > before * 1.2)
    page.get_by_label('Show all (0)').click()
    until(lambda: abs(box(page, 'a').bounding_box()['width'] - before) < 1)


def test_a_page_shows_the_moment_of_its_address(
    flow: MadeFlow, address: str, pages: Pages
) -> None:
    seq = flow.begins('a')
    now = pages.open(address)
    past = pages.open(f'{address}&at={seq - 1}')
    box(past, 'a').wait_for()
    now.locator('g.box.look-in-progress[data-path="a"]').wait_for()
    flow.goes('a', 'in_progress', 'fail', 'error', error_code='REFUTED')
    now.locator('g.box.look-error[data-path="a"]').wait_for()
    assert 'look-waiting' in box(past, 'a').get_attribute('class')
    past.get_by_text('0 of 4', exact=True).wait_for()


def test_the_active_action_is_followed_until_people_look_elsewhere(
    flow: MadeFlow, address: str, pages: Pages
) -> None:
    page = pages.open(address, (900, 400))
    follow = page.get_by_label('Follow the active action')
    stage = page.locator('.flow-graph')
    box(page, 'd').wait_for()
    for _ in range(6):
        page.get_by_label('Zoom in (+)').click()

    def seen(path: str) -> bool:
        inner, outer = box(page, path).bounding_box(), stage.bounding_box()
        return outer['y'] <= inner['y'] <= outer['y'] + outer['height'] - inner['height']

    flow.begins('d')
    until(lambda: seen('d'))
    assert not seen('a')
    assert follow.get_attribute('aria-pressed') == 'true'
    stage.hover()
    page.mouse.wheel(0, -300)
    page.locator('[aria-label="Follow the active action"][aria-pressed=false]').wait_for()
    flow.begins('a')
    page.locator('g.box.look-in-progress[data-path="a"]').wait_for(state='attached')
    assert not seen('a')
    follow.click()
    until(lambda: seen('a'))


@pytest.mark.long  # the server keeps pages for some seconds
def test_closed_pages_are_no_longer_told(
    cell: tuple[MadeFlow, Viewer], address: str, pages: Pages
) -> None:
    count = Path(f'{cell[0].journal.path}.listeners')
    until(lambda: count.read_text() == '0')  # pages of other tests
    page = pages.open(address)
    box(page, 'a').wait_for()
    until(lambda: int(count.read_text() or 0) >= 2)  # those of the frame and of the flow
    page.goto('about:blank')
    until(lambda: count.read_text() == '0')


def test_a_page_says_what_it_can_not_read_and_goes_on(
    flow: MadeFlow, address: str, pages: Pages
) -> None:
    page = pages.open(f'{address}_later')
    page.locator('.flow-lost', has_text='later').wait_for()
    flow.accept(f'{flow.flow_id}_later')
    box(page, 'd').wait_for()
    assert not page.locator('.flow-lost').is_visible()
