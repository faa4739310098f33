# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Runs the flows that actions nest, as flows of the same robot and journal.

A nested flow is open in the journal until its action has recorded the result; its last row is
'taken'. So a restart finds it, also if it has ended, and compaction keeps its rows until then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
import json
from typing import Any

from .flow_hooks import Extension
from .flow_run import FlowRun
from .flow_runner import FlowRunner
from ..files.flow import LoadedFlow
from ..files.loader import nested_flow
from ..files.loops import LoopSpec
from ...documents.errors import LifecycleError
from ...journal.row import Entry
from ...lifecycle.flow_ids import nested_id
from ...lifecycle.journal_retry import RETRY_PERIOD
from ...lifecycle.ports import Handle, WorkHost, WorkRequest, WorkResult
from ...lifecycle.running.work_states import MAX_RESULT
from ...lifecycle.states import ActionOutcome, ErrorCode
from ...lifecycle.work import Ended, NESTED, NestingSpec, Worker

LARGE = 100
"""Number of elements from which the flow of a loop is made in another thread."""
TAKEN = 'taken'
"""Event of the row that the result of a nested flow has been recorded by its action."""


Apart = Callable[
    [str, Callable[[], Any], Callable[[Any, 'Exception | None'], None]], Handle]


class NestedFlows(Extension):
    """
    The worker of the kinds of work that are flows.

    `submit(flow, flow_id, parent, request)` journals and starts a flow as the work of an action;
    `cancel(flow_id, actor, reason)` cancels it.
    """

    def __init__(
        self, flows: FlowRunner, submit: Callable[..., FlowRun],
        cancel: Callable[[str, str, str], None],
    ) -> None:
        self.flows = flows
        self.submit = submit
        self.cancel = cancel
        self.apart: Apart | None = None  #: calls a function in a thread; None: there is none
        self._works: dict[str, NestedWork] = {}  #: by id of the nested flow

    def host(self, host: WorkHost | None) -> WorkHost:
        """Return a host that also has this worker; large flows are made in its threads."""
        if host is not None and host.node is not None:
            self.apart = host.in_thread
        return _Host(self, host)

    # Worker

    def faults(
        self, spec: Any, parameters: Collection[str]
    ) -> Iterator[tuple[str, str]]:
        """Yield nothing: nested flows are checked as flows."""
        yield from ()

    def start(self, spec: NestingSpec, request: WorkRequest, ended: Ended) -> Handle:
        """Start a nested flow."""
        work = NestedWork(self, spec, request, ended)
        work.start()
        return work

    def resume(self, spec: NestingSpec, request: WorkRequest, ended: Ended) -> Handle:
        """Follow a nested flow; start it if the journal does not have it."""
        work = NestedWork(self, spec, request, ended)
        flow_id, begun = self.find_id(request)
        if begun:
            self.follow(work, flow_id)
        else:
            work.start()
        return work

    def find_id(self, request: WorkRequest) -> tuple[str, bool]:
        """Return the id of the nested flow of a request, and whether the journal has it."""
        number = max(1, request.attempt)
        while True:
            flow_id = nested_id(request.flow_id, request.action_id, number)
            row = next(self.flows.recorder.journal.rows(flow_id=flow_id, limit=1), None)
            if row is None:
                return flow_id, False
            if row.data.get('origin', {}).get('request') == request.id:
                return flow_id, True
            number += 1

    def follow(self, work: NestedWork, flow_id: str, *, ends: bool = True) -> None:
        """Call back when a nested flow ends; with `ends`, also if it has ended before."""
        work.flow_id = flow_id
        self._works[flow_id] = work
        if not ends:
            return
        run = self.flows.runs.get(flow_id)
        if run is not None and run.ended:
            self.flow_ended(run)
        elif run is None and (ended := self._given_up(flow_id)):
            self.flows.recorder.call_soon(lambda: self.given_up(flow_id, ended))

    def _given_up(self, flow_id: str) -> str:
        """Return why a flow that is not restored has ended; '' if it is open."""
        rows = list(self.flows.recorder.journal.rows(flow_id=flow_id, kind='flow'))
        return (rows[-1].cause or rows[-1].to_state) if rows and rows[-1].final else ''

    # Extension

    def completed(self, run: FlowRun, names: list[str]) -> None:
        """Report the progress of a nested flow; cancel the flows of actions that have ended."""
        work = self._works.get(run.flow_id)
        if work is not None and names:
            total = max(1, len(run.runners))
            work.request.told(run.done / total, f'{run.done} of {total} actions')
        for work in [*self._works.values()] if names else ():
            if work.request.flow_id == run.flow_id and work.request.action_id in names:
                work.cancel()

    def flow_ended(self, run: FlowRun) -> None:
        """Give the result of a nested flow to its action, soon."""
        if run.parent is not None:
            self.flows.recorder.call_soon(lambda: self._give(run))

    def _give(self, run: FlowRun) -> None:
        work = self._works.pop(run.flow_id, None)
        if work is not None:
            parent = self.flows.runs.get(work.request.flow_id)
            runner = None if parent is None else parent.runners.get(work.request.action_id)
            before = None if runner is None else (
                runner.action.seq, len(runner.action.results))
            work.end(result_of_flow(run, self.flows.clock.now()))
            self._take(run, lambda: runner is None or before != (
                runner.action.seq, len(runner.action.results)))
        else:
            self._take(run, lambda: True)

    def given_up(self, flow_id: str, reason: str) -> None:
        """Fail the action of a nested flow that could not be restored and that a person ended."""
        work = self._works.pop(flow_id, None)
        if work is not None:
            work.end(WorkResult(
                'failed', self.flows.clock.now(), error_code=ErrorCode.WORK_FAILED,
                error_msg=f'flow {flow_id}: {reason}'))

    def settle(self) -> None:
        """After a restart, forget nested flows that have ended and that no action waits for."""
        for run in list(self.flows.runs.values()):
            if run.ended and run.flow_id not in self._works:
                self.flow_ended(run)

    def _take(self, run: FlowRun, is_recorded: Callable[[], bool]) -> None:
        """Journal that the result is recorded, when it is, and drop the flow from memory."""
        if run.left:
            return
        if not is_recorded():  # the journal refuses rows; the action tries again
            self.flows.clock.call_later(RETRY_PERIOD, lambda: self._take(run, is_recorded))
            return
        recorder = self.flows.recorder
        recorder.until_recorded(f'the end of flow {run.flow_id}', partial(
            recorder.append, Entry(
                kind='flow', flow_id=run.flow_id, event=TAKEN, from_state=run.state,
                to_state=run.state, final=True, ros_time=recorder.clock.now())))
        recorder.call_soon(lambda: self._forget(run))

    def _forget(self, run: FlowRun) -> None:
        if self.flows.runs.get(run.flow_id) is run:
            del self.flows.runs[run.flow_id]

    # Commands

    def find_run(self, flow_id: str, path: str) -> tuple[str, str]:
        """
        Return the id of a running flow and of its action from the path of an action.

        An element without a number means the flow that the action runs now.
        """
        *outer, action_id = path.split('/')
        for name in outer:
            known = f'{flow_id}/{name}'
            flow_id = known if known in self.flows.runs else next((
                work.flow_id for work in self._works.values()
                if (work.request.flow_id, work.request.action_id) == (flow_id, name)), known)
        return flow_id, action_id


class NestedWork:
    """The nested flow of one attempt of an action; `cancel` cancels it."""

    def __init__(
        self, flows: NestedFlows, spec: NestingSpec, request: WorkRequest, ended: Ended
    ) -> None:
        self.flow_id = ''
        self.request = request
        self._flows = flows
        self._spec = spec
        self._ended = ended
        self._canceled = False

    def start(self) -> None:
        """Journal the flow and start it; a refused row is tried again."""
        flows = self._flows.flows
        run = flows.runs[self.request.flow_id]
        seen = run.runners[self.request.action_id].action.seen
        known, flow = run.flow.nested.get(self.request.action_id, {}).get(
            self.request.index, (None, None))
        if flow is not None and known == self._spec and not (
                flow.is_loop and seen.get('results')):
            self._made(run, flow, None)
            return
        make = partial(nested_flow, run.flow, self.request.action_id, self._spec, seen)
        elements = self._spec.elements if isinstance(self._spec, LoopSpec) else ()
        if self._flows.apart is not None and len(elements) >= LARGE:
            self._flows.apart(f'the flow of {run.flow_id}/{self.request.action_id}', make,
                              partial(self._made_apart, run))
            return
        try:
            flow = make()
        except LifecycleError as error:
            self._made(run, None, error)
        else:
            self._made(run, flow, None)

    def _made_apart(self, run: FlowRun, flow: LoadedFlow | None, error: Exception | None) -> None:
        if not run.left:  # else a restart makes it again
            self._made(run, flow, error)

    def _made(self, run: FlowRun, flow: LoadedFlow | None, error: Exception | None) -> None:
        """Start the flow that was made, or report why there is none."""
        flows = self._flows.flows
        if error is not None:
            expected = isinstance(error, LifecycleError)
            self._end_soon(WorkResult(
                'failed', flows.clock.now(),
                error_msg=str(error) if expected else f'{type(error).__name__}: {error}',
                error_code=ErrorCode.GOAL_INVALID if expected else ErrorCode.INTERNAL))
            return
        assert flow is not None
        if not flow.actions:
            self._end_soon(WorkResult('executed', flows.clock.now(), 'no elements', result={
                'total': 0, 'succeeded': 0, 'results': {}}))
            return
        flows.recorder.until_recorded(
            f'the flow of {run.flow_id}/{self.request.action_id}',
            partial(self._submit, run, flow))

    def _submit(self, run: FlowRun, flow: Any) -> None:
        if run.left:
            return
        if self._canceled:
            self._end_soon(WorkResult('canceled', self._flows.flows.clock.now(),
                                      'nothing was started'))
            return
        flow_id, _ = self._flows.find_id(self.request)
        self._flows.submit(flow, flow_id, run, self.request)
        self._flows.follow(self, flow_id, ends=False)

    def _end_soon(self, result: WorkResult) -> None:
        self._flows.flows.recorder.call_soon(lambda: self.end(result))

    def end(self, result: WorkResult) -> None:
        """Report the end."""
        self._ended(result)

    def cancel(self) -> None:
        """Cancel the flow; its end is reported when everything in it has stopped."""
        self._canceled = True
        run = self._flows.flows.runs.get(self.flow_id)
        if run is not None and not run.ended:
            self._flows.cancel(self.flow_id, 'flow', 'the action that runs this flow was canceled')


class _Host:
    """A host of kinds of work that also runs nested flows; `inner`: the host of other kinds."""

    def __init__(self, nested: NestedFlows, inner: WorkHost | None) -> None:
        self._nested = nested
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def worker(self, kind: str) -> Worker:
        """Return the worker of a kind; raises `LifecycleError` if there is none."""
        if kind == NESTED:
            return self._nested
        if self._inner is None:
            raise LifecycleError(f"nobody does work of the kind '{kind}' here")
        return self._inner.worker(kind)


def result_of_flow(run: FlowRun, now: float) -> WorkResult:
    """Return the result of an ended flow as the work of an action."""
    actions = run.actions
    done = sum(action.outcome is ActionOutcome.SUCCEEDED for action in actions)
    said = f'{done} of {len(actions)} actions succeeded'
    stopped = all(action.error_code is not ErrorCode.STOP_UNCONFIRMED
                  and not action.unstopped for action in actions)
    if run.state == 'FINISH':
        result: dict[str, Any] = {'total': len(actions), 'succeeded': done, 'results': {
            action.action_id: action.result for action in actions}}
        if len(json.dumps(result)) > MAX_RESULT:
            del result['results']
        return WorkResult('executed', now, said, stopped=stopped, result=result)
    code = ErrorCode.CANCELED if run.canceled_by is not None else ErrorCode.WORK_FAILED
    why = run.error_msg if run.canceled_by is None else \
        f'flow {run.flow_id} was canceled by {run.canceled_by[0]}: {run.canceled_by[1]}'
    return WorkResult('failed', now, said, stopped=stopped, error_code=code, error_msg=why)
