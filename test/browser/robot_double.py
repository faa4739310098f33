# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A viewer of robots whose `Now` a test sets, as a process: JOURNAL FOLDER [JOURNAL FOLDER …].

A single robot is named `cell`, several ones as their folders are.

Each line of FOLDER/now is a JSON object of the parts of `Now` that change, and 'kind'. Orders are
written to FOLDER/orders, one JSON list a line; an answer that is refused is in FOLDER/refuse, the
time (s) until an answer in FOLDER/delay.
FOLDER/picture.png is the picture of each topic. While there is FOLDER/no_traces, traces can't be
read because of its text; if it is empty, they are being read.
"""

from __future__ import annotations

import asyncio
from functools import partial
import json
from pathlib import Path
import sys
from typing import Any

from action_lifecycle.traces import Trace, TraceError, TraceKey
from action_lifecycle.viewer import robots
from action_lifecycle.viewer.access import Access
from action_lifecycle.viewer.app import build
from action_lifecycle.viewer.record.robot_record import RobotRecord
from action_lifecycle.viewer.record.shown import QuestionNow
from action_lifecycle.viewer.record.sources import LocalRows
from action_lifecycle.viewer.record.trace_sources import FileTraces
from action_lifecycle.viewer.robots import Answer, Heard, Robot, ROWS
from action_lifecycle.viewer.server import Server

PARTS: dict[str, Any] = {
    'safety': lambda value: robots.SafetyNow(*value),
    'facts': lambda value: tuple(robots.FactNow(*each) for each in value),
    'questions': lambda value: tuple(QuestionNow(*each) for each in value),
    'nodes': lambda value: {name: robots.NodeSeen(*each) for name, each in value.items()},
    'motions': lambda value: {
        (flow_id, path): robots.MotionNow(*rest) for flow_id, path, *rest in value},
    'frames': lambda value: tuple(
        robots.FrameNow(parent, child, tuple(place), tuple(turn))
        for parent, child, place, turn in value)}


class OrdersDouble:
    """Writes down the orders."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def _take(self, *order: Any) -> Answer:
        with open(self._folder / 'orders', 'a', encoding='utf-8') as file:
            file.write(json.dumps(order) + '\n')
        delay, refuse = self._folder / 'delay', self._folder / 'refuse'
        if delay.exists():
            await asyncio.sleep(float(delay.read_text()))
        return Answer(False, refuse.read_text()) if refuse.exists() else Answer(True, '')

    async def control(self, verb: str, flow_id: str, path: str = '', *, hold: bool = False,
                      clear: bool = False, actor: str, reason: str = '', seen: int = 0
                      ) -> Answer:
        return await self._take(verb, flow_id, path, hold, clear, actor, reason, seen)

    async def cancel(self, flow_id: str, path: str = '', *, actor: str, reason: str = '',
                     seen: int = 0) -> Answer:
        return await self._take('cancel', flow_id, path, actor, reason, seen)

    async def respond(self, question: QuestionNow, answer: str, *, actor: str, comment: str = ''
                      ) -> Answer:
        return await self._take('respond', question.id, answer, actor, comment)

    async def clear_stop(self, resources: Any, seen: Any, *, actor: str, reason: str = ''
                         ) -> Answer:
        return await self._take('clear_stop', list(resources), seen.stamp, actor, reason)


class ImagesDouble:
    """The same picture for each topic; counts how often it was fetched."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def image(self, topic: str) -> tuple[bytes, str]:
        with open(self._folder / 'fetched', 'a', encoding='utf-8') as file:
            file.write(f'{topic}\n')
        return (self._folder / 'picture.png').read_bytes(), 'image/png'


async def follow(robot: Robot, folder: Path) -> None:
    """Apply the lines of the file, and the rows of the journal."""
    done, looked = 0, 0
    file = folder / 'now'
    while True:
        lines = file.read_text(encoding='utf-8').splitlines() if file.exists() else []
        for line in lines[done:]:
            change = json.loads(line)
            kind = change.pop('kind', 'safety')
            robot.change(kind, **{
                name: PARTS.get(name, lambda value: value)(value)
                for name, value in change.items()})
        done = len(lines)
        if looked % 10 == 0:
            update = await robot.record.update()
            if update.flows or update.new_flows or update.lost:
                robot.tell(Heard(ROWS, update))
        looked += 1
        await asyncio.sleep(0.02)


class TracesDouble(FileTraces):
    """Those beside the journal, if nothing is in their way."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / 'journal.traces')
        self._fault = folder / 'no_traces'

    async def find(self, key: TraceKey) -> Trace | None:
        while self._fault.exists() and not self._fault.read_text():
            await asyncio.sleep(0.05)
        if self._fault.exists():
            raise TraceError(self._fault.read_text())
        return await super().find(key)


def made(name: str, journal: str, folder: Path) -> Robot:
    """Return a robot."""
    images = ImagesDouble(folder) if (folder / 'picture.png').exists() else None
    rows = LocalRows(journal)
    rows.traces = TracesDouble(folder)
    return Robot(name, RobotRecord(rows), orders=OrdersDouble(folder), images=images)


def main() -> None:
    """Serve until SIGINT."""
    given = [(journal, Path(folder)) for journal, folder in zip(sys.argv[1::2], sys.argv[2::2])]
    robots = [made('cell' if len(given) == 1 else folder.name, journal, folder)
              for journal, folder in given]
    app = build(robots, Access(), [partial(follow, robot, folder)
                                   for robot, (_, folder) in zip(robots, given)])
    server = Server(app, port=0)
    print(server.address, flush=True)
    server.run()


if __name__ == '__main__':
    main()
