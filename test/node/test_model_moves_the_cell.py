# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a language model plans or calls passes the checks of the robot, on the simulated cell."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
from typing import Any

from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import Fact, WorldState
from action_lifecycle_msgs.srv import Plan
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
import pytest
from rclpy.action import ActionClient
from unit.llm.endpoint import Endpoint

from .system import System

pytest.importorskip('openai')

GRIPPER = '{server: gripper_controller/gripper_cmd, type: control_msgs/action/GripperCommand'
FLOW = f"""\
flow: open_it
actions:
  open:
    motion: {GRIPPER}, goal: {{command: {{position: 0.05, max_effort: 10.0}}}}}}
    confirm: {{condition: gap > 0.04, within: 20.0}}
"""
TOOLS = f"""\
actions:
  gripper:
    {GRIPPER[1:]}
    time_limit: 30
    action: {{confirm: {{condition: gap > 0.04, within: 20.0}}, resources: [gripper]}}
""".replace(', type:', '\n    type:')


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()
    yield endpoint
    endpoint.close()


@pytest.fixture
def system(tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
           ) -> Iterator[System]:
    monkeypatch.setenv('OPENAI_BASE_URL', endpoint.url)
    monkeypatch.setenv('OPENAI_MODEL', 'small')
    (tmp_path / 'tools.yaml').write_text(TOOLS)
    system = System(tmp_path)
    for name in ('sim_cell', 'world_model_bridge', 'ledger'):
        system.start(name)
    system.count_motions()
    system.start('action_lifecycle_node', planner='/language_model/plan')
    system.start('language_model', tools_file=str(tmp_path / 'tools.yaml'))
    yield system
    system.close()


def planned(flow: str) -> dict[str, str]:
    return {'flow_yaml': flow, 'message': ''}


def answering(answers: list[Any]) -> Any:
    """Return who gives these answers one after the other, and never edits what runs."""
    def answer(request: dict[str, Any]) -> Any:
        if 'edit_yaml' in json.dumps(request['response_format']):
            return {'edit_yaml': '', 'message': ''}
        return answers.pop(0)
    return answer


def prompts(endpoint: Endpoint) -> list[Any]:
    """Return the data of each request for a plan."""
    return [json.loads(request['messages'][1]['content']) for request in endpoint.requests
            if 'flow_yaml' in json.dumps(request['response_format'])]


def test_goals_of_a_model_are_refused_like_any_others(
    system: System, endpoint: Endpoint
) -> None:
    # A request in words: the first plan is beyond the limits of the gripper, the second within.
    endpoint.always = answering([
        {'next_state': 'plan'}, planned(FLOW.replace('0.05', '0.5')),
        {'next_state': 'plan'}, planned(FLOW)])
    client = ActionClient(system.node, ExecuteFlow, 'action_lifecycle/execute_flow')
    ask = system.node.create_client(Plan, '/language_model/plan')
    state = system.node.create_client(GetState, 'action_lifecycle/get_state')

    def active() -> bool:
        """Ask once; the answer may get lost while both still discover each other."""
        answer = state.call_async(GetState.Request())
        system.executor.spin_until_future_complete(answer, 0.5)
        return answer.done() and answer.result().current_state.id == State.PRIMARY_STATE_ACTIVE

    system.until(lambda: client.server_is_ready() and active(), 40, 'the action node')
    sent = client.send_goal_async(ExecuteFlow.Goal(flow='Open the gripper.', kind='request'))
    system.until(sent.done, 20, 'the goal is taken')
    result = sent.result().get_result_async()
    system.until(result.done, 90, 'the flow ends')
    assert result.result().result.error_code == 0, result.result().result.error_msg
    first, second = prompts(endpoint)
    assert first['request'] == 'Open the gripper.' and 'the_last_answer_was_refused' not in first
    assert '0.5 is out of its limits, 0 to 0.08' in str(second['the_last_answer_was_refused'])
    system.until(lambda: system.motions.get('gripper_controller'), 40.0, 'the count of motions')
    assert system.motions['gripper_controller'] == 1

    # A tool that moves: neither what its type nor what the limits do not admit leaves.
    def goal(position: Any) -> dict[str, Any]:
        return {'command': {'position': position, 'max_effort': 10.0}}

    endpoint.requests.clear()
    endpoint.always = answering([
        {'next_state': 'use_tool'}, goal('wide'), goal(0.5), {'next_state': 'use_tool'},
        goal(0.06), {'next_state': 'plan'}, planned(FLOW)])
    system.until(ask.service_is_ready, 20, 'the service of the planner')
    call = ask.call_async(Plan.Request(
        request='Open it, then plan.', facts=WorldState(facts=[Fact(name='gap')]),
        capabilities=['gripper_controller/gripper_cmd control_msgs/action/GripperCommand']))
    system.until(call.done, 90, 'the plan')
    assert call.result().accepted, call.result().message
    refused, done = prompts(endpoint)[-1]['found_out']
    assert '0.5 is out of its limits' in refused['error']
    assert done['content']['done'] is True
    assert "'wide' is not of type 'number'" in str(endpoint.requests[2]['messages'])
    system.until(lambda: system.motions['gripper_controller'] == 2, 40.0, 'the second motion')
    rows = [row for row in system.rows(kind='transition') if row.action_id == 'gripper']
    assert rows[-1].to_state == 'terminated' and 'completed' in {row.to_state for row in rows}
