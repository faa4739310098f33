# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""`language_model:=true`: the bringup has a planner, and a request in words is planned and run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import signal

from action_lifecycle_msgs.action import ExecuteFlow
from node.launched import FLOW, Robot
import pytest
from unit.llm.endpoint import Endpoint

pytest.importorskip('openai')


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()
    yield endpoint
    endpoint.close()


@pytest.fixture
def robot(tmp_path: Path) -> Iterator[Robot]:
    robot = Robot(tmp_path)
    yield robot
    robot.close()


def test_words_become_a_flow_that_runs(robot: Robot, endpoint: Endpoint) -> None:
    endpoint.always = {'flow_yaml': FLOW, 'message': 'so'}
    robot.environment |= {'OPENAI_BASE_URL': endpoint.url, 'OPENAI_MODEL': 'small',
                          'OPENAI_API_KEY': 'a key'}
    launch = robot.launch(compose='true', language_model='true')
    robot.until_active()
    robot.until(robot.flows.server_is_ready, 20.0, 'the action node')
    robot.flows.send_goal_async(ExecuteFlow.Goal(kind='request', flow='hold it'))
    robot.until(lambda: robot.goals, 40.0, 'the flow of the model has come to its motion')
    robot.finish()
    assert launch.end() == 128 + signal.SIGINT
    assert launch.pids('language_model') and endpoint.requests
