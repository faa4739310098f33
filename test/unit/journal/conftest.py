# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the tests of the journal share: a clock to be set, and processes that write."""

from __future__ import annotations

import os
from pathlib import Path
import subprocess
import sys

from action_lifecycle.journal import Entry, Journal
import pytest

WRITER = Path(__file__).with_name('writer_process.py')
WALK = ('assigned', 'in_progress', 'executing_motion', 'sensor_confirm',
        'status_verification_requested', 'completed', 'terminated')


class SetClock:
    """A clock that says what it was told."""

    def __init__(self):
        self.boot_id = 'boot-1'
        self.now = 100.0
        self.wall = 1_000_000.0

    def boot_time(self):
        return self.now

    def wall_time(self):
        return self.wall


@pytest.fixture
def clock():
    return SetClock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'robot.journal'


@pytest.fixture
def journal(path):
    with Journal(path) as opened:
        yield opened


@pytest.fixture(scope='session')
def walk():
    """Return the transitions of an action from its first to its `steps`th state."""
    def entries(action_id, steps=6, flow_id='flow', attempt=1):
        return [Entry('transition', flow_id, action_id, attempt, f'to_{target}', source, target,
                      final=target == 'terminated')
                for source, target in zip(WALK[:steps], WALK[1:steps + 1])]
    return entries


@pytest.fixture
def start_writer(path):
    """Return a function that starts a process that writes to the journal until it is killed."""
    started = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, str(WRITER), str(path), *arguments], stdout=subprocess.PIPE,
            env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)})
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()
