# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `fleet`: shows the robots of a ledger and their work, and sends dead letters again."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
import contextlib
from typing import Any, TypeVar

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from ..actor import who
from ..exits import NotThere
from ..table import at_clock, console, print_json, print_rows, rows_table
from ...documents.errors import LifecycleError
from ...documents.suggestions import nearest
from ...fleet.errors import LedgerError, LedgerUnavailable
from ...fleet.fleet_view import FleetView, stream_names
from ...fleet.ledger import check_url, open_ledger
from ...fleet.robot_status import RobotStatus
from ...fleet.work_status import DeadLetter, LetterMissing, StreamWork
from ...viewer.fleet_words import (
    claims_words,
    doing,
    flow_words,
    lag_words,
    request_words,
    seen_words,
    streams_words,
    sync_words,
)

PERIOD = 1.0
"""Period (s) of --watch."""
NO_GROUP = ''
"""The group of no robot, so all requests of a stream count as waiting for it."""
Found = TypeVar('Found')


def show_fleet(options: argparse.Namespace) -> None:
    """Print the robots, or with --work their requests."""
    if options.watch and options.json:
        raise LifecycleError('--watch: not with --json')
    if options.stream and not options.work:
        raise LifecycleError('--stream: only with --work')
    if options.watch:
        with contextlib.suppress(KeyboardInterrupt):
            _with_view(options, lambda view: _watch(view, options))
    elif options.work:
        work = _with_view(options, lambda view: _read_work(view, options))
        if options.json:
            print_json([_data(one) for one in work])
        else:
            console().print(_work_tables(work))
    else:
        robots = _with_view(options, lambda view: view.robots())
        if options.json:
            print_json([{**_data(one), 'silent': one.silent} for one in robots])
        else:
            console().print(_robots_table(robots))


def list_letters(options: argparse.Namespace) -> None:
    """Print the dead letters of a stream."""
    if options.limit < 1:
        raise LifecycleError(f'--limit {options.limit}: expected 1 or more')
    letters = _with_view(options, lambda view: _read_letters(view, options))
    if options.json:
        print_json([_data(one) for one in letters])
        return
    if not letters:
        print(f"stream '{options.stream}' has no dead letters")
        return
    print_rows(('letter', 'failed', 'request', 'flow', 'tries', 'reason'), (
        (one.letter_id, at_clock(one.time), one.trace_id, flow_words(one), one.attempt, one.error)
        for one in letters), short=('flow', 'reason'))


def resend(options: argparse.Namespace) -> None:
    """Send the request of a dead letter again."""
    actor = who(options)
    sent = _with_view(
        options, lambda view: view.resend(options.stream, options.letter, actor))
    if sent.again:
        print(f'{sent.by} had sent it already, {at_clock(sent.time)}: request {sent.trace_id}')
    else:
        print(f'sent again: request {sent.trace_id}')


def _with_view(
    options: argparse.Namespace, work: Callable[[FleetView], Awaitable[Found]]
) -> Found:
    """Return what `work` returns for the fleet of the ledger."""
    if not options.url:
        raise LifecycleError('fleet: expected --url URL, as parameter ledger_url of the ledger '
                             'node: redis://localhost:6379/0')
    check_url(options.url)

    async def run() -> Found:
        ledger = open_ledger(options.url)
        try:
            return await work(ledger.fleet)
        finally:
            await ledger.close()

    try:
        return asyncio.run(run())
    except (LedgerUnavailable, LetterMissing) as error:
        raise NotThere(str(error)) from error


async def _read_letters(view: FleetView, options: argparse.Namespace) -> list[DeadLetter]:
    letters = await view.dead_letters(options.stream, options.limit)
    if not letters:
        await _check_stream(view, options.stream)
    return letters


async def _check_stream(view: FleetView, stream: str) -> None:
    """Raise NotThere if no robot takes requests from a stream, and it has none."""
    names = sorted({name for name, _ in stream_names(await view.robots())})
    work = await view.work(stream, NO_GROUP)
    if stream not in names and not work.waiting and not work.dead:
        raise NotThere(f"no stream '{stream}': no robot takes requests from it, and it has "
                       'neither requests nor dead letters (streams of robots: '
                       f"{', '.join(names) or 'none'})" + nearest(stream, names))


async def _read_work(view: FleetView, options: argparse.Namespace) -> list[StreamWork]:
    wanted = {(stream, options.group) for stream in options.stream} \
        or stream_names(await view.robots())
    return [await view.work(*pair) for pair in sorted(wanted)]


async def _watch(view: FleetView, options: argparse.Namespace) -> None:
    shown: RenderableType = ''
    with Live(Text('the ledger is being read'), console=console(), refresh_per_second=4) as live:
        while True:
            try:
                shown = _work_tables(await _read_work(view, options)) if options.work \
                    else _robots_table(await view.robots())
                live.update(shown)
            except LedgerError as error:
                live.update(Group(shown, Text(str(error), 'bold red')))
            await asyncio.sleep(PERIOD)


def _robots_table(robots: list[RobotStatus]) -> RenderableType:
    if not robots:
        return 'no robot has reported to this ledger'
    return rows_table(
        ('robot', 'last report', 'ledger', 'behind by', 'does', 'claims', 'takes work from'), (
            (one.robot, seen_words(one), sync_words(one), lag_words(one), doing(one),
             claims_words(one), streams_words(one)) for one in robots), short=('ledger', 'does'))


def _work_tables(work: list[StreamWork]) -> RenderableType:
    if not work:
        return 'no robot takes requests from a stream; --stream names one'
    requests = [(request.trace_id, flow_words(request), request_words(request),
                 at_clock(request.submitted), one.stream)
                for one in work for request in (*one.runs, *one.fails, *one.waits)]
    return Group(
        rows_table(('stream', 'group', 'waiting', 'running', 'to try again', 'dead letters'), (
            (one.stream, one.group, one.waiting, one.running, one.failed, one.dead)
            for one in work)),
        *([rows_table(('request', 'flow', 'state', 'submitted', 'stream'), requests,
                      short=('flow', 'state'))] if requests else []))


def _data(value: Any) -> Any:
    """Return data for JSON, with an object for each named tuple."""
    if hasattr(value, '_asdict'):
        return {name: _data(one) for name, one in value._asdict().items()}
    return [_data(one) for one in value] if isinstance(value, (list, tuple)) else value
