# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The instant actions of a fleet manager: predefined ones, and those of the mapping file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .flow_orders import action_now
from .followed_flow import FollowedFlow
from .order_runner import OrderRunner
from ...documents.errors import LifecycleError
from ...ros.node.lifecycle_node import ManagedNode
from ...vda5050.errors import INSTANT, NO_ORDER, OrderRefused, VALIDATION
from ...vda5050.judge import check_version
from ...vda5050.mapping import Mapped, PREDEFINED
from ...vda5050.order import misnamed, OrderAction, read_instant_actions
from ...vda5050.order_flow import instant_flow, instant_flow_id
from ...vda5050.progress import ENDED, FAILED, FINISHED, INITIALIZING, RUNNING
from ...vda5050.record import InstantAction

PAUSES = {'startPause': True, 'stopPause': False}
"""Whether the robot is paused after these instant actions."""
MISNAMED = ("the field 'instantActions' is taken for 'actions', its name in the schemas of VDA "
            '5050 2.0 and 2.1')


class InstantActions:
    """
    Takes instant actions, each id once; call it in the executor's thread.

    `send_state` and `send_factsheet` send these messages at once; `changed` is called when the
    state has changed.
    """

    def __init__(
        self, node: ManagedNode, runner: OrderRunner, mapped: Mapped,
        send_state: Callable[[], None], send_factsheet: Callable[[], None],
        changed: Callable[[], None],
    ) -> None:
        self._node = node
        self._runner = runner
        self._record = runner.record
        self._mapped = mapped
        self._send_state = send_state
        self._send_factsheet = send_factsheet
        self._changed = changed
        runner.on_cancel = self._canceled

    def restore(self) -> None:
        """Go on with the instant actions of the record, after a restart."""
        for action in self._record.instants:
            if action.status not in ENDED:
                if action.flow:
                    self._follow(action)
                elif self._record.paused is PAUSES.get(action.action_type):
                    self._pause(action)
        self.settle_pauses()

    def take(self, message: Mapping[str, Any]) -> None:
        """Take a message `instantActions`; a refused action changes nothing for the others."""
        references = {'topic': 'instantActions', 'headerId': message.get('headerId')}
        try:
            actions = read_instant_actions(message)
            check_version(message, references)
        except OrderRefused as refused:
            self._runner.refuse(refused)
            return
        if misnamed(message):
            self._runner.report(VALIDATION, MISNAMED, references)
        for action in actions:
            known = next((one for one in self._record.instants
                          if one.action_id == action.action_id), None)
            if known is None:
                self._begin(action)
            elif known.digest and known.digest != action.digest:
                self._runner.refuse(OrderRefused(
                    INSTANT, f"the robot has actionId '{action.action_id}' with another "
                    'actionType or other parameters; use a new one',
                    {**references, 'actionId': action.action_id,
                     'actionType': action.action_type}))
        self._record.save()
        self._changed()

    def settle_pauses(self) -> None:
        """End the pauses that have taken effect, and those that will not."""
        record, runner = self._record, self._runner
        if runner.controls:
            return
        is_running = runner.flow is not None and runner.flow.is_running
        for action in self._open_pauses():
            wanted = PAUSES[action.action_type]
            if record.paused is not wanted:
                self._end_pause(action, 'another pause or resume was refused, or came later')
            elif (not is_running or runner.flow_paused is wanted) \
                    and not (wanted and record.progress.is_driving):
                self._end_pause(action)

    def _open_pauses(self) -> list[InstantAction]:
        return [action for action in self._record.instants
                if action.status == RUNNING and action.action_type in PAUSES]

    def _end_pause(self, action: InstantAction, failure: str = '') -> None:
        action.status, action.message = FAILED if failure else FINISHED, failure
        self._record.save()

    def _begin(self, action: OrderAction) -> None:
        noted = InstantAction(
            action.action_id, action.action_type, RUNNING, digest=action.digest)
        kind = action.action_type
        if kind in PAUSES:
            self._overtake(noted)
        self._record.note_instant(noted)
        if kind == 'cancelOrder':
            self._cancel(noted)
        elif kind in PAUSES:
            self._pause(noted)
        elif kind in PREDEFINED:
            noted.status = FINISHED
            (self._send_factsheet if kind == 'factsheetRequest' else self._send_state)()
        else:
            try:
                noted.text = instant_flow(action, self._mapped)
            except OrderRefused as refused:
                self._fail(noted, refused)
                return
            noted.flow, noted.status = instant_flow_id(action), INITIALIZING
            self._record.save()
            self._follow(noted)

    def _fail(self, action: InstantAction, refused: OrderRefused) -> None:
        action.status, action.message = FAILED, str(refused)
        self._runner.refuse(refused)

    def _cancel(self, action: InstantAction) -> None:
        if not self._runner.cancel(action.action_id):
            self._fail(action, OrderRefused(
                NO_ORDER, 'there is no order to cancel', {'actionId': action.action_id}))

    def _canceled(self, action_id: str) -> None:
        for action in self._record.instants:
            if action.action_id == action_id:
                action.status = FINISHED
        self._record.save()

    def _overtake(self, action: InstantAction) -> None:
        """End the earlier pauses that an opposite one overtakes before they have had effect."""
        self.settle_pauses()
        for other in self._open_pauses():
            if other.action_type != action.action_type:
                other.status = FAILED
                other.message = f"overtaken by {action.action_type} '{action.action_id}'"

    def _pause(self, action: InstantAction) -> None:
        try:
            answer = self._runner.pause(PAUSES[action.action_type])
        except LifecycleError as failed:  # it can not be recorded
            self._fail(action, OrderRefused(INSTANT, str(failed), {'actionId': action.action_id}))
            return

        async def pause() -> None:
            why = await answer
            if why and action.status not in ENDED:
                self._fail(action, OrderRefused(INSTANT, why, {'actionId': action.action_id}))
                self._record.save()
            self._changed()
        self._runner.spawn(action.action_type, pause)

    def _follow(self, action: InstantAction) -> None:
        """Run the flow of an instant action, or follow it."""
        flow = self._runner.follow(action.flow, action.text, lambda status: self._told(
            action, status))
        flow.done.add_done_callback(self._node.guarded(
            lambda done: self._ended(action, flow, done.result()), what=action.flow))

    def _told(self, action: InstantAction, status: Any) -> None:
        if action.text:
            action.text = ''  # it has begun, and is not sent again
            self._record.save()
        for name, now in map(action_now, status.actions):
            if name == 'action' and not now.has_ended:
                action.status = now.status if now.attempt else INITIALIZING
        self._changed()

    def _ended(self, action: InstantAction, flow: FollowedFlow, end: Any) -> None:
        succeeded = end is not None and not end.error_code
        action.text = ''
        if succeeded:
            action.status = FINISHED
        else:
            message = flow.begun.result() or (end.error_msg if end is not None else '') \
                or 'the action node does not know the flow any more'
            self._fail(action, OrderRefused(INSTANT, message, {
                'actionId': action.action_id, 'actionType': action.action_type}))
        try:
            self._record.save()
        except LifecycleError as failed:
            self._node.get_logger().error(str(failed))
        self._changed()
