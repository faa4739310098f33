# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The record of what moved in a fleet, apart from journals and ledger, and what it has to show.

All robots append their motions, and the persons their answers, to one file. Each line is one
O_APPEND write, so the lines are in the order in which things happened, also between processes that
are killed. A motion is written right after `Operation.start_motion` has returned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
import json
import os
from pathlib import Path
from typing import Any, NamedTuple
import zlib

WORLD = 'world'  #: name of the file
MOTION, TAKE_OVER, GIVE_UP = 'motion', 'take_over', 'give_up'


class World:
    """Appends lines to the file at `path`, and reads them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, event: str, work: str, robot: str, flow_id: str) -> None:
        """Append one line."""
        line = json.dumps([event, work, robot, flow_id]) + '\n'
        written = os.write(self._file, line.encode())
        assert written == len(line), 'the disk is full'

    def lines(self) -> list[list[str]]:
        """Return all lines: event, work, robot, flow id."""
        return [json.loads(line) for line in self._path.read_text().splitlines()]

    def has_moved(self, flow_id: str) -> bool:
        """Return whether the motion of a flow has begun, as a robot's sensors would show it."""
        return any(line[0] == MOTION and line[3] == flow_id for line in self.lines())


def answer_of_person(work: str) -> str:
    """Return what a person answers if the robot of `work` is gone: one in three is given up."""
    return GIVE_UP if zlib.crc32(work.encode()) % 3 == 0 else TAKE_OVER


class Judged(NamedTuple):
    """How often each thing happened, and what must not have happened."""

    counts: Counter[str]
    faults: list[str]


def judge(
    lines: Collection[list[str]], submitted: Collection[str],
    traces: Mapping[str, Mapping[str, str]], results: Mapping[str, Any],
    letters: Collection[Mapping[str, str]],
) -> Judged:
    """
    Judge a fleet that has no work left.

    Each piece of work has moved at most once, and once more after each answer of a person that it
    be repeated. It has either a result, of a flow that moved, or one dead letter.
    """
    counts: Counter[str] = Counter()
    faults: list[str] = []
    moved: dict[str, list[str]] = {work: [] for work in submitted}
    permitted = dict.fromkeys(submitted, True)
    asked = set()
    for event, work, robot, flow_id in lines:
        counts[event] += 1
        if event != MOTION:
            asked.add(work)
            permitted[work] = permitted[work] or event == TAKE_OVER
            continue
        if not permitted[work]:
            counts['moved_twice'] += 1
            faults.append(f'{work}: moved again by {robot} ({flow_id}) without an answer; '
                          f'before: {moved[work]}')
        permitted[work] = False
        moved[work].append(flow_id)
    buried = Counter(letter['trace_id'] for letter in letters)
    for work in submitted:
        state, result = traces[work].get('state', 'missing'), results[work]
        if buried[work] + (state == 'COMPLETED' and result is not None) != 1:
            counts['lost'] += 1
            faults.append(f'{work}: {state}, result {result}, {buried[work]} dead letters')
        elif buried[work]:
            counts['dead_letters'] += 1
            if moved[work] and work not in asked:
                counts['not_asked'] += 1
                faults.append(f'{work}: given up after a motion, nobody was asked')
        else:
            counts['completed'] += 1
            if result['flow_id'] not in moved[work]:
                counts['not_moved'] += 1
                faults.append(f'{work}: the flow of result {result} has not moved: {moved[work]}')
    return Judged(counts, faults)
