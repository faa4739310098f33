# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Delays go on over a restart, by the clock of the boot or, across boots, that of the wall."""

from __future__ import annotations

from pathlib import Path

import pytest

from .robot import Clock, Process, Robot

FLOW = """\
flow: again
actions:
  a:
    motion: {server: arm, type: t/action/T}
    confirm: z > 0
    retry: {times: 1, delay: 60, jitter: 0}
"""
DOWN = 20.0  #: s


class Booted(Clock):
    """A clock whose wall time may jump; after a reboot it counts from 0."""

    jump = 0.0

    def wall_time(self) -> float:
        return self.time + self.jump


@pytest.mark.parametrize(('reboot', 'jump', 'left'), [
    (False, 0.0, 60 - DOWN), (False, -3600.0, 60 - DOWN), (False, 3600.0, 60 - DOWN),
    (True, 0.0, 60 - DOWN), (True, -3600.0, 60.0), (True, 3600.0, 0.0),
], ids=['same boot', 'same boot, clock set back', 'same boot, clock set forward',
        'reboot', 'reboot, clock set back', 'reboot, clock set forward'])
def test_what_is_left_of_a_delay_after_a_restart(
    tmp_path: Path, reboot: bool, jump: float, left: float
) -> None:
    clock = Booted()
    robot = Robot(clock)
    process = Process(tmp_path / 'journal', clock, robot)
    robot.verdicts['a', 'confirm'] = ['refuted']
    process.submit(FLOW)
    clock.run(5.0)
    assert process.states('a')[-1] == 'error'
    failed_at = next(row.wall_time for row in process.journal.rows(action_id='a')
                     if row.to_state == 'error')
    process.kill()
    clock.run(failed_at + DOWN - clock.time)
    clock.jump = jump
    if reboot:
        clock.boot_id = 'another boot'
    process = Process(tmp_path / 'journal', clock, robot)
    process.orchestrator.restore()
    clock.run(max(left - 0.5, 0.0))
    assert ('in_progress' in process.states('a')) is (left == 0.0)
    clock.run(1.0)
    assert 'in_progress' in process.states('a')
