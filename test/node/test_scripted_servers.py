# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The servers, services and subscribers of the scripted node, asked by clients of rclpy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import signal
from typing import Any

from action_lifecycle.flow import parse_flow
from action_lifecycle.nodes.scripted.main import main
from action_lifecycle.ros.interfaces.qos import event_qos
from action_lifecycle.testing import Behaviour, RobotScript, ScriptedNode
from action_lifecycle_msgs.msg import ActionStateChange
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
import pytest
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64
from std_srvs.srv import SetBool, Trigger

from .forked import Forked
from .system import System

FACTS = """\
estop: {topic: estop, type: std_msgs/msg/Bool, field: data, max_age: 1.0}
facts:
  x: {topic: joints, type: sensor_msgs/msg/JointState, field: 'position[name=x]', max_age: 0.3}
"""
FLOW = """\
flow: all
actions:
  near: {motion: &arm {server: arm, type: control_msgs/action/FollowJointTrajectory},
         confirm: x < 1}
  far: {motion: *arm, confirm: x < 1}
  vacuum: {call: {service: vacuum, type: std_srvs/srv/SetBool, request: {data: true}}}
  wake: {call: {service: wake, type: std_srvs/srv/Trigger}}
  belt: {publish: {topic: belt, type: std_msgs/msg/Float64, message: {data: 0.2}, rate: 20,
                   until: x > 0.5, finally: {data: 0.0}}}
"""
GO = Behaviour(takes=0.2, during={'x': {'to': 1.0}})


class Client(System):
    """Clients of the servers of a script."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.x = 0.0
        self.arm = ActionClient(self.node, FollowJointTrajectory, 'arm')
        self.node.create_subscription(JointState, 'joints', self._heard, 10)
        (folder / 'facts.yaml').write_text(FACTS)
        self.robot: Any = None

    def _heard(self, message: JointState) -> None:
        self.x = message.position[0]

    def play(self, **servers: Any) -> ScriptedNode:
        self.robot = ScriptedNode(
            parse_flow(FLOW, 'flow.yaml'), self.folder / 'facts.yaml',
            RobotScript(facts={'x': 0.0}, servers=servers), context=self.context)
        self.executor.add_node(self.robot)
        return self.robot

    def done(self, future: Any, what: str) -> Any:
        self.until(future.done, 20.0, what)
        return future.result()

    def goal(self) -> Any:
        self.until(self.arm.server_is_ready, 20.0, 'the server')
        return self.done(self.arm.send_goal_async(FollowJointTrajectory.Goal()), 'acceptance')

    def result(self, handle: Any) -> Any:
        return self.done(handle.get_result_async(), 'the result')


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path)
    yield client
    client.executor.shutdown()
    client.close()


def test_goals_end_as_the_script_says(client: Client) -> None:
    robot = client.play(arm=[
        GO, Behaviour(result='aborted', takes=0.1, text='no path', values={'error_code': -4}),
        Behaviour(result='rejected'), Behaviour(takes=30.0, during={'x': {'to': 9.0}}),
        Behaviour(takes=0.5, on_cancel='ignores')])
    assert client.result(client.goal()).status == GoalStatus.STATUS_SUCCEEDED
    client.until(lambda: client.x == 1.0, 5.0, 'x')
    aborted = client.result(client.goal())
    assert aborted.status == GoalStatus.STATUS_ABORTED
    assert (aborted.result.error_string, aborted.result.error_code) == ('no path', -4)
    assert not client.goal().accepted
    handle = client.goal()
    client.until(lambda: client.x > 1.0, 5.0, 'it moves')
    client.done(handle.cancel_goal_async(), 'cancel')
    assert client.result(handle).status == GoalStatus.STATUS_CANCELED
    stands = robot.signals.value('x', robot.clock.time)
    client.until(lambda: client.x == pytest.approx(stands), 5.0, 'it stays where it is')
    assert 1.0 < stands < 2.0
    handle = client.goal()
    client.done(handle.cancel_goal_async(), 'cancel')
    assert client.result(handle).status == GoalStatus.STATUS_SUCCEEDED
    assert [goal.end for goal in robot.goals] == [
        'succeeded', 'aborted', 'rejected', 'canceled', 'succeeded']


def test_a_server_knows_the_action_that_is_at_its_motion(client: Client) -> None:
    """Two actions use the server: the state changes tell which one a goal is from."""
    robot = client.play(**{'arm@far': Behaviour(result='rejected'), 'arm': GO})
    assert robot.action_of('vacuum') == 'vacuum'
    assert client.goal().accepted, 'not known: the behaviour of the server'
    changes = client.node.create_publisher(
        ActionStateChange, 'action_lifecycle/state_changes', event_qos())
    client.until(changes.get_subscription_count, 20.0, 'the robot listens')
    changes.publish(ActionStateChange(action_id='far', to_state='executing_motion'))
    client.until(lambda: robot.action_of('arm') == 'far', 20.0, 'the change is heard')
    assert not client.goal().accepted
    changes.publish(ActionStateChange(action_id='far', to_state='error'))
    client.until(lambda: robot.action_of('arm') == '', 20.0, 'the change is heard')


def test_services_answer_and_streams_are_heard(client: Client) -> None:
    robot = client.play(
        vacuum=[Behaviour(takes=0.1, text='on'), Behaviour(result='aborted', takes=0.0)],
        wake=Behaviour(result='none', during={'x': 0.25}),
        belt=Behaviour(during={'x': 0.7}, after={'x': 0.6}))
    vacuum = client.node.create_client(SetBool, 'vacuum')
    client.until(vacuum.service_is_ready, 20.0, 'the service')
    client.until(lambda: robot.count_clients('vacuum'), 20.0, 'the robot knows the client')
    first = client.done(vacuum.call_async(SetBool.Request(data=True)), 'a response')
    assert (first.success, first.message) == (True, 'on')
    assert not client.done(vacuum.call_async(SetBool.Request()), 'a response').success
    wake = client.node.create_client(Trigger, 'wake')
    client.until(wake.service_is_ready, 20.0, 'the service')
    unanswered = wake.call_async(Trigger.Request())
    client.until(lambda: client.x == 0.25, 10.0, 'the call has begun')
    belt = client.node.create_publisher(Float64, 'belt', 10)
    client.until(belt.get_subscription_count, 20.0, 'the subscriber')
    belt.publish(Float64(data=0.2))
    client.until(lambda: client.x == 0.7, 10.0, 'the stream has begun')
    belt.publish(Float64(data=0.0))
    client.until(lambda: client.x == 0.6, 10.0, 'the stream has ended')
    assert not unanswered.done()
    assert [goal.server for goal in robot.goals] == ['vacuum', 'vacuum', 'wake', 'belt']
    assert robot.goals[0].goal['data'] is True


def test_a_server_that_is_missing_is_not_there(client: Client) -> None:
    client.play(arm=Behaviour(result='missing'))
    vacuum = client.node.create_client(SetBool, 'vacuum')
    client.until(vacuum.service_is_ready, 20.0, 'the others are there')
    assert not client.arm.server_is_ready()


CASES = """\
flow: flow.yaml
facts: facts.yaml
robot:
  facts: {x: 0.0}
  servers: {arm: {takes: 0.2, during: {x: {to: 0.5}}}}
cases:
  it is pressed:
    events: [{at: 0.1, estop: true, facts: {x: 0.75}}]
    expect: {flow: failed}
"""


def test_the_executable_plays_a_case(client: Client) -> None:
    (client.folder / 'flow.yaml').write_text(FLOW)
    cases = client.folder / 'go.cases.yaml'
    cases.write_text(CASES)
    heard: list[bool] = []
    client.node.create_subscription(Bool, 'estop', lambda beat: heard.append(beat.data), 10)
    with open(client.folder / 'robot.log', 'ab') as log:
        process = Forked(
            ['scripted_robot', str(cases), '--case', 'it is pressed'], client.environment, log)
    try:
        client.until(lambda: heard, 30.0, 'the e-stop')
        assert client.result(client.goal()).status == GoalStatus.STATUS_SUCCEEDED
        assert not any(heard), 'events count from the first change of an action'
        changes = client.node.create_publisher(
            ActionStateChange, 'action_lifecycle/state_changes', event_qos())
        client.until(changes.get_subscription_count, 20.0, 'the robot listens')
        changes.publish(ActionStateChange(action_id='near', to_state='in_progress'))
        client.until(lambda: heard[-1] and client.x == 0.75, 10.0, 'the e-stop is pressed')
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(10.0) == 0


@pytest.mark.parametrize(('arguments', 'words'), [
    (['--case', 'it is presed'], "there is no case 'it is presed'; did you mean 'it is pressed'?"),
    ([], "server 'wake': ")])
def test_what_can_not_be_played_is_an_error_of_the_executable(
    tmp_path: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / 'facts.yaml').write_text(FACTS)
    (tmp_path / 'flow.yaml').write_text(FLOW)
    cases = tmp_path / 'go.cases.yaml'
    cases.write_text(CASES if arguments else CASES.replace(
        'servers: {', 'servers: {wake: {values: {sucess: true}}, '))
    assert main([str(cases), *arguments]) == 2
    assert words in capsys.readouterr().err
