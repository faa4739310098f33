# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the action node provides to kinds of work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...shared.in_thread import InThread
from ....documents.errors import LifecycleError
from ....lifecycle.ports import Handle
from ....lifecycle.work import Worker
from ....ros.node.lifecycle_node import ManagedNode


class NodeHost:
    """What the node provides to kinds of work; `workers`: by kind. See `lifecycle.work`."""

    def __init__(self, node: ManagedNode, workers: Mapping[str, Worker]) -> None:
        self.node = node
        self._workers = workers

    def now(self) -> float:
        """Return ROS time in s."""
        return self.node.now()

    def in_thread(
        self, name: str, function: Callable[[], Any],
        done: Callable[[Any, Exception | None], None],
    ) -> Handle:
        """Call a blocking function in a thread of its own; `done` gets its result or error."""
        def call() -> tuple[Any, Exception | None]:
            try:
                return function(), None
            except Exception as error:
                return None, error

        return InThread(name, call, lambda ended: done(*ended), self.node.call_soon)

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call back in the executor's thread; may be called from any thread."""
        self.node.call_soon(callback)

    def worker(self, kind: str) -> Worker:
        """Return the worker of a kind; raises `LifecycleError` if there is none."""
        try:
            return self._workers[kind]
        except KeyError:
            raise LifecycleError(f"this node does no work of the kind '{kind}'") from None
