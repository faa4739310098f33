# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Helper processes of a benchmark, which read and write lines."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / 'test'))
from isolation import domain_id  # noqa: E402


class Process:
    """A process that runs `program` with these arguments until `end`."""

    def __init__(self, program: Path, environment: dict[str, str], *arguments: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(program), *map(str, arguments)], env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def line(self) -> str:
        """Return the next line of its stdout; raises SystemExit if the process has ended."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit('a process of the benchmark has died')
        return line

    def tell(self, line: object = '') -> None:
        """Write a line to its stdin."""
        assert self._process.stdin is not None
        self._process.stdin.write(f'{line}\n')
        self._process.stdin.flush()

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.communicate()


def ros_environment(folder: str) -> dict[str, str]:
    """Return the environment variables of a free local ROS domain, with logs in `folder`."""
    return {'ROS_DOMAIN_ID': str(domain_id()), 'ROS_LOG_DIR': folder,
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
