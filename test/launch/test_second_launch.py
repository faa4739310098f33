# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two launches on one journal: the second is refused by name, the first does not notice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import signal

from action_lifecycle.journal import verify_journal
from node.launched import Robot
import pytest


@pytest.fixture
def robot(tmp_path: Path) -> Iterator[Robot]:
    robot = Robot(tmp_path)
    yield robot
    robot.close()


@pytest.mark.parametrize('namespace', [
    '', pytest.param('other', marks=pytest.mark.long)])
def test_a_second_launch_on_a_journal_is_refused_and_the_first_goes_on(
    robot: Robot, namespace: str
) -> None:
    """Without a namespace of its own it is the same launch, started twice: two bridges, too."""
    first = robot.launch(compose='true')
    robot.until_active()
    second = robot.launch(compose='true', namespace=namespace)
    (pid,) = robot.until(lambda: first.pids('composed'), 20.0, 'the first has told its process')
    refusals = [
        f'configure: {robot.journal_path}: already open for writing by pid {pid} on host ',
        *(f'configure: /{name}: there is a node of this name on this machine, in domain '
          f'{robot.domain}: pid {pid}' for name in ('world_model_bridge', 'ledger')
          if not namespace)]
    robot.until(lambda: all(text in second.text for text in refusals), 30.0, 'it is refused')
    robot.begin()
    robot.finish()
    assert not [row for row in robot.rows(action_id='grip') if row.event == 'fail']
    assert second.end() == first.end() == 128 + signal.SIGINT
    assert verify_journal(robot.journal_path) == []
