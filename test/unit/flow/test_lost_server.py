# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A motion whose server is gone after a restart may still move: nothing else gets its arm."""

from __future__ import annotations

from collections.abc import Callable

from action_lifecycle.lifecycle.states import ErrorCode

from .kills import restart
from .robot import Clock, Process, Robot

FLOW = """flow: f
actions:
  a: {motion: {server: s, type: a/action/B}, confirm: z > 0, resources: [arm]}
"""


def test_a_server_that_is_away_after_a_restart_keeps_the_resources_locked(
    start: Callable[..., Process], clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(FLOW)
    clock.run(1.0)
    process, (run,) = restart(start, process)
    assert robot.motions[-1].request.resume
    robot.motions[-1].end('not_running', stopped=False, error_msg="no action server 'arm'")
    clock.run(1.0)
    action = run.actions[0]
    assert action.error_code is ErrorCode.STOP_UNCONFIRMED and 'no action server' in \
        action.error_msg
    assert 'arm' in process.orchestrator.resources.locked
    process.submit(FLOW, 'g')
    clock.run(5.0)
    assert len(robot.motions) == 2  # the first, and its following
    process.orchestrator.clear_locks(['arm'], 'anna', 'has looked')
    clock.run(5.0)
    assert len(robot.motions) == 3
