# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Makes the environments beside the private Jazzy in .ros/, each once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import fcntl
import shutil
import subprocess

from private_jazzy import explain, LOGS, ROS, SetupError
from steps import step


def ensure(
    name: str, what: str, key: str, commands: Iterable[Sequence[str]], environment: dict[str, str],
) -> None:
    """
    Make .ros/NAME with the commands, unless it was made with the same key.

    `what` is printed as the step. If a command fails, its output is in .ros/log, and SetupError
    says why; the next call begins anew.
    """
    folder, stamp = ROS / name, ROS / 'stamps' / name
    for needed in (LOGS, stamp.parent):
        needed.mkdir(parents=True, exist_ok=True)
    (ROS / 'COLCON_IGNORE').touch()
    with (ROS / f'{name}.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists() and stamp.exists() and stamp.read_text() == key:
            return
        stamp.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        with step(f'{what} in .ros/{name}'):
            for command in commands:
                done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                if done.returncode != 0:
                    log = LOGS / f'{name}.log'
                    log.write_text(done.stdout)
                    raise SetupError(explain(done.stdout, log))
        stamp.write_text(key)
