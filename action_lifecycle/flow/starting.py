# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Starts ready actions: evaluates their conditions, waits for resources, sets deadlines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
import itertools
import logging

from .extensions import Extension
from .results import Judgment
from .run import FlowRun
from .scheduler import AGING, Claim, Resources, Scheduler
from ..engine import LifecycleError
from ..lifecycle.journal_retry import until_recorded
from ..lifecycle.ports import Clock, World
from ..lifecycle.spec import WhenSpec
from ..lifecycle.states import ErrorCode

AT_ONCE = 10
"""Number of actions started at once, before other callbacks run."""


class Starter:
    """
    Starts the actions of all flows when the scheduler permits it.

    `runs`: the flows by id; `call_soon` calls back in the orchestrator's thread, after other
    callbacks.
    """

    def __init__(
        self, runs: Mapping[str, FlowRun], extensions: Sequence[Extension], world: World,
        clock: Clock, call_soon: Callable[[Callable[[], None]], None],
    ) -> None:
        self.scheduler = Scheduler()
        self.halted = False  #: if set, no action starts
        self._runs = runs
        self._extensions = extensions
        self._world = world
        self._clock = clock
        self._call_soon = call_soon
        self._log = logging.getLogger('action_lifecycle')
        self._arrival = itertools.count()
        self._dispatching = False
        self._wanted = False
        self._judging: dict[tuple[str, str], Judgment] = {}

    @property
    def resources(self) -> Resources:
        """Return the resources and their holders."""
        return self.scheduler.resources

    def withdraw(self, run: FlowRun, name: str) -> None:
        """Withdraw the claim of an action, so that it does not start."""
        self.scheduler.withdraw(run.flow_id, name)
        self._drop(run, name)

    def resume(self, run: FlowRun, name: str) -> None:
        """Give an action that had started before a restart its resources."""
        run.at_work.add(name)
        self.scheduler.begin(Claim(
            (), (run.flow_id, name), frozenset(run.flow.actions[name].resources)))

    def ended(self, run: FlowRun, name: str) -> frozenset[str]:
        """Process the end of a running action; returns the resources it held."""
        held = self.scheduler.end(run.flow_id, name)
        run.at_work.discard(name)
        self.withdraw(run, name)
        return held

    def claim(self, run: FlowRun, names: list[str]) -> None:
        for name in names:
            if run.progress(name) != 'waiting':
                continue  # it had started before a restart
            if all(extension.may_start(run, name) for extension in self._extensions):
                self.claim_one(run, name)

    def claim_one(self, run: FlowRun, name: str) -> None:
        """Evaluate the conditions in `after`, if any, then claim the resources."""
        if not any(isinstance(kind, WhenSpec) for kind in run.flow.actions[name].after.values()):
            self._claim_now(run, name)
            return

        def judged(truth: bool, why: str) -> None:
            self._judging.pop((run.flow_id, name), None)
            if truth:
                self._claim_now(run, name)
                self.dispatch()
            else:
                run.runners[name].skip('scheduler', why)

        def failed(code: ErrorCode, why: str) -> None:
            self._judging.pop((run.flow_id, name), None)
            run.runners[name].expire(code, why, 'scheduler')

        self._drop(run, name)
        judgment = Judgment(self._world, self._clock, run, name, judged, failed)
        if not judgment.over:
            self._judging[run.flow_id, name] = judgment

    def _drop(self, run: FlowRun, name: str) -> None:
        judgment = self._judging.pop((run.flow_id, name), None)
        if judgment is not None:
            judgment.cancel()

    def watch_deadline(self, run: FlowRun, name: str) -> None:
        """Set a timer that fails an action at its deadline or the flow's."""
        limits = [limit for limit in (run.flow.actions[name].deadline, run.flow.deadline) if limit]
        if not limits:
            return
        limit = min(limits)

        def over() -> None:
            if self._runs.get(run.flow_id) is run and name in run.runners \
                    and run.progress(name) != 'ended':
                self.scheduler.withdraw(run.flow_id, name)
                self._drop(run, name)
                run.runners[name].expire(
                    ErrorCode.DEADLINE_EXCEEDED,
                    f'has not ended {limit:g} s after the start of the flow', 'clock')

        self._clock.call_later(max(0.0, run.started_at + limit - self._clock.now()), over)

    def _claim_now(self, run: FlowRun, name: str) -> None:
        if run.progress(name) != 'waiting':
            return  # it ended during the evaluation
        spec = run.flow.actions[name]
        run.ready_at.setdefault(name, self._clock.now())
        self.scheduler.add(Claim(
            (run.started_at - AGING * run.priority, -spec.priority, next(self._arrival)),
            (run.flow_id, name), frozenset(spec.resources)))
        self.tell_locked(run.flow_id, name)

    def tell_locked(self, flow_id: str, name: str) -> None:
        """Log a warning if an action waits for a locked resource."""
        locked = self.scheduler.locked_for(flow_id, name)
        if locked:
            self._log.warning(
                '%s/%s waits: %s; check the robot, then call ~/clear_stop', flow_id, name, locked)

    def dispatch(self) -> None:
        """Start every action that may start."""
        self._wanted = True
        if self._dispatching or self.halted:
            return  # called again from a start: the loop below continues
        self._dispatching = True
        try:
            for _ in range(AT_ONCE):
                if not self._wanted:
                    return
                claim = self.scheduler.next()
                self._wanted = claim is not None and until_recorded(
                    self._clock.call_later, f"the start of {'/'.join(claim.key)}",
                    partial(self._start, claim), again=self.dispatch)
            self._call_soon(self.dispatch)
        finally:
            self._dispatching = False

    def _start(self, claim: Claim) -> None:
        run, name = self._runs[claim.key[0]], claim.key[1]
        self.scheduler.start(claim)
        run.at_work.add(name)
        try:
            waited = self._clock.now() - run.ready_at.get(name, self._clock.now())
            run.runners[name].start(waited=max(0.0, waited))
        except (LifecycleError, OSError):
            self.scheduler.end(*claim.key)
            run.at_work.discard(name)
            self.scheduler.add(claim)
            raise
        run.ready_at.pop(name, None)
