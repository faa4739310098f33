# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
