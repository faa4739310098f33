# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The language_model node over DDS: it plans, chooses, uses tools, and never holds up others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
import json
from pathlib import Path
import re
import sys
import threading
import time
from typing import Any

from action_lifecycle.engine import load_graph, Session, StateHandler
from action_lifecycle.nodes.agent.node import LanguageModelNode
from action_lifecycle.ros.calls.service_chooser import ServiceChooser
from action_lifecycle.ros.node.executor import make_executor
from action_lifecycle.ros.node.transitions import SUCCESS
from action_lifecycle_msgs.msg import (
    ActionState,
    ActionStatus,
    ErrorCode,
    Evidence,
    Fact,
    FlowStatus,
    OperatorRequestArray,
    WorldState,
)
from action_lifecycle_msgs.srv import ChooseTransition, Plan, Respond
from isolation import domain_id
import pytest
import rclpy
from rclpy.context import Context
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import SetBool
from unit.llm.endpoint import Endpoint, Raw, Slow
import yaml

from .ending import destroy

pytest.importorskip('openai')

SAMPLE = Path(__file__).parents[2] / 'config' / 'action_lifecycle.yaml'
MCP = Path(__file__).parents[1] / 'unit' / 'tool_registry' / 'servers' / 'lamp_server.py'
FLOW = """\
flow: hold_it
actions:
  grip:
    motion: {server: gripper/cmd, type: control_msgs/action/GripperCommand,
             goal: {command: {position: 0.0}}}
    confirm: load > 5.0
"""
GRAPH = """\
initial: ask
states:
  ask: {type: decision}
  left: {type: terminal, description: to the left}
  right: {type: terminal, description: to the right}
transitions:
  - {event: left, from: ask, to: left}
  - {event: right, from: ask, to: right, default: true}
"""
PLANNED = {'flow_yaml': FLOW, 'message': 'so'}
TOLD: dict[str, Any] = {
    'capabilities': ['gripper/cmd control_msgs/action/GripperCommand'],
    'facts': WorldState(facts=[Fact(name='load', validity=Fact.VALID, numbers=[0.5])])}
"""What a request tells of that the flow uses."""


class Rig:
    """The node, somebody who asks it, and the endpoint of its model."""

    def __init__(self, endpoint: Endpoint, **parameters: Any) -> None:
        self.endpoint = endpoint
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain_id())
        self.executor = make_executor(context=self.context)
        self.node = LanguageModelNode(context=self.context, parameter_overrides=[
            Parameter(name, value=value) for name, value in {
                'base_url': endpoint.url, 'model': 'small', **parameters}.items()])
        self.other = rclpy.create_node('asker', context=self.context)
        self.executor.add_node(self.node)
        self.executor.add_node(self.other)
        self.open: list[Any] = []
        self.other.create_subscription(
            OperatorRequestArray, 'language_model/operator_requests',
            lambda message: setattr(self, 'open', list(message.requests)),
            QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self.clients = {kind: self.other.create_client(kind, f'language_model/{name}')
                        for kind, name in ((Plan, 'plan'), (Respond, 'respond'),
                                           (ChooseTransition, 'choose_transition'))}
        assert self.node.start()
        self.thread = threading.Thread(target=self.executor.spin, daemon=True)
        self.thread.start()

    def ask(self, request: Any, kind: Any) -> Any:
        """Return the future of a response."""
        assert self.clients[kind].wait_for_service(20.0)
        return self.clients[kind].call_async(request)

    def wait(self, condition: Callable[[], Any], seconds: float = 30.0) -> Any:
        limit = time.monotonic() + seconds
        while not (found := condition()):
            assert time.monotonic() < limit, 'it never came true'
            time.sleep(0.005)
        return found

    def answer(self, request: Any, kind: Any, seconds: float = 30.0) -> Any:
        future = self.ask(request, kind)
        self.wait(future.done, seconds)
        return future.result()

    def close(self) -> None:
        self.executor.shutdown()
        self.thread.join(10.0)
        self.node.trigger_shutdown()
        destroy(self.node, self.other)
        self.context.try_shutdown()


@pytest.fixture
def rig() -> Iterator[Callable[..., Rig]]:
    made: list[Any] = []

    def make(**parameters: Any) -> Rig:
        endpoint = Endpoint()
        made.append(endpoint)
        made.insert(0, Rig(endpoint, **parameters))
        return made[0]

    yield make
    for thing in made:
        thing.close()


def choose(rig: Rig) -> str:
    async def main() -> str:
        session = Session(StateHandler(graph=load_graph(GRAPH, name='g.yaml')), ['said'],
                          chooser=ServiceChooser(rig.other, 'language_model/choose_transition'))
        return (await session.run(5)).state

    return asyncio.run(main())


def test_a_model_plans_with_the_facts_and_servers_that_it_is_given(rig: Any) -> None:
    one = rig()
    one.endpoint.answers = [PLANNED]
    answer = one.answer(Plan.Request(
        request='Halte es 🤖', errors=['flow:1:1: it was wrong'], **TOLD), Plan)
    assert (answer.accepted, answer.flow_yaml, answer.edit_yaml, answer.message) == (
        True, FLOW, '', 'so')
    data = json.loads(one.endpoint.requests[0]['messages'][1]['content'])
    assert data == {'request': 'Halte es 🤖', 'facts': {'load': 0.5},
                    'the_last_answer_was_refused': ['flow:1:1: it was wrong']}


@pytest.mark.parametrize('trouble, limit, message', [
    (Raw(b'{}', 401), 20.0, 'the endpoint says 401'),
    (Slow(), 1.0, 'no usable answer within 1 s'),
    ({'flow_yaml': 'x: [', 'message': ''}, 20.0, 'no usable answer in 2 tries')])
def test_a_model_of_no_use_gives_no_plan_and_says_why(
    rig: Any, trouble: Any, limit: float, message: str
) -> None:
    one = rig(time_limit=limit, tries=2)
    one.endpoint.always = trouble
    answer = one.answer(Plan.Request(request='x'), Plan)
    assert not answer.accepted and not answer.flow_yaml and message in answer.message


def test_a_model_is_told_how_actions_ended_and_replaces_one(rig: Any) -> None:
    one = rig()
    edit = '- add: {harder: {replaces: grip, confirm: load > 5.0}}\n'
    one.endpoint.answers = [{'edit_yaml': edit, 'message': 'more force'}]
    evidence = Evidence(
        condition='confirm', expression='load > 5.0', verdict=Evidence.FALSE,
        facts=[Fact(name='load', validity=Fact.VALID, numbers=[1.5], unit='N')])
    failed = ActionStatus(
        action_id='grip', state=ActionState(value='terminated', outcome='failed'), attempt=1,
        error_code=ErrorCode.REFUTED, error_msg='load > 5.0 is false', evidence=[evidence],
        controller_said='SUCCEEDED', sensors_said='refuted')
    answer = one.answer(Plan.Request(
        request='hold it', flow_yaml=FLOW, completed_actions=['grip'], ended=[failed],
        status=FlowStatus(name='hold_it', actions=[failed])), Plan)
    assert (answer.accepted, answer.edit_yaml, answer.message) == (True, edit, 'more force')
    data = json.loads(one.endpoint.requests[0]['messages'][1]['content'])
    assert data['how_they_ended'] == [{
        'action_id': 'grip', 'outcome': 'failed', 'attempt': 1, 'max_attempts': 0,
        'error_code': 'REFUTED', 'error_msg': 'load > 5.0 is false',
        'controller_said': 'SUCCEEDED', 'sensors_said': 'refuted',
        'evidence': ['load > 5.0 is false (load=1.5)']}]
    assert data['all_actions'] == {'grip': 'failed'} and data['just_completed'] == ['grip']


def test_another_nodes_machine_lets_the_model_choose(rig: Any) -> None:
    one = rig(time_limit=20.0, fallback='first')
    one.endpoint.answers = [{'next_state': 'right'}]
    assert choose(one) == 'right'
    one.endpoint.always = {'next_state': 'up'}
    assert choose(one) == 'left'  # the first: the model is of no use


def test_without_a_fallback_the_machine_takes_its_default(rig: Any) -> None:
    one = rig(tries=1)
    one.endpoint.always = {'next_state': 'up'}
    assert choose(one) == 'right'
    answer = one.answer(ChooseTransition.Request(
        state='s', transitions=['a', 'b'], descriptions=['only one']), ChooseTransition)
    assert answer.transition == '' and "'up' is not one of" in answer.reason


def test_arguments_of_a_tool_are_chosen_too(rig: Any) -> None:
    one = rig()
    one.endpoint.answers = [{'on': 'yes'}, {'on': True}]
    schema = {'type': 'object', 'properties': {'on': {'type': 'boolean'}}, 'required': ['on']}
    answer = one.answer(ChooseTransition.Request(
        state='s', answer_schema=json.dumps(schema)), ChooseTransition)
    assert json.loads(answer.transition) == {'on': True}


@pytest.mark.parametrize('request_, reason', [
    ({'context_json': '{'}, 'is no JSON'), ({'answer_schema': '[' * 3000}, 'no JSON'),
    ({'answer_schema': '{"$ref": "http://127.0.0.1:9/"}'}, 'leads out of the schema'),
    ({}, 'no transitions to choose from'), ({'answer_schema': '7'}, 'is a mapping')])
def test_a_choice_that_makes_no_sense_is_refused_without_asking(
    rig: Any, request_: Any, reason: str
) -> None:
    one = rig(fallback='first')
    answer = one.answer(ChooseTransition.Request(state='s', **request_), ChooseTransition)
    assert answer.transition == '' and reason in answer.reason
    assert not one.endpoint.requests


def test_while_the_model_thinks_the_node_answers_others_and_can_be_stopped(rig: Any) -> None:
    one = rig(time_limit=60.0)
    one.endpoint.always = Slow()
    planning = one.ask(Plan.Request(request='x'), Plan)
    one.wait(lambda: one.endpoint.requests)
    started = time.monotonic()
    answer = one.answer(Respond.Request(id='none', answer='x', actor='me'), Respond, 10.0)
    assert 'there is no open request' in answer.error_msg and time.monotonic() - started < 10
    assert one.node.trigger_deactivate() == SUCCESS
    one.wait(planning.done, 10.0)
    assert 'given up' in planning.result().message and not planning.result().accepted
    assert 'not active' in one.answer(Plan.Request(request='x'), Plan, 10.0).message
    assert one.node.trigger_activate() == SUCCESS
    one.endpoint.always = PLANNED
    assert one.answer(Plan.Request(request='x', **TOLD), Plan).accepted


def test_the_key_is_no_parameter(rig: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', 'a secret')
    one = rig()
    one.endpoint.always = PLANNED
    assert one.answer(Plan.Request(request='x', **TOLD), Plan).accepted
    assert one.endpoint.keys == ['Bearer a secret']
    names = one.node.list_parameters([], 0).names
    assert 'base_url' in names and 'a secret' not in str(
        [one.node.get_parameter(name).value for name in names])


def test_every_parameter_stands_in_the_sample_file_with_its_default(rig: Any) -> None:
    one = rig()
    given = yaml.safe_load(SAMPLE.read_text())['/**']['language_model']['ros__parameters']
    declared = {name: one.node.get_parameter(name).value for name in one.node._parameters
                if name not in ('use_sim_time', 'start_type_description_service')
                and not name.startswith('qos_overrides')}
    assert declared == {**given, 'base_url': one.endpoint.url, 'model': 'small'}


def test_a_service_is_a_tool_that_the_planner_may_use(rig: Any, tmp_path: Path) -> None:
    (tmp_path / 'tools.yaml').write_text(
        'services:\n  lamp: {service: light, type: std_srvs/srv/SetBool, '
        'description: Switch the light., time_limit: 10}\n')
    one = rig(tools_file=str(tmp_path / 'tools.yaml'))
    switched: list[bool] = []

    def serve(request: Any, response: Any) -> Any:
        switched.append(request.data)
        response.success, response.message = True, 'Es werde Licht {{ 7 * 7 }}'
        return response
    one.other.create_service(SetBool, 'light', serve)
    one.endpoint.answers = [{'next_state': 'use_tool'}, {'data': 'on'}, {'data': True},
                            {'next_state': 'plan'}, PLANNED]
    assert one.answer(Plan.Request(request='Es ist dunkel', **TOLD), Plan).accepted
    assert switched == [True]
    shown = json.loads(one.endpoint.requests[-1]['messages'][1]['content'])['found_out']
    assert shown == [{'role': 'tool', 'name': 'lamp', 'content': {
        'success': True, 'message': 'Es werde Licht {{ 7 * 7 }}'}}]


@pytest.mark.parametrize('word', ['authorized', 'give_up'])
def test_a_tool_that_needs_authorisation_asks_a_person_and_goes_on(
    rig: Any, tmp_path: Path, word: str
) -> None:
    pytest.importorskip('mcp')
    (tmp_path / 'tools.yaml').write_text(json.dumps({'mcp': {'lamps': {
        'command': sys.executable, 'args': [str(MCP)],
        'env': {'AUTHORISED': str(tmp_path / 'authorised')}}}}))
    one = rig(tools_file=str(tmp_path / 'tools.yaml'))
    one.endpoint.answers = [{'next_state': 'use_tool'}, {'tool_name': 'secret'}, {}]
    one.endpoint.always = lambda request: PLANNED if 'flow_yaml' in json.dumps(
        request['response_format']) else {'next_state': 'plan'}
    planning = one.ask(Plan.Request(request='x', **TOLD), Plan)
    asked, = one.wait(lambda: one.open)
    assert (asked.kind, asked.link) == ('authorize', 'https://lamps.example/connect')
    assert asked.question == 'To complete this request, please connect your lamps'
    assert list(asked.options) == ['authorized', 'give_up'] and not planning.done()
    (tmp_path / 'authorised').touch()
    assert one.answer(Respond.Request(id=asked.id, answer=word, actor='anna'), Respond).accepted
    one.wait(planning.done)
    assert planning.result().accepted
    data = json.loads(one.endpoint.requests[-1]['messages'][1]['content'])
    found = [item['content'] for item in data.get('found_out', [])]
    assert found == (['Grüße 🤖 \u202e'] if word == 'authorized' else [])
    one.wait(lambda: not one.open)


@pytest.mark.parametrize('text, fault', [
    ('services: {a: {service: s, type: std_srvs/srv/SetBol}}', '1:12.*std_srvs/srv/SetBool'),
    ('actions: {a: {server: s, type: control_msgs/action/GripperCommand, action: {}}}',
     'confirm'),
    ('python: {a: {call: "no_such:thing"}}', 'no_such'), ('pyton: {}', "'python'")])
def test_faults_of_the_tools_file_are_told_when_it_is_configured(
    rig: Any, tmp_path: Path, text: str, fault: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / 'tools.yaml').write_text(text)
    with pytest.raises(AssertionError):
        rig(tools_file=str(tmp_path / 'tools.yaml'))
    assert re.search(fault, capfd.readouterr().err)
