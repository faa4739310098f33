# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What `run` and `watch` say of a flow while it runs."""

from __future__ import annotations

from argparse import Namespace
import json
from typing import Any

import pytest

msg = pytest.importorskip('action_lifecycle_msgs.msg')
progress = pytest.importorskip('action_lifecycle.cli.running.progress')
observing = pytest.importorskip('action_lifecycle.cli.observer')

HEALTHY = [('start', 'assigned', 'in_progress'), ('execute', 'in_progress', 'executing_motion'),
           ('motion_done', 'executing_motion', 'sensor_confirm'),
           ('confirmed', 'sensor_confirm', 'status_verification_requested'),
           ('verified', 'status_verification_requested', 'completed'),
           ('terminate', 'completed', 'terminated')]


def change(seq: int, event: str, old: str, new: str, cause: str = '', previous: int | None = None,
           **data: Any) -> Any:
    made = msg.ActionStateChange(
        seq=seq, previous_seq=seq - 1 if previous is None else previous, flow_id='f',
        action_id='pick', attempt=1, event=event, from_state=old, to_state=new, cause=cause,
        outcome=data.pop('outcome', ''), data_json=json.dumps(data))
    made.stamp.sec = seq
    return made


def healthy() -> list[Any]:
    said = {'motion_done': {'controller_said': 'succeeded'}, 'terminate': {'outcome': 'succeeded'},
            'confirmed': {'sensors_said': 'confirmed'}}
    return [change(seq, event, old, new, **said.get(event, {}))
            for seq, (event, old, new) in enumerate(HEALTHY, 1)]


def lines(changes: list[Any], **options: Any) -> list[str]:
    taking = progress.ChangeLines(**options)
    return [words for one in changes if (words := taking.take(one))]


def test_a_healthy_action_takes_two_lines() -> None:
    assert lines(healthy()) == [
        'pick             #1 in_progress -> executing_motion',
        'pick             #1 succeeded after 5.0 s  (controller: succeeded; sensors: confirmed)']
    assert len(lines(healthy(), verbose=True)) == 6


def flow_change(seq: int, event: str, **fields: Any) -> Any:
    return msg.FlowChange(seq=seq, flow_id='f', event=event, data_json='{}', **fields)


def test_of_a_flow_only_what_is_not_its_normal_course_takes_a_line() -> None:
    changes = [
        flow_change(1, 'accepted', to_state='START'), flow_change(2, 'stage', stage='sorted'),
        flow_change(3, 'continue', from_state='START', to_state='CONTINUE'),
        flow_change(4, 'edited', actor='bert', cause='one\nmore', to_state='CONTINUE'),
        flow_change(5, 'cancel_action', action_id='pick', actor='anna')]
    assert lines([*changes, changes[3]]) == [
        'flow             edited [bert]  (one more)', 'flow             cancel_action pick [anna]']
    assert lines(changes, verbose=True)[1:3] == [
        'flow             stage sorted', 'flow             continue: START -> CONTINUE']


def test_the_line_of_an_error_has_its_cause() -> None:
    failed = change(3, 'fail', 'executing_motion', 'error', controller_said='canceled',
                    cause='not maintained: gap > 1 is false (gap=0); bumped 1')
    assert lines([*healthy()[:2], failed])[-1] == (
        'pick             #1 executing_motion -> error  '
        '(not maintained: gap > 1 is false (gap=0); bumped 1)')
    ended = change(4, 'terminate', 'error', 'terminated', outcome='failed')
    assert lines([*healthy()[:2], failed, ended])[-1] == 'pick             #1 failed'
    for cause, shown in (failed.cause, ''), ('anna gave it up', '  (anna gave it up)'):
        ended.cause = cause
        assert lines([*healthy()[:2], failed, ended])[-1] == 'pick             #1 failed' + shown
    assert lines([ended]) == ['pick             #1 failed  (anna gave it up)']
    helped = change(4, 'request_fallback', 'error', 'fallback_requested', cause=failed.cause)
    assert lines([*healthy()[:2], failed, helped])[-1] == (
        'pick             #1 error -> fallback_requested')
    assert lines([helped]) == [
        f'pick             #1 error -> fallback_requested  ({failed.cause})']
    assert all(ord(letter) < 128 for words in lines([failed, ended]) for letter in words)


def test_a_black_box_has_a_line_of_its_own() -> None:
    failed = change(3, 'fail', 'sensor_confirm', 'error', cause='refuted',
                    black_boxes=['a.mcap'])
    assert lines([failed])[0].splitlines() == [
        'pick             #1 sensor_confirm -> error  (refuted)',
        '                 black box: a.mcap']
    from action_lifecycle.cli.node_data import change_data
    assert change_data(failed)['black_boxes'] == ['a.mcap']


def test_a_change_is_told_once_and_a_gap_is_noticed() -> None:
    first, second, third, *_ = healthy()
    taking = progress.ChangeLines(verbose=True)
    assert not taking.misses(first) and taking.take(first)
    assert taking.misses(third) and not taking.misses(second)
    assert taking.take(second) and not taking.take(second) and not taking.misses(third)


class Nodes:
    """A node of a command, and the callbacks of its subscriptions."""

    def __init__(self) -> None:
        self.heard: dict[str, Any] = {}
        self.endpoints: list[Any] = []
        self.node = self

    def create_subscription(self, kind: Any, name: str, callback: Any, qos: Any) -> None:
        self.heard[name] = callback

    def resolve_topic_name(self, name: str) -> str:
        return f'/{name}'

    def get_publishers_info_by_topic(self, name: str) -> list[Any]:
        return self.endpoints


def test_the_step_of_a_motion_and_its_feedback_are_told_of_the_right_action() -> None:
    nodes = Nodes()
    observer = observing.Observer(nodes)
    observer.steps = {'pick': 3}
    action = msg.ActionStatus(action_id='pick', state=msg.ActionState(value='executing_motion'))
    action.goal_id.uuid = list(range(16))
    kind = observing.ExecuteMotion
    feedback = kind.Feedback(step=1, step_state='executing', feedback_json=json.dumps(
        {'header': {'stamp': {'sec': 3}}, 'joint_names': ['x'], 'error': {'positions': [0.12345]},
         'name': ''}))
    told = kind.Impl.FeedbackMessage(feedback=feedback)
    told.goal_id.uuid = [*range(8), *[77] * 8]  # the second half is that of the sending
    assert observer.motion_words(action) == ''
    nodes.heard['world_model_bridge/execute_motion/_action/feedback'](told)
    assert observer.motion_words(action) == 'step 2 of 3, executing: error.positions [0.123]'
    assert observer.motion_words(action, brief=True) == 'step 2 of 3, executing'
    action.goal_id.uuid = [9] * 16
    assert observer.motion_words(action) == ''
    action.goal_id.uuid, action.state.value = list(range(16)), 'sensor_confirm'
    assert observer.motion_words(action) == ''


def test_no_number_of_a_feedback_is_minus_zero() -> None:
    assert observing.feedback_text('{"effort": -0.0, "error": [-0.0, -0.5]}') == \
        'effort 0, error [0 -0.5]'


def test_safety_facts_and_questions_stand_below_the_table() -> None:
    nodes = Nodes()
    observer = observing.Observer(nodes)
    nodes.heard['action_lifecycle/safety'](msg.SafetyState(
        state=2, reason='e-stop pressed', locked_resources=['arm']))
    nodes.heard['world_model_bridge/facts'](msg.WorldState(facts=[
        msg.Fact(name='gap', numbers=[0.08], unit='m', validity=1)]))
    nodes.heard['action_lifecycle/operator_requests'](msg.OperatorRequestArray(requests=[
        msg.OperatorRequest(flow_id='f', question='Dry?'),
        msg.OperatorRequest(flow_id='g', question='Wet?')]))
    said = [line.plain for line in observer.below('f')]
    assert said[:2] == ['safety STOPPED: e-stop pressed; locked: arm; check the robot, then: '
                        'action_lifecycle clear-stop', 'facts gap 0.08 m']
    assert len(said) == 3 and "'Dry?'" in said[2]


def test_a_bridge_that_goes_and_comes_back_is_told() -> None:
    nodes = Nodes()
    observer = observing.Observer(nodes)
    first, second = (Namespace(endpoint_gid=[number]) for number in (1, 2))
    assert observer.bridge_words() == ''
    nodes.endpoints = [first]
    assert observer.bridge_words() == ''
    nodes.endpoints = []
    assert observer.bridge_words().startswith('the world model bridge has gone (')
    assert observer.bridge_words() == ''
    nodes.endpoints = [second]
    assert observer.bridge_words().startswith('the world model bridge was restarted (')
    assert observer.bridge_words() == ''
