# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A worker process of the local engine: performs one job at a time until its pipe is closed.

`local` starts it with the file descriptor of its end of the pipe. It exits when the pipe is
closed, or at most 1 s after the time limit of its job, even if the robot's process was killed.
"""

from __future__ import annotations

import inspect
import math
from multiprocessing.connection import Connection
import os
import pkgutil
import signal
import sys
from typing import Any

from .wire import pack, unpack, WireError

MAX_ERROR = 2000
"""Maximum length of an error message, in characters."""


def main() -> None:
    """Perform the jobs from the pipe."""
    number = int(sys.argv[1])
    os.set_inheritable(number, False)  # else child processes would keep the pipe open
    connection = Connection(number)
    connection.send_bytes(b'ready')
    try:
        while True:
            connection.send_bytes(_answer(connection.recv_bytes()))
    except (EOFError, OSError):  # the engine has closed the pipe
        return


def _answer(message: bytes) -> bytes:
    try:
        job = unpack(message)
        signal.alarm(math.ceil(job['time_limit']) + 1)
        value = _perform(job['call'], job['input'], job['names'])
        try:
            return pack({'value': value})
        except WireError as error:
            raise WireError(f'its answer is refused: {error}') from None
    except BaseException as error:  # SystemExit, too, must not end the worker
        return pack({'error': f'{type(error).__name__}: {error}'[:MAX_ERROR]})
    finally:
        signal.alarm(0)


def _perform(call: str, template: Any, names: dict[str, Any]) -> Any:
    argument = names['actor_input']
    if template is not None:
        from ..documents.templates.template import (
            render,  # imported on use, which halves the start-up time
        )
        argument = render(template, names)
    if not call:
        return argument
    value = pkgutil.resolve_name(call)(argument)
    if inspect.isawaitable(value):
        raise TypeError(f'{call} is async; a task is a plain function')
    return value


if __name__ == '__main__':
    main()
