# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows written in Python, run from nodes of rclpy on the simulated cell."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
import json
from pathlib import Path
import threading
from typing import Any

from action_lifecycle.documents.errors import DocumentError, LifecycleError
from action_lifecycle.flow.authoring import condition, facts, Flow, motion
from action_lifecycle.ros.flow_client import FlowClient
from action_lifecycle_msgs.msg import ErrorCode
from control_msgs.action import FollowJointTrajectory
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor

from .system import System


def move_to(seconds: int = 1) -> Flow:
    flow = Flow('move', defaults={'resources': ['arm']})
    x = flow.parameter('x', 0.3, unit='m')
    flow.action(
        'move',
        motion('arm_controller/follow_joint_trajectory', FollowJointTrajectory, {'trajectory': {
            'joint_names': ['x_joint'],
            'points': [{'positions': [x], 'time_from_start': {'sec': seconds}}]}}),
        stopped=condition(facts.speed < 0.01, hold=0.1),
        confirm=condition(abs(facts.tool[0] - x) < 0.01, hold=0.2, within=20))
    return flow


@pytest.fixture(scope='module')
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    system = System(tmp_path_factory.mktemp('system'), composed=True)
    system.start_all()
    yield system
    system.close()


@pytest.fixture
def node(system: System) -> Iterator[Any]:
    node = rclpy.create_node('user', context=system.context)
    yield node
    node.destroy_node()


@pytest.fixture
def spun(system: System, node: Any) -> Iterator[Any]:
    """Yield a node that another thread spins."""
    executor = SingleThreadedExecutor(context=system.context)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    yield node
    executor.shutdown()
    thread.join(10.0)


def test_a_flow_is_run_by_a_node_that_nobody_spins(system: System, node: Any) -> None:
    told: list[Any] = []
    end = FlowClient(node).run(move_to(), {'x': 0.25}, timeout=60, on_status=told.append)
    assert (end.error_code, end.error_msg, end.outcomes) == (
        ErrorCode.NONE, 'FINISH', {'move': 'succeeded'}), system.logs()
    assert told[-1].flow_id == end.flow_id
    rows = system.rows(flow_id=end.flow_id, kind='flow')
    assert rows[0].actor == '/user'
    assert FlowClient(node).run(move_to(), {'x': 0.3}, timeout=60).error_code == ErrorCode.NONE


def test_while_another_thread_spins_it_blocks_or_is_awaited(spun: Any) -> None:
    client = FlowClient(spun)
    assert client.run(move_to(), {'x': 0.28}, timeout=60).outcomes == {'move': 'succeeded'}

    async def in_asyncio() -> Any:
        return await client.start(move_to(), {'x': 0.3}).in_asyncio()
    assert asyncio.run(in_asyncio()).outcomes == {'move': 'succeeded'}

    ended: list[Any] = []

    async def in_rclpy() -> None:
        ended.append((await client.start(move_to(), {'x': 0.26})).outcomes)
    over = threading.Event()
    spun.executor.create_task(in_rclpy).add_done_callback(lambda done: over.set())
    assert over.wait(60.0) and ended == [{'move': 'succeeded'}]


def test_in_a_callback_run_says_what_to_use_instead(spun: Any) -> None:
    client, said, over = FlowClient(spun), [], threading.Event()

    def callback() -> None:
        try:
            client.run(move_to())
        except LifecycleError as error:
            said.append(str(error))
        over.set()
    spun.executor.create_task(callback)
    assert over.wait(30.0)
    assert said == ['run() was called in a callback of the executor that it waits for; use '
                    '`await client.start(…)` in a coroutine']


def test_a_node_that_was_spun_before_is_spun_again(system: System, node: Any) -> None:
    client = FlowClient(node)
    executor = SingleThreadedExecutor(context=system.context)
    for _ in range(3):  # as rclpy.spin_once does
        executor.add_node(node)
        executor.spin_once(timeout_sec=0.1)
        executor.remove_node(node)
    assert node.executor is executor
    assert client.run(move_to(), {'x': 0.27}, timeout=60).outcomes == {'move': 'succeeded'}


def test_the_parameters_of_a_loaded_flow_are_those_it_was_loaded_with(
    system: System, node: Any
) -> None:
    end = FlowClient(node).run(move_to().load(x=0.22), timeout=60)
    evidence, = [row for row in system.rows(flow_id=end.flow_id, action_id='move')
                 if row.event == 'confirmed']
    assert '0.22' in json.dumps(evidence.data)


def test_what_is_wrong_is_said_before_anything_is_sent(node: Any) -> None:
    client = FlowClient(node)
    for flow, given, options, said in (
            (Path('x.yaml'), None, {}, 'expected a Flow, a loaded flow, YAML text, or the name'),
            (move_to(), 3, {}, 'parameters: expected a mapping of names to values, got 3'),
            (move_to(), {}, {'flow_id': 3}, 'flow_id: expected a text, got 3'),
            ('x', {'x': {1, 2}}, {}, "parameter 'x': Object of type set")):
        with pytest.raises(TypeError, match=said):
            client.run(flow, given, **options)
    nobody = FlowClient(node, 'nobody')
    with pytest.raises(LifecycleError, match="the action '/nobody/execute_flow' is not there "
                       r'\(seen: /action_lifecycle/execute_flow\)'):
        nobody.run(move_to(), timeout=1.0)


def test_at_the_time_limit_the_flow_is_canceled(system: System, node: Any) -> None:
    with pytest.raises(LifecycleError, match=r'not done within 2 s; it was canceled.*'
                       r'; at the time limit: move is \w'):
        FlowClient(node).run(move_to(30), {'x': 0.1}, timeout=2.0, flow_id='late')
    assert system.rows(flow_id='late', action_id='move')[-1].data['outcome'] == 'canceled'


def test_faults_name_the_lines_of_this_file(node: Any) -> None:
    flow = move_to()
    flow.action('twice', motion('x', FollowJointTrajectory), confirm='tool[0] >')
    client = FlowClient(node)
    with pytest.raises(DocumentError) as raised:  # found before anything is sent
        client.run(flow)
    fault, = raised.value.faults
    lines = Path(__file__).read_text(encoding='utf-8').splitlines()
    assert Path(fault.file) == Path(__file__) and "confirm='tool[0] >'" in lines[fault.line - 1]

    wrong = Flow('wrong')
    wrong.action('go', motion('arm_controller/follow_joint_trajectory', FollowJointTrajectory, {
        'trajectory': {'points': [{'positions': ['far']}]}}), confirm=facts.tool[0] > 0)
    end = client.run(wrong, timeout=60)  # only the node knows the types of elements
    assert end.error_code in (ErrorCode.GOAL_INVALID, ErrorCode.FLOW_INVALID), end
    place, said = end.error_msg.split(': ', 1)
    assert place.startswith(f'{__file__}:') and 'far' in said, end.error_msg
    assert "'positions': ['far']" in lines[int(place.split(':')[1]) - 1]


def test_a_flow_outlives_the_action_node(system: System, spun: Any) -> None:
    away: list[bool] = []
    run = FlowClient(spun).start(move_to(4), {'x': 0.1}, on_away=away.append)
    system.until(lambda: run.status and any(
        'executing' in action.progress_text for action in run.status.actions), 60, 'it moves')
    system.kill('composed')
    system.until(lambda: away, 60, 'it is told that the node has gone')
    assert away == [True] and not run.done.done()
    system.start('composed')
    system.until(run.done.done, 90, 'the flow ends')
    assert run.done.result().outcomes == {'move': 'succeeded'}, system.logs()
    rows = system.rows(flow_id=run.flow_id, action_id='move')
    assert len([row for row in rows if row.to_state == 'executing_motion']) == 1
