# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows that actions run, in the real nodes: shown, canceled, killed and resumed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from action_lifecycle.cli.client import connect
from action_lifecycle.cli.running.following import _Following
from action_lifecycle.cli.table import console
from action_lifecycle.ros.calls.flow_call import FlowCall, FlowEnd
from action_lifecycle.ros.calls.goal_client import GoalClient
from action_lifecycle.ros.calls.journaled_end import SERVICES
from action_lifecycle.ros.node.call_host import CallHost
from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import ActionStateChange, ErrorCode, FlowStatusArray
from action_lifecycle_msgs.srv import GetAction, GetHistory, ListActions, SendEvent
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Float64MultiArray, String

from .waiting import rows_of
from .work_rig import FACTS, WorkRig

LISTS = FACTS + """\
  numbers: {topic: numbers, type: std_msgs/msg/Float64MultiArray, field: data, always: true,
    max_age: 5.0}
  names: {topic: names, type: std_msgs/msg/String, field: 'data|json.names', always: true,
    max_age: 5.0}
"""
INNER = """\
outer:
  flow:
    flow:
      flow: inner
      actions:
        wait: {confirm: {condition: level > 5, within: 300}}
        then: {after: wait, confirm: level > 0}
last: {after: outer, confirm: level > 0}
"""


class Rig(WorkRig):
    """Publishes lists, too, and keeps what the node publishes of actions and flows."""

    def __init__(self, folder: Any) -> None:
        self.changes: list[tuple[str, str, str]] = []
        self.parents: dict[str, str] = {}
        super().__init__(folder, facts=LISTS)
        self.count = 0
        numbers = self.node.create_publisher(Float64MultiArray, 'numbers', 10)
        names = self.node.create_publisher(String, 'names', 10)

        def publish() -> None:
            listed = ', '.join(f'"p{number}"' for number in range(self.count))
            numbers.publish(Float64MultiArray(data=[float(n) for n in range(self.count)]))
            names.publish(String(data=f'{{"names": [{listed}]}}'))

        self.node.create_timer(0.05, publish)
        self.node.create_subscription(
            ActionStateChange, 'action_lifecycle/state_changes', lambda change:
            self.changes.append((change.flow_id, change.action_id, change.to_state)), 1000)
        self.node.create_subscription(
            FlowStatusArray, 'action_lifecycle/flow', lambda message: self.parents.update(
                {flow.flow_id: flow.parent for flow in message.flows}),
            QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self.clients: dict[str, Any] = {}

    def call(self, kind: Any, name: str, **fields: Any) -> Any:
        """Call a service of the action node."""
        client = self.clients.setdefault(
            name, self.node.create_client(kind, f'action_lifecycle/{name}'))
        return self.ask(client, kind.Request(**fields))

    def until_state(self, flow_id: str, action_id: str, state: str) -> None:
        self.until(lambda: any(row.action_id == action_id and row.to_state == state
                               for row in self.rows(flow_id)), 60.0, f'{action_id} {state}')


@pytest.fixture(scope='module')
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    rig = Rig(tmp_path_factory.mktemp('nested'))
    yield rig
    rig.close()


def test_actions_inside_are_shown_by_their_paths_and_resume_after_kill_9(rig: Rig) -> None:
    rig.level = 1.0
    rig.send('shown', INNER)
    rig.until_state('shown/outer', 'wait', 'status_verification_requested')
    rig.until(lambda: ('shown', 'outer/wait', 'in_progress') in rig.changes, 20.0, 'the change')
    rig.until(lambda: rig.parents.get('shown/outer') == 'shown', 20.0, 'the parent')
    for flow_id, action_id in (('shown', 'outer/wait'), ('shown/outer', 'wait')):
        status = rig.call(GetAction, 'get_action', flow_id=flow_id, action_id=action_id).status
        assert (status.flow_id, status.action_id, status.attempt) == ('shown', 'outer/wait', 1)
        history = rig.call(GetHistory, 'get_history', flow_id=flow_id, action_id=action_id)
        assert [change.to_state for change in history.changes] == [
            'in_progress', 'status_verification_requested']
    listed = rig.call(ListActions, 'list_actions', flow_id='shown').actions
    assert {action.action_id for action in listed} == {'outer', 'outer/wait'}

    rig.kill()
    rig.start_node()
    rig.until(lambda: rig.flows.server_is_ready(), 40.0, 'the node')
    rig.level = 6.0
    rig.end_of('shown', 'last')
    for flow_id, names in (('shown', ['outer', 'last']), ('shown/outer', ['wait', 'then'])):
        started = [row.action_id for row in rig.rows(flow_id) if row.event == 'start']
        assert started == names
    rig.until(lambda: [row.to_state for row in rows_of(rig.journal, flow_id='shown', kind='flow')
                       ][-1] == 'FINISH', 20.0, 'the end')
    history = rig.call(GetHistory, 'get_history', flow_id='shown', limit=1000).changes
    assert {change.action_id for change in history} == {
        'outer', 'outer/wait', 'outer/then', 'last'}
    assert {change.flow_id for change in history} == {'shown'}


def test_a_cancel_of_an_action_inside_and_of_the_whole_flow(rig: Rig) -> None:
    rig.level = 1.0
    rig.send('one', INNER)
    rig.until_state('one/outer', 'wait', 'status_verification_requested')
    answer = rig.call(SendEvent, 'send_event', flow_id='one', action_id='outer/wait',
                      event='cancel', actor='ann')
    assert answer.accepted, answer.error_msg
    assert rig.end_of('one', 'outer').data['outcome'] == 'failed'
    assert rig.end_of('one', 'last').data['outcome'] == 'skipped'

    handle = rig.send('whole', INNER)
    rig.until_state('whole/outer', 'wait', 'status_verification_requested')
    handle.cancel_goal_async()
    done = handle.get_result_async()
    rig.until(done.done, 30.0, 'the result')
    assert done.result().result.error_code == ErrorCode.CANCELED
    assert rig.end_of('whole/outer', 'wait').data['outcome'] == 'canceled'
    assert rig.end_of('whole/outer', 'then').data['outcome'] == 'canceled'


def test_an_end_that_nobody_heard_is_that_of_the_last_run_of_a_nested_flow(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    actions = INNER.replace('within: 300', 'within: 1').replace(
        'outer:\n', 'outer:\n  retry: {times: 1, delay: 0}\n')
    rig.level = 1.0
    rig.send('retried', actions)
    assert rig.end_of('retried/outer', 'wait').data['outcome'] == 'failed'
    rig.level = 6.0
    rig.end_of('retried', 'last')
    rig.until(lambda: rows_of(rig.journal, flow_id='retried', kind='flow')[-1].final,
              20.0, 'the end')
    rig.kill()
    rig.start_node()
    rig.until(rig.flows.server_is_ready, 40.0, 'the node')

    host = CallHost(rig.node)
    call = FlowCall(
        host, GoalClient(host, ExecuteFlow, 'action_lifecycle/execute_flow', local=False),
        {kind: rig.node.create_client(kind, f'action_lifecycle/{name}')
         for kind, name in SERVICES.items()}, ExecuteFlow.Goal(flow_id='retried'), sent=True)
    rig.until(call.done.done, 40.0, 'the end')
    end = call.done.result()
    monkeypatch.setenv('ROS_DOMAIN_ID', rig.environment['ROS_DOMAIN_ID'])
    with connect('', 20.0) as asking:
        following = _Following(asking, console(), Namespace(
            plain=True, verbose=False, flow_id='retried'))
        told = FlowEnd.of(following._journaled())
    assert end == told
    assert end.error_code == ErrorCode.NONE
    assert end.outcomes == {'outer': 'succeeded', 'last': 'succeeded'}
    assert end.summary['total'] == 2


@pytest.mark.parametrize('fact, count', [
    ('numbers', 0), ('numbers', 1), ('numbers', 50), ('names', 0), ('names', 1), ('names', 50),
    ('names', 150)])
def test_each_element_of_a_fact_that_is_read_at_run_time(
    rig: Rig, fact: str, count: int
) -> None:
    rig.count = count
    flow_id = f'{fact}_{count}'
    found = rig.result(flow_id, f"""\
ready: {{confirm: {{condition: len({fact}) == {count}, within: 20}}}}
a:
  after: ready
  for_each: {{part: '{{{{ facts.{fact} }}}}'}}
  parameters: {{q: '{{{{ part }}}}'}}
  confirm: level > 0
  require: level > 0
""")
    assert found.error_code == 0, found.error_msg
    ended = [row for row in rig.rows(f'{flow_id}/a') if row.to_state == 'terminated']
    assert len(ended) == count
    if fact == 'names':
        assert {row.action_id for row in ended} == {f'p{number}' for number in range(count)}


def test_a_condition_that_never_holds_ends_the_repetition(rig: Rig) -> None:
    result = rig.result('again', 'a: {confirm: level > 0, repeat: {until: level > 99, times: 3}}')
    assert result.error_code == ErrorCode.FLOW_FAILED
    row = rig.row('again', 'fail')
    assert row.data['error_code'] == 'REPEAT_EXHAUSTED' and 'after 3 of 3 runs' in row.cause
    assert [row.event for row in rig.rows('again')].count('start') == 3


def test_faults_inside_are_found_before_anything_starts(rig: Rig) -> None:
    result = rig.result('wrong', INNER.replace('level > 5', 'levle > 5'))
    assert result.error_code == ErrorCode.FLOW_INVALID
    assert "unknown name 'levle'; did you mean 'level'?" in result.error_msg
    assert not rig.rows('wrong')
