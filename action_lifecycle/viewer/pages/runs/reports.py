# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reports of a robot's journal, made in a thread and kept until the journal grows."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
import io
import json
import threading
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from ...robots import Robot
from ....documents.errors import LifecycleError
from ....report.long_table import write_csv
from ....report.report import EVERYTHING, read_report, Window

KEPT = 8
"""Number of reports that are kept for a robot."""
NO_MATPLOTLIB = ("pictures need matplotlib: pip install 'action_lifecycle[report]', or the "
                 'package python3-matplotlib')

_DRAWING = threading.Lock()  # matplotlib's settings are global
T = TypeVar('T')


class Report(NamedTuple):
    """A report; `seq`: the last row of the journal when it was begun."""

    seq: int
    figures: Mapping[str, Any]


class Reports:
    """The reports of one robot; each is made once, however many pages ask for it."""

    def __init__(self, robot: Robot) -> None:
        self._source = robot.record.source
        self._kept: OrderedDict[Window, Report] = OrderedDict()
        self._lock = asyncio.Lock()

    async def last_seq(self) -> int:
        """Return the last row of the journal; raises JournalError."""
        return int(await self._source.last_seq())

    async def report(self, window: Window = EVERYTHING) -> Report:
        """Return the report of the runs in a window; raises LifecycleError."""
        path = self._source.path
        if path is None:
            raise LifecycleError(
                'the journal is on another machine; the report needs its file. Use '
                "'action_lifecycle report' or 'action_lifecycle view' there")
        async with self._lock:
            seq = await self.last_seq()
            found = self._kept.get(window)
            if found is None or found.seq != seq:
                figures = await asyncio.to_thread(read_report, [path], window)
                found = self._kept[window] = Report(seq, figures)
            self._kept.move_to_end(window)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found


_OF: WeakKeyDictionary[Robot, Reports] = WeakKeyDictionary()


def reports_of(robot: Robot) -> Reports:
    """Return the reports of a robot."""
    if robot not in _OF:
        _OF[robot] = Reports(robot)
    return _OF[robot]


async def drawn(make: Callable[[], T]) -> T:
    """Draw with matplotlib in a thread; raises LifecycleError if it is not installed."""

    def run() -> T:
        with _DRAWING:
            try:
                return make()
            except ModuleNotFoundError as error:
                raise LifecycleError(NO_MATPLOTLIB) from error

    return await asyncio.to_thread(run)


def as_csv(figures: Mapping[str, Any]) -> bytes:
    """Return a report as a long table."""
    stream = io.StringIO(newline='')
    write_csv(figures, stream)
    return stream.getvalue().encode()


def as_json(figures: Mapping[str, Any]) -> bytes:
    """Return a report as JSON."""
    return json.dumps(figures, indent=2).encode()


def as_html(figures: Mapping[str, Any]) -> bytes:
    """Return a report as a page that opens without a network."""
    from ....report.page import page
    return page(figures).encode()
