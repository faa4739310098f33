# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions of sessions are flows of the action node, and are never sent twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import signal

from action_lifecycle_msgs.msg import Session
from action_msgs.msg import GoalStatus
import pytest

from .agent_rig import MovingRig

GRAPH = """\
initial: reach
states:
  reach:
    type: motion
    motion:
      server: arm_left/follow_joint_trajectory
      type: control_msgs/action/FollowJointTrajectory
      goal:
        trajectory:
          joint_names: [left]
          points: [{positions: [TARGET], time_from_start: {sec: SECONDS}}]
      resources: [left]
      stopped: {condition: left_speed < 0.001, hold: 0.1}
      confirm: {condition: abs(left - TARGET) < 0.001, hold: 0.1, within: 3.0}
    succeeded: look
    failed: broken
  look: {type: confirm, condition: left > 0.01, within: 3.0, confirmed: reached, refuted: broken}
  reached: {type: terminal}
  broken: {type: terminal}
transitions:
  - {event: look, from: reach, to: look}
  - {event: reached, from: look, to: reached}
  - {event: broken, from: [reach, look], to: broken}
"""


def graph(target: float = 0.05, seconds: int = 4) -> str:
    return GRAPH.replace('TARGET', str(target)).replace('SECONDS', str(seconds))


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[MovingRig]:
    rig = MovingRig(tmp_path)
    yield rig
    rig.close()


def test_a_motion_is_followed_after_kills_of_the_agent_and_of_the_action_node(
    rig: MovingRig
) -> None:
    rig.start()
    for number, victims in enumerate(('agent', 'both', 'shutdown'), 1):
        name = f'reach-{victims}'
        target = round(0.05 * number, 2)
        rig.begin(graph(target), name)
        rig.until(lambda number=number: rig.robot.count() == number, 60.0, 'the motion')
        if victims == 'shutdown':
            assert rig.process is not None
            rig.process.send_signal(signal.SIGINT)
            rig.process.wait(10.0)
        else:
            rig.kill()
        assert rig.robot.running()
        if victims == 'both':
            rig.kill_action_node()
            rig.start_others()
        rig.start()
        session = rig.until_session(
            name, lambda session: session.status != Session.RUNNING, 'the end', 60.0)
        assert (session.status, session.state) == (Session.ENDED, 'reached'), session.error_msg
        assert rig.robot.count() == number and not rig.robot.count('canceling')
        assert rig.context_of(name) == [
            {'state': 'reach', 'executed': True},
            {'state': 'look', 'condition': 'left > 0.01', 'verdict': True}]


def test_a_motion_that_ends_while_the_agent_is_away_is_not_repeated(rig: MovingRig) -> None:
    rig.start()
    rig.begin(graph(seconds=2), 'reach')
    rig.until(lambda: rig.robot.count() == 1, 60.0, 'the motion')
    rig.kill()
    rig.until(lambda: rig.robot.count('still') == 1, 20.0, 'the end of the motion')
    rig.kill_action_node()  # it no longer has the flow in memory
    rig.start_others()
    rig.start()
    session = rig.until_session(
        'reach', lambda session: session.status == Session.ENDED, 'the end', 60.0)
    assert session.state == 'reached' and rig.robot.count() == 1


def test_canceling_the_goal_stops_the_motion_and_waits_for_it(rig: MovingRig) -> None:
    rig.start()
    result = rig.begin(graph(seconds=20), 'reach')
    rig.until(lambda: rig.robot.count() == 1, 60.0, 'the motion')
    rig.handle.cancel_goal_async()
    end = rig.until(lambda: result.result() if result.done() else None, 40.0, 'the result')
    assert end.status == GoalStatus.STATUS_CANCELED
    assert not rig.robot.running() and rig.robot.count('canceling') == 1
    # The same after a kill between the order and its effect.
    rig.begin(graph(target=0.3, seconds=20), 'again')
    rig.until(lambda: rig.robot.count() == 2, 60.0, 'the motion')
    rig.kill()
    rig.start()
    rig.until(lambda: 'again' in rig.sessions, 40.0, 'the session')
    rig.send('again', 'cancel')
    rig.until_session('again', lambda session: session.status == Session.CANCELED, 'the end')
    rig.until(lambda: not rig.robot.running(), 20.0, 'nothing moves')


def test_a_motion_that_is_not_valid_never_starts_and_a_failed_one_leads_on(
    rig: MovingRig
) -> None:
    rig.start()
    rig.begin(graph().replace('positions', 'positons'), 'wrong')
    session = rig.until_session(
        'wrong', lambda session: session.status != Session.RUNNING, 'the end')
    assert session.status == Session.FAILED and 'positons' in session.error_msg
    rig.robot.tell('fault', fault='lie', part='left', times=1)
    rig.begin(graph(seconds=1), 'lie')
    session = rig.until_session(
        'lie', lambda session: session.status != Session.RUNNING, 'the end')
    assert (session.status, session.state) == (Session.ENDED, 'broken')
    assert rig.robot.count() == 1 and 'abs(left' in rig.context_of('lie')[0]['reason']
