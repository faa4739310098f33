# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Starts ready actions when their conditions, resources and extensions permit it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
import itertools

from .flow_ender import FlowEnder, reason_of
from .flow_hooks import Extension
from .flow_run import FlowRun
from .recorder import JournalRecorder
from .start_inputs import Judgment, of_dependencies
from .waits import Waits
from ..scheduling.scheduler import AGING, Claim, plain, Scheduler
from ...documents.errors import LifecycleError
from ...lifecycle.ports import LifecycleClock, World
from ...lifecycle.running.runner import ActionRunner
from ...lifecycle.spec import WhenSpec
from ...lifecycle.states import ActionOutcome, ErrorCode

AT_ONCE = 10
"""Maximum number of actions started before other callbacks run."""


class Dispatcher(FlowEnder):
    """
    Starts the actions of all flows, or ends those that will not start; `runs`: the flows by id.

    `claim` requests the resources of ready actions, `dispatch` starts actions whose resources are
    free, and `merge` processes ended actions and claims for those that became ready.
    """

    def __init__(
        self, runs: Mapping[str, FlowRun], extensions: Sequence[Extension],
        recorder: JournalRecorder, world: World, clock: LifecycleClock,
    ) -> None:
        super().__init__(extensions, recorder)
        self.scheduler = Scheduler()
        self.resources = self.scheduler.resources
        self.waits = Waits(runs, self.scheduler, recorder)
        self.halted = False  #: if set, no action starts
        self._runs = runs
        self._world = world
        self._clock = clock
        self._arrival = itertools.count()
        self._dispatching = False
        self._wanted = False
        self._judging: dict[tuple[str, str], Judgment] = {}

    def withdraw(self, run: FlowRun, name: str) -> None:
        """Withdraw the claim of an action, so that it does not start."""
        self.scheduler.withdraw(run.flow_id, name)
        self.waits.compare(run, name)
        self._drop(run, name)

    def withdraw_all(self, run: FlowRun) -> None:
        """Withdraw the claims of a flow; `claim` its ready actions again later."""
        claims = [name for flow_id, name in [*self.scheduler.claims, *self._judging]
                  if flow_id == run.flow_id]
        for name in claims:
            self.withdraw(run, name)

    def resume(self, run: FlowRun, name: str) -> None:
        """Give resources to an action that had started before a restart."""
        run.at_work.add(name)
        self.scheduler.begin(Claim((), (run.flow_id, name), run.needs(name)))

    def leave(self, run: FlowRun) -> None:
        """Drop a flow, with its claims and resources; what it waits for has no effect any more."""
        run.left = True
        self.withdraw_all(run)
        for name in run.at_work:
            self.scheduler.end(run.flow_id, name)
        self.scheduler.forget(run.flow_id)
        self.tell_extensions('left', run)

    def ended(self, run: FlowRun, name: str) -> frozenset[str]:
        """Process the end of a running action; returns the resources it held."""
        held = frozenset(map(plain, self.scheduler.end(run.flow_id, name)))
        run.at_work.discard(name)
        run.control.ended(name)
        self.withdraw(run, name)
        return held

    def merge(self, run: FlowRun, completed: Sequence[ActionRunner]) -> bool:
        """Process a batch of ended actions; returns whether the flow has ended."""
        ready: list[str] = []
        skipped: list[tuple[str, str]] = []
        for runner in completed:
            assert runner.action.outcome is not None
            run.outcomes[runner.action.outcome.value] += 1
        for runner in completed:
            action = runner.action
            assert action.outcome is not None
            if action.action_id in run.waived:
                run.dependencies.waived.add(action.action_id)
            run.canceled_actions.pop(action.action_id, None)
            more, never = run.dependencies.ended(action.action_id, action.outcome)
            ready += more
            skipped += never
        names = [runner.action.action_id for runner in completed]
        for extension in self._extensions:
            extension.completed(run, names)
        self.follow_up(run, ready, skipped)
        return run.all_ended and not any(
            extension.is_blocking(run) for extension in self._extensions)

    def follow_up(
        self, run: FlowRun, ready: list[str], skipped: list[tuple[str, str]]
    ) -> None:
        """Claim resources for ready actions; end the actions that are skipped."""
        if not any(extension.keeps_held(run) for extension in self._extensions):
            skipped = [*skipped, *run.dependencies.give_up()]
        for name, blamed in skipped:
            outcome = run.dependencies.outcomes.get(blamed, ActionOutcome.SKIPPED)
            self.withdraw(run, name)
            if run.starts_nothing:
                self.end_action(run, name)
            else:
                run.runners[name].skip('scheduler', f"'{blamed}' {outcome.value}")
        if not run.starts_nothing:
            self.claim(run, ready)
            return
        for name in ready:
            if run.progress(name) == 'waiting':
                self.end_action(run, name)

    def claim(self, run: FlowRun, names: list[str]) -> None:
        """Claim resources for actions that the extensions permit to start."""
        for name in names:
            if run.starts_nothing or run.progress(name) != 'waiting':
                continue  # else started before a restart
            if all(extension.may_start(run, name) for extension in self._extensions):
                self.claim_one(run, name)
            else:
                self.waits.compare(run, name)

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
        judgment = Judgment(self._world, self._clock, run, name,
                            of_dependencies(run, name), judged, failed)
        self._judging[run.flow_id, name] = judgment
        judgment.ask()

    def _drop(self, run: FlowRun, name: str) -> None:
        judgment = self._judging.pop((run.flow_id, name), None)
        if judgment is not None:
            judgment.cancel()

    def watch_deadline(self, run: FlowRun, name: str) -> None:
        """
        Set a timer that fails an action at its deadline or that of the flow.

        A deadline that passes while the process ends applies after the restart.
        """
        limit, left = self._limit(run, name), self.time_left(run, name)
        if left is None:
            return

        def over() -> None:
            if not run.left and name in run.runners and run.progress(name) != 'ended':
                self.withdraw(run, name)
                run.runners[name].expire(
                    ErrorCode.DEADLINE_EXCEEDED,
                    f'has not ended {limit:g} s after the start of the flow', 'clock')

        self._clock.call_later(max(0.0, left), over)

    def time_left(self, run: FlowRun, name: str) -> float | None:
        """Return the time (s) until the deadline of an action; None if it has none."""
        limit = self._limit(run, name)
        return run.started_at + limit - self._clock.now() if limit else None

    @staticmethod
    def _limit(run: FlowRun, name: str) -> float:
        return min((limit for limit in (run.flow.actions[name].deadline, run.flow.deadline)
                    if limit), default=0.0)

    def _claim_now(self, run: FlowRun, name: str) -> None:
        if run.progress(name) != 'waiting':
            return  # ended during the evaluation
        spec = run.flow.actions[name]
        run.ready_at.setdefault(name, self._clock.now())
        self.scheduler.add(Claim(
            (run.root.started_at - AGING * run.priority, -spec.priority, next(self._arrival)),
            (run.flow_id, name), run.needs(name)))
        self.waits.claimed(run, name)

    def dispatch(self) -> None:
        """Start every action that may start."""
        self._wanted = True
        if self._dispatching or self.halted:
            return  # called within a start; the loop below continues
        self._dispatching = True
        try:
            for _ in range(AT_ONCE):
                if not self._wanted:
                    return
                claim = self.scheduler.next()
                self._wanted = claim is not None and self._recorder.until_recorded(
                    f"the start of {'/'.join(claim.key)}", partial(self._start, claim),
                    self.dispatch)
            self._recorder.call_soon(self.dispatch)
        finally:
            self._dispatching = False

    def _start(self, claim: Claim) -> None:
        run, name = self._runs[claim.key[0]], claim.key[1]
        self.scheduler.start(claim)
        run.at_work.add(name)
        try:
            waited = self._clock.now() - run.ready_at.get(name, self._clock.now())
            run.runners[name].start(waited=max(0.0, waited))
        except Exception as error:
            self.scheduler.end(*claim.key)
            run.at_work.discard(name)
            if isinstance(error, (LifecycleError, OSError)):
                self.scheduler.add(claim)
                raise
            self._log.exception('%s/%s can not start', run.flow_id, name)
            self.fail(run, ErrorCode.INTERNAL, reason_of(error))
            return
        run.control.started(name)
        run.ready_at.pop(name, None)
