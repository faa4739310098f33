# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pages of the viewer in a Chromium of this machine, by Playwright."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import shutil
from typing import Any

CHROMIUM = ('chromium-headless-shell', 'chromium', 'google-chrome')
"""Names of the browser, the smallest first."""
DESK, PHONE = (1400, 900), (360, 740)
"""Sizes of a window in pixels."""
VIEWS = {'flow': '', 'timeline': 'timeline', 'now': 'now', 'runs': 'runs'}
"""Paths of the views by their names."""
LOADED = 20_000  #: maximum time (ms) until a page is complete
COMPLETE = """() => document.querySelector('.shell-content')
    && !document.querySelector('.shell-wait, .q-spinner')
    && document.querySelector('.shell-content').innerText.trim()"""
DRAWN = """async () => {
    const until = performance.now() + 20000;
    const waits = () => [...document.querySelectorAll('.camera')].some(
            camera => !camera.querySelector('img')?.naturalWidth)
        || document.querySelector('.runs-pictures:empty');
    while (performance.now() < until && waits())
        await new Promise(done => setTimeout(done, 50));
    await new Promise(done => requestAnimationFrame(() => setTimeout(done, 700))); }"""


class NoBrowser(Exception):
    """There is no browser; the text says why."""


def find_chromium() -> str | None:
    """Return the path of the browser."""
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


@contextmanager
def start_browser(program: str | None = None) -> Iterator[Any]:
    """Start Chromium, or `program`; raises NoBrowser if Playwright or Chromium is missing."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ModuleNotFoundError as error:
        raise NoBrowser('Playwright is not installed') from error
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(
                executable_path=program or find_chromium(), args=['--no-sandbox'])
        except Error as error:
            raise NoBrowser(f'Chromium does not start: {str(error).splitlines()[0]}') from error
        try:
            yield browser
        finally:
            browser.close()


def new_context(browser: Any, size: tuple[int, int] = DESK, *, dark: bool = False) -> Any:
    """Return a context, which has cookies of its own; `size` of its windows in pixels."""
    return browser.new_context(
        viewport={'width': size[0], 'height': size[1]},
        color_scheme='dark' if dark else 'light', reduced_motion='reduce')


def open_page(
    browser: Any, address: str, size: tuple[int, int] = DESK, *, dark: bool = False,
) -> Any:
    """Return a page when its content is there, in a context of its own."""
    context = new_context(browser, size, dark=dark)
    context.set_default_timeout(LOADED)
    page = context.new_page()
    page.goto(address)
    page.wait_for_function(COMPLETE)
    page.evaluate(DRAWN)  # charts and cameras are drawn after their data have come
    return page
