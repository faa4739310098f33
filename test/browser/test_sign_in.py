# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sign-in, orders by click, the read-only page, and a viewer that ends and comes back."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import socket
import sys
from typing import Any
from urllib.parse import urlencode

from chromium import PHONE
import pytest

from .browser_rig import Pages, Viewer

ROOT = Path(__file__).parents[2]
TOKEN = 'correct-horse-battery'
LOST = 'ERR_|WebSocket connection|dynamically imported module'


def start(folder: Path, port: int = 0, token: str = TOKEN) -> Viewer:
    environment = {**os.environ, 'PYTHONPATH': f'{ROOT}:{os.environ.get("PYTHONPATH", "")}'}
    environment.pop('ACTION_LIFECYCLE_WEB_TOKEN', None)
    if token:
        environment['ACTION_LIFECYCLE_WEB_TOKEN'] = token
    return Viewer([sys.executable, ROOT / 'test' / 'unit' / 'viewer' / 'viewer_process.py',
                   folder / 'journal', '127.0.0.1', port], folder, environment)


@pytest.fixture
def viewer(tmp_path: Path) -> Iterator[Viewer]:
    viewer = start(tmp_path)
    try:
        yield viewer
    finally:
        viewer.end()


def sign_in(page: Any, actor: str = 'anna', token: str = TOKEN) -> None:
    page.fill('#actor', actor)
    page.fill('#token', token)
    page.click('button[type=submit]')


def orders(viewer: Viewer) -> list[str]:
    return [line for line in viewer.text.splitlines() if line.startswith('ORDER ')]


def test_an_order_by_click_needs_a_sign_in(viewer: Viewer, pages: Pages) -> None:
    pages.expects.append('status of 403')
    page = pages.open(f'{viewer.address}/order')
    page.click('text=Pause')
    page.wait_for_selector('text=Not sent: pause pick. Sign in to give orders.')
    page.goto(f'{viewer.address}/now?robot=cell')
    page.wait_for_selector('text=Read-only')
    page.click('[data-sign-in]')
    sign_in(page, token='wrong-wrong-wrong')
    assert page.wait_for_selector('[role=alert]').inner_text() == 'The token is wrong.'
    assert page.input_value('#actor') == 'anna' and page.input_value('#token') == ''
    sign_in(page)
    page.wait_for_selector('.shell-person >> text=anna')
    assert page.url == f'{viewer.address}/now?robot=cell'
    assert TOKEN not in page.content() and page.evaluate('document.cookie') == ''
    page.goto(f'{viewer.address}/order')
    page.click('text=Pause')
    page.wait_for_selector('text=Done: pause pick: <b>done</b>')
    page.click('text=Cancel')
    assert page.wait_for_selector('#confirm-question').inner_text() == 'Cancel <i>refused</i>?'
    page.keyboard.press('Escape')
    page.wait_for_selector('#confirm-question', state='detached')
    page.click('text=Cancel')
    page.click('[data-confirm]')
    page.wait_for_selector('text=Refused: cancel refused: <b>done</b>')
    assert orders(viewer) == ['ORDER ["pause", "pick", "", "anna"]',
                              'ORDER ["cancel", "refused", "", "anna"]']


def test_all_tabs_turn_read_only_when_the_session_ends(viewer: Viewer, pages: Pages) -> None:
    page = pages.open(f'{viewer.address}/sign-in?next=/now', PHONE)
    sign_in(page)
    page.wait_for_selector('text=Sign out')
    other = page.context.new_page()
    other.goto(f'{viewer.address}/runs')
    other.click('text=Sign out')
    page.wait_for_selector('text=No orders can be given')
    assert page.url == f'{viewer.address}/now'


def test_without_a_token_the_page_says_that_it_is_read_only(pages: Pages, tmp_path: Path) -> None:
    viewer = start(tmp_path, token='')
    try:
        page = pages.open(viewer.address, PHONE)
        assert 'without a token' in page.wait_for_selector('.shell-read-only-line').inner_text()
        assert page.query_selector('[data-sign-in]') is None
        assert page.evaluate('document.documentElement.scrollWidth') <= PHONE[0]
        page.context.close()
    finally:
        viewer.end()


@pytest.mark.long
def test_a_page_comes_back_with_the_viewer(pages: Pages, tmp_path: Path) -> None:
    pages.expects.append(LOST)
    with socket.socket() as free:  # a session is of one port
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    viewer = start(tmp_path, port)
    place = '/timeline?flow=pick-1&at=7&pick=grasp'
    try:
        page = pages.open(f'{viewer.address}/sign-in?next=/')
        sign_in(page)
        page.wait_for_selector('.shell-person')
        page.goto(viewer.address + place)
        page.wait_for_selector('text=The past is shown: after row 7')
        viewer.kill()
        page.wait_for_selector('text=The viewer does not answer.')
        viewer = start(tmp_path, port)
        page.wait_for_selector('text=The viewer does not answer.', state='hidden')
        page.wait_for_selector('.shell-person >> text=anna')
        page.wait_for_selector('text=The past is shown: after row 7')
        assert page.url == viewer.address + place
        page.context.close()
    finally:
        viewer.end()


def test_keys_lead_to_views_and_help(viewer: Viewer, pages: Pages) -> None:
    page = pages.open(f'{viewer.address}/?at=3')
    page.wait_for_selector('text=No flow has run yet')
    page.keyboard.press('Tab')
    assert page.evaluate('document.activeElement.innerText') == 'Skip to content'
    page.keyboard.press('t')
    page.wait_for_url(f'{viewer.address}/timeline?at=3')
    page.wait_for_selector('text=The past is shown: after row 3')
    page.keyboard.press('l')
    page.wait_for_selector('text=The past is shown', state='hidden')
    page.wait_for_url(f'{viewer.address}/timeline')
    page.keyboard.press('?')
    page.wait_for_selector('text=choose another flow')
    page.keyboard.press('n')  # of the dialog, not of the page
    page.click('[data-single-keys]')
    page.keyboard.press('Escape')
    page.wait_for_selector('text=choose another flow', state='detached')
    page.keyboard.press('n')  # switched off
    assert page.url == f'{viewer.address}/timeline'
    page.keyboard.press('Escape')
    page.reload()
    page.wait_for_selector('text=No flow has run yet')
    page.keyboard.press('d')
    assert page.evaluate('document.cookie') == ''


def test_hostile_names_in_an_address_are_shown_as_text(viewer: Viewer, pages: Pages) -> None:
    hostile = '"><img src=x onerror=alert(1)>${alert(1)}</script><script>alert(1)</script>'
    said: list[str] = []
    for path in ('/', '/timeline', '/now', '/runs'):
        page = pages.open(f'{viewer.address}{path}?' + urlencode(
            dict.fromkeys(('robot', 'flow', 'pick'), hostile)))
        page.on('dialog', lambda dialog: said.append(dialog.message))
        page.wait_for_selector('text=There is no robot "><img src=x onerror=alert(1)>')
        page.wait_for_selector('.shell-wait', state='detached')
        assert page.query_selector('img[src=x]') is None
        page.evaluate('0')
    assert said == []
