# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The local engine: tasks in worker processes on this machine."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import multiprocessing
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from .engine import Engine
from .jobs import CLOSED, Job, Outcome
from .wire import MAX_MESSAGE, unpack
from ..documents.errors import LifecycleError

START_LIMIT = 60.0
"""Maximum time (s) for a worker process to become ready."""
_STALL = 5  # maximum time (s) without a byte within a message
_POLL_PERIOD = 0.5  # polling period (s) for the end of a worker process


class LocalEngine(Engine):
    """
    A pool of `workers` processes, each started with its first job.

    If a task exceeds its time limit (default: `time_limit` s), its process is killed, with all
    child processes. Only the job of the killed process fails; a new process replaces it. The
    process of a job that is not wanted any more is killed, too. A task without `retries` is never
    started twice.
    """

    def __init__(self, workers: int = 2, time_limit: float = 60.0) -> None:
        if workers < 1 or time_limit <= 0:
            raise LifecycleError('a local engine needs at least one worker and a time limit > 0')
        super().__init__(time_limit, *[self._serve] * workers)
        self._lock = threading.Lock()
        self._processes: set[_Process] = set()

    @property
    def pids(self) -> tuple[int, ...]:
        """Return the process ids of the running workers."""
        with self._lock:
            return tuple(process.pid for process in self._processes)

    def _stop(self) -> None:
        with self._lock:
            for process in self._processes:
                process.kill()

    def _serve(self) -> None:
        """Perform jobs with one process at a time; runs in each thread of the pool."""
        process: _Process | None = None
        while (attempt := self._take()) is not None:
            job = attempt.job
            try:
                if process is None or not process.lives():
                    self._end(process)
                    process = None
                    process = self._start_process()
                job.sent()
                self._finish(attempt, self._perform(job, process))
            except _Lost as loss:
                self._end(process)
                process = None
                error = CLOSED if self._closed.is_set() else str(loss)
                self._finish(attempt, Outcome(None, error))
            except _Unwanted:
                self._end(process)
                process = None
                job.dropped()
            except (LifecycleError, OSError) as failure:
                self._reply(job, Outcome(None, str(failure)))
        self._end(process)

    def _perform(self, job: Job, process: _Process) -> Outcome:
        limit = self._time_limit if job.time_limit is None else job.time_limit
        answer = unpack(process.ask(self._message(job), limit, job.wanted))
        return Outcome(answer.get('value'), answer.get('error', ''))

    def _start_process(self) -> _Process:
        with self._lock:
            if self._closed.is_set():
                raise _Lost(CLOSED)
            process = _Process()
            self._processes.add(process)
        try:
            process.answer(START_LIMIT)
        except _Lost as loss:
            self._end(process)
            raise LifecycleError(f'no worker could be started: {loss}') from None
        return process

    def _end(self, process: _Process | None) -> None:
        if process is not None:
            with self._lock:
                self._processes.discard(process)
            process.end()


class _Lost(Exception):
    """A process has exited, was killed, or has not answered in time."""


class _Unwanted(Exception):
    """The result of a job is not needed any more."""


class _Process:
    """One worker process and the engine's end of its pipe."""

    def __init__(self) -> None:
        self._connection, theirs = multiprocessing.Pipe()  # of sockets
        with socket.socket(fileno=os.dup(self._connection.fileno())) as ours:
            for way in socket.SO_SNDTIMEO, socket.SO_RCVTIMEO:
                ours.setsockopt(socket.SOL_SOCKET, way, struct.pack('@ll', _STALL, 0))
        paths = os.pathsep.join(path for path in sys.path if path)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, '-m', f'{__package__}.worker', str(theirs.fileno())],
                stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True,
                env={**os.environ, 'PYTHONPATH': paths})
        self.pid = self._process.pid

    def lives(self) -> bool:
        return self._process.poll() is None

    def ask(self, message: bytes, limit: float, wanted: Callable[[], bool]) -> bytes:
        """Return the answer to a message; see `answer`."""
        try:
            self._connection.send_bytes(message)
        except OSError:
            raise self._died(limit) from None
        return self.answer(limit, wanted)

    def answer(self, limit: float, wanted: Callable[[], bool] = lambda: True) -> bytes:
        """
        Return the next message of the process.

        Raises `_Lost` if there is none in `limit` s, `_Unwanted` if it is not wanted any more.
        """
        deadline = time.monotonic() + limit
        try:
            while not self._connection.poll(
                    min(_POLL_PERIOD, max(0.0, deadline - time.monotonic()))):
                if not self.lives():  # a child process of the task holds the pipe open
                    raise self._died(limit)
                if time.monotonic() >= deadline:
                    raise _late(limit)
                if not wanted():
                    raise _Unwanted
            return self._connection.recv_bytes(MAX_MESSAGE)
        except (EOFError, OSError):
            raise self._died(limit) from None

    def kill(self) -> None:
        """Kill the process and its child processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill the process, wait for its end, and close the pipe."""
        self.kill()
        self._process.wait()
        self._connection.close()

    def _died(self, limit: float) -> _Lost:
        try:
            code = self._process.wait(timeout=_POLL_PERIOD)
        except subprocess.TimeoutExpired:
            return _Lost('its worker process stopped in the middle of a message')
        if code == -signal.SIGALRM:  # it was ended by its own timer
            return _late(limit)
        how = f'was killed by signal {-code}' if code < 0 else f'ended with exit code {code}'
        return _Lost(f'its worker process {how}')


def _late(limit: float) -> _Lost:
    return _Lost(f'it took longer than {limit:g} s; its worker process was killed')
