# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""How far an order is: what its actions have become, and which nodes were traversed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .errors import error, WARNING
from .order import Order, OrderNode
from ..lifecycle.states import ActionOutcome, ActionState

WAITING, INITIALIZING, RUNNING = 'WAITING', 'INITIALIZING', 'RUNNING'
PAUSED, FINISHED, FAILED = 'PAUSED', 'FINISHED', 'FAILED'
ENDED = (FINISHED, FAILED)
_PREPARES = (ActionState.ASSIGNED, ActionState.IN_PROGRESS)


class ActionNow(NamedTuple):
    """An action of a flow as it is now; `held`: it was stopped by a pause."""

    state: str
    outcome: str = ''
    attempt: int = 1
    message: str = ''  #: why it has failed
    held: bool = False
    seq: int = 0  #: row of the journal of its last change

    @property
    def has_ended(self) -> bool:
        """Return whether it has ended; a person may retry it."""
        return self.state == ActionState.TERMINATED

    @property
    def has_succeeded(self) -> bool:
        """Return whether it was verified."""
        return self.has_ended and self.outcome == ActionOutcome.SUCCEEDED

    @property
    def is_moving(self) -> bool:
        """Return whether its motion is executed."""
        return self.state == ActionState.EXECUTING_MOTION and not self.held

    @property
    def status(self) -> str:
        """Return the actionStatus: FINISHED only if the action was verified."""
        if self.has_ended:
            return FINISHED if self.has_succeeded else FAILED
        if self.held:
            return PAUSED
        if not self.attempt:
            return WAITING
        return INITIALIZING if self.state in _PREPARES and self.attempt == 1 else RUNNING


NOT_BEGUN = ActionNow(ActionState.ASSIGNED, attempt=0)


class Progress:
    """
    An order and its actions as they are now, by their names in the flow.

    `canceled`: the fleet manager has canceled it, and everything has stopped.
    """

    def __init__(
        self, order: Order | None, actions: Mapping[str, ActionNow], *, canceled: bool = False,
    ) -> None:
        self.order = order
        self.canceled = canceled
        self._actions = actions

    def now(self, name: str) -> ActionNow:
        """Return an action of the flow."""
        return self._actions.get(name, NOT_BEGUN)

    @property
    def traversed(self) -> int:
        """Return the number of nodes that were traversed; the robot stands at the first one."""
        if self.order is None:
            return 0
        for index, node in enumerate(self.order.nodes):
            if index and not self.now(node.drive).has_succeeded:
                return index
        return len(self.order.nodes)

    @property
    def last_node(self) -> OrderNode | None:
        """Return the last node that was traversed."""
        return None if self.order is None else self.order.nodes[self.traversed - 1]

    @property
    def is_active(self) -> bool:
        """Return whether something of the order is left, which may wait for a release."""
        if self.order is None or self.canceled:
            return False
        return self.traversed < len(self.order.nodes) or any(
            not self.now(action.name).has_ended for action in self.order.actions())

    @property
    def has_failed(self) -> bool:
        """Return whether a drive or an action has ended without success."""
        return next(self._failures(), None) is not None

    @property
    def is_driving(self) -> bool:
        """Return whether a drive is executed."""
        return self.order is not None and any(
            self.now(node.drive).is_moving for node in self.order.nodes)

    def fields(self) -> dict[str, Any]:
        """Return the fields of the state message that the order has."""
        order, last = self.order, self.last_node
        if order is None:
            return {'orderId': '', 'orderUpdateId': 0, 'lastNodeId': '', 'lastNodeSequenceId': 0,
                    'nodeStates': [], 'edgeStates': [], 'newBaseRequest': False}
        assert last is not None
        left = range(0) if self.canceled else range(self.traversed, len(order.nodes))
        released = sum(order.nodes[index].released for index in left)
        return {
            'orderId': order.order_id, 'orderUpdateId': order.update_id,
            **({'zoneSetId': order.data['zoneSetId']} if 'zoneSetId' in order.data else {}),
            'lastNodeId': last.node_id, 'lastNodeSequenceId': last.sequence,
            'nodeStates': [{
                'nodeId': order.nodes[index].node_id,
                'sequenceId': order.nodes[index].sequence,
                'released': order.nodes[index].released} for index in left],
            'edgeStates': [{
                'edgeId': order.edges[index - 1].edge_id,
                'sequenceId': order.edges[index - 1].sequence,
                'released': order.edges[index - 1].released} for index in left],
            'newBaseRequest': released <= 1 and released < len(left)}

    def action_states(self) -> list[dict[str, Any]]:
        """Return the states of the order's actions, with those of the horizon."""
        return [] if self.order is None else [
            self._action_state(action.action_id, action.action_type, action.name)
            for action in self.order.actions()]

    def _action_state(self, action_id: str, action_type: str, name: str) -> dict[str, Any]:
        now = self.now(name)
        gone = self.canceled and not now.has_ended
        state = {'actionId': action_id, 'actionType': action_type,
                 'actionStatus': FAILED if gone else now.status}
        text = 'the order was canceled' if gone else now.message
        return {**state, 'resultDescription': text} if state['actionStatus'] == FAILED and text \
            else state

    def errors(self) -> list[dict[str, Any]]:
        """Return an error for each drive and action that has failed, until a new order."""
        if self.order is None:
            return []
        return [error(kind, now.message or now.outcome, WARNING,
                      {**self.order.references, **references})
                for kind, now, references in self._failures()]

    def _failures(self) -> Iterator[tuple[str, ActionNow, dict[str, Any]]]:
        if self.order is None or self.canceled:
            return
        for node in self.order.base[1:]:
            now = self.now(node.drive)
            if now.has_ended and not now.has_succeeded:
                yield 'driveError', now, {'nodeId': node.node_id}
        for action in self.order.actions():
            now = self.now(action.name)
            if now.has_ended and not now.has_succeeded:
                yield 'actionError', now, {'actionId': action.action_id}
