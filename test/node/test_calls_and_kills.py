# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows with calls and publications by the real nodes, which are killed in mid-work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re
import signal
import time
from typing import Any

from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import SafetyState
import pytest

from .calls_rig import BRIDGE, CallsRig, NODE

PAGE = Path(__file__).parents[2] / 'docs' / 'work.md'
SWITCH = {'service': 'vacuum/switch', 'type': 'std_srvs/srv/SetBool', 'request': {'data': True}}
HELD = {'condition': 'pressure < -40', 'within': 1.0}
DRIVE = {'topic': 'conveyor/speed', 'type': 'std_msgs/msg/Float64', 'message': {'data': 0.2},
         'rate': 20.0, 'until': 'position > 1e6', 'within': 60.0, 'finally': {'data': 0.0}}
STILL = {'condition': 'abs(flow_rate) < 0.001', 'hold': 0.1, 'within': 3.0}


@pytest.fixture(scope='module')
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CallsRig]:
    rig = CallsRig(tmp_path_factory.mktemp('calls'), getattr(request, 'param', False))
    yield rig
    rig.close()


@pytest.fixture
def rig(shared: CallsRig) -> CallsRig:
    shared.vacuum.behaviour, shared.vacuum.pressure = 'succeed', 0.0
    shared.vacuum.requests.clear()
    shared.conveyor.speed = 0.0
    shared.conveyor.heard.clear()
    shared.looks = 0
    for name in (BRIDGE, NODE):
        if shared.process_of(name) not in shared.processes:
            shared.start(name, use_sim_time=False)
    shared.until_ready()
    return shared


in_both_forms = pytest.mark.parametrize(
    'shared', [False, True], ids=['apart', 'composed'], indirect=True)


def new_id() -> str:
    return f'f{time.monotonic_ns()}'


@pytest.mark.parametrize('name', ['hold', 'advance'])
def test_the_examples_of_the_page_run(rig: CallsRig, name: str) -> None:
    text = next(block for block in re.findall(r'```yaml\n(.*?)```', PAGE.read_text('utf-8'), re.S)
                if f'flow: {name}\n' in block)
    rig.conveyor.position = 0.0
    sent = rig.flows.send_goal_async(ExecuteFlow.Goal(
        flow=text, kind='yaml', flow_id=new_id(), requester='anna'))
    rig.until(sent.done, 20.0, 'the goal is answered')
    ended = sent.result().get_result_async()
    rig.until(ended.done, 40.0, 'the flow ends')
    result = ended.result().result
    assert (result.error_code, result.error_msg) == (0, ''), rig.logs()
    assert rig.vacuum.requests == ([True] if name == 'hold' else [])
    assert rig.conveyor.speed == 0.0 and bool(rig.conveyor.heard) is (name == 'advance')


def test_a_gripper_that_lies_is_refuted_and_a_fallback_recovers(rig: CallsRig) -> None:
    rig.vacuum.behaviour = 'lie'
    flow_id = new_id()
    rig.begin({'hold': {
        'call': {**SWITCH, 'physical': True}, 'confirm': HELD,
        'fallback': [{'strategy': 'ask', 'question': 'Again?'}]}}, flow_id)
    rig.until_state('hold', 'fallback_requested')
    refuted = [row for row in rig.rows(flow_id=flow_id, kind='transition') if row.event == 'fail']
    assert refuted[0].data['error_code'] == 'REFUTED'
    assert [row.data['controller_said'] for row in rig.rows(flow_id=flow_id, kind='transition')
            if row.event == 'motion_done'] == ['answered: switched']
    rig.vacuum.behaviour = 'succeed'
    assert rig.shell('respond', 'retry', '--flow', flow_id).returncode == 0
    assert rig.until_ended(flow_id) == {'hold': ('succeeded', 'REFUTED')}
    assert rig.vacuum.requests == [True, True]


def test_results_of_calls_are_read_by_later_actions(rig: CallsRig) -> None:
    flow_id = new_id()
    result = rig.run_flow({
        'look': {'call': {'service': 'camera/look', 'type': 'std_srvs/srv/Trigger',
                          'success': "message != ''"}},
        'use': {'after': 'look', 'call': {
            **SWITCH, 'request': {'data': "{{ results.look.result.message == 'part 7' }}"},
            'success': "success and message == 'switched'"}}}, flow_id)
    assert not result.error_code, rig.logs()
    assert rig.vacuum.requests == [True] and rig.looks == 1
    rows = rig.rows(flow_id=flow_id, action_id='look', kind='transition')
    evidence = [row.data['evidence'] for row in rows if row.data.get('evidence')][0]
    assert evidence[0]['condition'] == 'success' and evidence[0]['verdict'] == 'true'
    assert evidence[0]['facts'][0]['value'] == 'part 7'
    assert [row.data['result'] for row in rows if 'result' in row.data] == [
        {'success': True, 'message': 'part 7'}]


def test_a_call_fails_with_the_words_of_the_service(rig: CallsRig) -> None:
    rig.vacuum.behaviour = 'refuse'
    flow_id = new_id()
    rig.run_flow({'hold': {'call': SWITCH}}, flow_id)
    assert rig.ends(flow_id) == {'hold': ('failed', 'CALL_FAILED')}
    row = [row for row in rig.rows(flow_id=flow_id, kind='transition') if row.event == 'fail'][0]
    assert row.data['error_msg'] == "service '/vacuum/switch': success is false: no air"
    assert row.data['evidence'][0]['verdict'] == 'false'


def test_a_canceled_call_that_moves_nothing_ends_at_once(rig: CallsRig) -> None:
    rig.vacuum.behaviour = 'deaf'
    flow_id = new_id()
    handle = rig.begin({'hold': {'call': SWITCH}}, flow_id)
    rig.until(lambda: rig.vacuum.requests, 20.0, 'the call')
    handle.cancel_goal_async()
    assert rig.until_ended(flow_id) == {'hold': ('canceled', 'CANCELED')}


def test_a_publication_that_moves_nothing_is_ended_by_its_condition(rig: CallsRig) -> None:
    flow_id = new_id()
    result = rig.run_flow({'lamp': {'publish': {
        **DRIVE, 'until': f'position > {rig.conveyor.position + 0.1}'}}}, flow_id)
    assert not result.error_code, rig.logs()
    rig.until(lambda: rig.conveyor.speed == 0.0, 5.0, 'finally')
    assert len(rig.conveyor.heard) > 3 and rig.conveyor.speeds[-1] == 0.0


def test_a_canceled_publication_sends_finally(rig: CallsRig) -> None:
    flow_id = new_id()
    handle = rig.begin({'lamp': {'publish': DRIVE}}, flow_id)
    rig.until(lambda: len(rig.conveyor.heard) > 3, 20.0, 'messages')
    handle.cancel_goal_async()
    assert rig.until_ended(flow_id) == {'lamp': ('canceled', 'CANCELED')}
    rig.until(lambda: rig.conveyor.speeds[-1] == 0.0, 5.0, 'finally')


@pytest.mark.parametrize(('action', 'words'), [
    ({'call': {**SWITCH, 'service': 'vacum/switch', 'server_timeout': 0.2}},
     "no service '/vacum/switch'; did you mean '/vacuum/switch'?"),
    ({'call': {**SWITCH, 'request': {'dat': True}}}, "unknown field 'dat'"),
    ({'call': {**SWITCH, 'success': 'message > 1'}}, "'message' is a text"),
    ({'publish': {**DRIVE, 'until': 'positon > 1'}}, "did you mean 'position'"),
    ({'publish': {**DRIVE, 'topic': 'estop', 'type': 'std_msgs/msg/Bool'}},
     "'/estop' is read by the facts or the safety topics"),
    ({'call': {'service': 'action_lifecycle/clear_stop', 'request': {'actor': 'me'},
               'type': 'action_lifecycle_msgs/srv/ClearStop'}}, 'with which people control'),
    ({'call': {'service': 'world_model_bridge/set_parameters',
               'type': 'rcl_interfaces/srv/SetParameters'}}, 'belongs to the node'),
])
def test_what_does_not_fit_is_refused_before_anything_is_sent(
    rig: CallsRig, action: dict[str, Any], words: str
) -> None:
    result = rig.run_flow({'look': {'call': {
        'service': 'camera/look', 'type': 'std_srvs/srv/Trigger'}}, 'a': action}, new_id())
    assert words in result.error_msg
    assert (rig.looks, rig.vacuum.requests, rig.conveyor.heard) == (0, [], [])


def test_an_estop_sends_finally_at_once_and_locks_nothing_that_stands(rig: CallsRig) -> None:
    flow_id = new_id()
    rig.begin({'drive': {'publish': {**DRIVE, 'physical': True}, 'stopped': STILL,
                         'confirm': 'position > 1e6', 'resources': ['belt']}}, flow_id)
    rig.until(lambda: len(rig.conveyor.heard) > 3, 20.0, 'messages')
    rig.pressed = True
    began = time.monotonic()
    rig.until(lambda: rig.conveyor.speeds[-1] == 0.0, 10.0, 'finally')
    assert time.monotonic() - began < 2.0
    assert rig.until_ended(flow_id) == {'drive': ('failed', 'ESTOP')}
    rig.clear_stop()


@pytest.mark.parametrize('physical', [True, False])
@pytest.mark.parametrize(('shared', 'victims'), [
    (False, (NODE,)), (False, (BRIDGE,)), (False, (BRIDGE, NODE)), (True, (BRIDGE, NODE)),
], indirect=['shared'])
def test_killed_between_call_and_answer_nothing_is_called_twice(
    rig: CallsRig, victims: tuple[str, ...], physical: bool
) -> None:
    """The gripper does what it is told, and its answer never comes: the sensors show it."""
    rig.vacuum.behaviour = 'silent'
    flow_id = new_id()
    rig.begin({'hold': {'call': {**SWITCH, 'physical': physical, 'timeout': 8.0},
                        'confirm': {**HELD, 'within': 15.0}}}, flow_id)
    rig.until(lambda: rig.vacuum.requests, 20.0, 'the call')
    rig.replace(*victims)
    assert rig.until_ended(flow_id)['hold'][0] == 'succeeded', rig.logs()
    assert rig.vacuum.requests == [True]


@in_both_forms
@pytest.mark.parametrize('idempotent', [False, True])
def test_killed_and_not_carried_out_it_is_repeated_only_if_idempotent(
    rig: CallsRig, idempotent: bool
) -> None:
    rig.vacuum.behaviour = 'deaf'
    flow_id = new_id()
    rig.begin({'hold': {'call': {**SWITCH, 'physical': True}, 'confirm': HELD,
                        'idempotent': idempotent}}, flow_id)
    rig.until(lambda: rig.vacuum.requests, 20.0, 'the call')
    rig.vacuum.behaviour = 'succeed'
    rig.replace(BRIDGE, NODE)
    if idempotent:
        assert rig.until_ended(flow_id)['hold'][0] == 'succeeded', rig.logs()
        assert rig.vacuum.requests == [True, True]
    else:
        rig.until_state('hold', 'fallback_requested')  # a person is asked
        assert rig.vacuum.requests == [True]
        rig.until_ready()
        assert rig.shell('respond', 'give_up', '--flow', flow_id).returncode == 0
        assert rig.until_ended(flow_id) == {'hold': ('failed', 'INTERRUPTED')}


@pytest.mark.parametrize(('shared', 'physical', 'victims'), [
    (False, True, (BRIDGE,)), (False, True, (BRIDGE, NODE)), (False, False, (NODE,)),
    (False, False, (BRIDGE, NODE)), (True, True, (BRIDGE, NODE)), (True, False, (BRIDGE, NODE)),
], indirect=['shared'])
def test_killed_in_a_publication_finally_is_sent_before_anything_else(
    rig: CallsRig, physical: bool, victims: tuple[str, ...]
) -> None:
    flow_id = new_id()
    where = rig.conveyor.position
    rig.begin({'drive': {
        'publish': {**DRIVE, 'physical': physical}, 'on_resume': 'confirm', 'stopped': STILL,
        'confirm': {'condition': f'position > {where}', 'within': 15.0}}}, flow_id)
    rig.until(lambda: len(rig.conveyor.heard) > 3, 20.0, 'messages')
    for name in victims:
        rig.kill(name)
    rig.until(rig.conveyor.silent, 10.0, 'what is on its way arrives')
    rig.conveyor.heard.clear()
    rig.safety = SafetyState()
    for name in victims:
        rig.start(name, use_sim_time=False)
    rig.until(lambda: rig.conveyor.heard, 30.0, 'the conveyor is stopped')
    assert rig.conveyor.speeds[0] == 0.0
    assert rig.until_ended(flow_id)['drive'][0] == 'succeeded', rig.logs()
    assert set(rig.conveyor.speeds) == {0.0}


@in_both_forms
def test_killed_under_an_estop_the_stop_is_still_sent(rig: CallsRig) -> None:
    flow_id = new_id()
    rig.begin({'drive': {'publish': {**DRIVE, 'physical': True}, 'stopped': STILL,
                         'confirm': 'position > 1e6'}}, flow_id)
    rig.until(lambda: len(rig.conveyor.heard) > 3, 20.0, 'messages')
    rig.kill(BRIDGE)
    rig.pressed = True
    rig.until(rig.conveyor.silent, 10.0, 'what is on its way arrives')
    rig.conveyor.heard.clear()
    rig.safety = SafetyState()
    rig.start(BRIDGE, use_sim_time=False)
    rig.until(lambda: rig.conveyor.heard, 30.0, 'the conveyor is stopped')
    assert set(rig.conveyor.speeds) == {0.0}
    # If the action node was killed, too, a person may be asked before the stop is known.
    rig.until(lambda: rig.ends(flow_id) or rig.states(flow_id)[-1] == 'fallback_requested', 40.0,
              'the end, or a question')
    if not rig.ends(flow_id):
        assert rig.composed
        assert rig.shell('respond', 'give_up', '--flow', flow_id).returncode == 0
    assert rig.until_ended(flow_id)['drive'][0] == 'failed'
    rig.clear_stop()


def test_a_publication_outlives_the_action_node_and_is_followed(rig: CallsRig) -> None:
    """The bridge goes on when only the action node is killed."""
    flow_id = new_id()
    rig.begin({'drive': {
        'publish': {**DRIVE, 'physical': True, 'until': f'position > {rig.conveyor.position + 1}'},
        'stopped': STILL,
        'confirm': {'condition': f'position > {rig.conveyor.position + 0.9}'}}}, flow_id)
    rig.until(lambda: len(rig.conveyor.heard) > 3, 20.0, 'messages')
    rig.replace(NODE)
    assert rig.until_ended(flow_id)['drive'] == ('succeeded', ''), rig.logs()
    assert rig.conveyor.speeds[-1] == 0.0 and rig.conveyor.speeds.count(0.0) == 1


def test_a_held_publication_sends_finally_and_is_repeated_after_the_resume(
    rig: CallsRig
) -> None:
    flow_id = new_id()
    goal = rig.conveyor.position + 0.4
    rig.begin({'drive': {
        'publish': {**DRIVE, 'physical': True, 'until': f'position > {goal}'},
        'stopped': STILL, 'on_resume': 'retry',
        'confirm': {'condition': f'position > {goal - 0.1}', 'within': 1.0}}}, flow_id)
    rig.until(lambda: len(rig.conveyor.heard) > 3, 20.0, 'messages')
    rig.control(flow_id, verb='pause', hold=True)
    rig.until(lambda: rig.blocked.get(flow_id)
              == 'approval_required: stopped: the flow is held by anna', 20.0, 'it stands')
    count, where = len(rig.conveyor.heard), rig.conveyor.position
    assert rig.conveyor.speeds[-1] == 0.0 and rig.conveyor.speeds.count(0.0) == 1
    end = time.monotonic() + 1.0
    rig.until(lambda: time.monotonic() > end, 5.0, 'a second')
    assert (len(rig.conveyor.heard), rig.conveyor.position) == (count, where)
    assert rig.rows(flow_id=flow_id, kind='transition')[-1].to_state == 'executing_motion'
    rig.control(flow_id, verb='resume')
    assert rig.until_ended(flow_id) == {'drive': ('succeeded', '')}, rig.logs()
    events = [row.event for row in rig.rows(flow_id=flow_id, kind='transition')]
    assert events[:5] == ['start', 'execute', 'motion_done', 'repeat_motion', 'motion_done']
    assert rig.conveyor.position > goal and rig.conveyor.speeds[-1] == 0.0


@in_both_forms
@pytest.mark.parametrize('physical', [True, False])
def test_an_orderly_end_in_mid_publication_sends_finally(rig: CallsRig, physical: bool) -> None:
    flow_id = new_id()
    rig.begin({'drive': {'publish': {**DRIVE, 'physical': physical}, 'stopped': STILL,
                         'on_resume': 'confirm',
                         'confirm': {'condition': 'position > -1', 'within': 15.0}}}, flow_id)
    rig.until(lambda: len(rig.conveyor.heard) > 3, 20.0, 'messages')
    process = rig.processes.pop(rig.process_of(NODE))
    process.send_signal(signal.SIGINT)
    rig.until(lambda: process.poll() is not None, 20.0, 'the node ends')
    rig.until(lambda: rig.conveyor.speeds[-1] == 0.0, 5.0, 'finally')
    count = len(rig.conveyor.heard)
    rig.safety = SafetyState()
    rig.start(NODE, use_sim_time=False)
    assert rig.until_ended(flow_id)['drive'][0] == 'succeeded', rig.logs()
    assert set(rig.conveyor.speeds[count:]) <= {0.0}
