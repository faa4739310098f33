# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Robots share flows by a Redis stream; each is done once, whoever dies."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
import textwrap
import time
from types import SimpleNamespace
from typing import Any

from action_lifecycle.fleet import FlowTasks, LedgerRefused, open_ledger, SmartLedger
from action_lifecycle.journal import Entry, Journal
from action_lifecycle.nodes.ledger.fleet_work import FleetWork
import pytest

from .fleet_rig import Fleet, fleet, FLOW, IDLE

__all__ = ['fleet']  # a fixture


@pytest.mark.long
def test_robot_lost_before_its_first_motion_is_replaced_and_can_not_move_when_it_comes_back(
    fleet: Fleet
) -> None:
    for robot in fleet.robots:
        robot.start()
    fleet.ask('t', flow=FLOW, requester='shop')
    lost, other = fleet.until_one(
        lambda robot: robot.question('action_lifecycle', 'verify'), 30.0, 'one has begun')
    assert fleet.state('t') == 'INFERRING'
    fleet.until(lambda: [(one.name, one.held, one.expires.sec) for one in lost.sync.leases] == [
        ('t', True, 0)], 15.0, 'it holds its claim, but may not move yet')
    lost.kill()
    fleet.until(lambda: other.question('action_lifecycle', 'verify'), IDLE + 20.0,
                'the other one has taken over')
    other.respond('action_lifecycle', 'verify', 'completed')
    fleet.until(lambda: fleet.state('t') == 'COMPLETED', 20.0, 'it is done')
    assert (lost.goals, other.goals) == (0, 1)
    result = json.loads(fleet.redis.client.get('sg:result:t'))
    assert (result['robot'], result['flow_id'], result['state']) == (
        f'/{other.name}', 't.2', 'FINISH')
    lost.start()
    fleet.until(lambda: lost.question('action_lifecycle', 'verify'), 20.0, 'it goes on')
    lost.respond('action_lifecycle', 'verify', 'completed')
    failed = fleet.until(lambda: [row for row in lost.rows(action_id='grip')
                                  if row.to_state == 'terminated'], 30.0, 'it gives up')
    assert failed[0].data['outcome'] == 'failed' and lost.goals == 0
    assert 'LEASE_LAPSED' in [row.data.get('error_code') for row in lost.rows(action_id='grip')]


@pytest.mark.long
def test_after_the_first_motion_a_person_decides_and_a_robot_that_comes_back_goes_on(
    fleet: Fleet
) -> None:
    flow = FLOW.replace('    verify: [{by: operator, timeout: 120.0}]\n', '')
    for robot in fleet.robots:
        robot.hold = True
        robot.start()
    fleet.ask('t', flow=flow)
    lost, other = fleet.until_one(lambda robot: robot.goals, 30.0, 'one moves')
    assert fleet.redis.client.hget('sg:trace:t', 'moved') == '1'
    fleet.until(lambda: lost.sync.leases and lost.sync.leases[0].expires.sec, 15.0, 'it is told')
    lost.kill()
    question = fleet.until(lambda: other.question('ledger', 'takeover'), IDLE + 20.0,
                           'a person is asked')
    assert list(question.options) == ['take_over', 'give_up'] and other.goals == 0
    other.hold = False
    other.respond('ledger', 'takeover', 'take_over')
    fleet.until(lambda: fleet.state('t') == 'COMPLETED', 20.0, 'it is done')
    assert (lost.goals, other.goals) == (1, 1)
    assert not other.question('ledger', 'takeover')

    other.kill()  # the next one is for the robot that comes back
    lost.release.set_result(None)
    lost.hold = False
    lost.start()
    fleet.ask('u', flow=flow)
    fleet.until(lambda: fleet.state('u') == 'COMPLETED', 40.0, 'the next one is done')
    lost.hold, lost.release = True, type(lost.release)()
    moved = lost.goals
    fleet.ask('v', flow=flow)
    fleet.until(lambda: lost.goals > moved, 20.0, 'it moves')
    lost.kill()
    lost.start()  # before anybody else has noticed
    fleet.until(lambda: lost.sync.leases, 20.0, 'it holds its claim again')
    lost.release.set_result(None)
    fleet.until(lambda: fleet.state('v') == 'COMPLETED', 30.0, 'it has gone on')
    assert lost.goals == moved + 1
    assert not fleet.redis.client.exists('{flows}:dead')


def test_ledger_node_that_falls_silent_stops_the_next_motion_and_not_the_one_that_runs(
    fleet: Fleet
) -> None:
    robot = fleet.robots[0]
    robot.hold = True
    robot.start('world_model_bridge', 'ledger', 'action_lifecycle_node', work_min_idle=6.0)
    grip = FLOW.partition('  grip:\n    after: look\n')[2]
    fleet.ask('t', flow=f'flow: two\nactions:\n  one:\n{grip}  two:\n    after: one\n{grip}')
    fleet.until(lambda: robot.goals, 30.0, 'it moves')
    robot.kill('ledger')
    began = time.monotonic()
    fleet.until(lambda: time.monotonic() - began > 6.5, 10.0, 'the claim has lapsed')
    robot.release.set_result(None)
    ended = fleet.until(lambda: [row for row in robot.rows(action_id='two')
                                 if row.to_state == 'terminated'], 20.0, 'it gives up')
    assert robot.rows(action_id='one')[-1].data['outcome'] == 'succeeded'
    assert ended[0].data['outcome'] == 'failed' and robot.goals == 1
    assert 'LEASE_LAPSED' in [row.data.get('error_code') for row in robot.rows(action_id='two')]


@pytest.mark.long
def test_a_flow_inside_a_shared_flow_moves_only_while_the_claim_of_that_one_is_held(
    fleet: Fleet
) -> None:
    robot = fleet.robots[0]
    robot.hold = True
    robot.start('world_model_bridge', 'ledger', 'action_lifecycle_node', work_min_idle=6.0)
    grip = FLOW.partition('  grip:\n    after: look\n')[2]
    inner = f'  one:\n{grip}  two:\n    after: one\n{grip}'
    fleet.ask('t', flow=f"""\
flow: outer
actions:
  fetch:
    flow:
      flow:
        flow: inner
        actions:
{textwrap.indent(inner, ' ' * 8)}""")
    fleet.until(lambda: robot.goals, 30.0, 'it moves')
    assert [row.flow_id for row in robot.rows(action_id='one')][0] == 't.1/fetch'
    # The ledger has recorded the first motion before it began, and tells of one claim only.
    assert fleet.redis.client.hget('sg:trace:t', 'moved') == '1'
    assert [(lease.flow_id, lease.name, lease.held) for lease in robot.sync.leases] == [
        ('t.1', 't', True)]
    robot.kill('ledger')
    began = time.monotonic()
    fleet.until(lambda: time.monotonic() - began > 6.5, 10.0, 'the claim has lapsed')
    robot.release.set_result(None)
    fleet.until(lambda: [row for row in robot.rows(action_id='fetch')
                         if row.to_state == 'terminated'], 30.0, 'it gives up')
    ends = {name: robot.rows(action_id=name)[-1].data['outcome']
            for name in ('one', 'two', 'fetch')}
    assert ends == {'one': 'succeeded', 'two': 'failed', 'fetch': 'failed'}
    assert robot.goals == 1
    assert 'LEASE_LAPSED' in [row.data.get('error_code') for row in robot.rows(action_id='two')]


@pytest.mark.parametrize(('flow_id', 'moved'), [
    ('t.1', True), ('t.1/fetch', True), ('t.1/fetch/pick', True), ('t.10/fetch', False)])
def test_first_motion_of_a_request_may_be_in_a_flow_inside(
    tmp_path: Path, flow_id: str, moved: bool
) -> None:
    work: Any = object.__new__(FleetWork)  # without a middleware
    work._node = SimpleNamespace(call_soon=lambda call: None, get_namespace=lambda: '/r1')
    work._changed, work.ready = None, lambda: True
    operation: Any = SimpleNamespace(moved=False)

    async def start_motion() -> None:
        assert not operation.moved
        operation.moved = True
    operation.start_motion = start_motion
    with Journal(tmp_path / 'journal') as journal:
        work._reader = lambda: journal
        journal.append(Entry('flow', 't.1', '', event='accepted'))
        for _ in range(2):
            journal.append(Entry('transition', flow_id, 'one', to_state='executing_motion'))
        journal.append(Entry('flow', 't.1', '', to_state='FINISH', final=True))
        result = asyncio.run(work._follow(operation, 't.1', None, {}))
    assert result['state'] == 'FINISH' and operation.moved is moved


NEVER = {
    'no flow': ({'kind': 'yaml'}, "the request has no field 'flow'"),
    'invalid': ({'flow': 'flow: x\nactions: {a: {motion: 1}}\n'}, "field 'motion"),
    'kind': ({'flow': FLOW, 'kind': 'yamel'}, "kind 'yamel'"),
    'parameters': ({'flow': FLOW, 'parameters_json': '{"x": 1}'}, 'x'),
    'JSON': ({'flow': FLOW, 'parameters_json': '{'}, 'parameters_json'),
    'priority': ({'flow': FLOW, 'priority': '5000000000'}, 'priority: expected an integer'),
    'cycle': ({'flow': 'flow: x\nactions:\n  a: {after: b, confirm: gap > 0}\n'
                       '  b: {after: a, confirm: gap > 0}\n'}, 'wait for one another')}
"""Requests that can never succeed: their fields, and what their reason contains."""


def test_flow_that_nobody_can_run_is_one_dead_letter(fleet: Fleet) -> None:
    robot = fleet.robots[0]
    robot.start(work_min_idle=0.5)
    for trace, (fields, _) in NEVER.items():
        fleet.ask(trace, **fields)
    # what is missing now may be there at the next try, or on another robot
    fleet.ask('away', flow=FLOW.replace('server: gripper', 'server: away'
                                        ).replace('type:', 'server_timeout: 0.1\n      type:'))
    fleet.ask('unknown', flow='no_such_flow')
    count = len(NEVER) + 2
    dead = fleet.until(lambda: len(fleet.redis.client.xrange('{flows}:dead')) == count
                       and fleet.redis.client.xrange('{flows}:dead'), 40.0, 'all are given up')
    letters = {letter['trace_id']: letter for _, letter in dead}
    for trace, (_, reason) in NEVER.items():
        assert reason in letters[trace]['error'], letters[trace]
    assert "no action server 'away'" in letters['away']['error']
    assert "there is no flow 'no_such_flow' in " in letters['unknown']['error']
    assert {trace: letter['attempt'] for trace, letter in letters.items()} == {
        **dict.fromkeys(NEVER, '1'), 'away': '3', 'unknown': '3'}
    assert {letter['original_stream'] for letter in letters.values()} == {'flows'}
    assert fleet.redis.client.xinfo_groups('flows')[0]['pending'] == 0
    assert robot.goals == 0


@pytest.mark.long
def test_smart_ledger_shows_the_flow_that_a_robot_runs(fleet: Fleet) -> None:
    robot = fleet.robots[0]
    robot.start()
    fleet.ask('t', flow=FLOW)
    reader = open_ledger(fleet.redis.url, robot.name).reader()
    session = SmartLedger('t.1', FlowTasks(reader))

    def statuses() -> list[tuple[str, str]]:
        return [(name, task.status.value) for name, task in session.tasks.items()]
    fleet.until(lambda: robot.question('action_lifecycle', 'verify'), 40.0, 'a person is asked')
    fleet.until(lambda: statuses() == [('look', 'VALIDATING'), ('grip', 'PENDING')], 20.0,
                'the flow is in the ledger')
    robot.respond('action_lifecycle', 'verify', 'completed')
    fleet.until(lambda: statuses() == [('look', 'COMPLETED'), ('grip', 'COMPLETED')], 30.0,
                'both are done')
    assert [one.event for one in session.history('grip')][:2] == ['IN_PROGRESS'] * 2
    record = reader.record('t.1', 'grip')
    assert (record['ledger_status'], record['blocked_reason']) == ('COMPLETED', '')
    with pytest.raises(LedgerRefused, match="robot 'r1', whose journal is its only source"):
        session.claim('grip')
    reader.close()
