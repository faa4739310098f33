# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
People of a soak: they begin flows and order this and that at random, and note what is answered.

Nobody waits for an answer: what was answered when a node was killed is known afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
import json
import random
import time
from typing import Any

from action_lifecycle.journal.clock import boot_time
from action_lifecycle.ros.interfaces.qos import event_qos, state_qos
from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import (
    ActionStateChange,
    FlowStatusArray,
    OperatorRequestArray,
    SafetyState,
)
from action_lifecycle_msgs.srv import ClearStop, ControlFlow, EditFlow, Respond, SendEvent
from rclpy.action import ActionClient

from .judged import Change, Order
from .robot_double import RobotDouble
from .robot_process import PARTS

NODE = 'action_lifecycle'
GOAL_LOST = 10.0  #: s without an answer to a goal
FLOWS = 4  #: at once, at most
LOOK = 0.5  #: s between two answers, clearings of stops and unlockings at rest


class People:
    """Clients of the action node, with what they have seen and ordered."""

    def __init__(self, node: Any, robot: RobotDouble) -> None:
        self.robot = robot
        self.orders: list[Order] = []
        self.changes: list[Change] = []
        self.flows = FlowStatusArray()
        self.requests = OperatorRequestArray()
        self.safety = SafetyState()
        self.asked: dict[str, float] = {}  #: goals for flows that are not answered
        self.refused: list[str] = []
        self.handles: dict[str, Any] = {}
        self._number = 0
        self._next_look = 0.0
        node.create_subscription(
            ActionStateChange, f'{NODE}/state_changes', self._changed, event_qos())
        for kind, topic, name in ((FlowStatusArray, 'flow', 'flows'),
                                  (OperatorRequestArray, 'operator_requests', 'requests'),
                                  (SafetyState, 'safety', 'safety')):
            node.create_subscription(
                kind, f'{NODE}/{topic}',
                lambda message, name=name: setattr(self, name, message), state_qos())
        self.client = ActionClient(node, ExecuteFlow, f'{NODE}/execute_flow')
        self.clients = {kind: node.create_client(kind, f'{NODE}/{name}') for kind, name in (
            (ClearStop, 'clear_stop'), (EditFlow, 'edit_flow'), (Respond, 'respond'),
            (SendEvent, 'send_event'), (ControlFlow, 'control_flow'))}

    def _changed(self, change: ActionStateChange) -> None:
        self.changes.append(Change(
            change.seq, change.flow_id, change.action_id, change.attempt, change.event,
            change.from_state, change.to_state))

    # Flows

    def submit(self, rng: random.Random, flow_id: str = '', text: str = '') -> None:
        """Ask for a flow; whether that arrives before the node is killed is not known."""
        self._number += 1
        flow_id = flow_id or f'flow{self._number}'
        order = Order('flow', None, flow_id=flow_id, actor=f'p{self._number}')
        goal = ExecuteFlow.Goal(flow=text or flow_text(rng), kind='yaml', flow_id=flow_id,
                                priority=rng.choice((0, 0, 1)), requester=order.actor)
        self.orders.append(order)
        self.asked.setdefault(flow_id, time.monotonic())

        def ended(future: Any) -> None:
            result = future.result().result
            self.asked.pop(flow_id, None)
            self._answered(order, result.flow_id == flow_id)  # '' if it was refused
            if not order.accepted:
                self.refused.append(f'{flow_id}: {result.error_msg}')

        def taken(future: Any) -> None:
            handle = future.result()
            if not handle.accepted:
                self.asked.pop(flow_id, None)
                self._answered(order, False)
                return
            self.handles.setdefault(flow_id, handle)
            handle.get_result_async().add_done_callback(ended)

        self.client.send_goal_async(goal).add_done_callback(taken)

    def send_again(self, rng: random.Random) -> None:
        """Send a flow that runs again, to follow it; or one that has ended, which is refused."""
        running = [flow.flow_id for flow in self.running()]
        names = [name for name in running if name not in self.handles] or sorted(self.handles)
        if names:
            self.submit(rng, rng.choice(names))

    def running(self) -> list[Any]:
        """Return the flows that run, as the node tells."""
        return [flow for flow in self.flows.flows if flow.state not in ('FINISH', 'FAIL')]

    def lost(self) -> None:
        """Expect no more answers: the node was killed."""
        self.asked.clear()
        self.handles.clear()

    # Orders

    def order(self, rng: random.Random) -> None:
        """Order something of what can be ordered now."""
        self._one_of(rng, [
            self.begin, self.cancel_flow, self.cancel_action, self.edit, self.retry, self.answer,
            self.clear_stop, self.unlock, self.send_again, self.control, self.control])

    def order_aloud(self, rng: random.Random) -> None:
        """Order something that a crash must not swallow, as often as not that it stops."""
        stops = [self.cancel_flow, self.cancel_action, self.hold]
        others = [self.edit, self.answer, self.clear_stop, self.unlock, self.control]
        self._one_of(rng, stops if rng.random() < 0.5 else others)

    def _one_of(self, rng: random.Random, kinds: list[Callable[[random.Random], None]]) -> bool:
        """Give the first order, in any sequence, that can be given."""
        rng.shuffle(kinds)
        before = len(self.orders)
        for give in kinds:
            give(rng)
            if len(self.orders) > before:
                return True
        return False

    def keep_busy(self, rng: random.Random) -> None:
        """See to it that there is work most of the time: a stop is cleared, a flow begun."""
        if rng.random() < 0.5:
            self.clear_stop(rng)
        if rng.random() < 0.2:
            self.let_go()
        if len(self.running()) < 2 and len(self.asked) < FLOWS:
            self.submit(rng)
        elif any(flow.flow_id not in {*self.handles, *self.asked} for flow in self.running()):
            self.send_again(rng)  # its goal has ended with the node

    def begin(self, rng: random.Random) -> None:
        if len(self.running()) < FLOWS:
            self.submit(rng)

    def cancel_flow(self, rng: random.Random) -> None:
        names = [flow.flow_id for flow in self.running() if flow.flow_id in self.handles]
        if names:
            flow_id = rng.choice(names)
            order = self._noted('cancel_flow', flow_id=flow_id)
            self.handles[flow_id].cancel_goal_async().add_done_callback(
                lambda future: self._answered(order, bool(future.result().goals_canceling)))

    def cancel_action(self, rng: random.Random) -> None:
        open_ones = [(flow.flow_id, action.action_id) for flow in self.running()
                     for action in flow.actions if action.state.value != 'terminated']
        if open_ones:
            self._send_event(rng.choice(open_ones), 'cancel', 'cancel_action')

    def retry(self, rng: random.Random) -> None:
        failed = [(flow.flow_id, action.action_id) for flow in self.running()
                  for action in flow.actions if action.state.value == 'error']
        if failed:
            self._send_event(rng.choice(failed), 'retry', 'retry')

    def hold(self, rng: random.Random) -> None:
        if flows := self.running():
            self._control(rng.choice(flows).flow_id, 'pause', 'paused', hold=True)

    def control(self, rng: random.Random) -> None:
        """Pause, resume, skip, retry or set a breakpoint; much of it is refused."""
        flows = self.running()
        if not flows:
            return
        flow = rng.choice(flows)
        choices: list[tuple[str, str, dict[str, Any]]] = [
            ('pause', 'paused', {}), ('pause', 'paused', {'hold': True}),
            ('resume', 'resumed', {})]
        if flow.actions:
            name = {'action_id': rng.choice(flow.actions).action_id}
            choices += [('skip', 'skipped', name), ('retry', 'retried', name),
                        ('retry', 'retried', name), ('breakpoint', 'breakpoint_set', name),
                        ('resume', 'resumed', name)]
        verb, event, fields = rng.choice(choices)
        self._control(flow.flow_id, verb, event, **fields)

    def _control(self, flow_id: str, verb: str, event: str, **fields: Any) -> None:
        order = self._noted('control', flow_id=flow_id, answer=event,
                            action_id=fields.get('action_id', ''))
        self._call(order, ControlFlow.Request(
            verb=verb, flow_id=flow_id, actor=order.actor, reason='soak', **fields))

    def let_go(self) -> None:
        """Resume what is paused, and clear all breakpoints."""
        for flow in self.running():
            if flow.paused:
                self._control(flow.flow_id, 'resume', 'resumed')
            for name in flow.breakpoints:
                self._control(flow.flow_id, 'breakpoint', 'breakpoint_cleared', action_id=name,
                              clear=True)

    def _send_event(self, key: tuple[str, str], event: str, kind: str) -> None:
        order = self._noted(kind, flow_id=key[0], action_id=key[1])
        self._call(order, SendEvent.Request(
            flow_id=key[0], action_id=key[1], event=event, actor=order.actor, reason='soak'))

    def edit(self, rng: random.Random) -> None:
        flows = self.running()
        if not flows:
            return
        flow = rng.choice(flows)
        order = self._noted('edit', flow_id=flow.flow_id)
        names = [action.action_id for action in flow.actions]
        waiting = [action.action_id for action in flow.actions
                   if action.state.value == 'assigned']
        if waiting and rng.random() < 0.3:
            steps: list[dict[str, Any]] = [{'remove': [rng.choice(waiting)]}]
        else:
            new = motion(rng, rng.choice(list(PARTS)))
            if names and rng.random() < 0.5:
                new['after'] = {rng.choice(names): 'unconditional'}
            steps = [{'add': {f'extra{self._number}': new}}]
        self._call(order, EditFlow.Request(
            flow_id=flow.flow_id, edit_yaml=json.dumps(steps), author=order.actor,
            reason='soak'))

    def answer(self, rng: random.Random) -> None:
        if self.requests.requests:
            request = rng.choice(self.requests.requests)
            order = self._noted(
                'answer', flow_id=request.flow_id, action_id=request.action_id,
                question=request.id, answer=rng.choice(request.options))
            self._call(order, Respond.Request(
                id=request.id, answer=order.answer, actor=order.actor))

    def clear_stop(self, rng: random.Random) -> None:
        # It unlocks all that is locked, too, and of that a person looks at each: see unlock.
        if self.safety.state == SafetyState.STOPPED and not self.safety.locked_resources:
            order = self._noted('clear_stop')
            self._call(order, ClearStop.Request(actor=order.actor, reason='soak'))

    def unlock(self, rng: random.Random) -> None:
        """Unlock what stands: a person has looked."""
        if not self.safety.locked_resources:
            return
        running = self.robot.running()
        moving = {line['resource'] for line in self.robot.log() if line.get('goal') in running}
        names = sorted(set(self.safety.locked_resources) - moving)
        if names:
            order = self._noted('unlock', resources=names)
            self._call(order, ClearStop.Request(
                actor=order.actor, reason='soak', resources=names))

    def _noted(self, kind: str, **fields: Any) -> Order:
        self._number += 1
        self.orders.append(Order(kind, None, actor=f'p{self._number}', **fields))
        return self.orders[-1]

    def _call(self, order: Order, request: Any) -> None:
        client = next(client for kind, client in self.clients.items()
                      if isinstance(request, kind.Request))

        def answered(future: Any) -> None:
            order.seq = getattr(future.result(), 'seq', 0)
            self._answered(order, future.result().accepted)

        client.call_async(request).add_done_callback(answered)

    def _answered(self, order: Order, accepted: bool) -> None:
        order.accepted, order.answered = accepted, boot_time()

    # Rest

    def settle(self, rng: random.Random) -> None:
        """Answer what is asked, clear what is stopped and unlock what stands, now and then."""
        if time.monotonic() > self._next_look:
            self._next_look = time.monotonic() + LOOK
            self.answer(rng)
            self.unlock(rng)
            self.clear_stop(rng)
            self.let_go()

    def nothing_asked(self) -> bool:
        """Whether each goal for a flow was answered, or was lost."""
        now = time.monotonic()
        return not self.requests.requests and all(
            now > sent + GOAL_LOST for sent in self.asked.values())

    def kinds(self) -> dict[str, int]:
        """Return how many orders of each kind were given."""
        return dict(sorted(Counter(order.kind for order in self.orders).items()))


def motion(rng: random.Random, part: str) -> dict[str, Any]:
    """Return an action that moves one joint."""
    action: dict[str, Any] = {
        'resources': [part],
        'parameters': {'x': target(rng, part)},
        'motion': [step(rng, part)],
        'stopped': {'condition': f'{part}_speed < 0.01', 'hold': 0.1},
        'stop_timeout': rng.choice((1.0, 2.0)),
        'confirm': {'condition': f'abs({part} - x) < 0.01', 'hold': 0.1, 'within': 2.0},
        'retry': {'times': rng.choice((0, 1, 2)), 'delay': rng.choice((0.3, 2.0))},
        'on_resume': rng.choice(('ask', 'retry', 'confirm')),
    }
    if rng.random() < 0.3:
        action['fallback'] = ['ask']
    if rng.random() < 0.1:
        action['verify'] = {'by': 'operator', 'timeout': 600}
    if rng.random() < 0.2:
        action['idempotent'] = True
    return action


def target(rng: random.Random, part: str) -> float:
    """Return where a joint is to go; the gripper is slow."""
    return round(rng.uniform(0.0, 0.2 if part == 'gripper' else 1.0), 2)


def step(rng: random.Random, part: str) -> dict[str, Any]:
    """Return one goal; of the gripper the way is the time."""
    server, kind = PARTS[part]
    goal: dict[str, Any] = {'command': {'position': '{{ x }}', 'max_effort': 5.0}}
    if part != 'gripper':
        goal = {'trajectory': {'joint_names': [part], 'points': [
            {'positions': ['{{ x }}'],
             'time_from_start': round(rng.choice((1.0, 1.0, 6.0)) * rng.uniform(0.1, 1.0), 2)}]}}
    return {'server': server, 'type': f'control_msgs/action/{kind.__name__}', 'goal': goal,
            'timeout': 15.0}


def flow_text(rng: random.Random) -> str:
    """Return a flow of a few actions that share the joints."""
    actions: dict[str, Any] = {}
    for number in range(rng.randint(2, 5)):
        part = rng.choice(list(PARTS))
        action = motion(rng, part)
        if rng.random() < 0.2:
            other = rng.choice([name for name in PARTS if name != part])
            action['resources'] = [part, other]
            action['motion'].append(step(rng, other))
            action['parameters'] = {'x': target(rng, 'gripper')}
            for name in ('stopped', 'confirm'):
                text = action[name]['condition']
                action[name]['condition'] += f' and {text.replace(part, other)}'
        if rng.random() < 0.1:  # one that a person is asked about
            action = {'confirm': {'condition': f'{part} > 9.0', 'within': 0.3},
                      'fallback': ['ask']}
        if actions and rng.random() < 0.6:
            action['after'] = {rng.choice(list(actions)): rng.choice(
                ('success', 'completion', 'unconditional'))}
        actions[f'a{number}'] = action
    return json.dumps({'flow': 'load', 'actions': actions})
