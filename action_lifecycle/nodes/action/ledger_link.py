# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Applies the ledger node's status in the action node: gates motions, triggers compaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
import time

from action_lifecycle_msgs.msg import Lease, LedgerSync

from ...documents.stamps import to_seconds
from ...flow.run.lease_gate import LeaseGate
from ...journal.clock import boot_time
from ...journal.compactor import Compactor
from ...journal.durability import DURABILITIES, EVENT_KINDS
from ...journal.journal import Journal
from ...lifecycle.ports import World
from ...ros.interfaces.names import name_fault
from ...ros.interfaces.qos import state_qos
from ...ros.node.lifecycle_node import ManagedNode

MAX_CLAIM = 60.0
"""Maximum time (s) for which a claim counts as held after the last message."""


def declare_ledger(node: ManagedNode) -> None:
    """Declare the parameters of journal durability, compaction and the ledger node."""
    for kind, default in EVENT_KINDS.items():
        node.declare(f'durability.{kind}', default, f'What a row of kind {kind} survives.',
                     choices=DURABILITIES)
    node.declare('ledger', 'ledger', 'Name of the ledger node.', check=name_fault)
    node.declare('compact_keep', 100_000, 'Number of synced rows that stay in the journal; '
                 '0: all.', limits=(0, 2**53))
    node.declare('compact_unsynced', False, 'Compact the journal also if no ledger is '
                 'configured; compacted rows are then lost.')


def durability(node: ManagedNode) -> dict[str, str]:
    """Return the durability of each kind of event, from the parameters."""
    return {kind: str(node.parameter(f'durability.{kind}')) for kind in EVENT_KINDS}


def held_until(
    leases: Iterable[Lease], wall: float, now: float
) -> dict[tuple[str, str], float]:
    """
    Return the boot time (s) until which claims are held, by flow id and name; 0: not held.

    `wall`, `now`: the current wall time and boot time in s. A held claim is published repeatedly,
    so each message counts for at most `MAX_CLAIM` s; a wall clock that is set back can't extend a
    claim further.
    """
    return {(lease.flow_id, lease.name): now + min(left, MAX_CLAIM) if left > 0 else 0.0
            for lease in leases if lease.held
            for left in [to_seconds(lease.expires) - wall]}


class LedgerLink:
    """
    Subscribes to the ledger node's status; `self.world` gates the motions of the given `world`.

    `lease_of(flow_id)` returns the name of the claim that a flow's motions need; '' for none.
    `earlier(sign)` is called if the journal is empty now, and the ledger has rows of another one.
    """

    def __init__(
        self, node: ManagedNode, journal: Journal, world: World, lease_of: Callable[[str], str],
        earlier: Callable[[str], None],
    ) -> None:
        self.world = LeaseGate(world, node, boot_time, lease_of)
        self._journal = journal
        self._earlier = earlier
        self._is_new = not journal.last_seq()
        keep = int(node.parameter('compact_keep'))
        self._compactor = Compactor(journal, keep) if keep else None
        self._unsynced = bool(node.parameter('compact_unsynced'))
        node.add_subscription(
            LedgerSync, f"{node.parameter('ledger')}/sync", self._update, state_qos())

    def _update(self, sync: LedgerSync) -> None:
        self.world.update(held_until(sync.leases, time.time(), boot_time()))
        if self._is_new and sync.ledger_seq:
            self._compare(sync)
        if self._compactor is None:
            return
        if sync.state == LedgerSync.CONNECTED:
            self._compactor.update(sync.journal_seq, sync.ledger_seq)
        elif sync.state == LedgerSync.DISABLED and self._unsynced:
            self._compactor.update(sync.journal_seq, sync.journal_seq)

    def _compare(self, sync: LedgerSync) -> None:
        """Tell of an earlier journal, from the first message about this one and the ledger."""
        if sync.state == LedgerSync.REFUSED:
            self._is_new = False
            self._earlier(f'the ledger of the fleet has {sync.ledger_seq} rows of another one')
        elif sync.state == LedgerSync.CONNECTED and sync.ledger_seq <= self._journal.last_seq():
            self._is_new = False  # its rows are those of this journal

    def close(self) -> None:
        """Wait for a running compaction; to be called after the journal was closed."""
        if self._compactor is not None:
            self._compactor.join()
