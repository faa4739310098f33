# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the page about other programs sends fits the types and names of the nodes."""

from __future__ import annotations

import json
import re

from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.srv import ControlFlow
from rosidl_runtime_py.set_message import set_message_fields
from rosidl_runtime_py.utilities import get_action, get_message, get_service
from unit.docs.pages import blocks, prose, ROOT

PAGE = ROOT / 'docs/clients.md'


def test_requests_of_the_page_have_the_types_and_fields_of_the_nodes() -> None:
    example, = (block for block in blocks(PAGE) if block.language == 'json')
    requests = json.loads(example.text)
    interfaces = prose(ROOT / 'docs/nodes.md')
    for request in requests:
        name = request.get('action') or request.get('service') or request['topic']
        node, _, own = name[1:].partition('/')
        section = interfaces.partition(f'## {node}\n')[2].partition('\n## ')[0]
        assert f'`~/{own}`' in section, name
        kind = request.get('action_type') or request.get('type')
        if request['op'] == 'send_action_goal':
            set_message_fields(get_action(kind).Goal(), request['args'])
        elif request['op'] == 'call_service':
            set_message_fields(get_service(kind).Request(), request['args'])
        elif request['op'] == 'subscribe':
            assert f'| {get_message(kind).__name__} |' in section
    goal, cancel = requests[:2]
    assert (goal['id'], goal['action']) == (cancel['id'], cancel['action'])
    assert {request['args']['verb'] for request in requests
            if request.get('type', '').endswith('ControlFlow')} == {
                ControlFlow.Request.CANCEL, ControlFlow.Request.PAUSE}


def test_the_program_of_the_page_sends_a_goal_that_there_is() -> None:
    example, = (block for block in blocks(PAGE) if block.language == 'text')
    kind, = re.findall(r"actionType: '([\w/]+)'", example.text)
    assert get_action(kind) is ExecuteFlow
    fields, = re.findall(r'sendGoal\(\{(.*?)\}', example.text)
    set_message_fields(ExecuteFlow.Goal(), dict(re.findall(r"(\w+): '([^']*)'", fields)))


def test_each_bridge_of_the_page_takes_a_cancel_in_time() -> None:
    commands = [block.text for block in blocks(PAGE) if block.language == 'bash']
    assert len(commands) == 2
    assert all('send_action_goals_in_new_thread:=true' in command for command in commands)
