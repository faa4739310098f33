# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""What comes from outside is limited in size, and no name of it becomes a path, key or topic."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from action_lifecycle.nodes.action.node import ActionLifecycleNode
from action_lifecycle.ros.interfaces.limits import (
    MAX_BYTES,
    MAX_DOCUMENT,
    MAX_ITEMS,
    MAX_TEXT,
    message_fault,
)
from action_lifecycle.ros.node.executor import make_executor
from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import Condition, ErrorCode, Evidence, Fact
from action_lifecycle_msgs.srv import (
    ClearStop,
    Evaluate,
    GetHistory,
    GetTrace,
    Respond,
    SendEvent,
    Verify,
)
from isolation import domain_id
import pytest
import rclpy
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.parameter import Parameter
from test_msgs.msg import BoundedSequences

from .ending import destroy

DEEP = 100_000


@pytest.mark.parametrize(('message', 'expected'), [
    (Respond.Request(answer='x' * (MAX_TEXT + 1)), 'answer: 65537 characters'),
    (Respond.Request(actor='eve\x1b[2J'), "actor: has the control character '\\x1b'"),
    (ExecuteFlow.Goal(flow='x' * (MAX_DOCUMENT + 1)), 'flow: 4194305 characters'),
    (SendEvent.Request(data_json='x' * (MAX_DOCUMENT + 1)), 'data_json: 4194305'),
    (ClearStop.Request(resources=['arm'] * (MAX_ITEMS + 1)), 'resources: 20001 items'),
    (ClearStop.Request(resources=['arm', 'a\0b']), 'resources[1]: has the control character'),
    (Evaluate.Request(conditions=[Condition(), Condition(expression='x' * (MAX_TEXT + 1))]),
     'conditions[1].expression: 65537 characters'),
    (Verify.Response(evidence=[Evidence(facts=[Fact(numbers=[0.0] * (MAX_ITEMS + 1))])]),
     'evidence[0].facts[0].numbers: 20001 items'),
    (ExecuteFlow.Goal(flow='a: 1\n' * 1000), ''),
    (GetTrace.Response(data=array('B', bytes(MAX_BYTES + 1))), 'data: 4194305 items'),
    (GetTrace.Response(data=array('B', bytes(MAX_BYTES))), ''),
])
def test_a_message_that_is_too_large_names_the_field(message: Any, expected: str) -> None:
    fault = message_fault(message)
    assert fault.startswith(expected) and bool(fault) == bool(expected)


def test_sequences_of_truths_and_numbers_have_no_texts_to_be_checked() -> None:
    assert message_fault(BoundedSequences(bool_values=[True, False], byte_values=[b'a'])) == ''


class Asker:
    """The real node, and a client of it."""

    def __init__(self, folder: Path) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain_id())
        self.executor = make_executor(context=self.context)
        self.node = ActionLifecycleNode(context=self.context, parameter_overrides=[
            Parameter('journal_path', value=str(folder / 'journal')),
            Parameter('bridge_timeout', value=0.2)])
        assert self.node.start()
        self.other = rclpy.create_node('asker', context=self.context)
        for node in (self.node, self.other):
            self.executor.add_node(node)
        self.flows = ActionClient(self.other, ExecuteFlow, 'action_lifecycle/execute_flow')

    def wait(self, future: Any) -> Any:
        self.executor.spin_until_future_complete(future, 20.0)
        assert future.done()
        return future.result()

    def call(self, kind: Any, name: str, request: Any) -> Any:
        client = self.other.create_client(kind, f'action_lifecycle/{name}')
        assert client.wait_for_service(10.0)
        return self.wait(client.call_async(request))

    def run(self, **goal: Any) -> Any:
        assert self.flows.wait_for_server(10.0)
        handle = self.wait(self.flows.send_goal_async(ExecuteFlow.Goal(**goal)))
        return self.wait(handle.get_result_async()).result

    def close(self) -> None:
        self.executor.shutdown()
        destroy(self.node, self.other)
        self.context.try_shutdown()


@pytest.fixture(scope='module')
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    asker = Asker(tmp_path_factory.mktemp('limits'))
    yield asker
    asker.close()


NAMED = 'flow: f\nactions:\n  {}: {{verify: [{{by: operator}}]}}\n'
BOMB = 'a: &a [x, x, x, x, x, x, x, x, x, x]\n' + ''.join(
    f'{name}: &{name} [{", ".join([f"*{chr(ord(name) - 1)}"] * 10)}]\n' for name in 'bcdefghij')


@pytest.mark.parametrize(('flow', 'expected'), [
    ('flow: ' + '[' * DEEP + ']' * DEEP + '\n', 'deep'),
    (BOMB, ''),
    ('flow: f\nactions: !!python/object/apply:os.system [echo]\n', 'python'),
    (NAMED.format("'../../etc/passwd'"), '../../etc/passwd'),
    (NAMED.format("'a/b'"), 'a/b'),
    (NAMED.format('"a\\0b"'), ''),
    (NAMED.format("'{robot}:x'"), 'robot'),
    (NAMED.format('x' * 300), 'expected'),
    (NAMED.replace('flow: f', "flow: '../f'").format('a'), '../f'),
    ('flow: f\nactions:\n' + ''.join(
        f'  a{n}: {{verify: [{{by: operator}}]}}\n' for n in range(20_001)), '20'),
], ids=['deep', 'aliases', 'python', 'up', 'folder', 'nul', 'key', 'long', 'flow', 'many'])
def test_a_flow_that_is_too_much_or_has_wrong_names_is_refused(
    asker: Asker, flow: str, expected: str
) -> None:
    result = asker.run(flow=flow, kind='yaml')
    assert result.error_code in (ErrorCode.FLOW_INVALID, ErrorCode.INVALID_REQUEST)
    assert expected in result.error_msg and len(result.error_msg) < 10_000, result.error_msg


@pytest.mark.parametrize('goal', [
    {'flow': '../../etc/passwd'}, {'flow': '/etc/passwd'}, {'flow': 'a\0b'},
    {'flow': NAMED.format('a'), 'flow_id': '../x'}, {'flow': NAMED.format('a'), 'flow_id': 'a b'},
    {'flow': NAMED.format('a'), 'flow_id': 'x' * 200},
    {'flow': NAMED.format('a'), 'flow_id': "x'; DROP TABLE entry; --"},
    {'flow': NAMED.format('a'), 'flow_id': 'al:{robot7}:x'},
    {'flow': NAMED.format('a'), 'recipe': '../x'},
    {'flow': '../x', 'kind': 'recipe'},
    {'flow': 'pick_and_place', 'parameters_json': '[' * DEEP},
    {'flow': 'pick_and_place', 'parameters_json': '[1]'},
    {'flow': 'x', 'kind': 'shell'},
])
def test_a_goal_whose_names_could_be_paths_or_keys_is_refused(
    asker: Asker, goal: dict[str, str]
) -> None:
    before = asker.node.journal.last_seq()
    result = asker.run(**goal)
    assert result.error_code and result.error_msg, goal
    assert asker.node.journal.last_seq() == before


def test_services_say_what_is_too_much_and_go_on(asker: Asker) -> None:
    answer = asker.call(Respond, 'respond', Respond.Request(answer='x' * (MAX_TEXT + 1)))
    assert answer.error_code == ErrorCode.INVALID_REQUEST and 'answer: ' in answer.error_msg
    answer = asker.call(SendEvent, 'send_event', SendEvent.Request(
        flow_id='f', action_id='a', event='retry', actor='eve', data_json='[' * DEEP))
    assert answer.error_code and not answer.accepted
    changes = asker.call(GetHistory, 'get_history', GetHistory.Request(limit=4_000_000_000))
    assert not changes.error_code and len(changes.changes) <= 1000


@pytest.mark.parametrize('name', ['robot 7', '7robot', 'a//b', 'a{b}', '../x'])
def test_a_namespace_that_is_no_name_is_refused_by_ros(name: str) -> None:
    context = Context()
    rclpy.init(context=context)
    with pytest.raises(rclpy.exceptions.InvalidNamespaceException):
        ActionLifecycleNode(context=context, namespace=name)
    context.try_shutdown()
