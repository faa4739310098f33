# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""New rows are told when there are any, also while one look takes long."""

from __future__ import annotations

import asyncio

from action_lifecycle.viewer.follower import Follower
from action_lifecycle.viewer.record.shown import Update
from action_lifecycle.viewer.robots import Heard, Robot, ROWS

CHANGED = Update({'f': frozenset({'a'})})


class Record:
    """Returns what a test puts into `updates`; raises what is an exception."""

    def __init__(self, *updates: Update | Exception) -> None:
        self.updates = list(updates)
        self.looks = 0

    async def update(self) -> Update:
        self.looks += 1
        await asyncio.sleep(0.02)
        found = self.updates.pop(0) if self.updates else Update()
        if isinstance(found, Exception):
            raise found
        return found


def followed(record: Record, seconds: float, calls: int = 0, period: float = 30.0) -> list[Heard]:
    heard: list[Heard] = []

    async def follow() -> None:
        robot = Robot('one', record)
        robot.listen(heard.append)
        follower = Follower(robot, period)
        task = asyncio.ensure_future(follower.run())
        for _ in range(calls):
            await asyncio.sleep(0.002)
            follower.soon()
        await asyncio.sleep(seconds)
        task.cancel()

    asyncio.run(follow())
    return heard


def test_only_changes_are_told() -> None:
    lost = Update(lost='no file')
    heard = followed(Record(Update(), CHANGED, Update(), lost, lost, Update(), Update(
        new_flows=True)), 0.5, period=0.01)
    assert heard == [Heard(ROWS, update) for update in (
        CHANGED, lost, Update(), Update(new_flows=True))]


def test_many_signs_during_a_look_cause_one_more() -> None:
    record = Record()
    followed(record, 0.2, calls=6)
    assert 2 <= record.looks <= 3


def test_a_failed_look_is_told_and_the_next_one_follows() -> None:
    heard = followed(Record(ValueError('of a row'), CHANGED), 0.3, period=0.01)
    assert heard[0].update is not None and heard[0].update.lost == 'ValueError: of a row'
    assert heard[1].update == CHANGED
