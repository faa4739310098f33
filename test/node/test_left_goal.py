# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A controller still executes a goal of a journal that is gone: nothing is sent beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .system import System
from .test_flow_on_cell import flow_file


@pytest.mark.parametrize('bridge_lives', [False, True])
def test_a_goal_of_the_journal_that_vanished_is_a_question_of_the_new_one(
    system: System, tmp_path: Path, bridge_lives: bool
) -> None:
    """Also if no file shows that there was another journal, and the bridge has sent the goal."""
    system.start_all()
    run = system.run(flow_file(tmp_path, seconds=100))
    system.until_state('move', 'executing_motion')
    system.until(lambda: system.motions.get('arm_controller') == 1, 10, 'the arm moves')
    for name in ('action_lifecycle_node', 'ledger', *['world_model_bridge'] * (not bridge_lives)):
        system.kill(name)
    run.kill()
    run.wait()
    for file in tmp_path.glob(f'{system.journal_path.name}*'):
        file.unlink()
    if not bridge_lives:
        system.start('world_model_bridge')
    system.start('action_lifecycle_node')
    run = system.run(flow_file(tmp_path, x=0.1))
    asked = system.until(
        lambda: next((row for row in system.rows(kind='note') if row.event == 'question_asked'),
                     None), 40.0, 'a person is asked')
    assert asked.data['options'] == ['retry', 'take_over', 'give_up']
    assert asked.data['text'].startswith(
        "nothing was sent: server 'arm_controller/follow_joint_trajectory' has goal ")
    assert system.motions['arm_controller'] == 1
    run.kill()
    run.wait()
