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

"""Starts the actions that are ready: their conditions, their turn, their deadlines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import itertools
import logging

from .extensions import Extension
from .results import Judgment
from .run import FlowRun
from .scheduler import AGING, Claim, Resources, Scheduler
from ..engine import LifecycleError
from ..lifecycle.ports import Clock, World
from ..lifecycle.spec import WhenSpec
from ..lifecycle.states import ErrorCode

START_AGAIN = 1.0
"""Seconds until what the journal refused is tried again."""
AT_ONCE = 10
"""Actions that are started in one go, before others have their turn."""


class Starter:
    """
    Starts actions of all flows, as soon as it is their turn.

    `runs`: the flows by id; `call_soon` calls back in the orchestrator's thread, when others have
    had their turn.
    """

    def __init__(
        self, runs: Mapping[str, FlowRun], extensions: Sequence[Extension], world: World,
        clock: Clock, call_soon: Callable[[Callable[[], None]], None],
    ) -> None:
        self.scheduler = Scheduler()
        self.halted = False  #: nothing is started now
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
        """Who holds what."""
        return self.scheduler.resources

    def withdraw(self, run: FlowRun, name: str) -> None:
        """Start an action no more."""
        self.scheduler.withdraw(run.flow_id, name)
        self._drop(run, name)

    def resume(self, run: FlowRun, name: str) -> None:
        """Give an action that had started before a restart what it holds."""
        run.at_work.add(name)
        self.scheduler.begin(Claim(
            (), (run.flow_id, name), frozenset(run.flow.actions[name].resources)))

    def ended(self, run: FlowRun, name: str) -> frozenset[str]:
        """Take in that an action is no longer at work; returns what it held."""
        held = self.scheduler.end(run.flow_id, name)
        run.at_work.discard(name)
        self.withdraw(run, name)
        return held

    def claim(self, run: FlowRun, names: list[str]) -> None:
        for name in names:
            if run.progress(name) != 'waiting':
                continue  # read back from the journal, where it has started already
            if all(extension.may_start(run, name) for extension in self._extensions):
                self.claim_one(run, name)

    def claim_one(self, run: FlowRun, name: str) -> None:
        """Judge the conditions that an action waits for, if there are any."""
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
        """Have an action fail that has not ended by its deadline or that of the flow."""
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
            return  # it was ended while its conditions were judged
        spec = run.flow.actions[name]
        run.ready_at.setdefault(name, self._clock.now())
        self.scheduler.add(Claim(
            (run.started_at - AGING * run.priority, -spec.priority, next(self._arrival)),
            (run.flow_id, name), frozenset(spec.resources)))
        self.tell_locked(run.flow_id, name)

    def tell_locked(self, flow_id: str, name: str) -> None:
        """Log that an action waits for what only a person can unlock, if it does."""
        locked = self.scheduler.locked_for(flow_id, name)
        if locked:
            self._log.warning(
                '%s/%s waits: %s; have a look, then call ~/clear_stop', flow_id, name, locked)

    def dispatch(self) -> None:
        """Start every action that may start."""
        self._wanted = True
        if self._dispatching or self.halted:
            return  # an action that starts may end at once, and ask again
        self._dispatching = True
        try:
            for _ in range(AT_ONCE):
                if not self._wanted:
                    return
                claim = self.scheduler.next()
                self._wanted = claim is not None and self._start(claim)
            self._call_soon(self.dispatch)
        finally:
            self._dispatching = False

    def _start(self, claim: Claim) -> bool:
        run = self._runs[claim.key[0]]
        self.scheduler.start(claim)
        run.at_work.add(claim.key[1])
        try:
            waited = self._clock.now() - run.ready_at.get(claim.key[1], self._clock.now())
            run.runners[claim.key[1]].start(waited=max(0.0, waited))
        except LifecycleError as error:
            self._log.error('%s/%s does not start, trying again in %.0f s: %s',
                            *claim.key, START_AGAIN, error)
            self.scheduler.end(*claim.key)
            run.at_work.discard(claim.key[1])
            self.scheduler.add(claim)
            self._clock.call_later(START_AGAIN, self.dispatch)
            return False
        run.ready_at.pop(claim.key[1], None)
        return True
