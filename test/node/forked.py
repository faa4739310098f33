# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Programs as processes of their own, forked from one that has imported the package already.

Importing rclpy, numpy and the nodes takes a second of CPU time, and the tests start hundreds.
What runs is the same `main`, with its own middleware, signals and exit code. test_endings.py, the
tests of launch files and those of the pages start the installed executables instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
import ctypes
import faulthandler
from importlib.metadata import entry_points
import multiprocessing
from multiprocessing.forkserver import ensure_running
from multiprocessing.reduction import DupFd
import os
from pathlib import Path
import runpy
import subprocess
import sys
import traceback
from typing import Any, IO
from unittest.mock import patch

CONTEXT = multiprocessing.get_context('forkserver')
CONTEXT.set_forkserver_preload(['node.preloaded'])


class Forked:
    """
    What the tests need of subprocess.Popen, for a program of Python.

    `command` is the name of an executable of the package, or [sys.executable, SCRIPT] or
    [sys.executable, '-m', MODULE], and its arguments. `output` is the file of standard output and
    standard error; it and `stdin` may be subprocess.PIPE (of text).
    """

    def __init__(self, command: list[str], environment: dict[str, str], output: IO[Any] | int,
                 stdin: int | None = None) -> None:
        self.args = command
        self.stdin: IO[str] | None = None
        self.stdout: IO[str] | None = None
        theirs: list[int] = []
        given = None
        if stdin is not None:
            given, ours = os.pipe()
            theirs.append(given)
            self.stdin = open(ours, 'w', encoding='utf-8')  # noqa: SIM115
        if isinstance(output, int):
            ours, taken = os.pipe()
            theirs.append(taken)
            self.stdout = open(ours, encoding='utf-8')  # noqa: SIM115
        else:
            taken = output.fileno()
        self._process = CONTEXT.Process(target=_run, args=(
            command, environment, _Descriptor(taken),
            None if given is None else _Descriptor(given)))
        with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):
            ensure_running()  # Python 3.12 preloads in silence nothing that sys.path alone finds
        self._process.start()
        for descriptor in theirs:
            os.close(descriptor)
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    @property
    def returncode(self) -> int | None:
        """Return the exit code, the negative number of the signal that ended it, or None."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return `returncode`."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; `timeout` in s. Raises subprocess.TimeoutExpired."""
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """Return what it still prints, and wait for the end; `timeout` in s, see `wait`."""
        assert self.stdout is not None
        with ThreadPoolExecutor(1) as reader:
            printed = reader.submit(self.stdout.read)
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired as error:
                self.kill()
                error.output = printed.result()
                raise
            return printed.result(), None

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._process.terminate()

    def kill(self) -> None:
        """Send SIGKILL."""
        self._process.kill()


def ros_arguments(parameters: Mapping[str, Any], *others: str) -> list[str]:
    """Return the arguments that give a node these parameters, after others for ROS."""
    arguments = ['--ros-args', *others]
    for name, value in parameters.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        arguments += ['-p', f'{name}:={text}']
    return arguments


class _Descriptor:
    """A file descriptor that is handed to the new process."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> Any:
        return _received, (DupFd(self.number),)


def _received(descriptor: Any) -> int:
    number: int = descriptor.detach()
    return number


def _name(command: list[str]) -> str:
    """Return what a program is called, in as many bytes as Linux takes."""
    place = 0 if command[0] != sys.executable else 2 if command[1] == '-m' else 1
    return Path(command[place]).name[:15]


def _run(command: list[str], environment: dict[str, str], output: int, stdin: int | None) -> None:
    Path('/proc/self/comm').write_text(_name(command), encoding='utf-8')  # as ps shows it
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = [folder for folder in environment.get('PYTHONPATH', '').split(os.pathsep)
                    if folder and folder not in sys.path]
    if stdin is not None:
        os.dup2(stdin, 0)
        os.close(stdin)
        sys.stdin = open(0, encoding='utf-8', closefd=False)  # noqa: SIM115
    for number in (1, 2):
        os.dup2(output, number)
    os.close(output)
    sys.stdout = open(1, 'w', encoding='utf-8', closefd=False)  # noqa: SIM115
    sys.stderr = open(2, 'w', 1, 'utf-8', 'backslashreplace', closefd=False)  # noqa: SIM115
    if 'PYTHONFAULTHANDLER' in environment:
        faulthandler.enable()
    code: Any = None
    try:
        if command[0] != sys.executable:
            sys.argv = command
            (program,) = entry_points(group='console_scripts', name=command[0])
            code = program.load()()
        elif command[1] == '-m':
            sys.argv = command[2:]
            runpy.run_module(command[2], run_name='__main__', alter_sys=True)
        else:
            sys.argv = command[1:]
            sys.path.insert(0, str(Path(command[1]).parent))
            runpy.run_path(command[1], run_name='__main__')
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    # As at the end of any program: multiprocessing would leave out what finalizes the middleware.
    ctypes.pythonapi.Py_Exit(code if isinstance(code, int) else 0 if code is None else 1)
