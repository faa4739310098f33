# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""How long it takes until a change of an action, or a bare message, is at a subscriber."""

from __future__ import annotations

import json
import time

from _nodes import PROCESSES
from _process import Process

TOPICS = ('action_lifecycle/state_changes', 'bare/state_changes')
CHANGES = 400  # per block


class PublishLatency:
    """
    The real action node and a bare node, which publish, and a process that listens to both.

    The action node journals to changing.journal in `folder`.
    """

    def __init__(self, environment: dict[str, str], folder: str) -> None:
        self._senders = [Process(PROCESSES, environment, 'changing', folder),
                         Process(PROCESSES, environment, 'publishing')]
        self._listener = Process(PROCESSES, environment, 'listening', *TOPICS)
        for process in (*self._senders, self._listener):
            process.line()
        time.sleep(1.0)
        self.block()  # warms up

    def block(self) -> tuple[list[float], list[float]]:
        """Send CHANGES messages each, at the same time; returns the times (s): ours, bare."""
        for sender in self._senders:
            sender.tell(CHANGES)
        for sender in self._senders:
            sender.line()
        time.sleep(0.1)
        self._listener.tell(0)
        came = json.loads(self._listener.line())
        found = []
        for sender, topic in zip(self._senders, TOPICS):
            sender.tell(0)
            began = json.loads(sender.line())
            if len(came[topic]) != len(began):
                raise SystemExit(f'{topic}: {len(came[topic])} of {len(began)} came')
            found.append([came[topic][seq] - begin for seq, begin in began.items()])
        ours, bare = found
        return ours, bare

    def end(self) -> None:
        """End the processes."""
        for process in (*self._senders, self._listener):
            process.end()
