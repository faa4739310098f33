# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""execute_motion over real DDS: what each kind of server does to it, and how it is stopped."""

from __future__ import annotations

from collections.abc import Iterator
import json
import math
import time
import uuid

from action_lifecycle.ros.conversions.basic import from_uuid, to_uuid
from action_lifecycle_msgs.msg import Condition, ErrorCode, Motion
from control_msgs.action import GripperCommand
import pytest
from rclpy.action import ActionClient
from unique_identifier_msgs.msg import UUID

from .bridge_rig import GRIPPER, Gripper, Rig

OPEN = {'command': {'position': 0.05, 'max_effort': 10.0}}
CLOSE = {'command': {'position': 0.0, 'max_effort': 10.0}}


@pytest.fixture(scope='module')
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    rig = Rig(tmp_path_factory.mktemp('bridge'))
    rig.start()
    yield rig
    rig.close()


@pytest.fixture
def rig(shared: Rig) -> Iterator[Rig]:
    shared.gripper.behaviour, shared.gripper.refuse_cancel = 'succeed', False
    shared.gripper.goals.clear()
    shared.gripper.ids.clear()
    shared.gripper.asked = 0
    shared.gap, shared.moving = 0.02, 0.0
    shared.spin(0.05)  # the bridge has seen it
    yield shared
    shared.gripper.let_go()
    shared.until(lambda: not shared.bridge.busy())


def test_steps_are_executed_one_after_the_other_with_ids_that_follow(rig: Rig) -> None:
    goal_id = uuid.uuid4()
    result = rig.execute(OPEN, CLOSE, goal_id=to_uuid(goal_id.hex))
    assert (result.outcome, result.steps_done, result.stopped) == ('executed', 2, True)
    assert (result.error_code, result.error_msg, result.controller_said) == (0, '', 'succeeded')
    assert '"reached_goal": true' in result.result_json
    assert [goal.command.position for goal in rig.gripper.goals] == [0.05, 0.0]
    assert rig.gripper.ids == [uuid.uuid5(goal_id, '0').bytes, uuid.uuid5(goal_id, '1').bytes]
    assert abs(result.ended.sec - rig.now()) < 5


def test_values_of_facts_and_parameters_are_filled_in_when_it_is_sent(rig: Rig) -> None:
    rig.gap = 0.031
    result = rig.execute({'command': {'position': {'fact': 'gap'},
                                      'max_effort': {'expr': 'force * 2'}}},
                         parameters_json='{"force": 7.5}')
    assert result.outcome == 'executed'
    assert rig.gripper.goals[0].command.position == 0.031
    assert rig.gripper.goals[0].command.max_effort == 15.0


@pytest.mark.parametrize(('goal', 'words'), [
    ({'command': {'position': math.nan}}, 'goal.command.position: nan is not finite'),
    ({'command': {'position': math.inf}}, 'goal.command.position: inf is not finite'),
    ({'command': {'position': 0.6}}, 'goal.command.position: 0.6 is out of its limits, 0 to 0.5'),
    ({'command': {'max_effort': 41.0}}, 'goal.command.max_effort: 41 is out of its limits, 0 to'),
    ({'command': {'max_effort': {'expr': 'gap * 1e6'}}}, 'is out of its limits, 0 to 40'),
    ({'command': {'postion': 1.0}}, "unknown field 'postion'; did you mean 'position'?"),
    ({'command': {'position': 'wide'}}, "expected a number, got 'wide'"),
    ({'command': {'position': {'expr': 'gapp'}}}, "unknown name 'gapp'; did you mean 'gap'?"),
])
def test_a_goal_that_does_not_fit_is_refused_before_it_is_sent(
    rig: Rig, goal: object, words: str,
) -> None:
    result = rig.execute(goal)
    assert words in result.error_msg
    assert result.error_code in (ErrorCode.GOAL_INVALID, ErrorCode.INVALID_REQUEST)
    assert (result.outcome, result.stopped, rig.gripper.goals) == ('failed', True, [])


def test_a_server_that_is_missing_is_named_after_its_time(rig: Rig) -> None:
    start = time.monotonic()
    result = rig.execute(Motion(server='nobody', type=GRIPPER, server_timeout=0.3))
    assert result.error_code == ErrorCode.SERVER_MISSING
    assert "'nobody'" in result.error_msg and result.stopped
    assert 0.3 <= time.monotonic() - start < 5.0


def test_a_rejected_goal(rig: Rig) -> None:
    rig.gripper.behaviour = 'reject'
    result = rig.execute(OPEN)
    assert (result.error_code, result.outcome) == (ErrorCode.GOAL_REJECTED, 'failed')
    assert result.stopped


def test_an_aborted_goal_ends_the_motion(rig: Rig) -> None:
    rig.gripper.behaviour = 'abort'
    result = rig.execute(OPEN, CLOSE)
    assert (result.error_code, result.steps_done) == (ErrorCode.MOTION_ABORTED, 0)
    assert result.controller_said == 'aborted' and len(rig.gripper.goals) == 1


def test_no_result_in_time_cancels_the_goal(rig: Rig) -> None:
    rig.gripper.behaviour = 'wait'
    result = rig.execute(Motion(server='gripper', type=GRIPPER, server_timeout=10.0, timeout=0.3))
    assert result.error_code == ErrorCode.MOTION_TIMEOUT
    assert result.stopped and rig.gripper.canceled


def test_cancel_waits_for_the_servers_word(rig: Rig) -> None:
    rig.gripper.behaviour = 'wait'
    handle = rig.send(rig.order(OPEN, CLOSE))
    rig.until(lambda: rig.gripper.goals)
    rig.wait(handle.cancel_goal_async())
    result = rig.result(handle)
    assert (result.outcome, result.error_code) == ('canceled', ErrorCode.CANCELED)
    assert result.stopped and len(rig.gripper.goals) == 1


def test_a_cancel_before_the_goal_is_accepted_is_not_lost(rig: Rig) -> None:
    rig.gripper.behaviour = 'never_answer'
    handle = rig.send(rig.order(OPEN))
    rig.until(lambda: rig.gripper.asked)
    rig.wait(handle.cancel_goal_async())
    rig.gripper.behaviour = 'wait'  # it accepts now, late
    rig.gripper.let_go()
    result = rig.result(handle)
    assert (result.outcome, result.stopped) == ('canceled', True)
    assert rig.gripper.goals  # it had been started


def test_a_cancel_while_waiting_for_the_server_sends_nothing(rig: Rig) -> None:
    handle = rig.send(rig.order(Motion(server='nobody', type=GRIPPER, server_timeout=60.0)))
    rig.spin(0.2)
    rig.wait(handle.cancel_goal_async())
    result = rig.result(handle)
    assert (result.outcome, result.stopped) == ('canceled', True)


def test_a_stop_that_the_server_does_not_confirm_is_an_error(rig: Rig) -> None:
    rig.gripper.behaviour, rig.gripper.refuse_cancel = 'hang', True
    handle = rig.send(rig.order(OPEN, stop_timeout=0.4))
    rig.until(lambda: rig.gripper.goals)
    rig.wait(handle.cancel_goal_async())
    result = rig.result(handle)
    assert (result.error_code, result.stopped) == (ErrorCode.STOP_UNCONFIRMED, False)
    assert "server 'gripper' refused to cancel the goal, and did not say that it stopped" \
        in result.error_msg


def test_cancel_waits_until_the_sensors_see_it_stopped(rig: Rig) -> None:
    rig.gripper.behaviour, rig.moving = 'wait', 0.2
    stopped = Condition(name='stopped', expression='speed < 0.01', hold=0.1)
    handle = rig.send(rig.order(OPEN, stopped=stopped, stop_timeout=5.0))
    rig.until(lambda: rig.gripper.goals)
    rig.wait(handle.cancel_goal_async())
    future = handle.get_result_async()
    rig.spin(0.4)
    assert not future.done()  # the server has stopped, the joints have not
    rig.moving = 0.0
    took = rig.until(future.done)
    assert future.result().result.stopped and took > 0.1


def test_a_motion_that_is_never_seen_to_stop(rig: Rig) -> None:
    rig.gripper.behaviour, rig.moving = 'wait', 0.2
    stopped = Condition(name='stopped', expression='speed < 0.01')
    handle = rig.send(rig.order(OPEN, stopped=stopped, stop_timeout=0.5))
    rig.until(lambda: rig.gripper.goals)
    rig.wait(handle.cancel_goal_async())
    result = rig.result(handle)
    assert (result.error_code, result.stopped) == (ErrorCode.STOP_UNCONFIRMED, False)
    assert 'speed 0.2' in result.error_msg


def test_the_facts_file_says_what_is_never_seen_to_stop(rig: Rig) -> None:
    held = Gripper(rig.robot, 'held')
    held.behaviour, rig.moving = 'wait', 0.2
    handle = rig.send(rig.order(Motion(
        server='held', type=GRIPPER, goal_json=json.dumps(OPEN), server_timeout=10.0,
        timeout=20.0), stop_timeout=0.5))
    rig.until(lambda: held.goals)
    rig.wait(handle.cancel_goal_async())
    result = rig.result(handle)
    held.server.destroy()
    assert (result.error_code, result.stopped) == (ErrorCode.STOP_UNCONFIRMED, False)
    assert 'speed 0.2' in result.error_msg


def test_maintain_violated_cancels_at_the_first_sample_that_violates_it(rig: Rig) -> None:
    rig.gripper.behaviour = 'wait'
    maintain = [Condition(name='held', expression='gap > 0.01', within=1.0)]
    rig.gap = 0.02
    rig.gripper.let_go()
    rig.result(rig.confirm('gap > 0.01'))
    before, sent = rig.gripper.canceled, len(rig.gripper.goals)
    handle = rig.send(rig.order(OPEN, maintain=maintain))
    rig.until(lambda: len(rig.gripper.goals) > sent)
    rig.gap = None
    rig.publish_gap(0.001)  # the only one: nothing else may tell
    rig.until(lambda: rig.gripper.canceled > before)
    result = rig.result(handle)
    assert (result.error_code, result.outcome) == (ErrorCode.MAINTAIN_VIOLATED, 'failed')
    assert result.evidence[0].facts[0].numbers[0] == 0.001
    assert 'gap > 0.01 is false' in result.error_msg and result.stopped


def test_a_maintained_fact_that_falls_silent_cancels(rig: Rig) -> None:
    rig.gripper.behaviour = 'wait'
    rig.gap = 0.02
    rig.gripper.let_go()
    rig.result(rig.confirm('gap > 0.01', after=rig.now()))
    sent = len(rig.gripper.goals)
    handle = rig.send(rig.order(
        OPEN, maintain=[Condition(name='held', expression='gap > 0.01', within=0.2)]))
    rig.until(lambda: len(rig.gripper.goals) > sent)
    rig.gap = None
    rig.publish_gap(0.02)
    result = handle.get_result_async()
    took = rig.until(result.done)
    assert took > 0.6  # max_age of the fact, and how long it may be unknown
    assert result.result().result.error_code == ErrorCode.MAINTAIN_VIOLATED


def test_maintain_false_from_the_start_sends_nothing(rig: Rig) -> None:
    rig.gap = 0.0
    rig.spin(0.05)
    result = rig.execute(
        OPEN, maintain=[Condition(name='held', expression='gap > 0.01', within=1.0)])
    assert result.error_code == ErrorCode.MAINTAIN_VIOLATED
    assert result.stopped and not rig.gripper.goals


def test_a_goal_id_is_executed_once_only(rig: Rig) -> None:
    order = rig.order(OPEN)
    assert rig.result(rig.send(order)).outcome == 'executed'
    again = rig.result(rig.send(order))
    assert (again.outcome, again.error_code) == ('failed', ErrorCode.INVALID_REQUEST)
    assert len(rig.gripper.goals) == 1


def test_resume_joins_a_motion_that_runs_and_tells_one_that_ended(rig: Rig) -> None:
    rig.gripper.behaviour = 'wait'
    order = rig.order(OPEN)
    first = rig.send(order)
    rig.until(lambda: rig.gripper.goals)
    order.resume = True
    second = rig.send(order).get_result_async()
    rig.spin(0.1)
    rig.gripper.let_go()
    assert rig.wait(second).result.outcome == 'executed'
    assert rig.result(first).outcome == 'executed'
    assert rig.result(rig.send(order)).outcome == 'executed'  # from memory
    assert len(rig.gripper.goals) == 1


def test_resume_of_what_no_server_knows_moves_nothing(rig: Rig) -> None:
    result = rig.execute(OPEN, CLOSE, resume=True)
    assert (result.outcome, result.error_code) == ('not_running', 0)
    assert result.stopped and not rig.gripper.goals


@pytest.mark.parametrize(('fields', 'stopped'), [
    ({'maintain': [Condition(name='m', expression='gone > 1')]}, True),
    ({'stopped': Condition(name='s', expression='gone > 1')}, False),
    ({'steps': [Motion(server='gripper', type=GRIPPER, timeout=20.0, server_timeout=5.0,
                       goal_json='{"command": {"position": {"fact": "gone"}}}')]}, True)])
def test_resume_with_facts_that_are_gone_stops_what_moves(
    rig: Rig, fields: dict, stopped: bool
) -> None:
    rig.gripper.behaviour, rig.gripper.canceled = 'wait', 0
    order = rig.order(OPEN, resume=True, stopped=Condition(name='s', expression='speed < 0.01'))
    step_id = uuid.uuid5(uuid.UUID(from_uuid(order.goal_id).hex), '0')
    client = ActionClient(rig.asker, GripperCommand, 'gripper')
    rig.until(client.server_is_ready)
    client.send_goal_async(  # as an earlier bridge did
        GripperCommand.Goal(), goal_uuid=UUID(uuid=list(step_id.bytes)))
    rig.until(lambda: rig.gripper.goals)
    for name, value in fields.items():
        setattr(order, name, value)
    result = rig.result(rig.send(order))
    assert (result.error_code, result.stopped) == (ErrorCode.INVALID_REQUEST, stopped)
    assert 'gone' in result.error_msg and rig.gripper.canceled == 1


@pytest.mark.parametrize(('fields', 'words'), [
    ({'goal_id': to_uuid('')}, 'goal_id'),
    ({'parameters_json': '[1]'}, 'parameters_json'),
    ({'maintain': [Condition(name='m', expression='gapp > 1')]}, "did you mean 'gap'"),
    ({'stopped': Condition(name='s', expression='gap +')}, 'invalid syntax'),
    ({'stop_timeout': -1.0}, 'stop_timeout'),
    ({'stop_timeout': math.nan}, 'stop_timeout'),
    ({'steps': [Motion(server='gripper', type=GRIPPER, timeout=math.nan)]},
     'steps.0.timeout: nan: expected seconds'),
    ({'steps': [Motion(server='gripper', type=GRIPPER, server_timeout=-1.0)]},
     'steps.0.server_timeout: -1.0'),
    ({'steps': [Motion(server='gripper', type=GRIPPER, goal_json='[1]')]}, 'steps.0.goal_json'),
    ({'steps': [Motion(server='gripper cmd?', type=GRIPPER)]}, 'steps.0.server'),
    ({'maintain': [Condition(name='m', expression='gap')]}, "'gap' is a number"),
])
def test_a_request_that_is_not_usable_says_why(rig: Rig, fields: dict, words: str) -> None:
    order = rig.order(OPEN)
    for name, value in fields.items():
        setattr(order, name, value)
    result = rig.result(rig.send(order))
    assert result.error_code == ErrorCode.INVALID_REQUEST and words in result.error_msg
    assert not rig.gripper.goals


def test_feedback_tells_step_and_state(rig: Rig) -> None:
    seen: list[tuple[int, str]] = []
    handle = rig.wait(rig.motion.send_goal_async(
        rig.order(OPEN, CLOSE),
        lambda message: seen.append((message.feedback.step, message.feedback.step_state))))
    rig.result(handle)
    rig.until(lambda: (0, 'executing') in seen and (1, 'executing') in seen)


def test_the_goal_id_of_a_step_is_known_beforehand() -> None:
    goal_id = uuid.UUID(int=1)
    assert from_uuid(to_uuid(uuid.uuid5(goal_id, '0').hex)) == uuid.uuid5(goal_id, '0')
