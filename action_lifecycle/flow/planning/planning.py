# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Makes flows from requests in natural language: asks a planner and checks its answer.

If the answer has faults, the planner is asked again, with the faults. The request, each answer and
each fault are journaled as rows of kind 'plan' with the id of the future flow. Requests that are
open when the process ends are resumed after the restart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import logging
from typing import Any, Optional

from pydantic import Field

from .asker import Asker, PlanService, Reply
from .told import check_flow, Told
from ..files.alternatives import no_recipes, Recipes
from ..files.flow import LoadedFlow
from ..files.loader import CyclicFlow, parse_flow
from ..run.recorder import JournalRecorder
from ...documents.errors import DocumentError, LifecycleError
from ...documents.models import read_back, StrictModel
from ...journal.flow_rows import PLAN
from ...journal.row import Entry, Row
from ...lifecycle.ports import Apart, Handle
from ...lifecycle.states import ErrorCode

_LOG = logging.getLogger('action_lifecycle')


class PlanOrder(StrictModel):
    """A request, and the options of its flow."""

    flow_id: str
    request: str
    parameters: dict[str, Any] = {}
    priority: int = 0
    requester: str = ''
    lease: str = ''
    recipe: str = ''


@dataclass(frozen=True)
class Planned:
    """The result of a request: a flow, or an error; `took`: time (s) since the request."""

    order: PlanOrder
    flow: LoadedFlow | None = None
    error_code: ErrorCode = ErrorCode.NONE
    error_msg: str = ''
    took: float = 0.0


Check = Callable[[LoadedFlow, 'Callable[[ErrorCode, list[str]], None]'], None]
"""Checks a flow with the bridge, then calls back with NONE, or an error code and all faults."""


class Planner:
    """Makes flows from requests; calls `planned` with results and `told` with the progress."""

    def __init__(
        self, service: PlanService, check: Check, apart: Apart, recorder: JournalRecorder,
        planned: Callable[[Planned], None],
        told: Callable[[PlanOrder, str], None] = lambda order, text: None,
    ) -> None:
        self.service = service
        self.check = check
        self.apart = apart
        self.recorder = recorder
        self.planned = planned
        self.told = told
        self.open: dict[str, _Request] = {}
        self.halted = False
        self.recipes: Recipes = no_recipes

    def begin(self, order: PlanOrder) -> None:
        """Journal a request and ask for its flow."""
        request = _Request(self, order)
        request.append('requested')
        self.open[order.flow_id] = request
        request.ask()

    def cancel(self, flow_id: str, actor: str) -> None:
        """Cancel a request."""
        request = self.open.get(flow_id)
        if request is not None:
            request.end(ErrorCode.CANCELED, f'canceled by {actor}')

    def is_open(self, order: PlanOrder) -> bool:
        """Return whether a request still waits for its flow: it was not canceled or halted."""
        request = self.open.get(order.flow_id)
        return request is not None and request.order is order

    def submitted(self, flow_id: str) -> None:
        """Close a request whose flow is journaled; a refused row is written later."""
        request = self.open.pop(flow_id)

        def record() -> None:
            if not self.halted and flow_id not in self.open:  # else a restart does it
                request.append('planned', final=True)

        self.recorder.until_recorded(f'the end of request {flow_id}', record)

    def failed(self, flow_id: str, code: ErrorCode, why: str) -> None:
        """Close a request whose flow could not be started."""
        self.open[flow_id].end(code, why)

    def restore(self) -> None:
        """Resume the requests that were open when the process ended."""
        for row, fault in self.recorder.journal.checked_open_rows(PLAN):
            if fault:
                self._set_aside(row, f'it {fault}')
                continue
            try:
                request = _read_request(self, row)
                self.open[request.order.flow_id] = request
                self._resume(request, row)
            except Exception as error:  # a damaged row must not prevent other requests
                self.open.pop(row.action_id, None)
                self._set_aside(row, str(error) if isinstance(error, LifecycleError)
                                else repr(error))

    def _resume(self, request: _Request, row: Row) -> None:
        flow_id = request.order.flow_id
        if next(self.recorder.journal.rows(flow_id=flow_id, kind='flow', limit=1), None):
            self.submitted(flow_id)
        elif row.event == 'answered':
            request.judge(request.answer)
        else:
            request.ask_again()

    def _set_aside(self, row: Row, reason: str) -> None:
        _LOG.error("request '%s' is set aside: row %d of the journal: %s. No flow is made for it "
                   'and it stays open in the journal; the others go on. Send it again with '
                   'another id', row.action_id, row.seq, reason)

    def halt(self) -> None:
        """Stop all calls; open requests stay open in the journal."""
        for request in self.open.values():
            request.drop()
        self.open = {}
        self.halted = True


class _Request(Asker):
    """One request, from the first call to a flow or an error."""

    wanted = 'flow'

    def __init__(self, planner: Planner, order: PlanOrder) -> None:
        super().__init__(planner.recorder.clock)
        self.planner = planner
        self.order = order
        self.began = planner.recorder.clock.now()  #: ROS time (s)

    def append(self, event: str, *, final: bool = False, cause: str = '', **data: Any) -> None:
        """Journal a step; each row has the full state of the request."""
        recorder = self.planner.recorder
        recorder.append(Entry(
            kind=PLAN, action_id=self.order.flow_id, event=event, cause=cause[:1000],
            actor=self.order.requester, final=final, ros_time=recorder.clock.now(),
            data={'order': dict(self.order), 'tries': self.tries, 'failures': self.failures,
                  'errors': self.errors, 'began': self.began, **data}))

    def note(self, event: str, *, cause: str = '', **data: Any) -> bool:
        """Journal a step; if that fails, end the request and return False."""
        try:
            self.append(event, cause=cause, **data)
        except LifecycleError as error:
            self.end(ErrorCode.JOURNAL_FAILED, str(error))
            return False
        return True

    def report(self) -> None:
        self.planner.told(self.order, self.progress)

    def send(self, reply: Reply) -> Handle:
        return self.planner.service.ask(self.order.request, self.errors, reply)

    def judge(self, answer: str) -> None:
        """Parse an answer, compare it with what was told, then check it as any flow."""
        name = f'{self.order.flow_id}.yaml'

        def read() -> LoadedFlow:
            flow = parse_flow(answer, name, self.order.parameters)
            check_flow(flow, self.told, self.planner.recipes)
            return flow

        self.planner.apart(read, self.unless_over(self.parsed))

    def parsed(self, flow: LoadedFlow | None, error: Exception | None) -> None:
        """Process the result of parsing an answer."""
        if isinstance(error, CyclicFlow):
            self.end(ErrorCode.FLOW_CYCLE, str(error))  # without a retry
        elif isinstance(error, DocumentError):
            self.wrong(str(error).splitlines())
        elif error is not None or flow is None:
            self.wrong([f'{type(error).__name__}: {error}'])
        else:
            self.planner.check(flow, self.unless_over(
                lambda code, faults: self.checked(flow, code, faults)))

    def checked(self, flow: LoadedFlow, code: ErrorCode, faults: list[str]) -> None:
        """Process the result of the bridge's check."""
        if code is ErrorCode.NONE:
            took = max(0.0, self.planner.recorder.clock.now() - self.began)
            self.planner.planned(Planned(self.order, flow, took=round(took, 3)))
        elif code is ErrorCode.FLOW_INVALID:
            self.wrong(faults)
        else:  # not caused by the answer
            self.end(code, '; '.join(faults))

    def give_up(self, message: str) -> None:
        self.end(ErrorCode.PLAN_FAILED, message)

    def end(self, code: ErrorCode, message: str) -> None:
        """End the request with an error."""
        if self._over:
            return
        self.drop()
        flow_id = self.order.flow_id
        self.planner.open.pop(flow_id, None)

        def record() -> None:
            if not self.planner.halted and flow_id not in self.planner.open:  # else asked anew
                self.append('failed', final=True, cause=message, error_code=code.name)

        self.planner.recorder.until_recorded(f'the end of request {flow_id}', record)
        self.planner.planned(Planned(self.order, None, code, message))


class _StoredRequest(StrictModel):
    """A request as a journal row stores it."""

    order: PlanOrder
    tries: int = Field(ge=0)
    failures: int = Field(ge=0)
    errors: list[str]
    answer: str = ''
    told: Told = Told()
    began: Optional[float] = None  #: rows of older versions do not have it


def _read_request(planner: Planner, row: Row) -> _Request:
    """Return the request of a row; raises `LifecycleError` if the row is not valid."""
    stored = read_back(_StoredRequest, row.data)
    if stored.order.flow_id != row.action_id:
        raise LifecycleError(f"field 'order.flow_id': expected '{row.action_id}', "
                             f"got '{stored.order.flow_id}'")
    request = _Request(planner, stored.order)
    request.tries, request.failures = stored.tries, stored.failures
    request.errors, request.answer = stored.errors, stored.answer
    request.told = stored.told
    if stored.began is not None:
        request.began = stored.began
    return request
