# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Runs nodes in this process until a signal; managed nodes then stop their work.

rclpy's signal handlers invalidate the context at once, so that no goal can be canceled. So this
module has its own handlers. Python does not run handlers while spin() waits in C++, so a thread
reads the signal from a wake-up descriptor and ends the spinning. If a callback blocks, the process
ends after a time limit; the journal stays valid whenever the process ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
import contextlib
import faulthandler
import gc
import os
import signal
import socket
import threading
import time
from typing import Any

import rclpy
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from .executor import make_executor
from .lifecycle_node import ManagedNode
from .rclpy_internals import declared_parameters
from ...documents.errors import LifecycleError

STOP_TIME = 4.0  #: maximum time (s) for nodes to stop their work; exit within 5 s
UNHEARD = 10.0  #: s after a signal at which a process with a blocked executor ends
BAD_PARAMETER = 2  #: exit code
STUCK = 70  #: exit code of a process with a blocked executor (EX_SOFTWARE)
POLL_PERIOD = 0.02  #: polling period (s) for the end of all work
LAST_WORDS = 0.3  #: extra time (s) to deliver the results of stopped work


def run(*nodes: Callable[[], ManagedNode], args: Sequence[str] | None = None) -> int:
    """
    Create the nodes, start those with `autostart`, and spin until SIGINT or SIGTERM.

    A second signal ends the wait for work that is still being stopped. Returns the exit code: 2 if
    a parameter is not valid. If a callback blocks the executor after a signal, the stacks of all
    threads are printed and the process ends with code 70; motions are left as after kill -9.
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
            gc.freeze()  # a full collection visits no imported object: 30 ms instead of 80 ms
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


def spin_until_signal(node: Node, executor: Executor) -> None:
    """Spin a node that is not managed until SIGINT or SIGTERM, then destroy it."""
    stopped = Future()
    executor.add_node(node)

    def stop() -> None:
        if not stopped.done():
            executor.create_task(stopped.set_result, None)

    with _signals(stop):
        executor.spin_until_future_complete(stopped)
        executor.shutdown()
        node.destroy_node()


def _tell_unknown(nodes: Sequence[ManagedNode]) -> None:
    """Log the given parameters that none of these nodes has."""
    known = {name for node in nodes for name in declared_parameters(node)}
    for node in nodes:
        for sentence in node.parameters.unknown(known, qos=False):
            node.get_logger().warning(sentence)


class _End:
    """
    The shutdown of a process: at the first signal the nodes halt, within a time limit.

    The executor spins meanwhile, since it can't be stopped and started again.
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
        """Process a signal; called in the signal thread."""
        with self._lock:
            self._count += 1
            if self._count == 1:
                self._unheard.start()
                if self._executor is not None:
                    self._executor.create_task(self._begin)

    def watch(self, executor: Executor) -> None:
        """Set the executor for the shutdown; an earlier signal is processed now."""
        with self._lock:
            self._executor = executor
            if self._count:
                executor.create_task(self._begin)

    def close(self) -> None:
        """Cancel the timer for a blocked executor."""
        self._unheard.cancel()

    def _begin(self) -> None:
        self.close()
        for node in self._nodes:
            node.guarded(node.halt_once)()
        self._started = time.monotonic()
        self._quiet_since = self._started - LAST_WORDS  # no extra time if nothing has to stop
        first = self._nodes[0]
        first.create_timer(POLL_PERIOD, first.guarded(self._poll), clock=first.steady_clock)

    def _poll(self) -> None:
        now = time.monotonic()
        if any(node.busy() for node in self._nodes):
            self._quiet_since = now
        over = (now >= self._quiet_since + LAST_WORDS or now >= self._started + STOP_TIME
                or self._count > 1)
        if over and not self.done.done():
            self.done.set_result(None)


def _end_at_once() -> None:
    get_logger('action_lifecycle').fatal(
        f'a callback has blocked this process for {UNHEARD:g} s after a signal; the process ends '
        'now, without stopping motions. The stacks of its threads follow')
    faulthandler.dump_traceback()
    os._exit(STUCK)


@contextlib.contextmanager
def _signals(received: Callable[[], None]) -> Iterator[None]:
    """Handle SIGINT and SIGTERM while the block runs."""
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
