# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The viewer of the demo: starts with it, and leaves the run as a page and as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
import os
from pathlib import Path
import re
import secrets
import socket
import subprocess
import time

from chromium import NoBrowser, open_page, start_browser, VIEWS
from steps import say, step

PORT = 8080  #: if it is free, else any other
START = 30.0  #: maximum time (s) until the pages can be opened
WRITTEN = 60.0  #: maximum time (s) to write the run
ADDRESS = re.compile(r'\[web\]: viewer: (\S+)')
FAILED = re.compile(r'\[web-\d+\].*?\[(?:ERROR|FATAL)\] \[[^]]*\] \[[^]]*\]: (.+)'
                    r'|\[web-\d+\]: (process has died)')


class DemoViewer:
    """
    What the demo has of the viewer. Without one, `address` is ''; the demo goes on.

    `given` and `arguments` are arguments of demo.launch.py; web:=false: no viewer. People
    sign in with the token in FOLDER/token.
    """

    def __init__(self, folder: Path, given: Sequence[str] = ()) -> None:
        self.address = ''
        self.arguments: list[str] = []
        self._folder = folder
        self._token = folder / 'token'
        if 'web:=false' in given:
            return
        if find_spec('nicegui') is None:
            say("no viewer: NiceGUI is not installed (pip install 'action_lifecycle[web]')")
            return
        with open(os.open(self._token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'w') as file:
            file.write(secrets.token_urlsafe(24) + '\n')
        self.arguments = ['web:=true', f'web_port:={_port()}', f'web_token_file:={self._token}']

    def wait(self) -> None:
        """Say the address as soon as the pages can be opened, or why there are none."""
        end = time.monotonic() + START
        while self.arguments and time.monotonic() < end:
            text = (self._folder / 'launch.log').read_text(errors='replace')
            if found := ADDRESS.search(text):
                self.address = found[1]
                say(f'viewer: {self.address} (to give orders, sign in with the token in '
                    f'{self._token})')
                return
            if failed := FAILED.search(text):
                say(f'no viewer: {failed[1] or failed[2]}')
                return
            time.sleep(0.1)
        if self.arguments:
            say(f'no viewer: it has not started within {START:g} s')

    def take_pictures(self) -> list[Path]:
        """Take a picture of each page of the run, if Playwright and Chromium are there."""
        if not self.address or find_spec('playwright') is None:
            return []
        taken = []
        with step('take pictures of the pages'):
            try:
                from playwright.sync_api import Error
                with start_browser() as browser:
                    for name, path in VIEWS.items():
                        file = self._folder / f'{name}.page.png'
                        page = open_page(browser, self.address + path)
                        page.screenshot(path=file)
                        page.context.close()
                        taken.append(file)
            except (NoBrowser, Error) as error:
                say(f'no more pictures of the pages: {str(error).splitlines()[0]}')
        return taken

    def write_run(self) -> str:
        """Write the run as one HTML file; returns its path, or why there is none."""
        path = self._folder / 'run.html'
        try:
            done = subprocess.run(
                ['action_lifecycle', 'view', str(self._folder / 'journal'), '--html', str(path)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, timeout=WRITTEN)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f'none: {error}'
        lines = done.stdout.strip().splitlines() or ['no output']
        return f'none: {lines[-1]}' if done.returncode else str(path)


def _port() -> int:
    """Return the usual port if it is free, else 0 (any)."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(('127.0.0.1', PORT))
        except OSError:
            return 0
    return PORT
