# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Orders while processes are killed and brokers restarted: ten robots, and one at any moment."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
import random
import time

import pytest
from unit.vda5050.fleet_manager import Journey
from unit.vda5050.orders import action

from .vda5050_rig import Vda5050Rig

ROBOTS = [f'{number:04}' for number in range(1, 11)]
STOPS = [2, 3, 5, 8, 9]
RESTARTS, KILLS = 3, 4
PAUSE = 6.0  # s between two faults


@pytest.mark.long
@pytest.mark.timeout(900)
def test_ten_robots_do_their_orders_once_in_spite_of_restarts(tmp_path: Path) -> None:
    chance = random.Random(5050)
    rig = Vda5050Rig(tmp_path)
    try:
        for robot in ROBOTS:
            rig.add(robot, takes=1.5, drives=STOPS[-1])
        for robot in ROBOTS:
            rig.until_ready(robot, 200.0)
        works = {robot: {number: [action('lift', 'HARD', height=0.1)] for number in (3, 8)}
                 for robot in ROBOTS}
        journeys = [Journey(rig.fleet, robot, f'tour-{robot}', STOPS, works[robot])
                    for robot in ROBOTS]
        faults = ['broker'] * RESTARTS + ['node'] * KILLS
        chance.shuffle(faults)
        next_at = time.monotonic() + PAUSE

        def all_done() -> bool:
            nonlocal next_at
            if faults and time.monotonic() > next_at:
                if faults.pop() == 'broker':
                    rig.broker.restart()
                else:
                    robot = chance.choice(ROBOTS)
                    rig.kill(robot, 'vda5050')
                    rig.start_node(robot)
                next_at = time.monotonic() + PAUSE
            done = [journey.go_on() for journey in journeys]
            return all(done) and not faults

        rig.until(all_done, 400.0, 'all robots are done')
        for robot in ROBOTS:
            # A flow moves each drive once, whoever sends the order again.
            moved = Counter(row.action_id for row in rig.rows(robot, kind='transition')
                            if row.to_state == 'executing_motion')
            assert moved == Counter({
                **{f'drive_{2 * number}': 1 for number in range(1, STOPS[-1] + 1)},
                'node_6_action_0': 1, 'node_16_action_0': 1}), robot
            assert len(rig.goals(robot)) == STOPS[-1] and len(rig.goals(robot, 'lift')) == 2
            for works_of in works[robot].values():
                assert rig.fleet.status(robot, works_of[0]['actionId']) == 'FINISHED'
        assert rig.fleet.faults == []
        print('orders that were sent again:', sum(one.repeated for one in journeys))
    finally:
        rig.close()


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize('victims', [('vda5050',), ('vda5050', 'composed')], ids='+'.join)
def test_an_order_is_done_once_whenever_the_node_is_killed(
    tmp_path: Path, victims: tuple[str, ...]
) -> None:
    chance = random.Random(len(victims))
    robot, rounds = '0001', 8
    rig = Vda5050Rig(tmp_path)
    try:
        rig.add(robot, takes=0.4, drives=3 * rounds)
        rig.until_ready(robot, 60.0)
        for number in range(rounds):
            first = 3 * number
            journey = Journey(rig.fleet, robot, f'round-{number}',
                              [first + 1, first + 3], {}, first=first)
            kill_at = time.monotonic() + chance.uniform(0.0, 1.5)
            journey.go_on()

            def goes_on(journey: Journey = journey, kill_at: float = kill_at) -> bool:
                journey.go_on()
                return time.monotonic() > kill_at

            rig.until(goes_on, 20.0, 'the time to kill')
            for victim in victims:
                rig.kill(robot, victim)
            rig.start_node(robot)
            if 'composed' in victims:
                rig.start_nodes(robot)
            rig.until(journey.go_on, 60.0, f'round {number} is done')
        moved = Counter(row.action_id for row in rig.rows(robot, kind='transition')
                        if row.event == 'assigned' or row.from_state == 'assigned')
        assert moved == Counter(f'drive_{2 * number}' for number in range(1, 3 * rounds + 1))
        assert len(rig.goals(robot)) == 3 * rounds
        assert rig.fleet.faults == []
    finally:
        rig.close()
