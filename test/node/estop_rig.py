# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A bridge and drivers of its safety topics, each a process that a test can stop and kill."""

from __future__ import annotations

import json
from pathlib import Path
import signal
import sys
import time
from typing import Any

from action_lifecycle_msgs.action import ExecuteMotion
from action_lifecycle_msgs.msg import Motion, SafetyState
from action_lifecycle_msgs.srv import ClearStop
from isolation import as_it_comes

from .bridge_rig import FACTS, GRIPPER, Rig
from .forked import Forked

MAX_AGE = 1.0
OPEN = {'command': {'position': 0.05, 'max_effort': 10.0}}
DRIVERS = FACTS.replace('max_age: 4.0', f'max_age: {MAX_AGE}') + f"""
safety: [{{topic: scanner, type: std_msgs/msg/Header, max_age: {MAX_AGE}}}]
"""
#: killed drivers are missed after 5 s, not 20
PROFILE = Path(__file__).parents[2] / 'config/dds/fastdds.xml'


class Driver:
    """A driver's process; see driver_process.py."""

    def __init__(self, rig: EstopRig, **how: Any) -> None:
        self._rig = rig
        self._up = rig.folder / f'driver_{len(rig.drivers)}'
        how['up'] = str(self._up)
        with open(rig.folder / 'drivers.log', 'ab') as log:
            script = Path(__file__).with_name('driver_process.py')
            self.process = Forked(
                [sys.executable, str(script), json.dumps(how)],
                {**as_it_comes(rig.environment), 'FASTRTPS_DEFAULT_PROFILES_FILE': str(PROFILE)},
                log)

    def wait(self) -> Driver:
        """Wait until it has spoken."""
        self._rig.until(self._up.exists, 30.0)
        return self

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self, number: int = signal.SIGINT) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.send_signal(signal.SIGCONT)
            self._rig.until(lambda: self.process.poll() is not None)


class EstopRig(Rig):
    """The rig with processes for the bridge and for the drivers `estop` and `scanner`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, DRIVERS, own_bridge=False)
        self.beating = False
        self.robot.destroy_publisher(self.estop)
        self.drivers: list[Driver] = []

    def driver(self, **how: Any) -> Driver:
        self.drivers.append(Driver(self, **how))
        return self.drivers[-1].wait()

    def begin(self) -> None:
        """Start the bridge."""
        self.safety.clear()
        self.start_bridge(stop_file=self.folder / 'robot.stop')
        self.until(lambda: self.safety, 30.0)
        self.until_it_answers(self.motion, ExecuteMotion.Goal())

    def begin_all(self) -> tuple[Driver, Driver]:
        """Start the drivers and the bridge, until it is READY."""
        estop, scanner = self.driver(), self.driver(topic='scanner', stamped=0.0)
        self.begin()
        self.told(SafetyState.READY)
        return estop, scanner

    def bridge_signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        if number in (signal.SIGKILL, signal.SIGINT):
            self.until(lambda: self.process.poll() is not None)

    @property
    def state(self) -> int:
        return int(self.safety[-1].state)

    def told(self, state: int) -> SafetyState:
        """Wait until the bridge says this state; returns what it says."""
        self.until(lambda: self.safety and self.state == state, 30.0)
        return self.safety[-1]

    def move(self, server_timeout: float = 20.0) -> ExecuteMotion.Result:
        """Execute a motion, which waits as long as this for READY."""
        return self.execute(Motion(
            server='gripper', type=GRIPPER, goal_json=json.dumps(OPEN),
            server_timeout=server_timeout, timeout=20.0), timeout=60.0)

    def clear(self) -> ClearStop.Response:
        return self.call(self.clear_client, ClearStop.Request(actor='anna', reason='looked'))

    def moves(self) -> None:
        """Clear what is stopped, and move; on a busy machine drivers may fall silent then."""
        end = time.monotonic() + 90.0
        while (result := self.move()).outcome != 'executed':
            assert time.monotonic() < end, result.error_msg
            if self.state == SafetyState.STOPPED:
                self.clear_when_possible(self.clear_client)

    def close(self) -> None:
        for process in (self.process, *(driver.process for driver in self.drivers)):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        super().close()
