# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Chromium, and viewers as processes.

Each page is watched: an uncaught error of a script, an error on the console, or a request to
another host than the viewer's is a fault of the test, unless `Pages.expects` names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import os
from pathlib import Path
import re
import signal
import subprocess
import time
from typing import Any
from urllib.parse import quote

from chromium import DESK, find_chromium, new_context, start_browser
import pytest

ADDRESS = re.compile(r'https?://[\w.\[\]:]+')
START = 30.0  #: maximum time (s) until a viewer says its address


@contextmanager
def start_chromium() -> Iterator[Any]:
    """Start the system's Chromium; skip the test if there is none."""
    if find_chromium() is None:
        pytest.skip('no Chromium: apt-get install chromium-headless-shell')
    with start_browser() as browser:
        yield browser


class Pages:
    """Opens pages, each with cookies of its own, and keeps what went wrong in them."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self.errors: list[str] = []
        self.expects: list[str] = []  #: regular expressions of errors that the test causes
        self._browser = browser
        self._folder = folder
        self._contexts: list[Any] = []
        self._pages: list[Any] = []

    def open(self, address: str, size: tuple[int, int] = DESK, *, dark: bool = False  # noqa: A003
             ) -> Any:
        """Return a page at an address; `size` in pixels."""
        context = new_context(self._browser, size, dark=dark)
        context.set_default_timeout(15_000)
        page = context.new_page()
        host = address.split('/')[2]
        page.on('pageerror', lambda error: self._note(f'error of a script: {error}'))
        page.on('console', lambda said: said.type == 'error' and self._note(
            f'on the console: {said.text}'))
        page.on('request', lambda request: self._requested(request.url, host))
        self._contexts.append(context)
        self._pages.append(page)
        page.goto(address)
        return page

    def open_as(
        self, actor: str, token: str, address: str, *args: Any, **options: Any
    ) -> Any:
        """Return a page at an address of the viewer, after `actor` has signed in."""
        viewer, _, view = address.rpartition('/')
        page = self.open(f'{viewer}/sign-in?next={quote(f"/{view}")}', *args, **options)
        page.fill('input[name=token]', token)
        page.fill('input[name=actor]', actor)
        page.keyboard.press('Enter')
        page.wait_for_url(address)
        return page

    def _requested(self, url: str, host: str) -> None:
        if not url.startswith(('data:', 'blob:', 'about:')) and url.split('/')[2] != host:
            self._note(f'a request to another host: {url}')

    def _note(self, fault: str) -> None:
        if not any(re.search(pattern, fault) for pattern in self.expects):
            self.errors.append(fault)

    def close(self) -> None:
        """Close all pages; pictures of them stay in the test's folder."""
        for number, page in enumerate(self._pages):
            if not page.is_closed():
                page.screenshot(path=self._folder / f'page_{number}.png')
        for context in self._contexts:
            context.close()


class Viewer:
    """
    A process that says the address of its viewer, such as `action_lifecycle view JOURNAL`.

    Its output is in `text`.
    """

    def __init__(
        self, command: Sequence[str | Path], folder: Path,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._log = folder / f'viewer_{time.monotonic_ns()}.log'
        with open(self._log, 'wb') as log:
            self.process = subprocess.Popen(
                list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, env=environment or dict(os.environ))
        end = time.monotonic() + START
        while (found := ADDRESS.search(self.text)) is None:
            if self.process.poll() is not None or time.monotonic() > end:
                self.end()
                raise AssertionError(f'no address of a viewer: {self.text}')
            time.sleep(0.02)
        self.address = found[0].rstrip('/')

    @property
    def text(self) -> str:
        """Return what it has written so far."""
        return self._log.read_text(errors='replace')

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait(5.0)

    def end(self) -> int:
        """End it as Ctrl-C does; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(15.0)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.process.returncode
