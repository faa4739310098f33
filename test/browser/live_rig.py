# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A robot's nodes and the web node as processes, which people watch in Chromium."""

from __future__ import annotations

from collections.abc import Callable
import json
from pathlib import Path
import signal
import socket
import time
from typing import Any
from urllib.request import urlopen

from action_lifecycle.journal import Row
from node.work_rig import NODE, WorkRig

from .browser_rig import Pages

TOKEN = 'a-token-of-the-tests-of-the-viewer'
WEB, BRIDGE = 'web', 'world_model_bridge'
LEFT = ('WebSocket connection to', 'ERR_CONNECTION_REFUSED', 'Failed to load resource')
"""What a browser says about a viewer that is away."""


FIND = """([css, text]) => {
    const find = root => [...root.querySelectorAll(css), ...[...root.querySelectorAll('*')]
        .filter(one => one.shadowRoot).flatMap(one => find(one.shadowRoot))];
    """
"""Begin of a script that finds elements, also in shadow trees as that of the graph."""


class LiveRig(WorkRig):
    """The nodes of a robot and the web node; people sign in with TOKEN."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.token = folder / 'token'
        self.token.write_text(TOKEN)
        self.token.chmod(0o600)
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            self.port = int(free.getsockname()[1])
        self.address = f'http://127.0.0.1:{self.port}'
        self.start('ledger', journal_path=self.journal)
        self.start_web()

    def start_web(self) -> None:
        """Start the web node, and wait until it serves."""
        self.start(WEB, port=self.port, journal_path=self.journal, token_file=self.token)

        def serves() -> bool:
            try:
                with urlopen(f'{self.address}/now', timeout=5.0) as answer:
                    return bool(answer.status == 200)
            except OSError:
                return False
        self.until(serves, 40.0, 'the web node serves')

    def open(self, pages: Pages, path: str = '/', actor: str = '') -> Any:  # noqa: A003
        """Return a page of the viewer, of a person who has signed in if `actor` is given."""
        if not actor:
            return pages.open(self.address + path)
        page = pages.open(f'{self.address}/sign-in')
        page.fill('#actor', actor)
        page.fill('#token', TOKEN)
        page.click('button[type=submit]')
        page.goto(self.address + path)
        return page

    def begin(self, pages: Pages, path: str, actor: str, flow_id: str, actions: str) -> Any:
        """Start a flow, and return a page about it when the viewer is connected to the nodes."""
        handle = self.send(flow_id, actions)
        separator = '&' if '?' in path else '?'
        page = self.open(pages, f'{path}{separator}flow={flow_id}', actor)
        self.until_link(page, 'Live')
        return page, handle

    def until_text(self, page: Any, selector: str, text: str, timeout: float = 20.0) -> None:
        """Wait until an element's text or label has `text`."""
        self.until_page(page, FIND + 'return find(document).some('
                        'one => ((one.innerText ?? "") + " " + one.getAttribute("aria-label"))'
                        '.toLowerCase().includes(text.toLowerCase())); }', [selector, text],
                        timeout)

    def until_page(
        self, page: Any, script: str, given: Any, timeout: float = 20.0
    ) -> None:
        """Wait until a script is true in a page; it may be loading."""
        from playwright.sync_api import Error

        def true() -> bool:
            try:
                return bool(page.evaluate(script, given))
            except Error as error:
                if 'context' not in str(error) and 'navigat' not in str(error):
                    raise
                return False
        try:
            self.until(true, timeout, json.dumps(given))
        except AssertionError as error:
            shown = page.evaluate('document.body.innerText')
            raise AssertionError(f'not on the page: {given}; it shows: {shown}\n{error}') from None

    def until_look(self, page: Any, path: str, text: str, timeout: float = 20.0) -> None:
        """Wait until the graph shows an action with this text (its state)."""
        self.until_text(page, f'g.box[data-path="{path}"]', text, timeout)

    def until_link(self, page: Any, text: str, timeout: float = 30.0) -> None:
        """Wait until the header says this about the connection."""
        self.until_text(page, '.shell-chip[aria-label=Connection]', text, timeout)

    def click(self, page: Any, selector: str) -> None:
        """Click on what is enabled."""
        self.until(lambda: page.locator(selector).first.is_enabled(), 20.0, selector)
        page.locator(selector).first.click()

    def until_row(self, wanted: Callable[[Row], Any], what: str, timeout: float = 20.0) -> Row:
        """Wait for a row of the journal; returns it."""
        from node.waiting import rows_of
        row: Row = self.until(
            lambda: next(filter(wanted, rows_of(self.journal)), None), timeout, what)
        return row

    def freeze(self, *names: str) -> None:
        """Stop processes as a machine that hangs does."""
        for name in names:
            self.processes[name].send_signal(signal.SIGSTOP)

    def thaw(self, *names: str) -> None:
        """Let them go on."""
        for name in names:
            self.processes[name].send_signal(signal.SIGCONT)

    def calm(self, seconds: float) -> None:
        """Serve callbacks for a while."""
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() > end, seconds + 5.0, 'time')


__all__ = ['BRIDGE', 'LEFT', 'LiveRig', 'NODE', 'TOKEN', 'WEB']
