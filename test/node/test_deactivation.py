# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Deactivation in the middle of a motion: it stops, nothing is lost, activation goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import time
from typing import Any

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import pytest

from .system import System
from .test_flow_on_cell import finish, flow_file


@pytest.fixture
def system(tmp_path: Path) -> Iterator[System]:
    system = System(tmp_path)
    for name in ('action_lifecycle', 'world_model_bridge'):
        system.client(ChangeState, f'{name}/change_state')
    yield system
    system.close()


def change(system: System, name: str, transition: int) -> Any:
    client = system.client(ChangeState, f'{name}/change_state')
    system.until(client.service_is_ready, 40.0, f'{name} is there')
    call = client.call_async(ChangeState.Request(transition=Transition(id=transition)))
    system.until(call.done, 40.0, f'{name} answers')
    return call.result().success


def test_the_action_node_stops_the_motion_and_asks_when_it_is_active_again(
    system: System, tmp_path: Path
) -> None:
    system.start_all()
    run = system.run(flow_file(tmp_path, seconds=20, within=2.0))
    system.until_state('move', 'executing_motion')
    system.until(lambda: system.motions.get('arm_controller'), 40.0, 'the arm moves')
    assert change(system, 'action_lifecycle', Transition.TRANSITION_DEACTIVATE)
    code, output = finish(run, 20.0)
    assert code != 0 and 'active again' in ' '.join(output.split()), output
    assert system.rows(action_id='move')[-1].to_state == 'executing_motion'
    system.until(lambda: change(system, 'action_lifecycle', Transition.TRANSITION_ACTIVATE), 10,
                 'active, once the motion was seen to stop')
    system.until_state('move', 'fallback_requested')  # it stopped short of its goal
    assert system.motions['arm_controller'] == 1
    assert change(system, 'action_lifecycle', Transition.TRANSITION_DEACTIVATE)
    assert change(system, 'action_lifecycle', Transition.TRANSITION_CLEANUP)
    for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        assert change(system, 'action_lifecycle', transition)
    system.until_state('move', 'fallback_requested')
    assert system.motions['arm_controller'] == 1


def test_a_deactivated_bridge_stops_the_motion_and_is_asked_again_when_it_is_active(
    system: System, tmp_path: Path
) -> None:
    system.start_all()
    run = system.run(flow_file(tmp_path, seconds=20, within=8.0))
    system.until_state('move', 'executing_motion')
    system.until(lambda: system.motions.get('arm_controller'), 40.0, 'the arm moves')
    for _ in ('in motion', 'while the sensors are asked'):
        assert change(system, 'world_model_bridge', Transition.TRANSITION_DEACTIVATE)
        system.until_state('move', 'sensor_confirm')
        system.until(lambda: change(system, 'world_model_bridge', Transition.TRANSITION_ACTIVATE),
                     10, 'the bridge is active')
        active = time.monotonic()  # a refused question is put again every 0.2 s
        system.until(lambda since=active: time.monotonic() > since + 1.0, 40.0, 'a question')
    assert run.poll() is None
    system.until_state('move', 'fallback_requested')
    (failed,) = (row.data for row in system.rows(action_id='move') if row.event == 'fail')
    assert failed['error_code'] == 'INTERRUPTED', failed
    assert failed['sensors_said'] in ('refuted', 'stale'), failed  # stale: the cell stood still
    assert system.motions['arm_controller'] == 1
    run.terminate()
    finish(run, 20.0)
