# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Every order of a person; nodes are killed before its row, after it, and after its first effects.

After the restart the order is carried out wholly, or not there and can be given again; nothing
that was told to stop moves on unseen. The robot lives on in a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
import signal
import threading
import time
from typing import Any

from action_lifecycle.journal import verify_journal
from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import ErrorCode, SafetyState
from action_lifecycle_msgs.srv import ClearStop, EditFlow, Respond, SendEvent
import pytest

from .control_orders import CONTROL_ORDERS
from .orders import CONTROLLER, Order, stopped
from .orders_rig import ACTOR, BRIDGE, Fault, NODE, OrdersRig


class CancelFlow(Order):
    row = 'note', 'cancel_flow'
    half = 'transition', 'fail'
    called = Fault(NODE, 'called', {'name': 'execute_motion/_action/cancel_goal'})
    moved = Fault(BRIDGE, 'called', {'name': f'{CONTROLLER}/cancel_goal'})

    def prepare(self, rig: OrdersRig, flow: str) -> None:
        rig.robot.tell('fault', fault='hang', part='left')
        rig.robot.tell('fault', fault='hang', part='right')
        rig.begin(flow, {'begin': {'confirm': 'left > -1.0'},
                         'move': rig.move('left'), 'later': rig.move('left', after='move'),
                         'beside': rig.move('right', after='begin')})
        rig.until_moving('left', 'right')

    def give(self, rig: OrdersRig, flow: str) -> None:
        rig.cancel_flow(flow)

    def not_there(self, rig: OrdersRig, flow: str) -> None:
        assert rig.state(flow, 'move') == rig.state(flow, 'beside') == 'executing_motion'
        assert not rig.state(flow, 'later')

    def carried_out(self, rig: OrdersRig, flow: str) -> None:
        assert rig.until_ended(flow)['later'] == 'canceled'
        stopped(rig, flow, 'move', 'beside')


class CancelAction(CancelFlow):
    row = 'note', 'cancel_action'

    def prepare(self, rig: OrdersRig, flow: str) -> None:
        rig.robot.tell('fault', fault='hang', part='left')
        rig.begin(flow, {'move': rig.move('left'), 'beside': rig.move('right', 3.0),
                         'later': rig.move('right', after={'move': 'unconditional'})})
        rig.until_moving('left')

    def give(self, rig: OrdersRig, flow: str) -> None:
        rig.call(SendEvent, 'send_event', flow_id=flow, action_id='move', event='cancel',
                 reason='not that one')

    def not_there(self, rig: OrdersRig, flow: str) -> None:
        assert rig.state(flow, 'move') == 'executing_motion'

    def carried_out(self, rig: OrdersRig, flow: str) -> None:
        ended = rig.until_ended(flow)
        assert (ended['beside'], ended['later']) == ('succeeded', 'succeeded')
        stopped(rig, flow, 'move')


class Edit(Order):
    row = 'flow', 'edited'
    half = 'transition', 'execute'
    called = Fault(NODE, 'called', {'name': 'execute_motion/_action/send_goal'})
    moved = Fault(BRIDGE, 'called', {'name': f'right/{CONTROLLER}/send_goal'})

    def prepare(self, rig: OrdersRig, flow: str) -> None:
        rig.begin(flow, {'hold': rig.move('left', 12.0), 'later': rig.move('left', after='hold')})
        rig.until_moving('left')
        self._edit = [{'remove': ['later']}, {'add': {'extra': rig.move('right')}}]

    def give(self, rig: OrdersRig, flow: str) -> None:
        rig.call(EditFlow, 'edit_flow', flow_id=flow, edit_yaml=rig.text(self._edit))

    def carried_out(self, rig: OrdersRig, flow: str) -> None:
        assert rig.until_ended(flow) == {'hold': 'succeeded', 'extra': 'succeeded'}
        assert sum(row.event == 'edited' for row in rig.rows(flow_id=flow)) == 1


class Retry(Order):
    row = 'transition', 'retry'
    half = 'transition', 'execute'
    called = Fault(NODE, 'called', {'name': 'execute_motion/_action/send_goal'})
    moved = Fault(BRIDGE, 'called', {'name': f'left/{CONTROLLER}/send_goal'})
    state = 'error'

    def action(self) -> dict[str, Any]:
        return {'retry': {'times': 1, 'delay': 60.0}}

    def prepare(self, rig: OrdersRig, flow: str) -> None:
        rig.robot.tell('fault', fault='abort', part='left')
        rig.begin(flow, {'move': rig.move('left', **self.action())})
        rig.until(lambda: rig.state(flow, 'move') == self.state, 20.0, f'move: {self.state}')
        self.moves = rig.robot.count(resource='left')

    def give(self, rig: OrdersRig, flow: str) -> None:
        rig.call(SendEvent, 'send_event', flow_id=flow, action_id='move', event='retry',
                 expected_state='error')

    def not_there(self, rig: OrdersRig, flow: str) -> None:
        assert rig.state(flow, 'move') == self.state

    def carried_out(self, rig: OrdersRig, flow: str) -> None:
        assert rig.until_ended(flow) == {'move': 'succeeded'}


class AnswerRetry(Retry):
    row = 'note', 'question_answered'
    half = 'transition', 'receive_fallback'
    state = 'fallback_requested'
    answer = 'retry'

    def action(self) -> dict[str, Any]:
        return {'fallback': ['ask']}

    def give(self, rig: OrdersRig, flow: str) -> None:
        for request in rig.requests:
            if request.flow_id == flow and request.kind == 'fallback':
                rig.call(Respond, 'respond', id=request.id, answer=self.answer)


class AnswerGiveUp(AnswerRetry):
    called = Fault(NODE, 'responded', {'name': 'respond'})
    moved = None
    answer = 'give_up'

    def carried_out(self, rig: OrdersRig, flow: str) -> None:
        assert rig.until_ended(flow) == {'move': 'failed'}
        assert rig.robot.count(resource='left') == self.moves


class Clear(Order):
    """Clears a latched stop, and unlocks what was not seen to stop."""

    row = 'clear_stop', 'clear_stop'
    half = 'lock', 'unlock'
    called = Fault(NODE, 'called', {'name': 'world_model_bridge/clear_stop'})
    moved = Fault(BRIDGE, 'published', {'name': 'world_model_bridge/safety'})
    latched = SafetyState.STOPPED
    resources: tuple[str, ...] = ()

    def prepare(self, rig: OrdersRig, flow: str) -> None:
        rig.robot.tell('fault', fault='slow_stop', part='left', seconds=60.0)
        rig.begin(flow, {'move': rig.move('left', 30.0, stop_timeout=0.5),
                         'later': rig.move('left', after={'move': 'unconditional'})})
        rig.until_moving('left')
        self.stop(rig, flow)
        rig.until(lambda: rig.state(flow, 'move') == 'terminated', 20.0, 'the move has ended')
        rig.robot.tell('release', part='left')
        rig.until_still()
        rig.until(lambda: self.is_latched(rig), 20.0, 'it is locked')

    def stop(self, rig: OrdersRig, flow: str) -> None:
        rig.robot.tell('estop', state='pressed')
        rig.until(lambda: rig.safety and rig.safety.state == SafetyState.STOPPED, 40.0, 'the stop')
        rig.robot.tell('estop', state='clear')

    def give(self, rig: OrdersRig, flow: str) -> None:
        rig.call(ClearStop, 'clear_stop', reason='looked', resources=list(self.resources))

    def is_latched(self, rig: OrdersRig) -> bool:
        return rig.safety is not None and rig.safety.state == self.latched \
            and list(rig.safety.locked_resources) == ['left']

    def is_clear(self, rig: OrdersRig) -> bool:
        return rig.safety is not None and rig.safety.state == SafetyState.READY \
            and not rig.safety.locked_resources

    def there(self, rig: OrdersRig, flow: str) -> bool:
        rig.until(lambda: self.is_latched(rig) or self.is_clear(rig), 10.0,
                  'the order is wholly carried out, or wholly not there')
        return self.is_clear(rig)

    def not_there(self, rig: OrdersRig, flow: str) -> None:
        if rig.state(flow, 'later'):  # a node that was not killed has gone on with the order
            rig.until(lambda: self.is_clear(rig), 40.0, 'it was cleared before that ran')
            orders = [row.seq for row in rig.rows(kind='clear_stop') if row.event == 'clear_stop']
            assert orders[-1] > rig.rows(flow_id=flow)[0].seq, 'the order is in the journal'

    def carried_out(self, rig: OrdersRig, flow: str) -> None:
        rig.until(lambda: self.is_clear(rig), 40.0, 'it is clear')
        assert rig.until_ended(flow)['later'] == 'succeeded'


class Unlock(Clear):
    """Unlocks one resource; no stop is latched."""

    moved = Fault(BRIDGE, 'responded', {'name': 'clear_stop'})
    latched = SafetyState.READY
    resources = ('left',)

    def stop(self, rig: OrdersRig, flow: str) -> None:
        rig.call(SendEvent, 'send_event', flow_id=flow, action_id='move', event='cancel',
                 reason='it does not stop')


ORDERS: dict[str, type[Order]] = {
    'cancel_flow': CancelFlow, 'cancel_action': CancelAction, 'edit': Edit, 'retry': Retry,
    'answer_retry': AnswerRetry, 'answer_give_up': AnswerGiveUp, 'clear_stop': Clear,
    'unlock': Unlock, **CONTROL_ORDERS}
MOMENTS = ('before', 'after', 'called', 'moved', 'half')
"""Before and after its row, after the two first effects, before the row that tells of one."""
NODE_ONLY = frozenset(CONTROL_ORDERS) - {'hold'}
"""Orders that the bridge does not take part in, but for motions that begin after them."""
CASES = [(order, moment, victim) for order, kind in ORDERS.items() for moment in MOMENTS
         for victim in ('node', 'bridge', 'both')
         if (moment != 'moved' or kind.moved is not None)
         and (moment != 'half' or kind.half is not None)
         and (victim == 'node' or order not in NODE_ONLY)]
SHORT = {('cancel_flow', 'after', 'node'), ('hold', 'after', 'node')}
"""Cases of the quick run; all others are `long`."""


class Rigs:
    """One rig for all cases, another one after a case that has failed."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self.rig: OrdersRig | None = None

    def get(self) -> OrdersRig:
        if self.rig is not None and not self.rig.sound:
            self.close()
        if self.rig is None:
            self.rig = OrdersRig(self._factory.mktemp('orders'))
        return self.rig

    def close(self) -> None:
        if self.rig is not None:
            self.rig.close()
        self.rig = None


@pytest.fixture(scope='module')
def rigs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rigs]:
    rigs = Rigs(tmp_path_factory)
    yield rigs
    rigs.close()


@pytest.fixture
def rig(rigs: Rigs) -> OrdersRig:
    return rigs.get()


def fault_of(order: Order, moment: str, flow: str) -> Fault:
    """Return who kills, and where."""
    if moment == 'called':
        return order.called
    if moment == 'moved':
        assert order.moved is not None
        return order.moved
    found = order.half if moment == 'half' else order.row
    assert found is not None
    kind, event = found
    of_flow = {} if isinstance(order, Clear) else {'flow_id': flow}
    return Fault(NODE, 'after' if moment == 'after' else 'before',
                 {'kind': kind, 'event': event, **of_flow})


@pytest.mark.parametrize(('name', 'moment', 'victim'), [
    pytest.param(*case, id='-'.join(case), marks=() if case in SHORT else pytest.mark.long)
    for case in CASES])
def test_an_order_is_carried_out_or_not_there_after_a_kill(
    rig: OrdersRig, name: str, moment: str, victim: str
) -> None:
    order, flow = ORDERS[name](), f'{name}-{moment}-{victim}'
    rig.sound = False
    order.prepare(rig, flow)
    fault = fault_of(order, moment, flow)
    rig.set_fault(fault, victim)
    rig.repeat(lambda: order.give(rig, flow), lambda: rig.struck(fault), f'{flow}: the kill')
    rig.restart(victim)
    rig.until(rig.ready, 40.0, 'the nodes are ready again')
    if not order.there(rig, flow):
        assert moment == 'before' or isinstance(order, Clear), 'its row is there'
        order.not_there(rig, flow)
        rig.repeat(lambda: order.give(rig, flow), lambda: order.there(rig, flow),
                   f'{flow}: the order is given again')
    order.carried_out(rig, flow)
    rig.end_case(flow)
    with suppress(AssertionError):  # an order that was given once more may be open yet
        rig.until(lambda: not rig.violations(), 40.0, 'all orders are carried out')
    assert not rig.violations()
    rig.sound = True


@pytest.mark.parametrize('moment', ['before', 'after'])
@pytest.mark.parametrize('name', ['pause', 'answer_give_up'])
def test_a_command_tells_the_only_row_of_its_order_although_the_node_is_killed(
    rig: OrdersRig, name: str, moment: str
) -> None:
    """Before the row the request is lost, after it the response."""
    order, flow = ORDERS[name](), f'told-{name}-{moment}'
    rig.sound = False
    order.prepare(rig, flow)
    assert order.row is not None
    kind, event = order.row
    fault = Fault(NODE, moment, {'kind': kind, 'event': event, 'flow_id': flow})
    rig.set_fault(fault, 'node')

    def restart() -> None:
        while not rig.struck(fault):
            time.sleep(0.02)
        rig.restart('node')

    again = threading.Thread(target=restart, daemon=True)
    again.start()
    about = ('pause', flow) if name == 'pause' else ('respond', 'give_up', '--flow', flow)
    told = rig.shell(*about, '--actor', ACTOR, '--wait', '40')
    again.join(1.0)
    (row,) = (row for row in rig.rows(flow_id=flow, kind=kind) if row.event == event)
    assert told.returncode == 0 and f', row {row.seq}' in told.stdout, told.stderr
    rig.until(rig.ready, 40.0, 'the nodes are ready again')
    order.carried_out(rig, flow)
    rig.end_case(flow)
    assert not rig.violations()
    rig.sound = True


def test_a_flow_that_was_canceled_while_the_bridge_stood_still_is_stopped_after_a_kill(
    rig: OrdersRig
) -> None:
    rig.sound = False
    order, flow = CancelFlow(), 'still-bridge'
    order.prepare(rig, flow)
    bridge = rig.processes[BRIDGE]
    bridge.send_signal(signal.SIGSTOP)
    try:
        rig.repeat(lambda: order.give(rig, flow), lambda: order.there(rig, flow), 'the cancel')
        rig.kill(NODE)
        assert rig.robot.running()
        rig.start(NODE)
        rig.until(lambda: (rig.folder / f'{NODE}.log').read_text().count(
            f'goes on with flow {flow}'), 30.0, 'the node is back')
    finally:
        bridge.send_signal(signal.SIGCONT)
    order.carried_out(rig, flow)
    rig.until_still()
    rig.clear_stops()  # it has heard no e-stop while it stood still
    rig.end_case(flow)
    assert not rig.violations()
    rig.sound = True


def test_ctrl_c_in_run_cancels_the_flow_also_after_the_node_was_killed(
    rig: OrdersRig, tmp_path: Path
) -> None:
    rig.sound = False
    rig.robot.tell('fault', fault='hang', part='left')
    path = tmp_path / 'flow.yaml'
    path.write_text(rig.text({'flow': 'orders', 'actions': {'move': rig.move('left')}}))
    with (rig.folder / 'run.log').open('w') as output:
        run = rig.run(path, '--flow-id', 'interrupted', stdout=output)
    rig.until_moving('left')
    rig.kill(NODE)
    rig.start(NODE)

    rig.until(lambda: 'is back and goes on with the flow' in (rig.folder / 'run.log').read_text(),
              40.0, 'the command follows the flow')
    run.send_signal(signal.SIGINT)
    assert rig.until_ended('interrupted') == {'move': 'canceled'}
    rig.until(lambda: run.poll() is not None, 20.0, 'the command has ended')
    assert run.returncode == 1, (rig.folder / 'run.log').read_text()
    rig.end_case('interrupted')
    assert not rig.violations()
    rig.sound = True


def test_a_goal_without_a_flow_is_refused_when_there_is_none_to_follow(rig: OrdersRig) -> None:
    results: list[Any] = []
    rig.repeat(lambda: rig.flows.send_goal_async(ExecuteFlow.Goal(flow_id='nobody'))
               .add_done_callback(lambda sent: sent.result().get_result_async()
                                  .add_done_callback(lambda told: results.append(told.result()))),
               lambda: results, 'an answer')
    assert results[0].result.error_code == ErrorCode.NOT_FOUND
    assert "there is no flow 'nobody' to follow" in results[0].result.error_msg


def test_the_journal_of_all_these_is_sound(rig: OrdersRig) -> None:
    assert verify_journal(rig.journal_path) == []
