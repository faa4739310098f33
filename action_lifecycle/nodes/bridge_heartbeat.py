# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
Signs of life while a goal is open.

When a process is killed, DDS tells others so only when its lease has run out, some 20 s later.
Whoever waits for a goal of the bridge knows by missing feedback that it is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ros.lifecycle_node import ManagedNode

PERIOD = 0.5
"""Seconds between two signs of life; whoever waits may give up after four times that."""


class Heartbeat:
    """Calls what is held, every `PERIOD` s of steady time; no timer runs while nothing is."""

    def __init__(self, node: ManagedNode) -> None:
        self._node = node
        self._held: list[Callable[[], None]] = []
        self._timer: Any = None

    def hold(self, beat: Callable[[], None]) -> Callable[[], None]:
        """Call `beat` from now on; returns what ends it."""
        self._held.append(beat)
        if self._timer is None:
            self._timer = self._node.create_timer(
                PERIOD, self._node.guarded(self._beat), clock=self._node.steady_clock)
        return lambda: self._release(beat)

    def _release(self, beat: Callable[[], None]) -> None:
        self._held.remove(beat)
        if not self._held and self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None

    def _beat(self) -> None:
        for beat in list(self._held):
            beat()
