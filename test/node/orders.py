# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What an order of a person is, for the tests that kill nodes before, while and after it."""

from __future__ import annotations

from .orders_rig import Fault, OrdersRig

CONTROLLER = 'follow_joint_trajectory/_action'


class Order:
    """
    What a person asks for: how it comes to that, how it is given, and what becomes of it.

    `row`: kind and event of its row. `called`, `moved`: the first effects, a call of the action
    node and of the bridge. `half`: kind and event of the row that tells of an effect, if any.
    """

    row: tuple[str, str]
    called: Fault
    moved: Fault | None = None
    half: tuple[str, str] | None = None

    def prepare(self, rig: OrdersRig, flow: str) -> None:
        """Bring about what the order is about."""
        raise NotImplementedError

    def give(self, rig: OrdersRig, flow: str) -> None:
        """Give the order once; no answer may come."""
        raise NotImplementedError

    def there(self, rig: OrdersRig, flow: str) -> bool:
        """Return whether the journal has it."""
        kind, event = self.row
        return any(row.event == event for row in rig.rows(flow_id=flow, kind=kind))

    def not_there(self, rig: OrdersRig, flow: str) -> None:
        """Check after a restart that nothing of the order has happened."""

    def carried_out(self, rig: OrdersRig, flow: str) -> None:
        """Wait until the order is carried out to its end, and the flow has ended."""
        raise NotImplementedError


def stopped(rig: OrdersRig, flow: str, *actions: str) -> None:
    """Check that these have ended as canceled, or with what they hold locked."""
    rows = rig.rows(flow_id=flow, kind='transition')
    for action in actions:
        last = [row for row in rows if row.action_id == action][-1]
        codes = [row.data.get('error_code') for row in rows
                 if row.action_id == action and row.event == 'fail']
        assert last.final and (last.data['outcome'] == 'canceled'
                               or codes[-1:] == ['STOP_UNCONFIRMED']), (action, last, codes)
