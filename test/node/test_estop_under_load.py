# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The e-stop is heard and answered at once, whatever arrives at the bridge beside it.

From the e-stop's sample to the cancel at the server, and to the answer of a bare node that reads
the same sample: the second time is what the machine needs by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
import json
import math
from pathlib import Path
import sys
import time

from action_lifecycle.nodes.bridge.safety_guard import AGAIN
from action_lifecycle_msgs.action import ExecuteMotion
from action_lifecycle_msgs.msg import Condition, ErrorCode, Motion, SafetyState
from action_lifecycle_msgs.srv import Evaluate
import pytest
from std_msgs.msg import Bool, Empty, Float64

from .bridge_rig import FACTS, Rig
from .forked import Forked

pytest.importorskip('nav2_msgs')  # not released for every distribution

MAX_AGE = 1.0
POINT = '{"positions": [0.5, 0.5, 0.5, 0.5, 0.5, 0.5], "time_from_start": {"sec": 1}}'
TRAJECTORY = f'{{"trajectory": {{"points": [{", ".join([POINT] * 40_000)}]}}}}'
"""3 MB, which take seconds to be read."""
SLOW = 0.5  #: s more than a bare node needs
LOADED = FACTS.replace('max_age: 4.0', f'max_age: {MAX_AGE}').replace('facts:\n', """facts:
  poses: {topic: planned, type: nav_msgs/msg/Path, field: poses, reduce: count, always: true}
""")
PLAN = Motion(server='compute_path_to_pose', type='nav2_msgs/action/ComputePathToPose',
              goal_json=json.dumps({'goal': {'header': {'frame_id': 'map'}}}),
              server_timeout=20.0, timeout=60.0)


class LoadedRig(Rig):
    """A bridge in a process of its own, with processes that send it what is large."""

    def __init__(self, folder: Path, *roles: str) -> None:
        super().__init__(folder, LOADED, own_bridge=False)
        self.pressed = False
        self.beaten = math.inf
        self.silence = 0.0  #: s; the longest time between two heartbeats
        self.echoed = 0.0
        self.canceled = 0.0
        self.asker.create_subscription(Empty, 'echo', self._hear, 10)
        on_cancel = self.gripper.on_cancel

        def cancel(handle: object) -> object:
            self.canceled = self.canceled or time.monotonic()
            return on_cancel(handle)
        self.gripper.server.register_cancel_callback(cancel)
        self.start_bridge()
        script = str(Path(__file__).with_name('load_process.py'))
        with open(folder / 'load.log', 'ab') as log:
            self.loads = [Forked([sys.executable, script, role], self.environment, log)
                          for role in ('echo', *roles)]
        self.gap = 0.01
        self.until(lambda: self.safety and self.safety[-1].state == SafetyState.READY)
        self.until_it_answers(self.motion, ExecuteMotion.Goal())
        self.until(lambda: self.estop.get_subscription_count() == 2
                   and self.robot.count_publishers('echo') == 1)
        self.silence = 0.0

    def _beat(self) -> None:
        self.estop.publish(Bool(data=self.pressed))
        now = time.monotonic()
        self.silence, self.beaten = max(self.silence, now - self.beaten), now

    def _hear(self, message: Empty) -> None:
        self.echoed = self.echoed or time.monotonic()

    def start_motion(self, **fields: object) -> object:
        """Start a motion that runs until it is canceled; returns the future of its result."""
        self.gripper.let_go()
        self.gripper.behaviour = 'wait'
        before = len(self.gripper.goals)
        ended = self.send(self.order(
            {'command': {'position': 0.05, 'max_effort': 10.0}}, **fields)).get_result_async()
        self.until(lambda: len(self.gripper.goals) > before)
        self.canceled = self.echoed = 0.0
        return ended

    def close(self) -> None:
        for process in (self.process, *self.loads):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        super().close()


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[LoadedRig]:
    rig = LoadedRig(tmp_path)
    yield rig
    rig.close()


@pytest.fixture
def loaded(tmp_path: Path) -> Iterator[LoadedRig]:
    rig = LoadedRig(tmp_path, 'planner', 'path')
    yield rig
    rig.close()


def test_an_estop_cancels_the_motion_at_once(quiet: LoadedRig) -> None:
    ended = quiet.start_motion()
    press(quiet, ended)


def test_a_violated_maintain_cancels_the_motion_at_once(quiet: LoadedRig) -> None:
    ended = quiet.start_motion(maintain=[Condition(
        name='held', expression='gap < 0.02', within=10.0)])
    quiet.spin(0.2)
    quiet.gap = None
    begin = time.monotonic()
    quiet.publish_gap(0.1)
    quiet.pressed = True  # for the bare node only: it comes after the sample
    quiet._beat()
    quiet.until(lambda: quiet.canceled and quiet.echoed)
    assert quiet.canceled - begin < quiet.echoed - begin + SLOW
    result = quiet.wait(ended).result
    assert result.error_code in (ErrorCode.MAINTAIN_VIOLATED, ErrorCode.ESTOP)


def test_an_estop_cancels_the_motion_while_the_bridge_is_busy_with_a_goal(
    quiet: LoadedRig
) -> None:
    ended = quiet.start_motion()
    answered = keep_busy(quiet)
    press(quiet, ended)
    quiet.until(lambda: answered)
    assert answered[0] > quiet.canceled, 'the bridge was not busy'


def test_cancels_are_repeated_at_one_rate_while_the_bridge_is_busy(quiet: LoadedRig) -> None:
    """Each message of a safety topic began its own repetition: thousands of cancels a second."""
    quiet.start_motion()
    quiet.gripper.refuse_cancel = True  # so that each request is counted
    answered = keep_busy(quiet)
    begin = time.monotonic()
    quiet.pressed = True
    quiet._beat()
    quiet.until(lambda: answered)
    assert 2 < quiet.gripper.canceled <= 5 + (answered[0] - begin) / AGAIN


def test_an_estop_ends_a_publication_while_the_bridge_is_busy_with_a_goal(
    quiet: LoadedRig
) -> None:
    speeds: list[tuple[float, float]] = []
    quiet.robot.create_subscription(
        Float64, 'speed', lambda told: speeds.append((told.data, time.monotonic())), 100)
    ended = quiet.send(quiet.order(Motion(
        kind=Motion.PUBLISH, server='speed', type='std_msgs/msg/Float64',
        goal_json=json.dumps({'data': 0.4}), server_timeout=10.0, options_json=json.dumps({
            'rate': 50.0, 'until': 'gap > 1.0', 'within': 60.0, 'finally': {'data': 0.0}}),
    ))).get_result_async()
    quiet.until(lambda: len(speeds) > 5)
    answered = keep_busy(quiet)
    begin = time.monotonic()
    quiet.echoed = 0.0
    quiet.pressed = True
    quiet._beat()
    quiet.until(lambda: speeds[-1][0] == 0.0 and quiet.echoed)
    assert speeds[-1][1] - begin < quiet.echoed - begin + SLOW
    last = len(speeds)
    quiet.until(lambda: answered)
    assert answered[0] > speeds[last - 1][1], 'the bridge was not busy'
    assert quiet.wait(ended).result.error_code == ErrorCode.ESTOP
    assert {speed for speed, _ in speeds[last - 1:]} == {0.0}


@pytest.mark.timeout(300)
def test_the_estop_is_heard_and_answered_whatever_is_large(loaded: LoadedRig) -> None:
    plans = [loaded.send(loaded.order(PLAN)).get_result_async() for _ in range(2)]
    ended = loaded.start_motion()
    for text in (f'{{"list": [{"0.5, " * 600_000}0]}}', f'"{"x" * 5_000_000}"'):
        refused = loaded.send(loaded.order(
            {'command': {'position': 9.0}}, parameters_json=text)).get_result_async()
        assert loaded.wait(refused).result.error_code in (
            ErrorCode.GOAL_INVALID, ErrorCode.INVALID_REQUEST)
    for plan in plans:
        result = loaded.wait(plan, 120.0).result
        assert result.outcome == 'executed' and 'its result was dropped' in result.controller_said
    stops = [told.reason for told in loaded.safety if told.state == SafetyState.STOPPED]
    if stops:  # only if this process was not run for so long that there was no heartbeat
        assert loaded.silence > MAX_AGE, stops
        loaded.clear_when_possible(loaded.clear_client)
        ended = loaded.start_motion()
    loaded.send(loaded.order(PLAN))
    press(loaded, ended)


def keep_busy(rig: LoadedRig) -> list[float]:
    """Have the bridge read a large goal; returns where the time of its next answer will be."""
    rig.send(rig.order(Motion(
        server='arm', type='control_msgs/action/FollowJointTrajectory', server_timeout=1.0,
        goal_json=TRAJECTORY)))
    asked = rig.evaluate_client.call_async(Evaluate.Request(conditions=[
        Condition(name='asked', expression='gap > 0.0')], wait=0.0))
    answered: list[float] = []
    asked.add_done_callback(lambda done: answered.append(time.monotonic()))
    rig.spin(0.3)
    assert not answered
    return answered


def press(rig: LoadedRig, ended: object) -> None:
    """Set the e-stop; the server gets the cancel about when a bare node answers."""
    begin = time.monotonic()
    rig.pressed = True
    rig._beat()
    rig.until(lambda: rig.canceled and rig.echoed)
    assert rig.canceled - begin < rig.echoed - begin + SLOW
    print(f'canceled after {1e3 * (rig.canceled - begin):.0f} ms, '
          f'a bare node answered after {1e3 * (rig.echoed - begin):.0f} ms')
    assert rig.wait(ended).result.error_code == ErrorCode.ESTOP
