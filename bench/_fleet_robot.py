# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Robots of a fleet, several in one process, each with its journal, its sync and its worker.

`_fleet_robot.py FOLDER URL NAME…` prints `ready`, then obeys lines of JSON on stdin:
{"work": MIN_IDLE} starts the workers, {"rows": [RATE, COUNT]} has each robot write rows to its
journal, {"bare": true} starts bare workers instead, {"report": true} prints what was measured
since the last report, as JSON, when all rows are in the ledger.

A piece of work is done as a robot does it: the rows of a flow and its action are journaled before
they take effect, the motion waits until its row survives a loss of power, and is recorded in the
ledger. What a double stands for are the action node, the controller and the sensors: the motion is
a line in the file of _fleet_world.py, and a restarted robot reads there whether it has moved.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
import json
import logging
from pathlib import Path
import random
import sys
import time
from typing import Any

from _fleet_world import answer_of_person, MOTION, TAKE_OVER, WORLD, World
from _ledger_redis import EVIDENCE, WALK
from action_lifecycle.fleet import open_ledger
from action_lifecycle.fleet.backends.redis.requests import BLOCK
from action_lifecycle.fleet.consumer import OperationConsumer
from action_lifecycle.fleet.operation import Operation, OperationRequest
from action_lifecycle.fleet.sync import Synchronizer, SyncStatus
from action_lifecycle.journal import Entry, Journal
import redis.asyncio

STREAM, GROUP = 'work', 'robots'
THINKING = 0.2  #: time (s) until a person has answered
ACTION = 'move'


class Recorder:
    """Writes rows to a journal and measures when the ledger has them."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.lags: list[float] = []
        self._waiting: deque[tuple[int, float]] = deque()

    def append(self, entry: Entry) -> None:
        """Append a row."""
        now = time.monotonic()
        self._waiting.append((self.journal.append(entry).seq, now))

    @property
    def waits(self) -> bool:
        """Whether rows are not in the ledger yet."""
        return bool(self._waiting)

    def synced(self, status: SyncStatus) -> None:
        """Note the lag of the rows that are now in the ledger."""
        now = time.monotonic()
        while self._waiting and self._waiting[0][0] <= status.ledger_seq:
            self.lags.append(now - self._waiting.popleft()[1])


class FlowOfWork:
    """The rows of one flow with one action."""

    def __init__(self, recorder: Recorder, flow_id: str, state: str = '') -> None:
        self.flow_id = flow_id
        self._recorder = recorder
        self.state = state

    def begin(self) -> None:
        """Open the flow."""
        self._flow('START')
        self.enter('assigned')

    def enter(self, state: str, cause: str = '') -> None:
        """Record a transition of the action."""
        self._recorder.append(Entry(
            'transition', self.flow_id, ACTION, 1, f'to_{state}', self.state, state, cause,
            data=EVIDENCE, final=state == 'terminated'))
        self.state = state

    def end(self, state: str, cause: str = '') -> None:
        """Close action and flow."""
        if self.state != 'terminated':
            self.enter('terminated', cause)
        self._flow(state, cause)

    def _flow(self, state: str, cause: str = '') -> None:
        self._recorder.append(Entry(
            'flow', self.flow_id, event=state.lower(), to_state=state, cause=cause,
            data={'name': 'work'}, final=state != 'START'))


class Work:
    """The work of one robot; see fleet.consumer.OperationWork."""

    def __init__(
        self, name: str, recorder: Recorder, world: World, begun: list[tuple[str, str, float]],
    ) -> None:
        self._name = name
        self._recorder = recorder
        self._world = world
        self._begun = begun
        self._followed: set[str] = set()  # flows of this process

    def ready(self) -> bool:
        """Return True: the robot is idle whenever its worker asks."""
        return True

    async def gather(self, request: OperationRequest) -> dict[str, Any]:
        """Return how long the work takes before and after its motion (s)."""
        return {name: float(request.data[name]) for name in ('before', 'after')}

    async def perform(self, operation: Operation, gathered: dict[str, Any]) -> Any:
        """Do the work, or continue it after a restart."""
        request = operation.request
        self._begun.append((request.trace_id, self._name, time.monotonic()))
        flow_id, state = f'{request.trace_id}.{request.tries}', ''
        if operation.moved:
            flow_id, state = self._unfinished(request) or (flow_id, state)
        self._followed.add(flow_id)
        flow = FlowOfWork(self._recorder, flow_id, state)
        if state != 'FINISH':
            try:
                await self._run(flow, operation, gathered)
            except BaseException as error:
                flow.end('FAIL', type(error).__name__)
                raise
            flow.end('FINISH')
        return {'robot': self._name, 'flow_id': flow_id}

    async def _run(
        self, flow: FlowOfWork, operation: Operation, gathered: dict[str, Any]
    ) -> None:
        """Bring the action from its present state to its end."""
        if not flow.state:
            flow.begin()
            flow.enter('in_progress')
            await asyncio.sleep(gathered['before'])
            flow.enter('executing_motion')
            await asyncio.wrap_future(self._recorder.journal.barrier())
        if flow.state == 'executing_motion' and not (
                operation.moved and self._world.has_moved(flow.flow_id)):
            await operation.start_motion()
            self._world.write(MOTION, operation.request.trace_id, self._name, flow.flow_id)
        await asyncio.sleep(gathered['after'])
        for state in WALK[WALK.index(flow.state) + 1:]:
            flow.enter(state)

    def can_resume(self, request: OperationRequest) -> bool:
        """Return whether the journal has a flow of the request that has not failed."""
        return self._unfinished(request) is not None

    async def take_over(self, request: OperationRequest) -> str:
        """Ask a person, who needs some time; the answer is recorded as it is given."""
        await asyncio.sleep(THINKING)
        answer = answer_of_person(request.trace_id)
        self._world.write(answer, request.trace_id, self._name, '')
        return 'somebody' if answer == TAKE_OVER else ''

    def abandon(self, flows: Iterable[str]) -> None:
        """Close flows that were open before a restart, unless they were resumed."""
        journal = self._recorder.journal
        actions = {row.flow_id: row.to_state for row in journal.open_actions()}
        for flow_id in {row.flow_id for row in journal.open_flows()}.intersection(flows):
            if flow_id not in self._followed:
                FlowOfWork(self._recorder, flow_id, actions.get(flow_id, 'terminated')).end(
                    'FAIL', 'not resumed')

    def _unfinished(self, request: OperationRequest) -> tuple[str, str] | None:
        """Return the last flow that was to move or has moved, and its state."""
        for tries in range(request.tries, 0, -1):
            flow_id = f'{request.trace_id}.{tries}'
            rows = list(self._recorder.journal.rows(flow_id=flow_id))
            if rows and rows[-1].to_state in (*WALK[2:], 'FINISH'):
                return flow_id, rows[-1].to_state
        return None


class Robot:
    """One robot: its journal is synced from the start."""

    def __init__(
        self, folder: Path, url: str, name: str, world: World,
        begun: list[tuple[str, str, float]],
    ) -> None:
        path = folder / f'{name}.journal'
        self.name = name
        self._url = url
        self.recorder = Recorder(Journal(path))
        self._left = [row.flow_id for row in self.recorder.journal.open_flows()]
        self._ledger = open_ledger(url, name, journal=path)
        self._work = Work(name, self.recorder, world, begun)
        self._tasks = [asyncio.ensure_future(
            Synchronizer(path, self._ledger, self.recorder.synced).run())]

    def work(self, min_idle: float) -> None:
        """Take requests."""
        self._tasks.append(asyncio.ensure_future(self._take_requests(min_idle)))
        asyncio.get_running_loop().call_later(2 * min_idle, self._work.abandon, self._left)

    async def _take_requests(self, min_idle: float) -> None:
        await asyncio.sleep(random.uniform(0.0, BLOCK))  # robots do not start at the same moment
        await OperationConsumer(self._ledger, STREAM, GROUP, self._work, name=self.name,
                                min_idle=min_idle).run()

    def work_bare(self) -> None:
        """Take requests as a program without any guarantee would."""
        self._tasks.append(asyncio.ensure_future(bare_worker(self._url, self.name)))

    async def write_rows(self, rate: float, count: int) -> None:
        """Write `count` rows of own actions, one after the other, `rate` a second."""
        flow_id = f'own.{self.recorder.journal.last_seq()}'
        start = time.monotonic() + random.random() / rate
        for number in range(count):
            await asyncio.sleep(max(0.0, start + number / rate - time.monotonic()))
            action, step = divmod(number, len(WALK) - 1)
            self.recorder.append(Entry(
                'transition', flow_id, f'pick_{action}', 1, f'to_{WALK[step + 1]}', WALK[step],
                WALK[step + 1], data=EVIDENCE, final=step == len(WALK) - 2))


async def bare_worker(url: str, name: str) -> None:
    """Take each request, store a result and acknowledge it, with redis-py alone."""
    client = redis.asyncio.Redis.from_url(url, decode_responses=True)
    while True:
        for _, entries in await client.xreadgroup(
                GROUP, name, {STREAM: '>'}, count=1, block=1000):
            for message_id, fields in entries:
                await client.set(f"bare:{fields['trace_id']}", name)
                await client.xack(STREAM, GROUP, message_id)


async def main(folder: str, url: str, *names: str) -> None:
    """Serve some robots."""
    logging.disable(logging.WARNING)  # faults are made on purpose
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    begun: list[tuple[str, str, float]] = []
    world = World(Path(folder) / WORLD)
    robots = [Robot(Path(folder), url, name, world, begun) for name in names]
    writing: list[asyncio.Future[None]] = []
    print('ready', flush=True)
    while line := await lines.readline():
        order = json.loads(line)
        if 'work' in order:
            for robot in robots:
                robot.work(order['work'])
        if 'bare' in order:
            for robot in robots:
                robot.work_bare()
        if 'rows' in order:
            writing = [asyncio.ensure_future(robot.write_rows(*order['rows']))
                       for robot in robots]
        if 'report' in order:
            await asyncio.gather(*writing)
            while any(robot.recorder.waits for robot in robots):
                await asyncio.sleep(0.05)
            lags = [round(lag, 4) for robot in robots for lag in robot.recorder.lags]
            print(json.dumps({'lags': lags, 'begun': begun}), flush=True)
            begun.clear()
            for robot in robots:
                robot.recorder.lags.clear()


if __name__ == '__main__':
    asyncio.run(main(*sys.argv[1:]))
