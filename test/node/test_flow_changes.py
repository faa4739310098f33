# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The topic ~/flow_changes, the history of a flow, and its command, with real processes."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
import time
from typing import Any

from action_lifecycle.journal import Row
from action_lifecycle.journal.flow_rows import is_flow_change
from action_lifecycle.ros.interfaces.qos import event_qos, state_qos
from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import ErrorCode, FlowChange, FlowStatusArray
from action_lifecycle_msgs.srv import EditFlow, GetHistory
import pytest
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState

from .system import System

NODE, BRIDGE = 'action_lifecycle_node', 'world_model_bridge'
FACTS = """\
estop: none
facts:
  gap: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[0]', max_age: 1.0}
"""
FLOW = """\
flow: wait
actions:
  near: {confirm: gap > 0.02}
  far: {after: near, confirm: {condition: gap > 0.05, within: 600}}
"""
EDIT = '- add: {also: {after: far, confirm: gap > 0.05}}'


class Rig(System):
    """Bridge, ledger and action node; the test moves the gap, and keeps what is published."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / 'facts.yaml').write_text(FACTS)
        self.gap = 0.03
        self.changes: list[FlowChange] = []
        self.flows: list[Any] = []
        joints = self.node.create_publisher(JointState, 'joint_states', 10)
        self.node.create_timer(0.1, lambda: joints.publish(
            JointState(name=['gripper'], position=[self.gap])))
        self.node.create_subscription(
            FlowChange, 'action_lifecycle/flow_changes', self.changes.append, event_qos())
        self.node.create_subscription(
            FlowStatusArray, 'action_lifecycle/flow',
            lambda message: setattr(self, 'flows', list(message.flows)), state_qos())
        self.goals = ActionClient(self.node, ExecuteFlow, 'action_lifecycle/execute_flow')
        for name in ('ledger', 'action_lifecycle'):
            self.client(GetHistory, f'{name}/get_history')
        self.client(EditFlow, 'action_lifecycle/edit_flow')
        self.start(BRIDGE, facts_file=folder / 'facts.yaml', use_sim_time=False)
        self.start('ledger', use_sim_time=False)
        self.start_node()

    def start_node(self) -> None:
        self.start(NODE, use_sim_time=False, planner='nobody/plan', planner_timeout=0.3)
        self.until(self.publishers, 40.0, 'the action node')

    def publishers(self) -> int:
        return self.node.count_publishers('action_lifecycle/flow_changes')

    def begin(self, flow_id: str, **goal: Any) -> Any:
        """Send a goal until the journal has its flow; returns the goal's handle."""
        sent_at, sent = 0.0, None

        def there() -> bool:
            nonlocal sent_at, sent
            if time.monotonic() > sent_at + 3.0 and self.goals.server_is_ready():
                sent_at = time.monotonic()
                sent = self.goals.send_goal_async(ExecuteFlow.Goal(
                    flow_id=flow_id, requester='anna', **goal))
            return sent is not None and sent.done() and sent.result().accepted \
                and bool(self.recorded(flow_id))

        self.until(there, 40.0, f'{flow_id} begins')
        assert sent is not None
        return sent.result()

    def recorded(self, flow_id: str) -> list[Row]:
        """Return the rows of the changes of a flow."""
        return [row for row in self.rows() if is_flow_change(row)
                and flow_id in (row.flow_id, row.action_id)]

    def ended(self, flow_id: str) -> bool:
        return any(row.final for row in self.rows(flow_id=flow_id, kind='flow'))

    def told(self, flow_id: str) -> list[FlowChange]:
        return [change for change in self.changes if change.flow_id == flow_id]

    def call(self, kind: type, name: str, request: Any) -> Any:
        """Call a service, again if its response was lost."""
        client = self.client(kind, name)
        self.until(client.service_is_ready, 20.0, name)
        asked: list[tuple[float, Any]] = []

        def answered() -> Any:
            if not asked or time.monotonic() - asked[-1][0] > 2.0:
                asked.append((time.monotonic(), client.call_async(request)))
            return next((future.result() for _, future in asked if future.done()), None)

        return self.until(answered, 20.0, name)

    def history(self, node: str, flow_id: str = '', action_id: str = '', limit: int = 0
                ) -> list[Any]:
        """Return all changes that the service of a node gives, page by page."""
        found: list[Any] = []
        while True:
            page = self.call(GetHistory, f'{node}/get_history', GetHistory.Request(
                flow_id=flow_id, action_id=action_id, limit=limit,
                after_seq=found[-1].seq if found else 0))
            changes = sorted([*page.changes, *page.flow_changes], key=lambda one: one.seq)
            assert len(changes) == limit or not limit or not page.more
            assert not page.flow_changes or not action_id
            found += changes
            if not page.more:
                return found


@pytest.fixture(scope='module')
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    rig = Rig(tmp_path_factory.mktemp('flow_changes'))
    yield rig
    rig.close()


def as_events(changes: list[Any]) -> list[str]:
    return [f'{change.event} {change.stage}'.strip() for change in changes]


def test_changes_arrive_in_order_and_without_a_gap_and_a_late_reader_gets_the_same(
    rig: Rig
) -> None:
    rig.gap = 0.03
    rig.begin('whole', flow=FLOW, recipe='waiting')
    rig.until_state('far', 'status_verification_requested')
    edited = rig.call(EditFlow, 'action_lifecycle/edit_flow', EditFlow.Request(
        flow_id='whole', edit_yaml=EDIT, author='bert', reason='one more'))
    assert edited.error_code == ErrorCode.NONE, edited.error_msg
    rig.gap = 0.06
    rig.until(lambda: rig.ended('whole'), 30.0, 'the end of the flow')
    rows = rig.recorded('whole')
    rig.until(lambda: len(rig.told('whole')) >= len(rows), 10.0, 'all changes')

    told = rig.told('whole')
    assert [change.seq for change in told] == [row.seq for row in rows]
    assert as_events(told) == [
        'accepted dependency_analysis', 'stage topological_sort', 'stage scheduled_jobs_creation',
        'continue', 'edited', 'stage flow_recipe_creation', 'finish']
    accepted, edit, end = told[0], told[4], told[-1]
    assert (accepted.actor, accepted.from_state, accepted.to_state) == ('anna', '', 'START')
    assert json.loads(accepted.data_json)['name'] == 'wait'
    assert 'text' not in json.loads(accepted.data_json)
    assert (edit.actor, edit.cause, edit.from_state) == ('bert', 'one more', '')
    assert (end.from_state, end.to_state, end.error_code) == ('CONTINUE', 'FINISH', 0)
    assert json.loads(end.data_json)['recipe']['name'] == 'waiting'
    rig.until(lambda: any(flow.flow_id == 'whole' and flow.stage == 'flow_recipe_creation'
                          for flow in rig.flows), 10.0, 'the stage')

    actions = rig.rows(flow_id='whole', kind='transition')
    everything = sorted([*rows, *actions])
    for node in ('ledger', 'action_lifecycle'):
        found = rig.history(node, 'whole')
        assert [change.seq for change in found] == [row.seq for row in everything]
        assert [change for change in found if isinstance(change, FlowChange)] == told
        assert rig.history(node, 'whole', limit=3) == found
        assert [one.seq for one in rig.history(node) if one.flow_id == 'whole'] == [
            one.seq for one in found]
        of_action = rig.history(node, 'whole', 'far')
        assert [one.seq for one in of_action] == [
            row.seq for row in actions if row.action_id == 'far']


def test_the_command_history_shows_the_changes_of_the_flow_between_those_of_its_actions(
    rig: Rig
) -> None:
    rig.gap = 0.06
    rig.begin('shown', flow=FLOW)
    rig.until(lambda: rig.ended('shown'), 30.0, 'the end of the flow')
    live = rig.shell('history', 'shown', '--wait', '30')
    assert live.returncode == 0, live.stderr
    assert live.stdout == rig.shell('history', 'shown', '--journal', str(rig.journal_path)).stdout
    lines = [line.partition(' shown')[2] for line in live.stdout.splitlines()]
    assert lines[:5] == [
        ' accepted: START   [anna]', ' stage topological_sort', ' stage scheduled_jobs_creation',
        ' continue: START -> CONTINUE   [anna]',
        '/near attempt 1: assigned -> in_progress']
    assert lines[-1] == ' finish: CONTINUE -> FINISH'
    data = json.loads(rig.shell('history', 'shown', '--json', '--wait', '30').stdout)
    assert data == json.loads(
        rig.shell('history', 'shown', '--json', '--journal', str(rig.journal_path)).stdout)
    assert data[0]['data']['name'] == 'wait' and data[0]['stage'] == 'dependency_analysis'
    assert [row['seq'] for row in data] == [
        row.seq for row in sorted([*rig.recorded('shown'), *rig.rows(
            flow_id='shown', kind='transition')])]
    assert len(rig.shell('history', 'shown/far', '--wait', '30').stdout.splitlines()) == len(
        rig.rows(flow_id='shown', action_id='far'))


def test_a_request_to_a_planner_that_is_away_is_told_step_by_step(rig: Rig) -> None:
    handle = rig.begin('asked', flow='please wait', kind='request')
    rig.until(lambda: any(json.loads(change.data_json).get('step') == 'unreachable'
                          for change in rig.told('asked')), 20.0, 'the planner is away')
    handle.cancel_goal_async()
    rig.until(lambda: any(row.final for row in rig.recorded('asked')), 20.0, 'the cancel')
    rows = rig.recorded('asked')
    rig.until(lambda: len(rig.told('asked')) >= len(rows), 10.0, 'all changes')
    told = rig.told('asked')
    assert [change.seq for change in told] == [row.seq for row in rows]
    assert set(as_events(told)) == {'planning planning'}
    steps = [json.loads(change.data_json)['step'] for change in told]
    assert steps[:3] == ['requested', 'asked', 'unreachable'] and steps[-1] == 'failed'
    assert (told[-1].error_code, told[-1].actor) == (ErrorCode.CANCELED, 'anna')
    assert rig.history('ledger', 'asked') == told


def test_after_a_kill_the_history_is_whole_and_the_topic_goes_on(rig: Rig) -> None:
    rig.gap = 0.03
    rig.begin('killed', flow=FLOW, recipe='killed')
    rig.until_state('far', 'status_verification_requested')
    rig.kill(NODE)
    before = rig.history('ledger', 'killed')
    assert [one.seq for one in before] == [row.seq for row in rig.rows(flow_id='killed')]
    assert as_events([one for one in before if isinstance(one, FlowChange)])[-1] == 'continue'
    rig.flows = []  # what comes again shows that the new node has found this one
    rig.start_node()
    rig.until(lambda: any(flow.flow_id == 'killed' and flow.stage == 'scheduled_jobs_creation'
                          for flow in rig.flows), 30.0, 'the flow is resumed')
    rig.gap = 0.06
    rig.until(lambda: rig.ended('killed'), 60.0, 'the end of the flow')
    rows = rig.recorded('killed')
    rig.until(lambda: rig.told('killed') and rig.told('killed')[-1].event == 'finish', 10.0, 'it')
    found = [one for one in rig.history('action_lifecycle', 'killed')
             if isinstance(one, FlowChange)]
    assert [one.seq for one in found] == [row.seq for row in rows]
    assert as_events(found)[-2:] == ['stage flow_recipe_creation', 'finish']
    assert rig.told('killed') == found  # nothing twice, nothing left out


def test_each_change_is_one_line_of_the_log_and_a_failed_flow_is_an_error(rig: Rig) -> None:
    rig.gap = 0.03
    handle = rig.begin('logged', flow=FLOW)
    rig.until_state('far', 'status_verification_requested')
    handle.cancel_goal_async()
    rig.until(lambda: rig.ended('logged'), 30.0, 'the end of the flow')

    def lines() -> list[str]:
        log = (rig.folder / f'{NODE}.log').read_text()
        return [line for line in log.splitlines() if ': logged: ' in line]

    rig.until(lambda: len(lines()) >= len(rig.recorded('logged')), 10.0, 'the log')
    found = lines()
    assert [line.partition(': logged: ')[2].partition(' (')[0] for line in found] == [
        'accepted: START', 'stage topological_sort', 'stage scheduled_jobs_creation',
        'continue: START → CONTINUE', 'cancel_flow', 'fail: CONTINUE → FAIL']
    assert '[ERROR]' in found[-1] and not any('[ERROR]' in line for line in found[:-1])
