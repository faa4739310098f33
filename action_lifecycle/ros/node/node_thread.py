# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Callbacks of a node in a thread of their own, which no other callback of the process delays.

Python code of other threads delays it by the switch interval, and if the kernel takes the core
from the thread that runs Python meanwhile, until it gives one back. So the interval is shorter
than the time slices of the kernel. A single call into C keeps all threads waiting, so large
messages must not be taken or converted in one (ros/node/bounded_responses.py).
"""

from __future__ import annotations

from collections.abc import Callable
import sys
import threading
import traceback
from typing import Any

from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.parameter import Parameter

from .call_host import CallHost
from .executor import make_executor
from .lifecycle_node import ManagedNode

SWITCH = 0.0005  #: s; longest switch interval of Python in a process with such a thread


class NodeThread(CallHost):
    """
    A second node whose subscriptions and timers run in this thread; the rest is that of `node`.

    Its timers are set in this thread, or before `start`. `close` ends the thread; what was made on
    it can be destroyed then, and at last `destroy_node` be called.
    """

    def __init__(self, node: ManagedNode, name: str) -> None:
        self._managed = node
        # without parameters and services it costs hardly any time
        super().__init__(Node(
            f'_{node.get_name()}_{name}', namespace=node.get_namespace(), context=node.context,
            use_global_arguments=False, enable_rosout=False, start_parameter_services=False,
            parameter_overrides=[Parameter('start_type_description_service', value=False)]))
        self.executor = make_executor(node.parameter('executor'), context=node.context)
        self.executor.add_node(self._node)
        self.create_subscription = self._node.create_subscription
        self.destroy_subscription = self._node.destroy_subscription
        self.create_timer = self._node.create_timer
        self.destroy_timer = self._node.destroy_timer
        self._closing = False
        self._thread = threading.Thread(target=self._spin, name=name, daemon=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._managed, name)

    def start(self) -> None:
        """Begin to call back."""
        sys.setswitchinterval(min(SWITCH, sys.getswitchinterval()))
        self._thread.start()

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call back in this thread; may be called from any thread."""
        if not self._closing:
            self.executor.create_task(self.guarded(callback))

    def close(self) -> None:
        """End the thread; called in another one."""
        if self._closing:
            return
        self._closing = True
        self.executor.shutdown()
        if self._thread.is_alive():
            self._thread.join(1.0)

    def destroy_node(self) -> None:
        """Destroy the second node."""
        self._node.destroy_node()

    def _spin(self) -> None:
        while not self._closing and self._node.context.ok():
            try:
                self.executor.spin()
            except ExternalShutdownException:
                return
            except Exception:  # callbacks are guarded; whatever it is, go on
                self.get_logger().error(f'thread {self._thread.name}: {traceback.format_exc()}')
