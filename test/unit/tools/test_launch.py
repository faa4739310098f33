# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""tools/launch ends as the launch ended, and leaves no process behind."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest

TOOL = Path(__file__).parents[3] / 'tools/launch'
DESCRIPTION = """
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, Shutdown
from launch.substitutions import LaunchConfiguration


def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument('script', default_value='import time; time.sleep(99)'),
        ExecuteProcess(cmd=['python3', '-c', 'import time; time.sleep(99)'],
                       name='stays', sigterm_timeout='1', sigkill_timeout='1'),
        ExecuteProcess(cmd=['python3', '-c', LaunchConfiguration('script')],
                       name='decides', on_exit=[Shutdown()]),
    ])
"""


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[bytes]]:
    description = tmp_path / 'two.launch.py'
    description.write_text(DESCRIPTION)

    def run(*arguments: str, before: Callable[[], object] | None = None
            ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, TOOL, description, *arguments], stdout=subprocess.DEVNULL,
            preexec_fn=before, env={**os.environ, 'ROS_LOG_DIR': str(tmp_path / 'log')})

    return run


def _sleepers(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return [child for child in psutil.Process(process.pid).children(recursive=True)
            if 'time.sleep' in ' '.join(child.cmdline())]


def _wait_for_sleepers(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    deadline = time.monotonic() + 30
    while len(_sleepers(process)) < 2:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    return _sleepers(process)


@pytest.mark.parametrize(('script', 'code'), [
    ('raise SystemExit(0)', 0),
    ('raise SystemExit(3)', 3),
    ('import os; os.kill(os.getpid(), 9)', 137),
])
def test_the_process_that_ends_the_launch_decides_the_exit_code(
        start: Callable[..., subprocess.Popen[bytes]], script: str, code: int) -> None:
    process = start(f'script:={script}')
    assert process.wait(timeout=60) == code


@pytest.mark.parametrize(('number', 'code'), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_all_processes(
        start: Callable[..., subprocess.Popen[bytes]], number: int, code: int) -> None:
    process = start()
    sleepers = _wait_for_sleepers(process)
    process.send_signal(number)
    assert process.wait(timeout=60) == code
    assert not any(sleeper.is_running() for sleeper in sleepers)


def test_begun_in_the_background_of_a_script_it_is_stopped_too(
        start: Callable[..., subprocess.Popen[bytes]]) -> None:
    process = start(before=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    sleepers = _wait_for_sleepers(process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 143
    assert not any(sleeper.is_running() for sleeper in sleepers)


def test_killed_it_takes_its_processes_along(
        start: Callable[..., subprocess.Popen[bytes]]) -> None:
    process = start()
    sleepers = _wait_for_sleepers(process)
    process.kill()
    process.wait(timeout=10)
    _, alive = psutil.wait_procs(sleepers, timeout=30)
    assert not alive


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    for arguments, named in ((['no_such_package', 'a.launch.py'], 'no package no_such_package'),
                             ([str(tmp_path / 'a.launch.py')], 'no launch file')):
        result = subprocess.run([sys.executable, TOOL, *arguments], stderr=subprocess.PIPE,
                                text=True, timeout=60)
        assert result.returncode == 2
        assert named in result.stderr


INTERRUPTED = """
import os, signal
from launch import LaunchDescription
from launch.actions import ExecuteProcess, OpaqueFunction

def generate_launch_description():
    return LaunchDescription([
        ExecuteProcess(cmd=['sleep', '99'], name='first'),
        OpaqueFunction(function=lambda context: os.killpg(0, signal.SIGINT)),
        ExecuteProcess(cmd=['sleep', '99'], name='second')])
"""


def test_a_signal_while_processes_start_ends_them_all(tmp_path: Path) -> None:
    description = tmp_path / 'interrupted.launch.py'
    description.write_text(INTERRUPTED)
    done = subprocess.run(
        [sys.executable, TOOL, description], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=60, env={**os.environ, 'ROS_LOG_DIR': str(tmp_path / 'log')})
    assert done.returncode == 130
    assert 'Traceback' not in done.stdout and 'escalating' not in done.stdout, done.stdout
    started = set(re.findall(r'\[(\w+)-\d\]: process started', done.stdout))
    assert set(re.findall(r'\[(\w+)-\d\]: process has died \[pid \d+, exit code -2', done.stdout)
               ) == started == {'first', 'second'}, done.stdout
