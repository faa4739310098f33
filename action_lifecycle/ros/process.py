# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Runs managed nodes in this process until a signal, then lets them stop what they set going.

rclpy's own signal handlers invalidate the context at once, and then no goal can be canceled any
more; so the handlers are ours. While spin() waits in C++, Python would not run a handler: the
signal's byte on a wake-up descriptor reaches a thread, which ends the spinning. A callback that
does not return can not keep the process: the journal survives an end at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
import contextlib
import faulthandler
import os
import signal
import socket
import threading
import time
from typing import Any

import rclpy
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.logging import get_logger
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from .executor import make_executor
from .lifecycle_node import ManagedNode
from ..engine.errors import LifecycleError

STOP_TIME = 4.0  #: s, the longest that nodes may take to stop what runs; exit within 5 s
UNHEARD = 10.0  #: s after a signal until a process whose executor does not take it ends at once
BAD_PARAMETER = 2  #: exit code
STUCK = 70  #: exit code of a process whose executor did not take a signal (EX_SOFTWARE)
LOOK = 0.02  #: s between looks whether everything has stopped
LAST_WORDS = 0.3  #: s in which others still get the results of what was stopped


def run(*nodes: Callable[[], ManagedNode], args: Sequence[str] | None = None) -> int:
    """
    Make the nodes, start those whose `autostart` says so, spin until SIGINT or SIGTERM.

    A second signal ends the wait for what is still being stopped. Returns the exit code: 2 when a
    parameter is not usable. When a callback keeps the executor from taking the signal, the stacks
    of all threads are printed and the process ends with code 70, motions as after kill -9.
    """
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    running: list[ManagedNode] = []
    end = _End(running)
    try:
        with _signals(end.signal):
            try:
                running.extend(make() for make in nodes)
            except LifecycleError as error:
                get_logger('action_lifecycle').fatal(str(error))
                return BAD_PARAMETER
            _tell_unknown(running)
            executor = make_executor(running[0].parameter('executor'))
            for node in running:
                executor.add_node(node)
                if node.parameter('autostart'):
                    node.start()
            end.watch(executor)
            with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
                executor.spin_until_future_complete(end.done)
            for node in running:
                node.finish()
            executor.shutdown()
    finally:
        end.close()
        for node in running:
            node.destroy_node()
        rclpy.try_shutdown()
    return 0


def _tell_unknown(nodes: Sequence[ManagedNode]) -> None:
    """Log parameters that a node was given and that none of these nodes has."""
    known = {name for node in nodes for name in node._parameters}
    for node in nodes:
        for sentence in node.parameters.unknown(known, qos=False):
            node.get_logger().warning(sentence)


class _End:
    """
    The end of a process: at the first signal nodes halt, and are given the time to do so.

    All of it happens while the executor spins, for it is not to be stopped and started again.
    """

    def __init__(self, nodes: Sequence[ManagedNode]) -> None:
        self.done: Any = Future()
        self._nodes = nodes
        self._executor: Executor | None = None
        self._count = 0
        self._lock = threading.Lock()
        self._started = self._quiet_since = 0.0
        self._unheard = threading.Timer(UNHEARD, _end_at_once)
        self._unheard.daemon = True

    def signal(self) -> None:
        """Take a signal; called in the thread that listens for them."""
        with self._lock:
            self._count += 1
            if self._count == 1:
                self._unheard.start()
                if self._executor is not None:
                    self._executor.create_task(self._begin)

    def watch(self, executor: Executor) -> None:
        """Begin in this executor from now on; a signal that came before counts."""
        with self._lock:
            self._executor = executor
            if self._count:
                executor.create_task(self._begin)

    def close(self) -> None:
        """Wait for the executor no more: it has taken the signal, or the process ends anyway."""
        self._unheard.cancel()

    def _begin(self) -> None:
        self.close()
        for node in self._nodes:
            node.guarded(node.halt_once)()
        self._started = time.monotonic()
        self._quiet_since = self._started - LAST_WORDS  # nothing to stop, nothing to tell
        first = self._nodes[0]
        first.create_timer(LOOK, first.guarded(self._look), clock=first.steady_clock)

    def _look(self) -> None:
        now = time.monotonic()
        if any(node.busy() for node in self._nodes):
            self._quiet_since = now
        over = (now >= self._quiet_since + LAST_WORDS or now >= self._started + STOP_TIME
                or self._count > 1)
        if over and not self.done.done():
            self.done.set_result(None)


def _end_at_once() -> None:
    get_logger('action_lifecycle').fatal(
        f'a callback has kept this process from taking a signal for {UNHEARD:g} s; it ends now, '
        'without stopping what moves. The stacks of its threads follow')
    faulthandler.dump_traceback()
    os._exit(STUCK)


@contextlib.contextmanager
def _signals(received: Callable[[], None]) -> Iterator[None]:
    """Take SIGINT and SIGTERM while the block runs."""
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    old_descriptor = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    old_handlers = {
        number: signal.signal(number, lambda *_: None)
        for number in (signal.SIGINT, signal.SIGTERM)}
    thread = threading.Thread(
        target=_listen, args=(receiver, received), name='signals', daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(old_descriptor)
        for number, handler in old_handlers.items():
            signal.signal(number, handler)
        sender.close()
        thread.join(1.0)
        receiver.close()


def _listen(receiver: socket.socket, received: Callable[[], None]) -> None:
    while receiver.recv(1):
        received()
