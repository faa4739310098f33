# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What the judge of a soak reads: a journal, the log of the robot double, orders, published changes.

Nothing here is of the package: the journal is read with sqlite3 by the schema of docs/journal.md,
goal ids are made by the rule of docs/architecture.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import json
import math
from pathlib import Path
import sqlite3
from typing import Any
import uuid

MOTION_EVENTS = ('execute', 'repeat_motion')
STEPS = 8  #: as many as a motion of a test has at most
COLUMNS = ('seq', 'kind', 'flow_id', 'action_id', 'attempt', 'event', 'from_state', 'to_state',
           'cause', 'actor', 'data_json', 'final', 'boot_time', 'prev_hash', 'hash')


@dataclass(frozen=True)
class Row:
    """A row of the journal."""

    seq: int
    kind: str
    flow_id: str = ''
    action_id: str = ''
    attempt: int = 0
    event: str = ''
    from_state: str = ''
    to_state: str = ''
    cause: str = ''
    actor: str = ''
    data: Mapping[str, Any] = field(default_factory=dict)
    final: bool = False
    boot: float = 0.0
    prev_hash: str = ''
    hash: str = ''  # noqa: A003

    @property
    def key(self) -> tuple[str, str]:
        return self.flow_id, self.action_id

    def __str__(self) -> str:
        return f'row {self.seq} at {self.boot:.3f}: {self.flow_id}/{self.action_id} ' \
               f'{self.kind} {self.event} {self.from_state}>{self.to_state} ' \
               f'{self.cause!r} {self.actor} {json.dumps(self.data)[:400]}'


@dataclass
class Motion:
    """A motion as the double saw it; infinite `end`: it is still under way."""

    goal: str
    resource: str
    start: float
    end: float
    line: Mapping[str, Any]
    still: Mapping[str, Any] = field(default_factory=dict)
    row: Row | None = None  #: that has announced it


@dataclass
class Order:
    """
    What a person ordered, as the one who sent it saw it.

    kind: flow, cancel_flow, cancel_action, edit, retry, control, answer, clear_stop, unlock.
    answer: to a question; control: the event of its row.
    accepted: what the node answered; None: nothing came.
    """

    kind: str
    accepted: bool | None
    answered: float = 0.0  #: CLOCK_BOOTTIME, s
    flow_id: str = ''
    action_id: str = ''
    actor: str = ''
    seq: int = 0
    question: str = ''
    answer: str = ''
    resources: Sequence[str] = ()


@dataclass(frozen=True)
class Change:
    """A state change that was published."""

    seq: int
    flow_id: str
    action_id: str
    attempt: int
    event: str
    from_state: str
    to_state: str


@dataclass(frozen=True)
class Violation:
    """Something that must not be, with what shows it."""

    kind: str
    told: str
    shown: Sequence[Any] = ()

    def __str__(self) -> str:
        return '\n'.join([f'{self.kind}: {self.told}', *(f'    {one}' for one in self.shown)])


@dataclass
class Case:
    """All that is judged."""

    rows: Sequence[Row]
    lines: Sequence[Mapping[str, Any]] = ()
    orders: Sequence[Order] = ()
    changes: Sequence[Change] = ()


def read_journal(path: Path) -> list[Row]:
    """Read all rows, also while their writer runs."""
    connection = sqlite3.connect(f'file:{path}?mode=ro', uri=True, timeout=10.0)
    try:
        return [Row(*values[:10], json.loads(values[10]), bool(values[11]), *values[12:])
                for values in connection.execute(
                    f"SELECT {', '.join(COLUMNS)} FROM entry ORDER BY seq")]
    finally:
        connection.close()


def read_log(path: Path) -> list[dict[str, Any]]:
    """Read the lines of the double."""
    return [json.loads(line) for line in path.read_text(encoding='utf-8').splitlines()]


class Record:
    """A case by what its rows are about."""

    def __init__(self, case: Case) -> None:
        self.rows, self.orders, self.changes = case.rows, case.orders, case.changes
        self.of_action: dict[tuple[str, str], list[Row]] = defaultdict(list)
        self.notes: dict[str, list[Row]] = defaultdict(list)  #: by their event
        self.flows: dict[str, list[Row]] = defaultdict(list)
        self.clearings: dict[str, list[Row]] = defaultdict(list)  #: by the id of the order
        self.locks: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            if row.kind == 'transition':
                self.of_action[row.key].append(row)
            elif row.kind == 'note':
                self.notes[row.event].append(row)
            elif row.kind == 'flow':
                self.flows[row.flow_id].append(row)
            elif row.kind == 'clear_stop':
                self.clearings[row.action_id].append(row)
            elif row.kind == 'lock':
                self.locks[row.action_id].append(row)
        self.announced = {
            uuid.uuid5(uuid.UUID(row.data['goal_id']), str(step)).hex: row
            for row in self.rows if row.event in MOTION_EVENTS for step in range(STEPS)}
        self.motions, self.doubled = _motions(case.lines)
        for motion in self.motions:
            motion.row = self.announced.get(motion.goal)
        self.asked = [line for line in case.lines if line['event'] == 'asked']
        self.by_goal = {motion.goal: motion for motion in self.motions}

    def is_locked(self, resource: str, seq: int) -> bool:
        """Return whether the resource is locked at this row."""
        before = [row for row in self.locks[resource] if row.seq <= seq]
        return bool(before) and before[-1].event == 'lock'


def _motions(
    lines: Sequence[Mapping[str, Any]],
) -> tuple[list[Motion], list[Mapping[str, Any]]]:
    """Return the motions in the order of their starts, and what was accepted once more."""
    motions: dict[str, Motion] = {}
    doubled = []
    for line in lines:
        if line['event'] == 'accepted':
            if line['goal'] in motions:
                doubled.append(line)
            else:
                motions[line['goal']] = Motion(
                    line['goal'], line['resource'], line['boot'], math.inf, line)
        elif line['event'] == 'still' and line['goal'] in motions:
            motion = motions[line['goal']]
            motion.end, motion.still = line['boot'], line
    return sorted(motions.values(), key=lambda motion: motion.start), doubled
