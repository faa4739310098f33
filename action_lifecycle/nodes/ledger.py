# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
The ledger node: answers questions from the journal, also when the action node is down.

It only reads the file, so nothing it does can stall or harm an action.
"""

from __future__ import annotations

from typing import Any

from action_lifecycle_msgs.msg import LedgerSync

from ..ledger import JournalError, JournalReader
from ..ros.lifecycle_node import ManagedNode
from ..ros.process import run
from ..ros.qos import state_qos
from .files import action_graph, journal_path
from .messages import to_time
from .queries import Queries

LOOK = 1.0
"""Seconds between looks at the journal."""


class LedgerNode(ManagedNode):
    """
    Managed node `ledger`.

    | interface | name | type |
    |---|---|---|
    | service | `~/get_action` | action_lifecycle_msgs/srv/GetAction |
    | service | `~/list_actions` | action_lifecycle_msgs/srv/ListActions |
    | service | `~/get_history` | action_lifecycle_msgs/srv/GetHistory |
    | topic (latched) | `~/sync` | action_lifecycle_msgs/msg/LedgerSync |

    Parameters: `journal_path` (string): file of the journal, as the action node has it.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('ledger', **kwargs)
        self.declare('journal_path', '', 'File of the journal; empty: in the ROS home.')

    def configure(self) -> None:
        """Offer the interfaces; the journal may not exist yet."""
        self.path = journal_path(self)
        self.reader: JournalReader | None = None
        self.sync = self.add_publisher(LedgerSync, '~/sync', state_qos())
        self.add_timer(LOOK, self._look)
        self._told: tuple[int, str] | None = None
        self._look()

    def activate(self) -> None:
        """Tell the state at once."""
        self._told = None
        self._look()

    def cleanup(self) -> None:
        """Close the journal."""
        if self.reader is not None:
            self.reader.close()

    def _look(self) -> None:
        error = ''
        try:
            if self.reader is None:
                self.reader = JournalReader(self.path)
                Queries(self, self.reader, action_graph())
            seq = self.reader.last_seq()
        except JournalError as failed:
            seq, error = 0, str(failed)
        if self._told != (seq, error):
            self._told = seq, error
            self.sync.publish(LedgerSync(
                stamp=to_time(self.now()), state=LedgerSync.DISABLED, journal_seq=seq,
                last_error=error))


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(LedgerNode, args=args)
