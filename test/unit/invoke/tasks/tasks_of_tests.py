# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tasks that the tests run in worker processes."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any


def echo(value: Any) -> Any:
    return value


def shout(value: str) -> str:
    return value.upper()


def size(value: bytes) -> int:
    return len(value)


def split(value: str) -> dict[str, Any]:
    return {'parts': value.split()}


def fail(value: Any) -> None:
    raise ValueError(f'no way with {value}')


def leave(value: Any) -> None:
    sys.exit(3)


def print_much(value: Any) -> Any:
    print('noise on the standard output')
    return value


def die(value: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_and_leave_a_child(value: Any) -> None:
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    die(value)


def hang(path: str) -> None:
    """Write down the process ids of this and of what it starts, and never return."""
    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])
    if path:
        Path(path + '.new').write_text(f'{os.getpid()} {child.pid}')
        Path(path + '.new').rename(path)
    while True:
        time.sleep(1)


def wait_for(path: str) -> str:
    """Return when the file is there."""
    while not Path(path).exists():
        time.sleep(0.005)
    return path


def note(path: str) -> str:
    """Add a line to the file."""
    with open(path, 'a') as file:
        file.write('done\n')
    return path


def _try(path: str) -> int:
    with open(path, 'a') as file:
        file.write('tried\n')
    return len(Path(path).read_text().splitlines())


def works_the_third_time(path: str) -> int:
    tries = _try(path)
    if tries < 3:
        raise ConnectionError('not yet')
    return tries


def note_and_die(path: str) -> None:
    _try(path)
    die(path)


def note_and_wait_for(path: str) -> int:
    """Note that it began; return when the file beside it is there."""
    tries = _try(path)
    wait_for(path + '.go')
    return tries


def large(value: int) -> str:
    return 'x' * value


def no_json(value: Any) -> Any:
    return {'set': {1}}


def not_a_number(value: Any) -> float:
    return float('nan')


async def later(value: Any) -> Any:
    return value


def pause(value: Any) -> Any:
    time.sleep(0.3)
    return value


def note_done(given: list[Any]) -> Any:
    """Take a while, write down that it is done, and return what was given."""
    path, value = given
    time.sleep(0.4)
    with open(path, 'a', encoding='utf-8') as done:
        done.write(f'{value}\n')
    return value
