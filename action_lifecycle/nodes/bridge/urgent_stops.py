# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The steps of running motions, to be stopped in the thread that watches the safety topics."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import Any

from ...ros.node.lifecycle_node import ManagedNode


class UrgentStops:
    """
    The steps that are under way; `halt` sends their cancels, from any thread.

    The motions are stopped and followed to their end by the bridge's own thread afterwards.
    `stopped`: whether safety is STOPPED; a step that begins then is halted at once.
    """

    def __init__(self, node: ManagedNode, stopped: Callable[[], bool]) -> None:
        self._node = node
        self._stopped = stopped
        self._steps: dict[Any, None] = {}
        self._lock = threading.RLock()

    def hold(self, step: Any) -> None:
        """Halt a step, with its method `halt`, at a stop before it is done."""
        with self._lock:
            self._steps[step] = None
        step.done.add_done_callback(lambda done: self._drop(step))
        if self._stopped():
            self._halt(step)

    def halt(self) -> None:
        """Halt all steps; may be repeated."""
        with self._lock:
            steps = list(self._steps)
        for step in steps:
            self._halt(step)

    def _halt(self, step: Any) -> None:
        try:
            step.halt()
        except Exception:  # of one step; the others are to be halted, too
            self._node.log_exception('stop of a motion')

    def _drop(self, step: Any) -> None:
        with self._lock:
            self._steps.pop(step, None)
