# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A person pauses a flow on the cell in mid-motion, resumes, skips and retries, from the shell."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
from typing import Any

from action_lifecycle_msgs.msg import ErrorCode
from action_lifecycle_msgs.srv import ControlFlow
import pytest

from .system import System

MOVE = """\
    motion:
      server: arm_controller/follow_joint_trajectory
      type: control_msgs/action/FollowJointTrajectory
      goal:
        trajectory:
          joint_names: [x_joint]
          points: [{positions: [%s], time_from_start: {sec: %s}}]
    confirm: {condition: 'abs(tool[0] - %s) < 0.01', hold: 0.2, within: 3.0}
"""
FLOW = f"""\
flow: move
defaults:
  resources: [arm]
  stopped: {{condition: speed < 0.01, hold: 0.1}}
  on_resume: retry
actions:
  out:
{MOVE % (0.3, 8, 0.3)}
  never: {{after: out, confirm: {{condition: 'tool[0] > 9', within: 0.2}}, resources: []}}
  back:
    after: never
{MOVE % (0.1, 1, 0.1)}
"""


@pytest.fixture(scope='module')
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    system = System(tmp_path_factory.mktemp('control'))
    system.client(ControlFlow, 'action_lifecycle/control_flow')
    system.start_all()
    yield system
    system.close()


def control(system: System, **fields: Any) -> Any:
    client = system.client(ControlFlow, 'action_lifecycle/control_flow')
    system.until(client.service_is_ready, 40.0, 'control_flow')
    answer = client.call_async(ControlFlow.Request(**fields))
    system.until(answer.done, 15, 'an answer of control_flow')
    return answer.result()


def shell(system: System, *arguments: str) -> str:
    done = system.shell(*arguments, '--wait', '20')
    assert done.returncode == 0, done.stderr + system.logs()
    return done.stdout


def status(system: System) -> dict[str, Any]:
    """Return what `status` shows of the flow, with its actions by name."""
    shown: dict[str, Any] = json.loads(shell(system, 'status', 'move-1', '--json'))
    shown['actions'] = {action['action_id']: action for action in shown['actions']}
    return shown


def test_a_flow_is_held_in_mid_motion_and_goes_on(system: System, tmp_path: Path) -> None:
    path = tmp_path / 'flow.yaml'
    path.write_text(FLOW)
    with (tmp_path / 'told').open('w') as told:
        process = system.run(path, '--flow-id', 'move-1', stdout=told)
    system.until(lambda: system.motions.get('arm_controller') == 1, 60.0, 'the arm moves')
    assert shell(system, 'breakpoint', 'move-1', 'never', '--actor', 'ben') \
        .startswith('move-1/never: breakpoint set, row ')
    said = shell(system, 'pause', 'move-1', '--hold', '--actor', 'ann', '--reason', 'wait')
    assert said.startswith('move-1: paused, row ') and said.endswith('nothing of it moves\n'), said
    shown = status(system)
    assert (shown['paused'], shown['paused_by'], shown['breakpoints']) == (True, 'ann', ['never'])
    out = shown['actions']['out']
    assert (out['state'], out['blocked_reason']) == (
        'executing_motion', 'approval_required: stopped: the flow is held by ann')
    system.until(lambda: 'flow move-1: paused by ann, breakpoints: never' in shell(system, 'list'),
                 30.0, 'list shows the pause')
    assert 'it is paused already, by ann' in shell(system, 'pause', 'move-1', '--actor', 'ben')

    # The sensors do not show the outcome: `on_resume` repeats the motion.
    assert 'resumed' in shell(system, 'resume', 'move-1', '--actor', 'ann')
    system.until(lambda: system.motions['arm_controller'] == 2, 30.0, 'it moves once more')
    system.until_state('out', 'terminated')
    events = [row.event for row in system.rows(action_id='out', kind='transition')]
    assert events[:5] == ['start', 'execute', 'motion_done', 'repeat_motion', 'motion_done']

    def at_breakpoint() -> bool:
        reason: str = status(system)['actions']['never']['blocked_reason']
        return reason == 'approval_required: breakpoint, set by ben'
    system.until(at_breakpoint, 20.0, 'it waits at its breakpoint')
    shell(system, 'resume', 'move-1/never')
    system.until(lambda: system.motions['arm_controller'] >= 2 and any(
        row.action_id == 'never' and row.event == 'start' for row in system.rows()), 20.0, 'start')
    assert process.wait(40) == 1  # it is never there, and nobody was quick enough
    output = (tmp_path / 'told').read_text()
    for expected in ('paused', 'resumed', 'breakpoint_set', 'wait'):
        assert expected in output, output


def test_a_failed_action_is_retried_and_skipped_in_a_paused_flow(
    system: System, tmp_path: Path
) -> None:
    path = tmp_path / 'flow.yaml'
    path.write_text(FLOW.replace('after: out, ', ''))
    with (tmp_path / 'told').open('w') as told:
        process = system.run(path, '--flow-id', 'move-2', stdout=told)

    def ended(*names: str) -> bool:
        return {row.action_id for row in system.rows(flow_id='move-2', kind='transition')
                if row.final} >= set(names)
    system.until(lambda: ended('never', 'back'), 60.0, 'it has failed')
    shell(system, 'pause', 'move-2')
    refused = system.shell('retry', 'move-2', 'back')
    assert refused.returncode == 2 and "waits for 'never'" in refused.stderr, refused.stderr
    assert 'when the flow is resumed' in shell(system, 'retry', 'move-2', 'never')
    assert 'skipped' in shell(system, 'skip', 'move-2/never', '--reason', 'known')
    shell(system, 'resume', 'move-2')
    assert process.wait(60) == 0, (tmp_path / 'told').read_text()
    final = system.rows(flow_id='move-2', kind='flow')[-1]
    assert (final.to_state, final.data['skipped_by_people']) == ('FINISH', 1)


@pytest.mark.parametrize(('fields', 'code', 'message'), [
    ({'verb': 'stop'}, ErrorCode.INVALID_REQUEST, "verb: 'stop' is none"),
    ({'verb': 'pause', 'actor': ' '}, ErrorCode.INVALID_REQUEST, 'actor: must say who'),
    ({'verb': 'skip'}, ErrorCode.INVALID_REQUEST, "action_id: 'skip' needs an action"),
    ({'verb': 'pause', 'action_id': 'a'}, ErrorCode.INVALID_REQUEST, 'is for a whole flow'),
    ({'verb': 'resume', 'hold': True}, ErrorCode.INVALID_REQUEST, "hold: is only for 'pause'"),
    ({'verb': 'pause', 'clear': True}, ErrorCode.INVALID_REQUEST, 'clear: is only for'),
    ({'verb': 'pause'}, ErrorCode.NOT_FOUND, "there is no flow 'nobody'"),
    ({'verb': 'pause', 'flow_id': 'move-2'}, ErrorCode.NOT_ALLOWED, 'the flow has ended'),
    ({'verb': 'skip', 'flow_id': 'move-2', 'action_id': 'bakc'}, ErrorCode.NOT_FOUND,
     "did you mean 'back'?")])
def test_a_bad_order_is_refused_with_what_is_wrong(
    system: System, fields: dict[str, Any], code: int, message: str
) -> None:
    before = len(system.rows())
    answer = control(system, **{'actor': 'ann', 'flow_id': 'nobody', **fields})
    assert (answer.accepted, answer.error_code) == (False, code), answer
    assert message in answer.error_msg
    assert len(system.rows()) == before


def test_the_commands_name_what_they_miss(system: System) -> None:
    for arguments, message in (
            (('skip', 'move-2'), 'skip: expected an action'),
            (('retry', 'move-2/'), 'retry: expected an action')):
        refused = system.shell(*arguments)
        assert refused.returncode == 2 and message in refused.stderr, refused.stderr
    unknown = system.shell('pause', 'nobody')
    assert unknown.returncode == 3 and "there is no flow 'nobody'" in unknown.stderr
