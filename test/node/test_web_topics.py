# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The link to a robot whose node is of the test's own: motions, transforms, pictures, silence."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
import threading
import time
from typing import Any
import uuid

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.nodes.web import images, orders
from action_lifecycle.nodes.web.names import ANSWERING
from action_lifecycle.ros.interfaces.qos import event_qos, state_qos
from action_lifecycle.viewer.robots import MotionNow
from action_lifecycle_msgs.action import ExecuteMotion
from action_lifecycle_msgs.msg import (
    ActionState,
    ActionStateChange,
    ActionStatus,
    ActionStatusArray,
    ErrorCode,
    OperatorRequest,
    OperatorRequestArray,
    SafetyState,
    WorldState,
)
from action_lifecycle_msgs.srv import ControlFlow, Respond
from geometry_msgs.msg import TransformStamped
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
import pytest
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from rclpy.task import Future
from sensor_msgs.msg import CompressedImage, Image
from tf2_msgs.msg import TFMessage
from unique_identifier_msgs.msg import UUID

from .process_rig import ProcessRig
from .web_rig import Viewer

NAMESPACE = '/three'


class Robot(ProcessRig):
    """Answers for the nodes of a robot that take orders, as it is told to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, redis=False)
        self.orders: list[Any] = []
        self.unanswered: list[Future] = []
        self.answers = True
        self.answered: list[tuple[str, Respond.Request]] = []
        for name in ANSWERING:
            self.node.create_service(GetState, f'{NAMESPACE}/{name}/get_state', self._state)
            self.node.create_service(
                Respond, f'{NAMESPACE}/{name}/respond', partial(self._answer, name))
        self.node.create_service(
            ControlFlow, f'{NAMESPACE}/action_lifecycle/control_flow', self._order)

    def _state(self, request: Any, response: Any) -> Any:
        response.current_state.id = State.PRIMARY_STATE_ACTIVE
        return response

    def _answer(self, node: str, request: Any, response: Any) -> Any:
        self.answered.append((node, request))
        response.accepted = True
        return response

    async def _order(self, request: Any, response: Any) -> Any:
        self.orders.append(request)
        if not self.answers:
            self.unanswered.append(Future(executor=self.executor))
            await self.unanswered[-1]
        response.accepted, response.seq = True, 7
        return response

    def publisher(self, kind: type, name: str, qos: Any = 10) -> Any:
        return self.node.create_publisher(kind, f'{NAMESPACE}/{name}', qos)

    def close(self) -> None:
        for future in self.unanswered:
            future.set_result(None)
        self.executor.spin_once(timeout_sec=0.1)
        self.end(())


@pytest.fixture(scope='module')
def robot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Robot]:
    robot = Robot(tmp_path_factory.mktemp('topics'))
    yield robot
    robot.close()


@pytest.fixture(scope='module')
def viewer(robot: Robot) -> Iterator[Viewer]:
    viewer = Viewer(robot, {'three': robot.folder / 'no.journal'})
    viewer.until_node('three', 'action_lifecycle', 'active')
    yield viewer
    viewer.close()


def test_an_order_whose_answer_is_lost_is_not_repeated(
    robot: Robot, viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, 'LIMIT', 1.0)
    ordered = viewer.robots['three'].orders
    assert viewer.do(ordered.control('pause', 'f', actor='ann')).ok
    robot.answers = False
    answer = viewer.do(ordered.control('skip', 'f', 'a', actor='ann'))
    assert not answer.ok and 'not known whether the order was taken' in answer.text
    robot.until(lambda: robot.orders, 1.0, 'an order')
    assert [order.verb for order in robot.orders] == ['pause', 'skip']


def test_an_answer_goes_to_the_node_that_asked(robot: Robot, viewer: Viewer) -> None:
    """Also if the questions of several nodes have the same id."""
    now = viewer.robots['three']
    topics = {name: robot.publisher(OperatorRequestArray, f'{name}/operator_requests', state_qos())
              for name in ANSWERING}
    for name, topic in topics.items():
        viewer.until_node('three', name, 'active')
        topic.publish(OperatorRequestArray(requests=[
            OperatorRequest(id='q1', kind='authorize', question=f'May {name}?')]))
    robot.until(lambda: len(now.now.questions) == len(ANSWERING), 10.0, 'the questions')
    for question in now.now.questions:
        assert question.question == f'May {question.node}?'
        assert viewer.do(now.orders.respond(
            question, f'yes, {question.node}', actor='ann', comment='seen')).ok
    assert {question.node for question in now.now.questions} == set(ANSWERING)
    assert [(node, request.id, request.answer, request.actor, request.comment)
            for node, request in robot.answered] == [
        (question.node, 'q1', f'yes, {question.node}', 'ann', 'seen')
        for question in now.now.questions]
    topics['agent'].publish(OperatorRequestArray())
    robot.until(lambda: {question.node for question in now.now.questions}
                == {*ANSWERING} - {'agent'}, 10.0, 'the question of the agent has ended')
    unknown = now.now.questions[0]._replace(node='nobody')
    answer = viewer.do(now.orders.respond(unknown, 'yes', actor='ann'))
    assert answer == (False, "there is no node 'nobody' that takes answers")


def test_a_burst_of_changes_causes_few_looks_at_the_journal(
    robot: Robot, viewer: Viewer
) -> None:
    """While a page takes long, too: one call waits in the loop, whatever is published."""
    changes = robot.publisher(ActionStateChange, 'action_lifecycle/state_changes', event_qos())
    robot.until(changes.get_subscription_count, 10.0, 'the subscription')
    live = viewer.node.links['three']._live
    calls: list[float] = []
    take = live.take_rows
    live.take_rows = lambda nothing: (calls.append(time.monotonic()), take(nothing))
    try:
        robot.until(lambda: (changes.publish(ActionStateChange()), calls)[1], 10.0, 'a call')
        busy = threading.Event()  # what was called before is not counted
        viewer.loop.call_soon_threadsafe(lambda: (busy.set(), time.sleep(1.0)))
        assert busy.wait(10.0)
        del calls[:]
        for _ in range(50):
            for _ in range(20):
                changes.publish(ActionStateChange())
            robot.executor.spin_once(timeout_sec=0.005)
        assert not calls
        end = time.monotonic() + 2.0
        robot.until(lambda: time.monotonic() > end, 5.0, 'the rest')
        assert 1 <= len(calls) <= 50
    finally:
        del live.take_rows


def test_motions_are_shown_with_their_feedback(robot: Robot, viewer: Viewer) -> None:
    goal = uuid.uuid4().bytes
    actions = robot.publisher(ActionStatusArray, 'action_lifecycle/actions', state_qos())
    feedback = robot.publisher(
        ExecuteMotion.Impl.FeedbackMessage,
        'world_model_bridge/execute_motion/_action/feedback', event_qos())
    actions.publish(ActionStatusArray(actions=[
        ActionStatus(flow_id='f', action_id='outer/pick', step=1, goal_id=UUID(uuid=list(goal)),
                     state=ActionState(value='executing_motion')),
        ActionStatus(flow_id='f', action_id='waits', state=ActionState(value='pending'))]))
    now = viewer.robots['three']
    robot.until(lambda: now.now.motions, 10.0, 'the motion')
    assert set(now.now.motions) == {('f', 'outer/pick')}
    robot.until(feedback.get_subscription_count, 10.0, 'the subscription')
    sent = ExecuteMotion.Impl.FeedbackMessage(goal_id=UUID(uuid=list(goal)))
    sent.feedback.step, sent.feedback.step_state = 2, 'executing'
    sent.feedback.feedback_json = '{"gap": 0.02}'
    feedback.publish(sent)
    expected = MotionNow(2, 'executing', 'gap 0.02')
    robot.until(lambda: now.now.motions['f', 'outer/pick'] == expected, 10.0, 'the feedback')


def test_safety_is_what_the_action_node_says(robot: Robot, viewer: Viewer) -> None:
    topic = robot.publisher(SafetyState, 'action_lifecycle/safety', state_qos())
    topic.publish(SafetyState(
        state=SafetyState.STOPPED, error_code=ErrorCode.ESTOP, reason='pressed',
        topic='/three/estop', locked_resources=['arm']))
    now = viewer.robots['three']
    robot.until(lambda: now.now.safety and now.now.safety.state == 'stopped', 10.0, 'stopped')
    safety = now.now.safety
    assert (safety.error_code, safety.reason, safety.topic, list(safety.locked)) == (
        'ESTOP', 'pressed', '/three/estop', ['arm'])


def test_all_facts_are_asked_for_while_a_page_shows_them(robot: Robot, viewer: Viewer) -> None:
    facts = robot.publisher(WorldState, 'world_model_bridge/all_facts', state_qos())
    shown = viewer.robots['three'].facts_shown
    for _ in range(2):
        stop = shown.listen(lambda: None)
        robot.until(facts.get_subscription_count, 10.0, 'somebody asks')
        stop()
        robot.until(lambda: not facts.get_subscription_count(), 10.0, 'nobody asks')


def test_transforms_are_read_while_a_page_is_open(robot: Robot, viewer: Viewer) -> None:
    moving = robot.publisher(TFMessage, 'tf', 100)
    fixed = robot.publisher(TFMessage, 'tf_static', QoSProfile(
        depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL))
    now = viewer.robots['three']

    def frame(child: str, x: float) -> TFMessage:
        stamped = TransformStamped(child_frame_id=child)
        stamped.header.frame_id = 'world'
        stamped.transform.translation.x = x
        return TFMessage(transforms=[stamped])

    def places() -> dict[str, float]:
        moving.publish(frame('tool', 0.25))
        moving.publish(frame('nowhere', float('nan')))
        return {frame.child: frame.translation[0] for frame in now.now.frames}

    fixed.publish(frame('base', 1.5))
    robot.until(lambda: places() == {'tool': 0.25, 'base': 1.5}, 10.0, 'the frames')
    for listener in list(now._listeners):
        viewer.loop.call_soon_threadsafe(now._listeners.pop, listener)
    robot.until(lambda: not moving.get_subscription_count(), 10.0, 'nobody reads')
    viewer.loop.call_soon_threadsafe(now.listen, viewer.heard['three'].append)
    robot.until(moving.get_subscription_count, 10.0, 'somebody reads again')


def test_pictures_are_read_while_they_are_shown(
    robot: Robot, viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, 'LINGER', 1.0)
    monkeypatch.setattr(images, 'WAIT', 2.0)
    now = viewer.robots['three']
    best_effort = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.BEST_EFFORT)
    raw = robot.publisher(Image, 'camera/image_raw', best_effort)
    small = robot.publisher(CompressedImage, 'camera/image/compressed')
    other = robot.node.create_publisher(Image, '/four/camera', 1)
    topics = ('/three/camera/image/compressed', '/three/camera/image_raw')
    robot.until(lambda: now.now.images == topics, 10.0, 'the topics')
    assert raw.get_subscription_count() == 0

    def publish() -> None:
        raw.publish(Image(height=2, width=2, encoding='rgb8', step=6, data=bytes(range(12))))
        small.publish(CompressedImage(format='jpeg', data=b'\xff\xd8\xff and more'))

    timer = robot.node.create_timer(0.1, publish)
    picture, kind = viewer.do(now.images.image(topics[1]))
    assert kind == 'image/png' and picture.startswith(b'\x89PNG')
    assert viewer.do(now.images.image(topics[0])) == (b'\xff\xd8\xff and more', 'image/jpeg')
    for hidden in ('/four/camera', '/three/level', ''):
        with pytest.raises(LifecycleError, match='there is no picture'):
            viewer.do(now.images.image(hidden))
    robot.until(lambda: not raw.get_subscription_count(), 15.0, 'it is not read any more')
    timer.cancel()
    with pytest.raises(LifecycleError, match='no picture on'):
        viewer.do(now.images.image(topics[1]))
    other.destroy()


def test_a_viewer_that_has_stopped_delivers_nothing(robot: Robot, viewer: Viewer) -> None:
    link, now = viewer.node.links['three'], viewer.robots['three']
    topic = robot.publisher(SafetyState, 'action_lifecycle/safety', state_qos())
    link.close()
    robot.until(lambda: now.now.lost, 5.0, 'the page is told')
    topic.publish(SafetyState(state=SafetyState.READY))

    async def later() -> str:
        await asyncio.sleep(0.5)
        return now.now.safety.state

    assert viewer.do(later()) == 'stopped'
    link.open(viewer.loop)
    robot.until(lambda: now.now.safety.state == 'ready' and not now.now.lost, 5.0, 'ready')
