# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `view`: shows a journal in a browser, without ROS."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
import webbrowser

from ..exits import NotThere
from ..output_file import HTML, OutputFile
from ...documents.errors import LifecycleError
from ...journal.location import default_journal
from ...journal.reader import JournalReader
from ...journal.row import NoJournal
from ...viewer.access import Access
from ...viewer.app import build
from ...viewer.fleet_watch import Fleet
from ...viewer.follower import Follower
from ...viewer.record import LocalRows, RobotRecord
from ...viewer.robots import Robot
from ...viewer.run_file import run_page
from ...viewer.server import Server


def view(options: argparse.Namespace) -> None:
    """Serve the pages of a journal until Ctrl-C."""
    path = Path(options.journal).expanduser() if options.journal else default_journal()
    page = OutputFile('--html', options.html, HTML, [path], force=options.force) \
        if options.html else None
    try:
        JournalReader(path).close()  # an error now, not on the page
    except NoJournal as error:
        raise NotThere(str(error)) from error
    if page is not None:
        flow_id, text = asyncio.run(run_page(path, options.flow))
        page.write(text)
        print(f'{options.html}: flow {flow_id}')
        return
    if options.flow:
        raise LifecycleError('--flow: only with --html')
    robot = Robot(path.name, RobotRecord(LocalRows(path)))
    fleet = Fleet(options.ledger) if options.ledger else None
    access = Access(options.host, options.port, token_file=options.token_file)

    async def show() -> None:
        if options.open:
            await asyncio.to_thread(webbrowser.open, server.address)

    server = Server(
        build([robot], access, [Follower(robot).run, show], fleet), options.host, options.port)
    print(f'{path}: {server.address} (Ctrl-C ends it)', flush=True)
    server.run()
