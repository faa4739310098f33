# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Actions that call tools: Python functions, a ROS service, an MCP server; real nodes."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
import sys
from typing import Any

from action_lifecycle.nodes.shared.authorization import AUTHORIZED, GIVE_UP
from action_lifecycle_msgs.msg import ErrorCode, OperatorRequestArray
from action_lifecycle_msgs.srv import Respond
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import SetBool

from .work_rig import WorkRig

pytest.importorskip('mcp')

SERVER = Path(__file__).parents[1] / 'unit' / 'tool_registry' / 'servers' / 'lamp_server.py'
TOOLS = """\
services:
  light: {service: light, type: std_srvs/srv/SetBool, time_limit: 5}
actions:
  gripper: {server: gripper, type: control_msgs/action/GripperCommand,
            action: {confirm: level > 0.5}}
python:
  paint: {call: 'tools_of_tests:paint'}
  look: {call: 'tools_of_tests:look', idempotent: true}
  wait: {call: 'tools_of_tests:wait', time_limit: 1}
mcp:
  lamps: {command: PYTHON, args: [SERVER], time_limit: 3, env: {AUTHORISED: FOLDER/authorised}}
"""
PYTHON_TOOLS = """\
import os, time
HERE = os.path.dirname(__file__)

def _note(name: str) -> None:
    with open(f'{HERE}/{name}', 'a') as calls:
        calls.write(name + '\\n')
    while not os.path.exists(f'{HERE}/go'):
        time.sleep(0.02)

def paint(color: str, coats: int = 1) -> dict:
    '''Paint.'''
    _note('paint')
    if coats > 9:
        raise ValueError('no paint left')
    return {'color': color, 'coats': coats}

def look() -> str:
    '''Look.'''
    _note('look')
    return 'red'

def wait() -> None:
    '''Wait.'''
    time.sleep(30)
"""


class ToolRig(WorkRig):
    """A node with tools; `calls` counts those of a Python function."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / 'package'
        self.package.mkdir()
        (self.package / 'tools_of_tests.py').write_text(PYTHON_TOOLS)
        tools = folder / 'tools.yaml'
        tools.write_text(TOOLS.replace('PYTHON', sys.executable).replace(
            'SERVER', str(SERVER)).replace('FOLDER', str(folder)))
        super().__init__(folder, self.package, tools_file=tools)
        self.switched: list[bool] = []
        self.node.create_service(SetBool, 'light', self._switch)
        self.questions: list[Any] = []
        self.node.create_subscription(
            OperatorRequestArray, 'action_lifecycle/operator_requests',
            lambda message: setattr(self, 'questions', list(message.requests)),
            QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self.respond = self.node.create_client(Respond, 'action_lifecycle/respond')

    def _switch(self, request: Any, response: Any) -> Any:
        self.switched.append(request.data)
        response.success, response.message = True, 'done'
        return response

    def calls(self, name: str) -> int:
        path = self.package / name
        return len(path.read_text().splitlines()) if path.exists() else 0

    def let_go(self, go: bool) -> None:
        for name in ('paint', 'look'):
            (self.package / name).unlink(missing_ok=True)
        (self.package / 'go').touch() if go else (self.package / 'go').unlink(missing_ok=True)

    def asked(self, flow_id: str, timeout: float = 30.0) -> Any:
        """Wait for the question of a flow."""
        return self.until(
            lambda: next((one for one in self.questions if one.flow_id == flow_id), None),
            timeout, f'a question of {flow_id}')

    def answer(self, question: Any, answer: str) -> None:
        response = self.ask(
            self.respond, Respond.Request(id=question.id, answer=answer, actor='anna'))
        assert response.accepted, response.error_msg


@pytest.fixture(scope='module')
def module_rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToolRig]:
    rig = ToolRig(tmp_path_factory.mktemp('tools'))
    yield rig
    rig.close()


@pytest.fixture
def rig(module_rig: ToolRig) -> ToolRig:
    module_rig.let_go(True)
    (module_rig.folder / 'authorised').unlink(missing_ok=True)
    return module_rig


def tool(name: str, more: str = '', **arguments: Any) -> str:
    return f'a: {{tool: {{name: {name}, arguments: {json.dumps(arguments)}}}{more}}}'


def test_the_result_of_each_kind_of_tool_is_read_by_later_actions(rig: ToolRig) -> None:
    name = rig.new_id()
    result = rig.result(name, (
        'a: {tool: {name: paint, arguments: {color: red}}}\n'
        'b: {after: a, tool: {name: light, '
        "arguments: {data: '{{ results.a.result.coats == 1 }}'}}}\n"
        "c: {after: b, tool: {name: switch, arguments: {on: '{{ results.b.result.success }}'}}}"))
    assert result.error_code == ErrorCode.NONE, result.error_msg
    found = {row.action_id: row.data for row in rig.rows(name)
             if row.event == 'request_verification'}
    assert found['a']['result'] == {'color': 'red', 'coats': 1}
    assert found['b']['result'] == {'success': True, 'message': 'done'} and rig.switched == [True]
    assert found['c']['result'] == {'on': True}


@pytest.mark.parametrize('work, fault', [
    (tool('pant', color='red'), "test.yaml:3:14: action 'a', tool: there is no tool 'pant'; did "
     "you mean 'paint'?"),
    (tool('paint', color=3), "test.yaml:3:39: action 'a', tool: .color: 3 is not of type"),
    (tool('paint'), "'color' is a required property"),
    (tool('paint', color='{{ facts.level }}', coats='x'), ".coats: 'x' is not of type 'integer'"),
    (tool('paint', colour='{{ facts.level }}'), "argument 'colour'; did you mean 'color'?"),
    (tool('switch', on='{{ facts.level }}', of=1), "'of' was unexpected"),
    (tool('light', data=3), "3 is not of type 'boolean'"),
    (tool('gripper', command={}), "tool 'gripper' is the ROS action gripper, which a flow uses "
     'directly: motion: {server: gripper'),
    ('a: {tool: {arguments: {}}}', "missing field 'name'"),
])
def test_faults_are_found_before_anything_runs(rig: ToolRig, work: str, fault: str) -> None:
    result = rig.result(rig.new_id(), work)
    assert result.error_code == ErrorCode.FLOW_INVALID and fault in result.error_msg
    assert not rig.calls('paint')


@pytest.mark.parametrize('work, code, message', [
    (tool('paint', color='red', coats=10), 'WORK_FAILED', 'ValueError: no paint left'),
    (tool('paint', color='{{ facts.level }}'), 'GOAL_INVALID', "1.0 is not of type 'string'"),
    (tool('wait'), 'MOTION_TIMEOUT', 'no result within 1 s'),
    ('a: {tool: {name: wait, time_limit: 0.2}}', 'MOTION_TIMEOUT', 'no result within 0.2 s'),
    (tool('hang'), 'MOTION_TIMEOUT', "no answer to 'hang' within 3 s"),
    (tool('fail'), 'WORK_FAILED', 'the bulb is broken'),
    (tool('die'), 'WORK_FAILED', "MCP server 'lamps' ended"),
    (tool('look', ', confirm: {condition: level > 5, within: 0.5}'), 'REFUTED', ''),
])
def test_it_fails(rig: ToolRig, work: str, code: str, message: str) -> None:
    name = rig.new_id()
    rig.send(name, work)
    assert rig.end_of(name).data['outcome'] == 'failed'
    failed = rig.row(name, 'fail')
    assert failed.data['error_code'] == code and message in failed.data['error_msg']


def test_a_cancel_does_not_wait_for_the_function(rig: ToolRig) -> None:
    rig.let_go(False)
    name = rig.new_id()
    handle = rig.send(name, tool('look'))
    rig.until(lambda: rig.calls('look'), 30.0, 'the tool is called')
    handle.cancel_goal_async()
    assert rig.end_of(name).data['outcome'] == 'canceled'


def test_a_tool_that_has_to_be_authorised_asks_a_person(rig: ToolRig) -> None:
    name = rig.new_id()
    rig.send(name, tool('secret'))
    question = rig.asked(name)
    assert (question.kind, question.action_id) == ('authorize', 'a')
    assert question.link == 'https://lamps.example/connect'
    (rig.folder / 'authorised').touch()
    rig.answer(question, AUTHORIZED)
    assert rig.end_of(name).data['outcome'] == 'succeeded'


def test_without_the_authorisation_it_fails_with_the_link(rig: ToolRig) -> None:
    name = rig.new_id()
    rig.send(name, tool('secret'))
    rig.answer(rig.asked(name), GIVE_UP)
    rig.end_of(name)
    assert 'it was not authorised at https://lamps.example/connect' in rig.row(
        name, 'fail').data['error_msg']


def test_killed_while_it_waits_for_the_authorisation_the_same_question_is_open(
    rig: ToolRig
) -> None:
    name = rig.new_id()
    rig.send(name, tool('secret'))
    before = rig.asked(name).id
    rig.kill()
    rig.questions = []
    rig.start_node()
    after = rig.asked(name, 60.0)
    assert after.id == before
    (rig.folder / 'authorised').touch()
    rig.answer(after, AUTHORIZED)
    assert rig.end_of(name).data['outcome'] == 'succeeded'


@pytest.mark.parametrize('work, level, called, outcome', [
    (tool('look'), 0.0, 2, 'succeeded'),  # the tool says that it may be repeated
    pytest.param(tool('paint', ', idempotent: true', color='red'), 0.0, 2, 'succeeded',
                 marks=pytest.mark.long),
    (tool('paint', ', confirm: level > 0.5, on_resume: confirm', color='red'), 1.0, 1,
     'succeeded'),
    pytest.param(tool(
        'paint', ', confirm: {condition: level > 0.5, within: 0.5}, on_resume: confirm',
        color='red'), 0.0, 1, 'failed', marks=pytest.mark.long),
])
def test_killed_in_a_call_it_is_repeated_only_if_that_does_no_harm(
    rig: ToolRig, work: str, level: float, called: int, outcome: str
) -> None:
    rig.let_go(False)
    name = rig.new_id()
    which = 'look' if 'look' in work else 'paint'
    rig.send(name, work)
    rig.until(lambda: rig.calls(which), 30.0, 'the tool is called')
    rig.kill()
    (rig.package / 'go').touch()
    rig.level = level
    try:
        rig.start_node()
        assert rig.end_of(name).data['outcome'] == outcome
    finally:
        rig.level = 1.0
    assert rig.calls(which) == called
