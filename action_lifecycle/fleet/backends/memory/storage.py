# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the ledgers with one URL keep."""

from __future__ import annotations

from collections.abc import Mapping
import threading
import time
from typing import Any, NamedTuple

from ...ledger import Cursor
from ...robot_status import RobotReport
from ...smart_ledger import MemoryTasks
from ...work_status import Resent
from ....journal.row import Row


class KeptRobot:
    """
    The rows of one robot.

    `origin`: host and path of the journal of the last row; `last`: last row by subject; `opened`:
    first row by open subject; `records`: of the actions.
    """

    def __init__(self) -> None:
        self.cursor = Cursor(0, '')
        self.origin = '', ''
        self.rows: list[Row] = []
        self.last: dict[str, Row] = {}
        self.opened: dict[str, int] = {}
        self.records: dict[str, dict[str, str]] = {}


class Trace(NamedTuple):
    """An operation with the fields of its checkpoint; `until`: time (s) at which it expires."""

    fields: dict[str, str]
    saved: dict[str, Any]
    until: float


class Held(NamedTuple):
    """A request that a worker took `tries` times; `since`: time (s) of its last renewal."""

    worker: str
    tries: int
    since: float


class Stream:
    """
    The requests of a stream, its dead letters, and the requests taken by each group.

    A request that a group has done is None in `groups`. `resent`: letters that were sent again.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Mapping[str, str]] = {}
        self.last = (0, 0)
        self.groups: dict[str, dict[str, Held | None]] = {}
        self.dead: dict[str, dict[str, Any]] = {}
        self.resent: dict[str, Resent] = {}

    def add(self, fields: Mapping[str, str]) -> str:
        """Add a request; returns its id."""
        message_id = self.new_id()
        self.entries[message_id] = dict(fields)
        return message_id

    def new_id(self) -> str:
        """Return an id above all others."""
        self.last = max((int(time.time() * 1000), 0), (self.last[0], self.last[1] + 1))
        return f'{self.last[0]}-{self.last[1]}'


class Storage:
    """The data of all ledgers with one URL; `lock` is held during each change."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.robots: dict[str, KeptRobot] = {}
        self.traces: dict[str, Trace] = {}
        self.results: dict[str, str] = {}
        self.streams: dict[str, Stream] = {}
        self.tasks = MemoryTasks()
        self.reports: dict[str, tuple[RobotReport, float]] = {}


def subject_name(kind: str, flow_id: str, action_id: str) -> str:
    """Return the name of a subject."""
    return repr((kind, flow_id, action_id))
