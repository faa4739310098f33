# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
Runs managed nodes in this process until a signal, then lets them stop what they set going.

rclpy's own signal handlers invalidate the context at once, and then no goal can be canceled any
more; so the handlers are ours. While spin() waits in C++, Python would not run a handler: the
signal's byte on a wake-up descriptor reaches a thread, which ends the spinning.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import rclpy
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from .executor import make_executor
from .lifecycle_node import ManagedNode

STOP_TIME = 4.0  #: s, the longest that nodes may take to stop what runs; exit within 5 s
LAST_WORDS = 0.3  #: s in which others still get the results of what was stopped


def run(*nodes: Callable[[], ManagedNode], args: Sequence[str] | None = None) -> int:
    """
    Make the nodes, start those whose `autostart` says so, spin until SIGINT or SIGTERM.

    A second signal ends the wait for what is still being stopped. Returns the exit code.
    """
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    running: list[ManagedNode] = []
    try:
        with _signals() as signals:
            running.extend(make() for make in nodes)
            executor = make_executor(running[0].parameter('executor'))
            for node in running:
                executor.add_node(node)
                if node.parameter('autostart'):
                    node.start()
            with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
                executor.spin_until_future_complete(signals.first)
                _stop(running, executor, signals)
            executor.shutdown()
    finally:
        for node in running:
            node.destroy_node()
        rclpy.try_shutdown()
    return 0


def _stop(nodes: Sequence[ManagedNode], executor: Executor, signals: _Signals) -> None:
    """Halt, wait for what is under way, shut down."""
    for node in nodes:
        node.guarded(node.halt_once)()
    started = time.monotonic()
    quiet_since = started - LAST_WORDS  # with nothing to stop there is nothing to tell
    while not signals.second.is_set() and time.monotonic() < started + STOP_TIME:
        if any(node.busy() for node in nodes):
            quiet_since = time.monotonic()
        elif time.monotonic() >= quiet_since + LAST_WORDS:
            break
        executor.spin_once(timeout_sec=0.02)
    for node in nodes:
        node.guarded(node.trigger_shutdown)()


class _Signals:
    """`first` is done at the first signal, `second` set at the second."""

    def __init__(self) -> None:
        self.first: Any = Future()
        self.second = threading.Event()

    def listen(self, receiver: socket.socket) -> None:
        while receiver.recv(1):
            if self.first.done():
                self.second.set()
            else:
                self.first.set_result(None)


@contextlib.contextmanager
def _signals() -> Iterator[_Signals]:
    """Take SIGINT and SIGTERM while the block runs."""
    signals = _Signals()
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    old_descriptor = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    old_handlers = {
        number: signal.signal(number, lambda *_: None)
        for number in (signal.SIGINT, signal.SIGTERM)}
    thread = threading.Thread(target=signals.listen, args=(receiver,), name='signals', daemon=True)
    thread.start()
    try:
        yield signals
    finally:
        signal.set_wakeup_fd(old_descriptor)
        for number, handler in old_handlers.items():
            signal.signal(number, handler)
        sender.close()
        thread.join(1.0)
        receiver.close()
