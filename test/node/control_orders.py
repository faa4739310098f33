# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Orders to running flows: pause, hold, resume, skip, retry, breakpoints."""

from __future__ import annotations

from typing import Any

from action_lifecycle_msgs.srv import ControlFlow

from .orders import CONTROLLER, Order
from .orders_rig import BRIDGE, Fault, NODE, OrdersRig

ANSWERED = Fault(NODE, 'responded', {'name': 'control_flow'})
SENT = Fault(NODE, 'called', {'name': 'execute_motion/_action/send_goal'})


class ControlOrder(Order):
    """An order by `~/control_flow`; `verb` and further fields of the request."""

    verb: str
    fields: dict[str, Any] = {}

    def order(self, rig: OrdersRig, flow: str, verb: str, **fields: Any) -> None:
        """Call the service once."""
        rig.call(ControlFlow, 'control_flow', verb=verb, flow_id=flow, reason='so be it', **fields)

    def give(self, rig: OrdersRig, flow: str) -> None:
        self.order(rig, flow, self.verb, **self.fields)

    def until_done(
        self, rig: OrdersRig, flow: str, verb: str, event: str, **fields: Any
    ) -> None:
        """Give another order until the journal has it."""
        rig.repeat(lambda: self.order(rig, flow, verb, **fields), lambda: any(
            row.event == event for row in rig.rows(flow_id=flow, kind='note')), verb)

    def ended(self, rig: OrdersRig, flow: str, *actions: str) -> None:
        """Wait until these actions have ended."""
        rig.until(lambda: all(rig.state(flow, name) == 'terminated' for name in actions), 40.0,
                  f'{actions} have ended')

    def order_row(self, rig: OrdersRig, flow: str) -> Any:
        (row,) = (row for row in rig.rows(flow_id=flow, kind='note')
                  if row.event == self.row[1])
        return row


class Pause(ControlOrder):
    verb = 'pause'
    row = 'note', 'paused'
    called = ANSWERED

    def prepare(self, rig: OrdersRig, flow: str) -> None:
        rig.robot.tell('fault', fault='hang', part='left')
        rig.begin(flow, {'move': rig.move('left'), 'later': rig.move('left', after='move')})
        rig.until_moving('left')

    def not_there(self, rig: OrdersRig, flow: str) -> None:
        assert rig.state(flow, 'move') == 'executing_motion'

    def carried_out(self, rig: OrdersRig, flow: str) -> None:
        rig.robot.tell('release', part='left')
        self.ended(rig, flow, 'move')
        assert not rig.state(flow, 'later')
        self.until_done(rig, flow, 'resume', 'resumed')
        assert rig.until_ended(flow) == {'move': 'succeeded', 'later': 'succeeded'}
        started = rig.rows(flow_id=flow, action_id='later', kind='transition')[0]
        (resumed,) = (row for row in rig.rows(flow_id=flow, kind='note')
                      if row.event == 'resumed')
        assert started.seq > resumed.seq > self.order_row(rig, flow).seq


class Hold(Pause):
    """What moves is stopped; after the resume a person is asked, for the outcome is not there."""

    fields = {'hold': True}
    called = Fault(NODE, 'called', {'name': 'execute_motion/_action/cancel_goal'})
    moved = Fault(BRIDGE, 'called', {'name': f'{CONTROLLER}/cancel_goal'})

    def carried_out(self, rig: OrdersRig, flow: str) -> None:
        rig.until_still()
        held = self.unconfirmed(rig, flow)
        assert held or rig.state(flow, 'move') == 'executing_motion'
        rig.robot.tell('release', part='left')
        self.until_done(rig, flow, 'resume', 'resumed')
        ended = rig.until_ended(flow)
        assert ended == ({'move': 'failed', 'later': 'skipped'} if self.unconfirmed(rig, flow)
                         else {'move': 'succeeded', 'later': 'succeeded'})

    @staticmethod
    def unconfirmed(rig: OrdersRig, flow: str) -> bool:
        """Whether nobody has seen it stop, so that what it holds is locked."""
        return any(row.data.get('error_code') == 'STOP_UNCONFIRMED'
                   for row in rig.rows(flow_id=flow, action_id='move', kind='transition'))


class Resume(ControlOrder):
    verb = 'resume'
    row = 'note', 'resumed'
    half = 'transition', 'start'
    called = SENT
    moved = Fault(BRIDGE, 'called', {'name': f'right/{CONTROLLER}/send_goal'})
    waiting: dict[str, Any] = {'verb': 'pause', 'event': 'paused'}

    def prepare(self, rig: OrdersRig, flow: str) -> None:
        rig.robot.tell('fault', fault='hang', part='left')
        rig.begin(flow, {'move': rig.move('left'), 'later': rig.move('right', after='move')})
        rig.until_moving('left')
        self.until_done(rig, flow, **self.waiting)
        rig.robot.tell('release', part='left')
        self.ended(rig, flow, 'move')

    def not_there(self, rig: OrdersRig, flow: str) -> None:
        assert not rig.state(flow, 'later')

    def carried_out(self, rig: OrdersRig, flow: str) -> None:
        assert rig.until_ended(flow) == {'move': 'succeeded', 'later': 'succeeded'}


class ResumeAction(Resume):
    fields = {'action_id': 'later'}
    waiting = {'verb': 'breakpoint', 'event': 'breakpoint_set', 'action_id': 'later'}


class Breakpoint(Pause):
    verb = 'breakpoint'
    row = 'note', 'breakpoint_set'
    fields = {'action_id': 'later'}

    def carried_out(self, rig: OrdersRig, flow: str) -> None:
        rig.robot.tell('release', part='left')
        self.ended(rig, flow, 'move')
        assert not rig.state(flow, 'later')
        self.until_done(rig, flow, 'breakpoint', 'breakpoint_cleared', action_id='later',
                        clear=True)
        assert rig.until_ended(flow) == {'move': 'succeeded', 'later': 'succeeded'}


class OfAborted(ControlOrder):
    """An order to the action `move`, whose controller aborts it."""

    fields = {'action_id': 'move'}
    called = SENT

    def begin(self, rig: OrdersRig, flow: str, actions: dict[str, Any]) -> None:
        """Start a flow; the left arm aborts its first motion."""
        rig.robot.tell('fault', fault='abort', part='left')
        rig.begin(flow, actions)


class Skip(OfAborted):
    verb = 'skip'
    row = 'note', 'skipped'
    half = 'transition', 'terminate'
    moved = Fault(BRIDGE, 'called', {'name': f'right/{CONTROLLER}/send_goal'})

    def prepare(self, rig: OrdersRig, flow: str) -> None:
        self.begin(rig, flow, {
            'move': rig.move('left', retry={'times': 1, 'delay': 300.0}),
            'later': rig.move('right', after='move')})
        rig.until(lambda: rig.state(flow, 'move') == 'error', 20.0, 'move: error')
        self.moves = rig.robot.count(resource='left')

    def not_there(self, rig: OrdersRig, flow: str) -> None:
        assert rig.state(flow, 'move') == 'error' and not rig.state(flow, 'later')

    def carried_out(self, rig: OrdersRig, flow: str) -> None:
        assert rig.until_ended(flow) == {'move': 'skipped', 'later': 'succeeded'}
        assert rig.robot.count(resource='left') == self.moves
        assert rig.rows(flow_id=flow, kind='flow')[-1].to_state == 'FINISH'


class RetryEnded(OfAborted):
    """Runs a failed action again, and the one that was skipped because of it."""

    verb = 'retry'
    row = 'note', 'retried'
    half = 'transition', 'reassign'
    moved = Fault(BRIDGE, 'called', {'name': f'left/{CONTROLLER}/send_goal'})

    def prepare(self, rig: OrdersRig, flow: str) -> None:
        rig.robot.tell('fault', fault='hang', part='right')
        self.begin(rig, flow, {
            'move': rig.move('left'), 'later': rig.move('left', after='move'),
            'beside': rig.move('right')})
        self.ended(rig, flow, 'move', 'later')

    def not_there(self, rig: OrdersRig, flow: str) -> None:
        assert rig.state(flow, 'move') == rig.state(flow, 'later') == 'terminated'

    def carried_out(self, rig: OrdersRig, flow: str) -> None:
        def again() -> bool:
            rows = rig.rows(flow_id=flow, kind='transition')
            return {row.action_id for row in rows if row.event == 'reassign'} == {'move', 'later'}
        rig.until(again, 20.0, 'both are assigned again')
        rig.robot.tell('release', part='right')
        assert rig.until_ended(flow) == dict.fromkeys(('move', 'later', 'beside'), 'succeeded')


CONTROL_ORDERS: dict[str, type[Order]] = {
    'pause': Pause, 'hold': Hold, 'resume': Resume, 'resume_action': ResumeAction,
    'breakpoint': Breakpoint, 'skip': Skip, 'retry_ended': RetryEnded}
