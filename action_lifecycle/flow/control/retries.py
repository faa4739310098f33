# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Assigns ended actions again, with the actions that were skipped because of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from ..run.flow_run import FlowRun
from ..run.flow_runner import FlowRunner
from ...lifecycle.running.runner import ActionRunner
from ...lifecycle.states import ActionOutcome, ActionState


class Retries:
    """The retries of ended actions that a person has ordered and that are journaled."""

    def __init__(self, flows: FlowRunner) -> None:
        self._flows = flows
        self._again: dict[tuple[str, str], tuple[str, str]] = {}
        #: actor and reason of retries whose action's end is not processed yet

    @staticmethod
    def assigned_with(run: FlowRun, name: str) -> list[str]:
        """Return an action and those that the scheduler has skipped because of it, in order."""
        return [name, *run.dependencies.doomed_by(name, partial(_was_doomed, run))]

    def reopen(self, run: FlowRun, names: Iterable[str], actor: str, reason: str) -> None:
        """Take back the ends of actions and assign them again."""
        merged = [name for name in names if name in run.dependencies.outcomes]
        for name in merged:
            run.outcomes[run.dependencies.outcomes[name].value] -= 1
        for name in run.dependencies.reopen(names):
            self._flows.dispatcher.withdraw(run, name)
        for name in names:
            runner = run.runners[name]
            if runner.action.state is not ActionState.TERMINATED:
                runner.stay()
            elif name in merged or runner in run.completions:
                if runner in run.completions:
                    run.completions.remove(runner)
                self.assign(run, runner, actor, reason)
            else:  # its end is not durable yet
                self._again[run.flow_id, name] = actor, reason

    def assign_ended(self, run: FlowRun, runner: ActionRunner) -> bool:
        """Assign an action again whose end has just become durable; returns whether it does."""
        order = self._again.pop((run.flow_id, runner.action.action_id), None)
        if order is not None:
            self.assign(run, runner, *order)
        return order is not None

    def assign(self, run: FlowRun, runner: ActionRunner, actor: str, reason: str) -> None:
        """Assign an ended action again, as soon as that is recorded."""
        def assign() -> None:
            if run.ended or run.left or runner.action.state is not ActionState.TERMINATED:
                return
            if run.starts_nothing:
                run.completions.append(runner)
                self._flows.advance_soon(run)
                return
            runner.assign_again(actor, reason)
            run.told.discard(runner.action.action_id)
            self._flows.dispatcher.watch_deadline(run, runner.action.action_id)
            self._flows.assigned(run, runner.action.action_id)

        self._flows.recorder.until_recorded(f'the retry of {runner.action.machine.name}', assign)

    def forget(self, flow_id: str) -> None:
        """Forget the retries of a flow that has ended."""
        self._again = {key: order for key, order in self._again.items() if key[0] != flow_id}


def _was_doomed(run: FlowRun, name: str) -> bool:
    """Return whether an action was skipped by the scheduler, not by a person."""
    return run.runners[name].action.outcome in (None, ActionOutcome.SKIPPED) \
        and run.runners[name].over_or_waiting and name not in run.canceled_actions \
        and name not in run.control.skipped
