# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Carries out what people order of running flows: pause, resume, skip, retry, breakpoints.

An order is checked, journaled as a note, then carried out. A restart reads the notes back and
carries out what is left of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .retries import Retries
from ..run.flow_control import (
    BREAKPOINT_CLEARED,
    BREAKPOINT_SET,
    PAUSED,
    RESUMED,
    RETRIED,
    SKIPPED,
)
from ..run.flow_hooks import Extension
from ..run.flow_run import FlowRun
from ..run.flow_runner import FlowRunner
from ...documents.errors import LifecycleError
from ...journal.row import Row
from ...lifecycle.running.runner import ActionRunner
from ...lifecycle.states import ActionOutcome, ActionState


class OrderRefused(LifecycleError):
    """An order that is not possible now."""


class Ordered(NamedTuple):
    """An accepted order: its journal row (0: nothing was to be done), and what else to know."""

    seq: int
    note: str = ''


class Control(Extension):
    """
    The orders of people to running flows.

    Each raises `OrderRefused` with the state and the reason if it is not possible, KeyError if
    there is no such flow or action, and a journal error if it can't be recorded; then nothing has
    changed.
    """

    def __init__(self, flows: FlowRunner) -> None:
        self._flows = flows
        self._retries = Retries(flows)

    # Hooks of the flow

    def may_start(self, run: FlowRun, action_id: str) -> bool:
        """Return whether no order holds an action: a pause, a breakpoint, a skip."""
        control = run.control
        return not (run.paused or action_id in control.breakpoints
                    or action_id in control.skipped)  # its end may not be recorded yet

    def is_blocking(self, run: FlowRun) -> bool:
        """Return whether the flow is paused: its actions may be retried before it ends."""
        return run.paused and not run.starts_nothing

    def assign_again(self, run: FlowRun, runner: ActionRunner) -> bool:
        """Return whether a person has ordered a retry of an action that has just ended."""
        return self._retries.assign_ended(run, runner)

    def canceled(self, run: FlowRun) -> None:
        """End the pause of a flow that is canceled; all its actions may have ended."""
        run.control.end_pause()
        self._flows.advance_soon(run)

    def flow_ended(self, run: FlowRun) -> None:
        """Forget the orders to a flow that has ended."""
        self._retries.forget(run.flow_id)

    left = flow_ended

    def restored(self, run: FlowRun) -> None:
        """Carry out what is left of the journaled orders of a flow."""
        for name in [name for name in run.control.skipped if name in run.runners]:
            if run.runners[name].action.state is not ActionState.TERMINATED:
                self._waive(run, name)
        retries, run.control.retries = run.control.retries, {}
        for name, (actor, reason) in ({} if run.starts_nothing else retries).items():
            runner = run.runners[name]
            if runner.action.state is ActionState.TERMINATED:
                self._retries.assign(run, runner, actor, reason)
            elif runner.action.state is ActionState.ERROR:
                runner.retry(actor, reason)

    # Orders

    def check_unchanged(self, verb: str, flow_id: str, action_id: str, base_seq: int) -> None:
        """
        Refuse an order if what it is given for has changed after row `base_seq`; 0: no check.

        An order to an action is for its state and for the orders to it, a resume of a flow for its
        pause. Orders that stop something are for the flow or action as it is: a pause is never
        refused, a cancel only if a person has ordered a retry since.
        """
        run = self._flows.runs[flow_id]
        if not base_seq or verb == 'pause' or verb == 'cancel' and not action_id:
            return
        ordered = run.control.ordered.get(action_id, 0)
        if not action_id:
            if ordered > base_seq and run.control.paused:
                raise OrderRefused(f"'{verb}' is refused: the flow was paused again, by "
                                   f'{run.control.paused_by} (row {ordered}), after what you saw')
            return
        action = run.runners[action_id].action
        newest = ordered if verb == 'cancel' else max(ordered, action.seq)
        self._refuse_if(newest > base_seq, verb, run, action_id, 'it has changed after what you '
                        f'saw (row {newest}); look at it, then give the order again')

    def pause(
        self, flow_id: str, actor: str, reason: str = '', *, hold: bool = False
    ) -> Ordered:
        """Start nothing more of a flow; `hold`: stop what moves, too."""
        run = self._open('pause', flow_id)
        control = run.control
        if control.paused and (control.hold or not hold):
            return Ordered(control.paused_seq, f'it is paused already, by {control.paused_by}')
        row = self._record(run, PAUSED, {'hold': hold}, actor, reason)
        with self._flows.dispatcher.guard(run):
            for part in self._parts(run):
                self._flows.dispatcher.withdraw_all(part)
                part.ready_at.clear()  # the pause is no wait for resources
                if hold:
                    for name in list(part.at_work):
                        part.runners[name].hold()
                self._flows.dispatcher.waits.compare_all(part)
        return self._done(run, row)

    def resume(
        self, flow_id: str, actor: str, reason: str = '', *, action_id: str = ''
    ) -> Ordered:
        """Resume a paused flow, or one action at its breakpoint."""
        run = self._open('resume', flow_id)
        if action_id:
            return self._pass(run, action_id, actor, reason)
        if not run.control.paused:
            return Ordered(0, 'it is not paused')
        row = self._record(run, RESUMED, {}, actor, reason)
        with self._flows.dispatcher.guard(run):
            for part in self._parts(run):
                if not part.paused:
                    for runner in part.runners.made():
                        runner.go_on()
                    self._flows.release(part)
                self._flows.dispatcher.waits.compare_all(part)
        return self._done(run, row)

    def _pass(self, run: FlowRun, name: str, actor: str, reason: str) -> Ordered:
        """Resume an action at its breakpoint, or the flow that an action runs."""
        for part in self._parts(run):
            if part.parent is run and part.origin['action'] == name:
                return self.resume(part.flow_id, actor, reason)
        self._refuse_if(run.progress(name) != 'waiting', 'resume', run, name, 'it has begun')
        self._refuse_if(name not in run.control.breakpoints, 'resume', run, name,
                        'it has no breakpoint')
        self._refuse_if(not run.dependencies.is_ready(name), 'resume', run, name,
                        'it has not come to its breakpoint; clear it instead')
        row = self._record(run, RESUMED, {'action': name}, actor, reason)
        self._flows.due(run.flow_id, name)
        return self._done(run, row, self._if_paused(run))

    def set_breakpoint(
        self, flow_id: str, action_id: str, actor: str, reason: str = ''
    ) -> Ordered:
        """Do not start an action when it becomes ready; it takes no resources before."""
        run = self._open('breakpoint', flow_id)
        run.flow.actions[action_id]
        self._refuse_if(run.progress(action_id) != 'waiting', 'breakpoint', run, action_id,
                        'it has begun')
        if action_id in run.control.breakpoints:
            return Ordered(0, f'it is set already, by {run.control.breakpoints[action_id]}')
        row = self._record(run, BREAKPOINT_SET, {'action': action_id}, actor, reason)
        self._flows.dispatcher.withdraw(run, action_id)
        run.ready_at.pop(action_id, None)
        return self._done(run, row)

    def clear_breakpoint(
        self, flow_id: str, action_id: str, actor: str, reason: str = ''
    ) -> Ordered:
        """Remove a breakpoint; an action that waits at it starts."""
        run = self._open('breakpoint', flow_id)
        run.flow.actions[action_id]
        if action_id not in run.control.breakpoints:
            return Ordered(0, 'it has no breakpoint')
        row = self._record(run, BREAKPOINT_CLEARED, {'action': action_id}, actor, reason)
        self._flows.due(flow_id, action_id)
        return self._done(run, row)

    def skip(self, flow_id: str, action_id: str, actor: str, reason: str = '') -> Ordered:
        """End an action as skipped; its dependents by success or completion go on."""
        run = self._open('skip', flow_id)
        runner = run.runners[action_id]
        if action_id in run.control.skipped and run.progress(action_id) == 'ended':
            return Ordered(0, f'it was skipped already, by {run.control.skipped[action_id][0]}')
        self._refuse_if(run.progress(action_id) == 'ended', 'skip', run, action_id,
                        'it has ended')
        self._refuse_if(runner.held == 'stopping', 'skip', run, action_id,
                        'it is being stopped')
        self._refuse_if(runner.canceling, 'skip', run, action_id, 'it is being canceled')
        self._refuse_if(not runner.waivable, 'skip', run, action_id,
                        'it is at work; cancel it, or pause the flow with hold, first')
        row = self._record(run, SKIPPED, {'action': action_id}, actor, reason)
        with self._flows.dispatcher.guard(run):
            self._waive(run, action_id)
        return self._done(run, row)

    def retry(self, flow_id: str, action_id: str, actor: str, reason: str = '') -> Ordered:
        """
        Assign an ended action again, with its dependents that were skipped because of it.

        An action in `error` begins its next attempt at once.
        """
        run = self._open('retry', flow_id)
        runner = run.runners[action_id]
        state = runner.action.state
        if action_id in run.control.again and state is not ActionState.ERROR:
            return Ordered(0, 'it is assigned again already')
        if state is ActionState.ERROR:
            self._refuse_if(action_id in run.canceled_actions, 'retry', run, action_id,
                            'it is being canceled')
            self._refuse_if(runner.repeating, 'retry', run, action_id,
                            'its next change is decided, and is being recorded')
            row = self._record(run, RETRIED, {'action': action_id}, actor, reason)
            runner.retry(actor, reason)
            return self._done(run, row, self._if_paused(run))
        self._refuse_if(state is ActionState.FALLBACK_REQUESTED, 'retry', run, action_id,
                        'a person is asked what to do; answer the question')
        self._refuse_if(state is not ActionState.TERMINATED, 'retry', run, action_id,
                        'it has not ended')
        self._refuse_if(runner.action.outcome is ActionOutcome.SUCCEEDED, 'retry', run, action_id,
                        'it has succeeded')
        self._refuse_if(action_id in run.replaced, 'retry', run, action_id,
                        f"'{run.stand_in(action_id)}' replaces it")
        unmet = run.dependencies.unmet(action_id)
        self._refuse_if(bool(unmet), 'retry', run, action_id,
                        f"it waits for '{', '.join(unmet)}', which did not succeed; retry that")
        limit = self._flows.dispatcher.time_left(run, action_id)
        self._refuse_if(limit is not None and limit <= 0, 'retry', run, action_id,
                        'its deadline has passed')
        names = self._retries.assigned_with(run, action_id)
        row = self._record(run, RETRIED, {'action': action_id, 'actions': names}, actor, reason)
        for name in names:  # the retry comes after a cancel that has ended it
            run.canceled_actions.pop(name, None)
        with self._flows.dispatcher.guard(run):
            self._retries.reopen(run, names, actor, reason)
        return self._done(run, row, self._if_paused(run))

    def cancel(self, flow_id: str, actor: str, reason: str = '') -> Ordered:
        """Cancel all actions of a flow that have not ended; the flow then ends as canceled."""
        run = self._flows.runs[flow_id]
        if run.ended:
            raise OrderRefused(f"'cancel' is refused: the flow has ended ({run.state})")
        if run.canceled_by is not None:
            return Ordered(0, f'it is being canceled already, by {run.canceled_by[0]}')
        before = self._flows.recorder.journal.last_seq()
        self._flows.dispatcher.cancel(run, actor, reason or 'canceled')
        after = self._flows.recorder.journal.last_seq()
        # a cancel takes effect also if it can't be recorded now
        return Ordered(before + 1) if after > before else Ordered(
            0, 'the flow is being canceled; the journal can not be written now')

    # Helpers

    def _open(self, verb: str, flow_id: str) -> FlowRun:
        """Return a flow that takes this order."""
        run = self._flows.runs[flow_id]
        if run.ended:
            raise OrderRefused(f"'{verb}' is refused: the flow has ended ({run.state})")
        if run.canceled_by is not None:
            raise OrderRefused(
                f"'{verb}' is refused: the flow is being canceled, by {run.canceled_by[0]}")
        if run.ending is not None and verb not in ('pause', 'resume'):
            raise OrderRefused(
                f"'{verb}' is refused: the flow is being ended, by {run.ending.author}")
        return run

    def _parts(self, run: FlowRun) -> list[FlowRun]:
        """Return a flow, and the flows that its actions run."""
        return [part for part in self._flows.runs.values()
                if not part.ended and run in part.lineage]

    @staticmethod
    def _refuse_if(refused: bool, verb: str, run: FlowRun, name: str, reason: str) -> None:
        """Raise `OrderRefused` with the state of an action."""
        if refused:
            action = run.runners[name].action
            state = action.outcome.value if action.outcome else action.state.value
            raise OrderRefused(f"'{verb}' is refused, '{name}' is {state}: {reason}")

    def _record(
        self, run: FlowRun, event: str, data: Mapping[str, Any], actor: str, reason: str
    ) -> Row:
        row = self._flows.recorder.order(run.flow_id, event, data, actor, reason)
        run.control.apply(event, data, actor, reason, row.seq)
        return row

    def _done(self, run: FlowRun, row: Row, note: str = '') -> Ordered:
        self._flows.dispatcher.dispatch()
        self._flows.flow_changed(run)
        return Ordered(row.seq, note)

    @staticmethod
    def _if_paused(run: FlowRun) -> str:
        return f'it starts when the flow is resumed; paused by {run.paused_by}' \
            if run.paused else ''

    def _waive(self, run: FlowRun, name: str) -> None:
        self._flows.dispatcher.withdraw(run, name)
        run.runners[name].waive(*run.control.skipped[name])
