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

"""The node that a command asks with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import os
import sys
import time
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from .exits import NotThere

TELL = 1.0
"""Seconds after which it is said what is waited for."""


class Client:
    """A node with an executor that is spun only while the command waits."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(node)
        self._clients: dict[str, Any] = {}

    def spin(self, seconds: float) -> None:
        """Serve callbacks for this long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=left)

    def until(self, done: Callable[[], bool], seconds: float, what: str) -> None:
        """Serve callbacks until `done`; `NotThere` after so long."""
        started = time.monotonic()
        told = False
        while not done():
            waited = time.monotonic() - started
            if waited >= seconds:
                raise NotThere(f'{what} after {seconds:g} s')
            if waited >= TELL and not told:
                told = True
                print(f'waiting for up to {seconds:g} s: {what} yet', file=sys.stderr)
            self.executor.spin_once(timeout_sec=0.05)

    def call(self, service: type, name: str, request: Any, wait: float) -> Any:
        """Call a service and return its response."""
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = self.node.create_client(service, name)
        self.until(client.service_is_ready, wait, f"service '{client.srv_name}' is not there")
        future = client.call_async(request)
        self.until(future.done, wait, f"service '{client.srv_name}' does not answer")
        return future.result()


@contextlib.contextmanager
def connect(namespace: str) -> Iterator[Client]:
    """Make a node for the time of a command; Ctrl-C stays with the command."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node(
        f'_action_lifecycle_cli_{os.getpid()}', namespace=namespace or None,
        start_parameter_services=False, enable_rosout=False)
    try:
        yield Client(node)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
