# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A server that goes away is one line in the log of a process, under the ledger node's name."""

from __future__ import annotations

from functools import partial
import time

from action_lifecycle_msgs.msg import LedgerSync
from rcl_interfaces.msg import Log

from .fleet_rig import Fleet, fleet, FLOW, STREAM

__all__ = ['fleet']  # a fixture


def is_past(moment: float) -> bool:
    return time.monotonic() > moment


def test_server_that_goes_away_is_one_line_of_the_ledger_node(fleet: Fleet) -> None:
    robot = fleet.robots[0]
    logged: list[tuple[str, str]] = []
    fleet.node.create_subscription(
        Log, '/rosout', lambda message: logged.append((message.name, message.msg)), 1000)
    robot.start()

    def faults() -> list[tuple[str, str]]:
        return [(name, text) for name, text in logged if 'the server at' in text]
    fleet.until(lambda: robot.sync.state == LedgerSync.CONNECTED
                and fleet.redis.client.exists(STREAM), 30.0, 'it waits for requests')
    for outage in 1, 2:  # while its worker waits for a request, and while it has one
        fleet.redis.kill()
        fleet.until(lambda: robot.sync.state == LedgerSync.DISCONNECTED, 20.0, 'it is noticed')
        later = time.monotonic() + 3.0  # all parts of the node try several times
        fleet.until(partial(is_past, later), 10.0, 'all have tried')
        fleet.redis.start()
        fleet.until(lambda: robot.sync.state == LedgerSync.CONNECTED, 30.0, 'it is back')
        assert {name for name, _ in faults()} == {f'{robot.name}.ledger'}, faults()
        assert len(faults()) == outage, faults()
        if outage == 1:
            fleet.ask('t', flow=FLOW)
            fleet.until(lambda: robot.question('action_lifecycle', 'verify'), 30.0, 'it works')
    robot.respond('action_lifecycle', 'verify', 'completed')
    fleet.until(lambda: fleet.state('t') == 'COMPLETED', 30.0, 'the request is done')
