# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Physical calls and publications by the bridge, at servers and subscribers that are there."""

from __future__ import annotations

from collections.abc import Iterator
import json
import math
from pathlib import Path
from typing import Any

from action_lifecycle_msgs.msg import CheckFault, Condition, ErrorCode, Motion, SafetyState
from action_lifecycle_msgs.srv import Check, ClearStop
import pytest
from std_msgs.msg import Bool

from .bridge_rig import FACTS as RIG_FACTS
from .bridge_rig import Rig
from .vacuum import Conveyor, FACTS, Vacuum

FACTS_FILE = RIG_FACTS.replace('limits:\n', f'{FACTS}limits:\n'
                               '  conveyor/speed: {data: [-1, 1]}\n'
                               '  std_msgs/msg/Float64: {data: [-3, 3]}\n')
SWITCH = 'std_srvs/srv/SetBool'
STILL = Condition(name='stopped', expression='abs(flow_rate) < 0.001')


class VacuumRig(Rig):
    """The rig with the doubles of the gripper and the conveyor."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, FACTS_FILE)
        self.vacuum = Vacuum(self.robot)
        self.conveyor = Conveyor(self.robot)


def call(data: Any = True, *, server: str = 'vacuum/switch', type: str = SWITCH,  # noqa: A002
         timeout: float = 10.0, server_timeout: float = 10.0, **options: Any) -> Motion:
    return Motion(
        kind='call', server=server, type=type, goal_json=json.dumps({'data': data}),
        server_timeout=server_timeout, timeout=timeout,
        options_json=json.dumps({'physical': True, **options}))


def publish(speed: Any = 0.2, *, topic: str = 'conveyor/speed', server_timeout: float = 10.0,
            type: str = 'std_msgs/msg/Float64', **options: Any) -> Motion:  # noqa: A002
    return Motion(
        kind='publish', server=topic, type=type, goal_json=json.dumps({'data': speed}),
        server_timeout=server_timeout, options_json=json.dumps({'physical': True, **options}))


def stream(**options: Any) -> Motion:
    return publish(**{'rate': 50.0, 'until': 'position > begin + 0.1', 'within': 10.0,
                      'finally': {'data': 0.0}, **options})


@pytest.fixture(scope='module')
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VacuumRig]:
    rig = VacuumRig(tmp_path_factory.mktemp('bridge'))
    rig.start()
    yield rig
    rig.close()


@pytest.fixture
def rig(shared: VacuumRig) -> Iterator[VacuumRig]:
    shared.vacuum.behaviour, shared.vacuum.pressure = 'succeed', 0.0
    shared.vacuum.requests.clear()
    shared.conveyor.speed, shared.conveyor.stuck = 0.0, False
    shared.conveyor.heard.clear()
    shared.gap = 0.02
    shared.spin(0.05)
    yield shared
    shared.until(lambda: not shared.bridge.busy())


def begun(rig: VacuumRig) -> str:
    return json.dumps({'begin': rig.conveyor.position})


# -- calls


def test_a_call_succeeds_when_its_response_says_so(rig: VacuumRig) -> None:
    result = rig.execute(call(True), call(False))
    assert (result.outcome, result.steps_done, result.stopped) == ('executed', 2, True)
    assert rig.vacuum.requests == [True, False]
    assert result.controller_said == 'answered: switched'
    assert json.loads(result.result_json) == {'success': True, 'message': 'switched'}
    assert list(map(json.loads, result.results_json)) == [
        {'success': True, 'message': 'switched'}] * 2


def test_a_call_that_the_response_refutes_fails_with_its_words(rig: VacuumRig) -> None:
    rig.vacuum.behaviour = 'refuse'
    result = rig.execute(call(), call())
    assert (result.outcome, result.error_code) == ('failed', ErrorCode.CALL_FAILED)
    assert result.error_msg == "service '/vacuum/switch': success is false: no air"
    assert result.stopped and len(rig.vacuum.requests) == 1
    (evidence,) = result.evidence
    assert (evidence.expression, evidence.verdict) == ('success', evidence.FALSE)
    assert (evidence.facts[0].name, evidence.facts[0].topic) == ('success', '/vacuum/switch')


@pytest.mark.parametrize(('success', 'outcome'), [
    ("success and message == 'switched'", 'executed'), ('message == word', 'executed'),
    ("message == 'off'", 'failed'), ('not success', 'failed')])
def test_success_is_a_condition_over_the_response_and_the_parameters(
    rig: VacuumRig, success: str, outcome: str
) -> None:
    result = rig.execute(call(success=success), parameters_json='{"word": "switched"}')
    assert result.outcome == outcome, result.error_msg
    assert result.error_code == (0 if outcome == 'executed' else ErrorCode.CALL_FAILED)


def test_values_of_facts_fill_a_request_and_bad_ones_are_not_sent(rig: VacuumRig) -> None:
    assert rig.execute(call({'expr': 'gap > 0.01'})).outcome == 'executed'
    result = rig.execute(call({'fact': 'gap'}))
    assert result.error_code == ErrorCode.GOAL_INVALID
    assert 'request.data: expected true or false, got 0.02' in result.error_msg
    assert rig.vacuum.requests == [True]


def test_a_service_that_is_missing_is_named_after_its_time(rig: VacuumRig) -> None:
    result = rig.execute(call(server='nobody', server_timeout=0.3))
    assert (result.outcome, result.error_code) == ('failed', ErrorCode.SERVER_MISSING)
    assert "'/nobody'" in result.error_msg and result.stopped


@pytest.mark.parametrize('stopped', [False, True])
def test_a_call_without_an_answer_may_have_been_carried_out(
    rig: VacuumRig, stopped: bool
) -> None:
    rig.vacuum.behaviour = 'silent'
    result = rig.execute(
        call(timeout=0.5), call(False), **({'stopped': STILL} if stopped else {}))
    assert (result.outcome, result.error_code) == ('not_running', ErrorCode.MOTION_TIMEOUT)
    assert 'it may have been carried out' in result.error_msg and result.stopped
    assert rig.vacuum.requests == [True]


def test_it_is_unconfirmed_if_the_sensors_see_something_move(rig: VacuumRig) -> None:
    rig.vacuum.behaviour, rig.conveyor.speed = 'silent', 0.1
    result = rig.execute(call(timeout=0.3), stopped=STILL, stop_timeout=0.6)
    assert not result.stopped and 'not seen to stop' in result.error_msg


@pytest.mark.parametrize('answers', [False, True])
def test_a_canceled_call_waits_for_its_answer(rig: VacuumRig, answers: bool) -> None:
    rig.vacuum.behaviour = 'silent'
    handle = rig.send(rig.order(call(timeout=20.0), call(False), stop_timeout=1.0))
    rig.until(lambda: rig.vacuum.requests)
    handle.cancel_goal_async()
    rig.spin(0.2)
    if answers:
        rig.vacuum.never.set_result(None)
        rig.vacuum.never = type(rig.vacuum.never)()
    result = rig.wait(handle.get_result_async()).result
    assert result.stopped is answers and rig.vacuum.requests == [True]
    assert result.error_code == (ErrorCode.CANCELED if answers else ErrorCode.STOP_UNCONFIRMED)


def test_the_sensors_see_the_stop_of_a_canceled_call(rig: VacuumRig) -> None:
    rig.vacuum.behaviour = 'silent'
    handle = rig.send(rig.order(call(timeout=20.0), stopped=STILL, stop_timeout=2.0))
    rig.until(lambda: rig.vacuum.requests)
    handle.cancel_goal_async()
    result = rig.wait(handle.get_result_async()).result
    assert (result.error_code, result.stopped) == (ErrorCode.CANCELED, True)


# -- publications


def test_one_message_is_delivered(rig: VacuumRig) -> None:
    result = rig.execute(publish(0.3), publish(0.0))
    assert (result.outcome, result.controller_said) == ('executed', 'sent')
    assert json.loads(result.result_json) == {'messages': 1}
    rig.until(lambda: rig.conveyor.speeds == [0.3, 0.0])


def test_a_topic_to_which_nobody_listens_is_named_after_its_time(rig: VacuumRig) -> None:
    result = rig.execute(publish(topic='nobody', server_timeout=0.3))
    assert (result.outcome, result.error_code) == ('failed', ErrorCode.SERVER_MISSING)
    assert "nobody subscribes to topic '/nobody'" in result.error_msg and result.stopped


def test_a_stream_ends_when_its_condition_is_true_and_finally_is_sent(rig: VacuumRig) -> None:
    result = rig.execute(stream(), parameters_json=begun(rig))
    assert (result.outcome, result.stopped) == ('executed', True), result.error_msg
    rig.until(lambda: rig.conveyor.speed == 0.0)
    assert rig.conveyor.speeds[-1] == 0.0 and set(rig.conveyor.speeds[:-1]) == {0.2}
    assert json.loads(result.result_json)['messages'] == len(rig.conveyor.heard) - 1
    assert result.evidence[0].condition == 'until'
    assert 'messages in' in result.controller_said


def test_a_stream_keeps_its_rate_without_drift(rig: VacuumRig) -> None:
    result = rig.execute(stream(rate=50.0, until='position > begin + 0.4'),
                         parameters_json=begun(rig))
    times = [when for when, _ in rig.conveyor.heard[:-1]]
    seconds = times[-1] - times[0]
    assert result.outcome == 'executed' and seconds > 1.5
    # those that are late are left out, none is made up for: never more than the rate
    assert 0.5 * seconds * 50 < len(times) <= seconds * 50 + 2


def test_a_condition_that_is_never_true_fails_after_finally(rig: VacuumRig) -> None:
    rig.conveyor.stuck = True
    result = rig.execute(stream(within=0.5), parameters_json=begun(rig))
    assert (result.outcome, result.error_code) == ('failed', ErrorCode.UNTIL_TIMEOUT)
    assert 'not true within 0.5 s' in result.error_msg and 'position' in result.error_msg
    assert result.stopped
    rig.until(lambda: rig.conveyor.speeds[-1] == 0.0)


def test_nothing_is_sent_while_the_condition_is_unknown(rig: VacuumRig) -> None:
    result = rig.execute(stream(until='present', server_timeout=0.4))
    assert (result.outcome, result.error_code) == ('failed', ErrorCode.UNTIL_TIMEOUT)
    assert 'nothing was sent' in result.error_msg and not rig.conveyor.heard


def test_a_canceled_stream_is_ended_by_finally_and_seen_to_stop(rig: VacuumRig) -> None:
    handle = rig.send(rig.order(stream(until='position > 1e6'), stopped=STILL))
    rig.until(lambda: len(rig.conveyor.heard) > 5)
    handle.cancel_goal_async()
    result = rig.wait(handle.get_result_async()).result
    assert (result.error_code, result.stopped) == (ErrorCode.CANCELED, True)
    assert rig.conveyor.speeds[-1] == 0.0


def test_a_stop_that_the_sensors_do_not_show_is_unconfirmed(rig: VacuumRig) -> None:
    handle = rig.send(rig.order(stream(until='position > 1e6', **{'finally': {'data': 0.1}}),
                                stopped=STILL, stop_timeout=0.6))
    rig.until(lambda: len(rig.conveyor.heard) > 5)
    handle.cancel_goal_async()
    result = rig.wait(handle.get_result_async()).result
    assert (result.error_code, result.stopped) == (ErrorCode.STOP_UNCONFIRMED, False)
    rig.conveyor.speed = 0.0


def test_a_violated_condition_ends_a_stream(rig: VacuumRig) -> None:
    maintain = [Condition(name='maintain', expression='position < begin + 0.05')]
    result = rig.execute(stream(until='position > 1e6'), maintain=maintain, stopped=STILL,
                         parameters_json=begun(rig))
    assert (result.error_code, result.stopped) == (ErrorCode.MAINTAIN_VIOLATED, True)
    assert rig.conveyor.speeds[-1] == 0.0


def test_an_estop_ends_a_stream_at_once(rig: VacuumRig) -> None:
    handle = rig.send(rig.order(stream(until='position > 1e6'), stopped=STILL))
    rig.until(lambda: len(rig.conveyor.heard) > 5)
    rig.beating = False
    rig.estop.publish(Bool(data=True))
    took = rig.until(lambda: rig.conveyor.speeds[-1] == 0.0)
    result = rig.wait(handle.get_result_async()).result
    assert (result.error_code, result.stopped) == (ErrorCode.ESTOP, True) and took < 2.0
    rig.beating = True
    rig.clear_when_possible(rig.clear_client)
    rig.until(lambda: rig.safety[-1].state == SafetyState.READY)


def test_a_resumed_stream_is_ended_by_finally_before_anything_else_also_while_stopped(
    rig: VacuumRig
) -> None:
    rig.beating = False
    rig.estop.publish(Bool(data=True))
    rig.until(lambda: rig.safety[-1].state == SafetyState.STOPPED)
    rig.conveyor.speed = 0.2  # an earlier process has begun it
    unknown = [Condition(name='maintain', expression='present', within=5.0)]
    result = rig.execute(stream(), stopped=STILL, maintain=unknown, resume=True,
                         parameters_json='{"begin": 0}')
    assert rig.conveyor.speeds == [0.0]
    assert (result.outcome, result.error_code) == ('failed', ErrorCode.ESTOP) and result.stopped
    rig.beating = True
    rig.clear_when_possible(rig.clear_client)
    rig.until(lambda: rig.safety[-1].state == SafetyState.READY)
    result = rig.execute(stream(), stopped=STILL, resume=True, parameters_json='{"begin": 0}')
    assert (result.outcome, result.stopped) == ('not_running', True)
    assert "ended by 'finally'" in result.controller_said
    result = rig.execute(call(), resume=True)
    assert (result.outcome, result.stopped, rig.vacuum.requests) == ('not_running', True, [])


@pytest.mark.parametrize(('step', 'words'), [
    (publish(math.nan), 'message.data: nan is not finite'),
    (publish(2.0), 'message.data: 2 is out of its limits, -1 to 1'),
    (publish({'expr': 'gap * 100'}), 'message.data: 2 is out of its limits'),
    (stream(**{'finally': {'dta': 0}}), "finally.dta: unknown field 'dta'"),
    (publish(topic='estop'), "'/estop' is read by the facts or the safety topics"),
    (publish(topic='conveyor/position'), 'is read by the facts'),
    (publish(topic='rosout'), "'/rosout' is a topic of ROS itself"),
    (call(server='world_model_bridge/clear_stop', type='action_lifecycle_msgs/srv/ClearStop'),
     'with which people control'),
    (call(server='world_model_bridge/change_state', type='lifecycle_msgs/srv/ChangeState'),
     "belongs to the node '/world_model_bridge'"),
    (call(success='succes'), "has no field 'succes'; did you mean 'success'?"),
    (call(nonsense=1), "unknown field 'nonsense'"),
    (Motion(kind='task'), "kind: 'task': expected motion, call or publish"),
])
def test_what_may_not_be_sent_is_refused_before(rig: VacuumRig, step: Motion, words: str) -> None:
    result = rig.execute(step, parameters_json='{"begin": 0}')
    assert words in result.error_msg
    assert result.error_code in (ErrorCode.GOAL_INVALID, ErrorCode.INVALID_REQUEST)
    assert (result.outcome, result.stopped) == ('failed', True)
    assert not rig.conveyor.heard and not rig.vacuum.requests


@pytest.mark.parametrize(('step', 'path', 'words'), [
    (call(), '', ''), (stream(), '', ''), (call(success='success'), '', ''),
    (call(server='vacum/switch'), 'service', "did you mean '/vacuum/switch'?"),
    (call(type='std_srvs/srv/Trigger'), 'type', 'is of type std_srvs/srv/SetBool, not'),
    (call(type='std_srvs/srv/SetBol'), 'type', "did you mean 'std_srvs/srv/SetBool'"),
    (call(3), 'request.data', 'expected true or false'),
    (call(success='message > 3'), 'success', "'message' is a text, '3' is a number"),
    (call(success='message.text'), 'success', "column 1: field path 'message.text'"),
    (publish(topic='conveyor/sped'), 'topic', "did you mean '/conveyor/speed'?"),
    (publish(type='std_msgs/msg/Bool'), 'type', 'is of type std_msgs/msg/Float64, not'),
    (publish(2.0), 'message.data', 'out of its limits'),
    (stream(until='positon > 1'), 'until', "did you mean 'position'"),
    (stream(**{'finally': {'data': 3.0}}), 'finally.data', 'out of its limits'),
    (publish(topic='present', type='std_msgs/msg/Bool'), 'topic', 'read by the facts'),
    (call(server='world_model_bridge/get_state', type='lifecycle_msgs/srv/GetState'), 'service',
     "belongs to the node '/world_model_bridge'"),
])
def test_the_check_names_the_field(rig: VacuumRig, step: Motion, path: str, words: str) -> None:
    faults = rig.call(rig.check_client, Check.Request(
        steps=[step], parameters_json='{"begin": 0.0}')).faults
    if not path:
        assert not faults
        return
    assert words in [fault.message for fault in faults if fault.path == path][0], faults
    assert {fault.kind for fault in faults} == {CheckFault.MOTION}


def test_nothing_is_sent_while_stopped(rig: VacuumRig) -> None:
    rig.beating = False
    rig.estop.publish(Bool(data=True))
    rig.until(lambda: rig.safety[-1].state == SafetyState.STOPPED)
    for step in (call(), publish(), stream()):
        result = rig.execute(step, parameters_json='{"begin": 0.0}')
        assert (result.error_code, result.stopped) == (ErrorCode.ESTOP, True)
    assert not rig.vacuum.requests and not rig.conveyor.heard
    rig.beating = True
    rig.clear_when_possible(rig.clear_client)
    assert isinstance(rig.call(rig.clear_client, ClearStop.Request()), ClearStop.Response)
    rig.until(lambda: rig.safety[-1].state == SafetyState.READY)
