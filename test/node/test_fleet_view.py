# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The fleet as people see it, with real nodes: reports, claims, dead letters sent again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from action_lifecycle.fleet import open_ledger
from action_lifecycle.fleet.fleet_view import FleetView
from action_lifecycle.fleet.robot_status import RobotStatus
from action_lifecycle.fleet.work_status import StreamWork
from action_lifecycle.journal import Entry, Journal
from action_lifecycle_msgs.msg import LedgerSync
import pytest

from .fleet_rig import Fleet, fleet, FLOW, IDLE, STREAM
from .test_ledger_sync import redis_server, start

__all__ = ['fleet', 'redis_server', 'start']  # fixtures


def read(url: str, work: Callable[[FleetView], Awaitable[Any]]) -> Any:
    """Return what a coroutine returns for the fleet of a ledger."""
    async def run() -> Any:
        ledger = open_ledger(url)
        try:
            return await work(ledger.fleet)
        finally:
            await ledger.close()
    return asyncio.run(run())


def robots(url: str) -> dict[str, RobotStatus]:
    return {one.robot: one for one in read(url, lambda view: view.robots())}


def work(url: str) -> StreamWork:
    found: StreamWork = read(url, lambda view: view.work(STREAM, 'robots'))
    return found


def test_the_ledger_node_reports_its_sync_and_goes_on_after_the_server_was_away(
        redis_server: Any, start: Any, tmp_path: Path) -> None:
    journal = Journal(tmp_path / 'journal')
    journal.append(Entry('transition', 'pick-1', 'grasp', 1, 'start', 'assigned', 'in_progress'))
    rig = start(redis_server.url)
    rig.node.start()
    found: list[RobotStatus] = []

    def reported(seq: int) -> bool:
        found[:] = robots(redis_server.url).values()
        return bool(found) and found[0].report is not None and found[0].report.ledger_seq == seq
    rig.until(lambda: reported(1))
    one, = found
    assert (one.robot, one.silent, one.seq) == ('robot', False, 1)
    assert one.report is not None
    assert (one.report.state, one.report.streams, one.report.ready) == ('connected', (), False)
    assert [(each.flow_id, each.action_id, each.state) for each in one.activities] == [
        ('pick-1', 'grasp', 'in_progress')]
    redis_server.kill()
    rig.until(lambda: rig.told.state == LedgerSync.DISCONNECTED)
    journal.append(Entry('transition', 'pick-1', 'lift', 1, 'start', 'assigned', 'in_progress'))
    redis_server.start()
    rig.until(lambda: reported(2), 40.0)
    journal.close()


@pytest.mark.long
def test_a_request_that_was_given_up_is_sent_again_and_done_by_another_robot(
        fleet: Fleet) -> None:
    url = fleet.redis.url
    for robot in fleet.robots:
        robot.start()
    fleet.until(lambda: [one.report is not None and one.report.ready
                         for one in robots(url).values()] == [True] * len(fleet.robots), 30.0,
                'all robots can take work')
    fleet.ask('t', flow=FLOW, requester='shop')
    lost, other = fleet.until_one(
        lambda robot: robot.question('action_lifecycle', 'verify'), 30.0, 'one has begun')

    def is_seen() -> bool:
        one = robots(url)[lost.name]
        return one.report is not None and [
            (claim.name, claim.held) for claim in one.report.claims] == [('t', True)] and any(
            (each.action_id, each.ledger_status) == ('look', 'VALIDATING')
            for each in one.activities)
    fleet.until(is_seen, 20.0, 'its claim and what it does are seen')
    request, = work(url).runs
    assert (request.trace_id, request.worker) == ('t', lost.name)
    lost.hold = True
    lost.respond('action_lifecycle', 'verify', 'completed')
    fleet.until(lambda: lost.goals == 1, 30.0, 'it moves')
    lost.kill()
    fleet.until(lambda: robots(url)[lost.name].silent, 20.0, 'it is silent')
    assert not robots(url)[other.name].silent
    fleet.until(lambda: other.question('ledger', 'takeover'), IDLE + 20.0, 'a person is asked')
    other.respond('ledger', 'takeover', 'give_up')
    fleet.until(lambda: work(url).dead == 1, 20.0, 'it is a dead letter')
    letter, = read(url, lambda view: view.dead_letters(STREAM))
    assert letter.trace_id == 't' and 'lost after its first motion' in letter.error
    sent = read(url, lambda view: view.resend(STREAM, letter.letter_id, 'anna'))
    fleet.until(lambda: other.question('action_lifecycle', 'verify'), 30.0, 'it begins again')
    other.respond('action_lifecycle', 'verify', 'completed')
    fleet.until(lambda: fleet.state(sent.trace_id) == 'COMPLETED', 30.0, 'it is done')
    assert (lost.goals, other.goals) == (1, 1)
    assert fleet.state('t') == 'ERRORED'
    done = work(url)
    assert (done.waiting, done.running, done.dead) == (0, 0, 0)
    assert {row.flow_id for row in other.rows(action_id='grip')} == {f'{sent.trace_id}.1'}
