# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The invoker: starts the work of a state and fires the event at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import logging
import math
import threading
import time
from typing import Any, NamedTuple, Optional, Protocol
import uuid

from .engine import Engine
from .jobs import Outcome
from .run import Progress, Run, RunLog
from .wire import pack, WireError
from .work import read_work, Work, WorkError
from ..documents.errors import TransitionNotAllowed
from ..documents.suggestions import nearest
from ..graphs.graph import Graph, GraphState
from ..graphs.machine import Machine

POLL = 'poll'
"""Name under which polling is listed as possible while work runs; not an event of the graph."""

_LOG = logging.getLogger(__name__)


class _Plan(NamedTuple):
    """The configuration of an invoker state."""

    work: Work
    done: str
    failed: Optional[str]


class EarlierWork(NamedTuple):
    """Work that was begun by an earlier process: its id, the progress before it, its tasks."""

    run_id: str
    before: Progress
    tasks: Sequence[tuple[str, Optional[Outcome]]]  #: see `Run`


class WorkLog(Protocol):
    """Records the work of invoker states."""

    def begun(self, run_id: str, before: Progress) -> None:
        """Record new work, before its first task is sent."""

    def of_run(self, run_id: str) -> RunLog:
        """Return the log of the tasks of one work."""


class Invoker:
    """
    A listener that runs the work of a machine's `invoker` states; it must be the last listener.

    Entering such a state starts its work with the event's `actor_input`. When the work ends, the
    state's `done` event is fired once from a thread of the engine, with the result as
    `actor_input`. While work runs, no other event is possible; only the invoker fires `done`. If a
    task or the `done` event fails, the work ends and `error` is set; then the `failed` event is
    fired if the state has one, otherwise its other events are possible.

    Templates of tasks may read `actor_input`, `map_index` and the names that `names()` returns.
    `state`: the state of a restored machine. After `expires_after` s without an event or a poll,
    the session expires and its work is abandoned.

    `log` records the work, so that `resume` can go on with it in another process. `call_soon`
    calls the function that fires the event at the end; by default at once, in a thread of the
    engine.
    """

    def __init__(
        self,
        graph: Graph,
        engine: Engine,
        *,
        names: Callable[[], Mapping[str, Any]] = dict,
        state: str | None = None,
        expires_after: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
        log: WorkLog | None = None,
        call_soon: Callable[[Callable[[], None]], object] = lambda call: call(),
    ) -> None:
        self._log = log
        self._call_soon = call_soon
        self._plans = _read_plans(graph)
        self._engine = engine
        self._names = names
        self._expires_after = expires_after
        self._clock = clock
        self._touched = clock()
        self._lock = threading.Lock()
        self._run: Run | None = None
        self._error = f"the work of state '{state}' was lost in a restart" \
            if state in self._plans else ''

    @property
    def progress(self) -> Progress | None:
        """Return the progress of the running work; None if there is none."""
        run = self._run
        return None if run is None else run.progress

    @property
    def error(self) -> str:
        """Return the error of the last work; '' if it did not fail, or after the next event."""
        return self._error

    def poll(self) -> Progress | None:
        """Return the progress and restart the expiry time; None if no work runs."""
        self._expire()
        self._touched = self._clock()
        return self.progress

    def give_up(self, reason: str) -> None:
        """End the running work, if any; its later results are ignored."""
        run = self._run
        if run is not None:
            self._stop(run, reason)

    def validators(
        self, event: str, source: str, target: str, machine: Machine, actor_input: Any = None,
        invocation: str = '',
    ) -> None:
        """Raise TransitionNotAllowed, or WireError for an input that can't be sent to a task."""
        if not self.cond(event, source, invocation):
            if self._run is not None:
                raise TransitionNotAllowed(event, source, (POLL,), 'work is running')
            raise TransitionNotAllowed(event, source, machine.possible_events(),
                                       'only the end of the work fires it')
        if target in self._plans:
            try:
                pack(actor_input)
            except WireError as error:
                raise WireError(f"event '{event}': actor_input can't be sent: {error}") from None

    def cond(self, event: str, source: str, invocation: str = '') -> bool:
        """Return whether an event is possible; while work runs, only its closing event is."""
        run, plan = self._run, self._plans.get(source)
        if run is not None:
            return invocation == run.id
        return plan is None or event != plan.done

    def after_transition(
        self, event: str, source: str, target: str, machine: Machine, actor_input: Any = None
    ) -> None:
        """Start the work of the new state, which replaces the work of the previous state."""
        before = self._run
        failed = before is not None and event == self._plans[source].failed
        self._touched = self._clock()
        run: Run | None = None
        try:
            if target in self._plans:
                run = self._new_run(machine, target, actor_input, None if failed else before)
            with self._lock:
                self._run, self._error = run, str(actor_input) if failed else ''
            if run is not None:
                if self._log is not None:
                    self._log.begun(run.id, Progress() if before is None or failed
                                    else before.progress)
                run.start()
        except Exception as error:
            if run is not None:
                run.abandon()
            with self._lock:
                self._run = None
                self._error = f"the work of state '{target}' did not start: {error}"
            raise

    def resume(self, machine: Machine, actor_input: Any, earlier: EarlierWork) -> None:
        """
        Go on with the work of the machine's state that another process has begun and recorded.

        `actor_input`: that of the event that entered the state. Without a run id in `earlier`, the
        work is new.
        """
        run = self._make_run(machine, machine.state, actor_input, earlier.before,
                             earlier if earlier.run_id else None)
        with self._lock:
            self._run, self._error = run, ''
        if self._log is not None and not earlier.run_id:
            self._log.begun(run.id, earlier.before)
        run.start()

    def _new_run(
        self, machine: Machine, state: str, actor_input: Any, before: Run | None
    ) -> Run:
        return self._make_run(machine, state, actor_input,
                              Progress() if before is None else before.progress)

    def _make_run(
        self, machine: Machine, state: str, actor_input: Any, before: Progress,
        earlier: EarlierWork | None = None,
    ) -> Run:
        names = {**self._names(), 'actor_input': actor_input}
        run_id = earlier.run_id if earlier else uuid.uuid4().hex

        def finished(run: Run, outcome: Outcome) -> None:
            self._call_soon(lambda: self._close(machine, state, run, outcome))

        run = Run(self._plans[state].work, names, self._engine, before, finished, run_id=run_id,
                  log=None if self._log is None else self._log.of_run(run_id),
                  earlier=earlier.tasks if earlier else None)
        if before != Progress():
            run.progress = run.progress.advanced()  # counts the closing event of the work before
        return run

    def _close(self, machine: Machine, state: str, run: Run, outcome: Outcome) -> None:
        """Fire the `done` or `failed` event of a run; errors are logged and set in `error`."""
        self._expire()
        plan, error = self._plans[state], outcome.error
        if not error and self._run is run:
            error = self._fire(machine, state, plan.done, run, outcome.value)
        if error and plan.failed and self._run is run and machine.state == state:
            refused = self._fire(machine, state, plan.failed, run, error)
            error = f'{error}; then: {refused}' if refused else error
        if error:
            _LOG.error("%s: state '%s': %s", machine.name, state, error)
            self._stop(run, error)
            with self._lock:
                if self._run is None and not self._error:
                    self._error = error

    def _fire(self, machine: Machine, state: str, event: str, run: Run, value: Any) -> str:
        """Fire a `done` or `failed` event; returns an error message or ''."""
        try:
            machine.fire(event, expect=state, actor_input=value, invocation=run.id)
        except Exception as error:
            _LOG.debug('a closing event failed', exc_info=True)
            return str(error) or type(error).__name__
        return f"a hook of event '{event}' failed" if self._run is run else ''

    def _expire(self) -> None:
        run = self._run
        if run is not None and self._clock() - self._touched > self._expires_after:
            self._stop(run, f'nobody asked for {self._expires_after:g} s: the session expired and '
                       'its work was given up')

    def _stop(self, run: Run, reason: str) -> None:
        """End a run and set `error`, if it is the current run."""
        run.abandon()
        with self._lock:
            if self._run is run:
                self._run, self._error = None, reason


def _read_plans(graph: Graph) -> dict[str, _Plan]:
    """Return the plans of all invoker states; raises `WorkError` with all faults."""
    plans, faults = {}, []
    for state in graph.states.values():
        if state.type == 'invoker':
            try:
                plans[state.name] = _read_plan(graph, state)
            except WorkError as error:
                faults.append(f"graph '{graph.name}', state '{state.name}': {error}")
    if POLL in graph.events:
        faults.append(f"graph '{graph.name}': no event may be called '{POLL}'")
    if faults:
        raise WorkError('\n'.join(faults))
    return plans


def _read_plan(graph: Graph, state: GraphState) -> _Plan:
    work = read_work(state.config['invoke'], 'invoke')
    done, failed = state.config['done'], state.config.get('failed')
    events = graph.table[state.name]
    for field, event in (('done', done), ('failed', failed)):
        if event is not None and event not in events:
            raise WorkError(f"{field}: no event '{event}' leaves it" + nearest(event, events))
    if failed == done or not set(events) - {done}:
        raise WorkError(f"only '{done}' leaves it: another event is needed for work that fails")
    return _Plan(work, done, failed)
