# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Claims of which the action node was told lapse while the computer is suspended."""

from __future__ import annotations

import time
from typing import Any

from action_lifecycle.fleet.claim_watch import HeldClaim
from action_lifecycle.journal import Journal
from action_lifecycle.journal.clock import boot_time
from action_lifecycle.nodes.action.ledger_link import LedgerLink, MAX_CLAIM
from action_lifecycle.nodes.ledger.fleet_work import lease_to
from action_lifecycle_msgs.msg import LedgerSync
import pytest
from unit.fleet.test_suspended import suspend
from unit.flow.robot import Clock, Robot

__all__ = ['suspend']  # a fixture


class Node(Clock):
    """What LedgerLink needs of its node, without a middleware."""

    told: Any = None

    def steady(self) -> float:
        return time.monotonic()

    def parameter(self, name: str) -> Any:
        return {'compact_keep': 0, 'compact_unsynced': False, 'ledger': 'ledger'}[name]

    def add_subscription(self, kind: type, topic: str, callback: Any, qos: Any) -> None:
        self.told = callback


@pytest.mark.parametrize(('slept', 'is_open'), [(0.0, True), (MAX_CLAIM, False)])
def test_gate_is_closed_after_a_suspension(tmp_path: Any, suspend: Any, slept: float,
                                           is_open: bool) -> None:
    node: Any = Node()
    with Journal(tmp_path / 'journal') as journal:
        link = LedgerLink(node, journal, Robot(node), lambda flow_id: 'job', lambda why: None)
        claim = HeldClaim('f', 'job', 1, boot_time() + 2 * MAX_CLAIM)
        node.told(LedgerSync(leases=[lease_to(claim)]))
        suspend(slept)
        assert link.world._is_open('f', 'job') is is_open
        link.close()


def test_claim_that_lapsed_during_a_suspension_is_not_told_as_held(suspend: Any) -> None:
    claim = HeldClaim('f', 'job', 1, boot_time() + 20.0)
    assert lease_to(claim).held
    suspend(20.0)
    assert not lease_to(claim).held
