# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""How the process of a managed node ends: it waits until what moves has stopped."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import signal
import subprocess
import sys
from typing import Any

from action_lifecycle.ros.node.process import STOP_TIME, STUCK
from isolation import domain_id
import pytest

PROCESS = """
import sys, time
from action_lifecycle.ros.node import process
from action_lifecycle.ros.node.lifecycle_node import ManagedNode
from action_lifecycle.ros.node.timers import Timeout

def tell(word):
    print(word, time.monotonic(), flush=True)

class Slow(ManagedNode):
    def __init__(self):
        super().__init__('slow')
        self.moving = False
    def activate(self):
        self.moving = True
        print('active', flush=True)
        while float(sys.argv[1]) < 0:
            pass
    def halt(self):
        tell('halt')
        Timeout(self, float(sys.argv[1]), self.stopped)
    def stopped(self):
        self.moving = False
        tell('stopped')
    def busy(self):
        return self.moving
    def cleanup(self):
        tell('cleanup')

if len(sys.argv) > 2:
    process.STOP_TIME = float(sys.argv[2])
if len(sys.argv) > 3:
    process.UNHEARD = float(sys.argv[3])
sys.exit(process.run(Slow, args=['--ros-args', '-p', 'autostart:=true']))
"""
LONG_TIME = 60.0  # s, for STOP_TIME: what does not wait for it ends long before, on any machine


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    processes: list[subprocess.Popen[str]] = []

    def start(needs: float, *stop_time: float) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, '-c', PROCESS, *map(str, (needs, *stop_time))],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, 'ROS_DOMAIN_ID': str(domain_id()),
                 'ROS_LOG_DIR': str(tmp_path)})
        processes.append(process)
        assert process.stdout is not None
        assert 'active\n' in process.stdout  # the middleware may have printed something before
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


def told(process: subprocess.Popen[str]) -> dict[str, float]:
    """Return what an orderly end has told and when (s), by the clock of the process itself."""
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    return {word: float(moment) for word, moment in map(str.split, output.splitlines())}


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_what_moves_has_stopped(start: Any, number: int) -> None:
    process = start(0.5, LONG_TIME)
    process.send_signal(number)
    times = told(process)
    assert list(times) == ['halt', 'stopped', 'cleanup']
    assert times['stopped'] - times['halt'] >= 0.5
    assert times['cleanup'] - times['stopped'] < 25


def test_it_waits_for_what_never_stops_until_its_time_is_up_or_a_second_signal(
    start: Any
) -> None:
    """
    Exit within 5 s: STOP_TIME (4 s) of waiting, and what any process with DDS takes to end.

    The latter depends on the machine and its load, so only the waiting is measured.
    """
    stubborn, urged = start(60.0), start(60.0, LONG_TIME)
    stubborn.send_signal(signal.SIGINT)
    urged.send_signal(signal.SIGINT)
    begin = float(urged.stdout.readline().split()[1])
    urged.send_signal(signal.SIGINT)
    assert told(urged)['cleanup'] - begin < 25
    times = told(stubborn)
    assert list(times) == ['halt', 'cleanup']
    assert STOP_TIME <= times['cleanup'] - times['halt'] < 30


def test_a_callback_that_never_returns_does_not_keep_a_process_from_ending(start: Any) -> None:
    process = start(-1.0, LONG_TIME, 1.0)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == STUCK
    assert 'in activate' in errors and 'blocked this process' in errors
