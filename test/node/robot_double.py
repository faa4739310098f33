# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Starts the robot that outlives the nodes, gives it commands and reads its log."""

from __future__ import annotations

from contextlib import suppress
import json
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

from .forked import Forked
from .robot_process import FAULTS, PARTS

MAX_AGE = 3.0  #: s, of the e-stop
FACTS = f"""\
estop: {{topic: estop, type: std_msgs/msg/Bool, field: data, max_age: {MAX_AGE}}}
facts:
""" + ''.join(f"""\
  {name}: {{topic: joint_states, type: sensor_msgs/msg/JointState,
    field: 'position[name={name}]', max_age: 2.0, unit: m, always: true}}
  {name}_speed: {{topic: joint_states, type: sensor_msgs/msg/JointState,
    field: 'velocity[name={name}]', max_age: 2.0, unit: m/s, always: true}}
""" for name in PARTS)
"""A facts file for the bridge: left, right, gripper (m), left_speed and so on."""


class RobotDouble:
    """The process of robot_process.py as a test sees it."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.path = folder / 'robot.jsonl'
        self._number = 0
        self._read = 0
        self._lines: list[dict[str, Any]] = []
        with open(folder / 'robot_double.log', 'ab') as output:
            self.process = Forked([sys.executable, '-m', 'node.robot_process', str(self.path)],
                                  environment, output, stdin=subprocess.PIPE)

    def tell(self, do: str, timeout: float = 20.0, **fields: Any) -> None:
        """
        Send a command and wait until it is obeyed.

        `fault` (`fault` of FAULTS; `part`: all without it; `times`: 1, 0 for ever; `seconds`) of
        motions that start from now on, or (`now`: True) of those under way; such a motion takes
        the place of one under way with `preempts`: True;
        `release`: end what hangs, forget faults (`part`);
        `die` (`part`, `seconds` for which it moves on, `back`: s until it has a server again);
        `estop` (`state`: clear, pressed, silent); `facts` (`state`: publish, silent).
        """
        assert fields.get('fault', 'lie') in FAULTS and fields.get('part', 'left') in PARTS
        self._number += 1
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({'do': do, 'number': self._number, **fields}) + '\n')
        self.process.stdin.flush()
        deadline = time.monotonic() + timeout
        while not any(line.get('number') == self._number for line in self.log()):
            assert self.process.poll() is None, 'the double has ended'
            assert time.monotonic() < deadline, f'{do}: not obeyed within {timeout:g} s'
            time.sleep(0.01)

    def log(self) -> list[dict[str, Any]]:
        """Return all lines that it has written."""
        with suppress(FileNotFoundError), open(self.path, 'rb') as file:
            file.seek(self._read)
            whole, _, _ = file.read().rpartition(b'\n')
            if whole:
                self._read += len(whole) + 1
                self._lines += map(json.loads, whole.splitlines())
        return self._lines

    def running(self) -> set[str]:
        """Return the goals whose joint still moves."""
        return {line['goal'] for line in self.log() if line['event'] == 'accepted'} \
            - {line['goal'] for line in self.log() if line['event'] == 'still'}

    def count(self, event: str = 'accepted', **fields: Any) -> int:
        """Return how many lines say so."""
        return sum(line['event'] == event and fields.items() <= line.items()
                   for line in self.log())

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End the process."""
        self.resume()
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(8.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5.0)
