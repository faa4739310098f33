# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""New rows are told when there are any, also while one look takes long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
import time

from action_lifecycle.viewer.follower import Follower
from action_lifecycle.viewer.record.shown import Update
from action_lifecycle.viewer.robots import Heard, Robot, ROWS

CHANGED = Update({'f': frozenset({'a'})})


class Record:
    """Returns what a test puts into `updates`; raises what is an exception."""

    def __init__(self, *updates: Update | Exception) -> None:
        self.updates = list(updates)
        self.looks = 0
        self.may_end = asyncio.Event()  #: of a look
        self.may_end.set()

    async def update(self) -> Update:
        self.looks += 1
        await self.may_end.wait()
        found = self.updates.pop(0) if self.updates else Update()
        if isinstance(found, Exception):
            raise found
        return found


async def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 30.0
    while not done():
        assert time.monotonic() < end
        await asyncio.sleep(0.001)


def followed(record: Record) -> list[Heard]:
    """Return what is told until all updates were looked at, and one look more."""
    heard: list[Heard] = []

    async def follow() -> None:
        robot = Robot('one', record)
        robot.listen(heard.append)
        looks = len(record.updates) + 2
        task = asyncio.ensure_future(Follower(robot, 0.001).run())
        await until(lambda: record.looks >= looks)
        task.cancel()

    asyncio.run(follow())
    return heard


def test_only_changes_are_told() -> None:
    lost = Update(lost='no file')
    heard = followed(Record(
        Update(), CHANGED, Update(), lost, lost, Update(), Update(new_flows=True)))
    assert heard == [Heard(ROWS, update) for update in (
        CHANGED, lost, Update(), Update(new_flows=True))]


def test_many_signs_during_a_look_cause_one_more() -> None:
    record = Record()

    async def follow() -> None:
        follower = Follower(Robot('one', record), 1000.0)
        record.may_end.clear()
        task = asyncio.ensure_future(follower.run())
        await until(lambda: record.looks == 1)
        for _ in range(6):
            follower.soon()
            await asyncio.sleep(0)
        record.may_end.set()
        await until(lambda: record.looks == 2)
        for _ in range(20):
            await asyncio.sleep(0)
        task.cancel()

    asyncio.run(follow())
    assert record.looks == 2


def test_a_failed_look_is_told_and_the_next_one_follows() -> None:
    heard = followed(Record(ValueError('of a row'), CHANGED))
    assert heard[0].update is not None and heard[0].update.lost == 'ValueError: of a row'
    assert heard[1].update == CHANGED
