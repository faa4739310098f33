# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A latched stop outlives the bridge: killed or ended, the next one begins stopped.

Only a mere silence is forgotten, and only by an orderly end: the driver is often ended first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import signal

from action_lifecycle_msgs.action import ExecuteMotion
from action_lifecycle_msgs.msg import ErrorCode, SafetyState
import pytest
from std_msgs.msg import Bool

from .bridge_rig import Rig

OPEN = {'command': {'position': 0.05, 'max_effort': 10.0}}


class StoppedRig(Rig):
    """A rig whose bridge is a process with a stop file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, own_bridge=False)
        self.stop_file = folder / 'robot.stop'

    def begin(self, state: int) -> SafetyState:
        """Start the bridge; returns what it says when it is in this state."""
        self.safety.clear()
        self.start_bridge(stop_file=self.stop_file)
        return self.told(state)

    def told(self, state: int) -> SafetyState:
        self.until(lambda: self.safety and self.safety[-1].state == state, 20.0)
        return self.safety[-1]

    def move(self) -> None:
        """Execute a motion: silence before it would not be latched."""
        self.until_it_answers(self.motion, ExecuteMotion.Goal())
        assert self.execute(OPEN).outcome == 'executed'

    def end(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        self.until(lambda: self.process.poll() is not None)

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.end(signal.SIGKILL)
        super().close()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[StoppedRig]:
    rig = StoppedRig(tmp_path)
    yield rig
    rig.close()


def test_an_estop_stays_latched_over_kill_9_and_ctrl_c_until_it_is_cleared(
    rig: StoppedRig
) -> None:
    rig.begin(SafetyState.READY)
    rig.beating = False
    rig.estop.publish(Bool(data=True))
    rig.told(SafetyState.STOPPED)
    rig.beating = True
    for number in (signal.SIGKILL, signal.SIGINT):
        rig.end(number)
        told = rig.begin(SafetyState.STOPPED)
        assert (told.error_code, told.topic) == (ErrorCode.ESTOP, '/estop')
        assert "'/estop' says stop (from before the restart)" in told.reason
        assert all(message.state == SafetyState.STOPPED for message in rig.safety)
    rig.until_it_answers(rig.motion, ExecuteMotion.Goal())
    refused = rig.execute(OPEN)
    assert refused.error_code == ErrorCode.ESTOP and not rig.gripper.goals
    rig.clear_when_possible(rig.clear_client)
    assert not rig.stop_file.exists()
    rig.told(SafetyState.READY)


def test_an_estop_pressed_in_a_silence_is_kept_over_an_orderly_end(rig: StoppedRig) -> None:
    rig.begin(SafetyState.READY)
    rig.move()
    rig.beating = False
    assert rig.told(SafetyState.STOPPED).error_code == ErrorCode.SAFETY_STALE
    rig.estop.publish(Bool(data=True))
    rig.until(lambda: rig.safety[-1].error_code == ErrorCode.ESTOP)
    rig.end(signal.SIGINT)
    assert rig.stop_file.exists()
    rig.beating = True
    assert rig.begin(SafetyState.STOPPED).error_code == ErrorCode.ESTOP


def test_a_silence_is_kept_over_kill_9_and_forgotten_by_an_orderly_end(rig: StoppedRig) -> None:
    rig.begin(SafetyState.READY)
    rig.move()
    rig.beating = False
    rig.told(SafetyState.STOPPED)
    rig.end(signal.SIGKILL)
    rig.beating = True
    assert rig.begin(SafetyState.STOPPED).error_code == ErrorCode.SAFETY_STALE
    rig.end(signal.SIGINT)
    assert not rig.stop_file.exists()
    rig.begin(SafetyState.READY)
