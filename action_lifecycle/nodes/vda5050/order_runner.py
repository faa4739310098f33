# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs the order of a fleet manager as flows of the action node, also after restarts of either."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import ActionStateChange
from rclpy.task import Future

from .flow_orders import action_now, FlowOrders
from .followed_flow import FollowedFlow
from ...documents.errors import LifecycleError
from ...lifecycle.futures import settle
from ...ros.calls.goal_client import kept_goal_client
from ...ros.interfaces.qos import event_qos
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.timers import sleep, Timeout
from ...vda5050.errors import (
    error,
    FATAL,
    INSTANT,
    NO_ROUTE,
    ORDER,
    OrderRefused,
    UPDATE,
    VALIDATION,
    WARNING,
)
from ...vda5050.judge import judge_order, Taken, taken, update_taken
from ...vda5050.mapping import Mapped
from ...vda5050.order_flow import edit_text
from ...vda5050.progress import ActionNow
from ...vda5050.record import Record, Reported

KEPT_ERRORS = 20
"""Maximum number of errors of refused messages in the state."""
LONGEST = 2000
"""Maximum number of characters of the description of an error."""
POSITION = 2.0
"""Time (s) in which the robot may turn out to stand where an order begins."""
ENDING = 2.0
"""Time (s) in which a flow that refuses an edit may turn out to have ended."""


class OrderRunner:
    """
    Takes orders one after the other; create it in `configure`, call it in the executor's thread.

    `changed` is called when the state may have changed; `position` returns x, y and theta of it,
    if known.
    """

    def __init__(
        self, node: ManagedNode, record: Record, mapped: Mapped, orders: FlowOrders,
        action_node: str, changed: Callable[[], None],
        position: Callable[[], Mapping[str, float] | None],
    ) -> None:
        self.record = record
        self.flow: FollowedFlow | None = None  #: the flow that runs now
        self.flow_paused = False  #: as the action node says
        self.is_away = False  #: the action node is away with the flow
        self.on_cancel: Callable[[str], None] = lambda action_id: None
        self._node = node
        self._mapped = mapped
        self._orders = orders
        self._changed = changed
        self._position = position
        #: each with what was reported when it arrived
        self._messages: deque[tuple[Mapping[str, Any] | Taken, Reported]] = deque()
        self._at_work = False
        self.controls = 0  #: number of pauses and resumes that have not been answered
        self._unpaused: Any = None
        self._control_done: Any = None  #: of the last one
        self._client = kept_goal_client(node, ExecuteFlow, f'{action_node}/execute_flow')
        node.defer(self._close)
        node.add_subscription(ActionStateChange, f'{action_node}/state_changes', self._take_change,
                              event_qos())

    def follow(self, flow_id: str, text: str, told: Callable[[Any], None] = lambda status: None
               ) -> FollowedFlow:
        """Start a flow, or follow it; see `FollowedFlow`."""
        return FollowedFlow(self._node, self._client, self._orders.journal, flow_id, text,
                            str(self._mapped.path), told, self._away)

    def spawn(self, what: str, work: Callable[..., Awaitable[None]], *arguments: Any) -> None:
        """Run a coroutine function in the executor's thread; its exceptions are logged."""
        async def logged() -> None:
            try:
                await work(*arguments)
            except Exception:  # it would end the process
                self._node.log_exception(what)
        self._node.spawn(logged)

    def _close(self) -> None:
        """Change nothing any more: calls that are under way go on without effect."""
        self.record.is_closed = True
        self._messages.clear()

    def restore(self) -> None:
        """Go on with the order of the record, after a restart."""
        record = self.record
        if record.flows and (record.progress.is_active or record.canceling is not None):
            self._begin(record.flows[-1], '')
            if record.canceling is not None and self.flow is not None:
                self.flow.cancel()
        elif record.canceling is not None:
            self._finish_cancel()
        if record.pending is not None:
            self._restore_pending()

    def _restore_pending(self) -> None:
        record = self.record
        assert record.pending is not None
        known = record.order
        try:
            is_update = known is not None and known.order_id == record.pending.order_id
            self._put(update_taken(record.pending, known, self._mapped) if is_update and known
                      else taken(record.pending, self._mapped))
        except OrderRefused as refused:  # by a mapping file that was changed meanwhile
            self._refuse(refused)

    # Orders

    def take(self, message: Mapping[str, Any]) -> None:
        """Take a message `order`."""
        self._put(message)

    def _put(self, message: Mapping[str, Any] | Taken) -> None:
        self._messages.append((message, self.record.reported()))
        if not self._at_work:
            self._at_work = True
            self.spawn('order', self._work)

    async def _work(self) -> None:
        try:
            while self._messages:
                try:
                    await self._take(*self._messages.popleft())
                except LifecycleError as failed:  # the record can not be written
                    self.record.pending = None
                    self.refuse(OrderRefused(ORDER, str(failed)))
        finally:
            self._at_work = False

    async def _take(self, message: Mapping[str, Any] | Taken, before: Reported) -> None:
        record = self.record
        again = isinstance(message, Taken)
        try:
            if isinstance(message, Taken):
                found: Taken | None = message
            else:
                found = await self._judged(message)
        except OrderRefused as refused:
            self._refuse(refused)
            return
        if found is None:
            return
        record.pending = found.order
        record.save()
        try:
            await (self._update if found.is_update else self._start)(found, again, before)
        except OrderRefused as refused:
            self._refuse(refused)

    async def _judged(self, message: Mapping[str, Any]) -> Taken | None:
        """Judge an order; the position of a robot that has just arrived may come late."""
        end = self._node.steady() + POSITION
        while True:
            try:
                return judge_order(
                    message, self.record.progress, self._mapped, self._position())
            except OrderRefused as refused:
                if refused.kind != NO_ROUTE or self._node.steady() >= end:
                    raise
            await sleep(self._node, POSITION / 10)

    async def _start(self, new: Taken, again: bool, before: Reported) -> None:
        """Take over a new order."""
        if new.text:
            flow = await self._begun(new)
            self.record.take_over(new.order, flow.flow_id, before)
        else:
            self.record.take_over(new.order, '', before)
        self._committed()

    async def _update(
        self, update: Taken, again: bool, before: Reported
    ) -> None:
        """Add what an update releases to the flow that runs, or run it as a further flow."""
        record = self.record
        if update.text:
            reason = f'order {update.order.order_id}, update {update.order.update_id}'
            why = 'it has ended'
            if record.flows and (self._is_running() or again):
                why = await self._orders.edit(
                    record.flows[-1], edit_text(update.added), reason, again=again)
            if why and self._is_running() and not await self._ends_soon():
                raise OrderRefused(UPDATE, why, update.order.references)
            if record.canceling is not None or record.canceled:
                raise OrderRefused(UPDATE, 'the order was canceled', update.order.references)
            if why:
                record.flows.append((await self._begun(update)).flow_id)
        record.order, record.pending = update.order, None
        record.forget_errors(before)
        self._committed()

    async def _ends_soon(self) -> bool:
        """Wait for the end of the flow: an edit is refused at that moment."""
        assert self.flow is not None
        over = Future(executor=self._node.executor)
        self.flow.done.add_done_callback(lambda _: settle(over, True))
        limit = Timeout(self._node, ENDING, lambda: settle(over, False))
        ended = bool(await over)
        limit.cancel()
        return ended

    async def _begun(self, new: Taken) -> FollowedFlow:
        """Start a flow and wait until it has begun; raises OrderRefused."""
        known = await self._orders.digest(new.flow_id)
        if known not in (None, new.digest):
            raise OrderRefused(
                ORDER, "order '{orderId}', update {orderUpdateId} was already run with other "
                'nodes or actions: use a new orderId'.format(**new.order.references),
                new.order.references)
        while self.record.paused and self.record.canceling is None:
            self._unpaused = Future(executor=self._node.executor)
            await self._unpaused
        if self.record.pending is None:
            raise OrderRefused(ORDER, 'the order was canceled', new.order.references)
        flow = self._begin(new.flow_id, new.text)
        if self.record.canceling is not None:  # before a restart, when it may have been sent
            flow.cancel()
        why = await flow.begun
        if why:
            raise OrderRefused(ORDER, why, new.order.references)
        return flow

    def _committed(self) -> None:
        self.record.save()
        self._node.get_logger().info(
            'order {orderId}, update {orderUpdateId} is taken over'.format(
                **self.record.order.references if self.record.order else {}))
        self._refresh_soon()
        if self.record.canceling is not None and not self._is_running():
            self._finish_cancel()
        if self.record.paused and not self.flow_paused:
            self.spawn('pause', self._hold)
        self._changed()

    def _refuse(self, refused: OrderRefused) -> None:
        pending, self.record.pending = self.record.pending, None
        if self.record.canceling is not None and not self._is_running():
            self._finish_cancel()
        self.refuse(refused)
        if pending is not None:
            self.record.save()

    def refuse(self, refused: OrderRefused) -> None:
        """Report a refusal until the next order is taken over."""
        self.report(refused.kind, str(refused), refused.references, 'refused: ')

    def report(
        self, kind: str, text: str, references: Mapping[str, Any], prefix: str = ''
    ) -> None:
        """Report an error until the next order is taken over."""
        self._node.get_logger().warning(f'{prefix}{text}')
        found = error(kind, text[:LONGEST], WARNING, references)
        errors = self.record.errors
        if found in errors:
            errors.remove(found)
        errors.append(found)
        del errors[:-KEPT_ERRORS]
        self._changed()

    def malformed(self, topic: str, why: str) -> None:
        """Report a message that can't be read."""
        self.refuse(OrderRefused(VALIDATION, why, {'topic': topic}))

    # The flow

    def _is_running(self) -> bool:
        return self.flow is not None and self.flow.is_running

    def _begin(self, flow_id: str, text: str) -> FollowedFlow:
        flow = self.flow = self.follow(flow_id, text, self._told)
        self.flow_paused = False
        flow.begun.add_done_callback(lambda _: self._refresh_soon())
        flow.done.add_done_callback(self._node.guarded(
            lambda done: self.spawn('end of a flow', self._over, flow, done.result()),
            what=f'the end of {flow_id}'))
        return flow

    def _told(self, status: Any) -> None:
        self.flow_paused = status.paused
        if status.flow_id in self.record.flows:  # else its order is not taken over yet
            self._put_actions(dict(map(action_now, status.actions)))
        self._changed()

    def _away(self, away: bool) -> None:
        self.is_away = away
        if not away:
            self._refresh_soon()
        self._changed()

    def _take_change(self, change: ActionStateChange) -> None:
        if change.flow_id in self.record.flows:
            ended = change.to_state == 'terminated'
            self._put_actions({change.action_id: ActionNow(
                change.to_state, change.outcome, change.attempt,
                change.cause if ended and change.outcome != 'succeeded' else '', False,
                change.seq)})

    def _put_actions(self, found: Mapping[str, ActionNow]) -> None:
        """Note what actions are now, unless something newer is known."""
        known, ended = self.record.actions, False
        for name, now in found.items():
            if '/' in name:  # of a nested flow
                continue
            before = known.get(name)
            if before is None or now.seq > before.seq or (
                    now.seq == before.seq and now.state == before.state):
                if before is not None and not now.message:
                    now = now._replace(message=before.message if before.seq == now.seq else '')
                known[name] = now
                ended = ended or now.has_ended and (before is None or not before.has_ended)
        if ended:
            self.record.save()
        self._changed()

    def _refresh_soon(self) -> None:
        self.spawn('state of a flow', self._refresh)

    async def _refresh(self) -> None:
        """Read what the actions are from the journal: changes may have been missed."""
        for flow_id in [*self.record.flows]:
            found = await self._orders.now(flow_id)
            if flow_id in self.record.flows:
                self._put_actions(found)

    async def _over(self, flow: FollowedFlow, end: Any) -> None:
        """Handle the end of a flow."""
        if self.flow is flow:
            self.flow_paused = self.is_away = False
        if end is None and flow.flow_id in self.record.flows:
            why = flow.unknown or f'the action node does not know flow {flow.flow_id} any more'
            self.record.errors.append(error(
                ORDER, f'{why}; the order is dropped', FATAL,
                self.record.order.references if self.record.order else {}))
            self.record.canceled = True
        await self._refresh()
        if self.record.canceling is not None and not self._is_running() \
                and self.record.pending is None:
            self._finish_cancel()
        self.record.save()
        self._changed()

    # Instant actions

    def cancel(self, action_id: str) -> bool:
        """Cancel the order; False if there is none. `on_cancel` is called when it has stopped."""
        record = self.record
        pending = record.pending is not None
        if record.canceling is not None or not (record.progress.is_active or pending):
            return False
        record.canceling = action_id
        if self._unpaused is not None:
            record.pending = None
            settle(self._unpaused)
        record.save()
        if self._is_running():
            assert self.flow is not None
            self.flow.cancel()
        elif not pending:
            self._finish_cancel()
        return True

    def _finish_cancel(self) -> None:
        action_id, self.record.canceling = self.record.canceling, None
        self.record.canceled = True
        self.record.save()
        if action_id is not None:
            self.on_cancel(action_id)
        self._changed()

    def pause(self, paused: bool) -> Awaitable[str]:
        """
        Pause or resume the order; returns an awaitable of '' or of why that is refused.

        Raises LifecycleError, without a change, if it can't be recorded.
        """
        before, self.record.paused = self.record.paused, paused
        try:
            self.record.save()
        except LifecycleError:
            self.record.paused = before
            raise
        self.controls += 1
        if not paused and self._unpaused is not None:
            settle(self._unpaused)
        self._changed()
        return self._counted(paused)

    async def _counted(self, paused: bool) -> str:
        try:
            return await self._control(paused)
        finally:
            self.controls -= 1

    async def _hold(self) -> None:
        """Pause an order that was taken over while a pause was asked for."""
        if not self.record.paused:
            return
        why = await self._control(True)
        if why:
            self.refuse(OrderRefused(
                INSTANT, why, self.record.order.references if self.record.order else {}))

    async def _control(self, paused: bool) -> str:
        """
        Pause or resume the flow once it has begun; returns '' or why that is refused.

        Each waits for the answer to the one before: a request that is repeated without an answer
        would else come after the next one. What was overtaken meanwhile is not sent.
        """
        flow = self.flow
        if flow is None or not flow.is_running or await flow.begun:
            return ''
        before, self._control_done = self._control_done, Future(executor=self._node.executor)
        done = self._control_done
        try:
            if before is not None:
                await before
            if self.record.paused is not paused:
                return ''
            why = await self._orders.control(
                flow.flow_id, 'pause' if paused else 'resume', hold=paused)
        finally:
            settle(done)
        if not why or not flow.is_running:
            return ''
        if paused and self.record.paused:  # nothing is held
            self.record.paused = False
            self.record.save()
            if self._unpaused is not None:
                settle(self._unpaused)
            self._changed()
        return why
