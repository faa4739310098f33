# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Orders of people to a node: each is taken at most once, and its row of the journal is told.

A request or its response is lost if the node ends, or if client and node have not discovered each
other yet. A node gets the requests of one client in the order in which they were sent, and each
service of orders refuses an empty request. So the response to an empty request shows that what was
sent before it has arrived or never will; the rows of the journal show which of the two. An order
that has no row then is sent again.
"""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

from action_lifecycle_msgs.msg import ErrorCode
from action_lifecycle_msgs.srv import (
    CancelJob,
    ClearStop,
    ControlFlow,
    EditFlow,
    GetRows,
    Respond,
    SendEvent,
)
from rclpy.task import Future

from .service_call import NoAnswer, NoServer, RetryPolicy, ServiceCall
from ..node.timers import sleep, Timeout
from ...documents.json_text import read_json
from ...flow.run.recorder import CLEAR_STOP
from ...journal.row import Row
from ...lifecycle.flow_ids import is_within
from ...lifecycle.futures import settle

SILENCE = 1.0
"""Time (s) without a response after which it is found out what became of an order."""
SETTLED = 60.0
"""Maximum time (s) from the first request to the response, or to the row, of an order."""
REPEAT = 0.5
"""Delay (s) before a request that changes nothing is repeated."""
INACTIVE = 0.2
"""Delay (s) before a node that is not active is asked again."""
LAST = 2**63 - 1
"""Above the number of every row."""
EVENTS = {'pause': 'paused', 'resume': 'resumed', 'skip': 'skipped', 'retry': 'retried',
          'cancel': 'cancel_flow'}
"""The event of the row of an order of ControlFlow, by its verb."""


class Given(NamedTuple):
    """The response to an order, and its row of the journal; 0: it has none, or is not known."""

    answer: Any
    seq: int


class OrderCall:
    """
    Gives orders to one service, in the executor's thread of `node`.

    `rows` is a client of `get_rows` of the node that takes the orders, None if it has no journal;
    then, and if the journal can't be read, an order that is not answered is sent again only if it
    is an answer to a question, which a node takes once. `appear` and `limit`: time (s) for the
    service to be there and active, and from the first request to the end.
    """

    def __init__(
        self, node: Any, client: Any, rows: Any, *, appear: float, limit: float = SETTLED,
    ) -> None:
        self._node = node
        self._client = client
        self._rows = rows
        self._appear = appear
        self._limit = limit

    async def give(self, request: Any) -> Given:
        """
        Give an order and return what became of it.

        Raises `NoServer` if it was not taken since nobody is there or active, and `NoAnswer` if
        the node has not answered within the limit.
        """
        before = 0
        if self._rows is not None:
            newest = await self._newest()
            if newest is None:
                self._rows = None
            else:
                before = newest
        end = self._node.steady() + self._limit
        sure = self._rows is not None or isinstance(request, Respond.Request)
        again = not isinstance(request, EditFlow.Request)  # which may still be checked
        call = self._send(request, end)
        while not await self._is_over(call, SILENCE if sure else self._limit):
            left = end - self._node.steady()
            if left <= 0.0 or not sure:
                call.cancel()
                raise NoAnswer(
                    f"service '{self._client.srv_name}' does not answer within {self._limit:g} s"
                    + (f'; if the order is taken, its row comes after row {before}'
                       if before else ''))
            if not await self._probe(request, call, left):
                continue
            try:
                rows = await self._found(request, before, left)
            except NoAnswer:
                continue
            if rows and rows[-1].event != CLEAR_STOP:
                if not await self._is_over(call, REPEAT):
                    call.cancel()
                    return self._journaled(rows[-1])
            elif again and not rows:
                call.cancel()
                call = self._send(request, end)
            elif call.done.done():  # the row comes when the robot has answered the node
                await sleep(self._node, SILENCE)
        answer = call.done.result()
        seq = getattr(answer, 'seq', 0)
        if answer.accepted and not isinstance(request, (ControlFlow.Request, EditFlow.Request)):
            with contextlib.suppress(NoAnswer):
                rows = await self._found(request, before, REPEAT)
                seq = rows[-1].seq if rows else 0
        return Given(answer, int(seq))

    def start(self, request: Any) -> Any:
        """Give an order; returns a future of what `give` returns or raises."""
        done = Future(executor=self._node.executor)

        async def run() -> None:
            try:
                done.set_result(await self.give(request))
            except Exception as error:  # it would end spin()
                done.set_exception(error)

        self._node.executor.create_task(run)
        return done

    async def _probe(self, request: Any, call: ServiceCall, left: float) -> bool:
        """Whether the node has got, or never gets, what was sent before; or `call` is over."""
        probe = ServiceCall(self._node, self._client, type(request), RetryPolicy(
            appear=left, answer=left, repeat=REPEAT))
        await self._either(probe.done, probe.done if call.done.done() else call.done, left)
        probe.cancel()
        return bool(probe.done.done()) and probe.done.exception() is None

    def _send(self, request: Any, end: float) -> ServiceCall:
        return ServiceCall(
            self._node, self._client, lambda: request, RetryPolicy(
                appear=self._appear, answer=max(0.0, end - self._node.steady()) + REPEAT))

    async def _is_over(self, call: ServiceCall, seconds: float) -> bool:
        """Wait for the response; returns whether it is there. Raises what is no silence."""
        await self._either(call.done, call.done, seconds)
        if not call.done.done():
            return False
        error = call.done.exception()
        if error is not None and (isinstance(error, NoServer) or not isinstance(error, NoAnswer)):
            raise error
        return error is None

    async def _either(self, first: Any, second: Any, seconds: float) -> None:
        """Wait until one of two futures is done, for at most so many seconds."""
        over = Future(executor=self._node.executor)
        timer = Timeout(self._node, max(0.0, seconds), lambda: settle(over))
        for future in (first, second):
            future.add_done_callback(lambda _: settle(over))
        await over
        timer.cancel()

    async def _newest(self) -> int | None:
        """
        Return the number of the journal's last row as soon as the node is active.

        None: it can't be read, which prevents no order, above all none that stops.
        """
        end = self._node.steady() + self._appear
        while True:
            left = end - self._node.steady()
            try:
                answer = await self._read(left, after_seq=LAST, limit=1)
            except NoAnswer:
                return None
            if answer.error_code == ErrorCode.NONE:
                return int(answer.last_seq)
            if answer.error_code != ErrorCode.NOT_READY:
                return None
            if left <= INACTIVE:
                raise NoServer(answer.error_msg)
            await sleep(self._node, INACTIVE)

    async def _found(self, request: Any, after: int, seconds: float) -> list[Row]:
        """Return the rows of an order; raises `NoAnswer` if they can't be read."""
        rows: list[Row] = []
        more = self._rows is not None
        while more:
            page = await self._read(seconds, after_seq=after)
            if page.error_code != ErrorCode.NONE:
                raise NoAnswer(page.error_msg)
            rows += [row for row in map(_row, page.rows_json) if _is_of(request, row)]
            after, more = page.next_seq, page.more
        return rows

    async def _read(self, seconds: float, **fields: Any) -> Any:
        return await ServiceCall(
            self._node, self._rows, lambda: GetRows.Request(**fields), RetryPolicy(
                appear=seconds, answer=seconds, repeat=REPEAT)).done

    def _journaled(self, row: Row) -> Given:
        """Return the response that was lost, as the row of the order shows it."""
        answer = self._client.srv_type.Response(accepted=row.event != 'clear_stop_refused')
        if not answer.accepted:
            answer.error_code, answer.error_msg = ErrorCode.NOT_ALLOWED, row.cause
        if hasattr(answer, 'seq'):
            answer.seq = row.seq
        return Given(answer, row.seq)


def _row(text: str) -> Row:
    return Row._make(read_json(text, 'JSON'))


def _is_of(request: Any, row: Row) -> bool:
    """Whether a row is that of an order of this kind by the same person."""
    if isinstance(request, CancelJob.Request):
        return (row.kind, row.action_id, row.event) == ('job', request.id, 'canceled')
    if isinstance(request, EditFlow.Request):
        return (row.event, row.flow_id, row.actor, row.cause) == (
            'edited', request.flow_id, request.author, request.reason)
    if row.actor != request.actor:
        return False
    if isinstance(request, Respond.Request):
        return row.event == 'question_answered' and row.data.get('id') == request.id
    if isinstance(request, ClearStop.Request):
        return row.kind == CLEAR_STOP
    if not is_within(row.flow_id, request.flow_id) or not request.action_id.endswith(
            row.data.get('action', '') if row.kind == 'note' else row.action_id):
        return False
    if isinstance(request, SendEvent.Request):
        return row.event in (request.event, f'{request.event}_action')
    return row.kind == 'note' and row.event == EVENTS.get(
        request.verb, 'breakpoint_cleared' if request.clear else 'breakpoint_set')
