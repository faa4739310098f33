# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Actions with `repeat`: after a success, `until` is evaluated, and the action may run again.

Each further run begins with a row 'reassign' with the number of runs so far. When the action is
done, a note 'repeated' says so, so that a restart does not evaluate `until` again.
"""

from __future__ import annotations

from functools import partial

from .flow_hooks import Extension
from .flow_run import FlowRun
from .flow_runner import FlowRunner
from .start_inputs import Judged, Judgment, result_of
from ...lifecycle.running.runner import ActionRunner
from ...lifecycle.states import ActionOutcome, ActionState, ErrorCode

REPEATED = 'repeated'
"""Event of the notes that the runs of an action have reached their end; data: `action`."""
ACTOR = 'repeat'
CANCELED = 'canceled between two runs'


class Repeats(Extension):
    """Runs actions again until the condition in their `repeat` is true."""

    def __init__(self, flows: FlowRunner) -> None:
        self._flows = flows
        self._judging: dict[tuple[str, str], tuple[Judgment, ActionRunner]] = {}

    def may_start(self, run: FlowRun, action_id: str) -> bool:
        """Return whether the delay before a further run has passed."""
        runner = run.runners.one_made(action_id)
        repeat = run.flow.actions[action_id].repeat
        if runner is None or repeat is None or not runner.action.runs:
            return True
        if runner.action.give_up is not None:
            self._flows.recorder.call_soon(partial(self._give_up, runner))
            return False
        left = runner.action.changed_at + repeat.delay - self._flows.clock.now()
        if left > 0:
            self._flows.clock.call_later(left, lambda: self._due(run, action_id))
        return left <= 0

    def assign_again(self, run: FlowRun, runner: ActionRunner) -> bool:
        """Return whether an ended action may have to run again."""
        action = runner.action
        if action.spec.repeat is None or action.outcome is not ActionOutcome.SUCCEEDED \
                or action.action_id in run.repeated:
            return False
        if action.action_id in run.canceled_actions:
            self._assign(run, runner, CANCELED)
        else:
            self._evaluate(run, runner)
        return True

    def canceled(self, run: FlowRun) -> None:
        """Assign the actions whose condition is being evaluated, so that they are canceled."""
        for flow_id, name in list(self._judging):
            if flow_id == run.flow_id:
                self.action_canceled(run, name)

    def action_canceled(self, run: FlowRun, action_id: str) -> None:
        """Assign an action whose condition is being evaluated, so that it is canceled."""
        judgment, runner = self._judging.pop((run.flow_id, action_id), (None, None))
        if judgment is not None and runner is not None:
            judgment.cancel()
            self._assign(run, runner, CANCELED)

    def ending(self, run: FlowRun) -> None:
        """End the actions whose condition is being evaluated: they run no more."""
        for key in [key for key in self._judging if key[0] == run.flow_id]:
            judgment, runner = self._judging.pop(key)
            judgment.cancel()
            self._finish(run, runner, 'the flow is being ended')

    def left(self, run: FlowRun) -> None:
        """Stop the evaluations of a flow."""
        for key in [key for key in self._judging if key[0] == run.flow_id]:
            judgment, _ = self._judging.pop(key)
            judgment.cancel()

    def _evaluate(self, run: FlowRun, runner: ActionRunner) -> None:
        action = runner.action
        repeat = action.spec.repeat
        assert repeat is not None
        done = action.runs + 1
        if repeat.until is None:
            self._decide(run, runner, done >= repeat.times, f'{done} of {repeat.times}')
            return

        def judged(truth: bool, why: str) -> None:
            self._judging.pop((run.flow_id, action.action_id), None)
            self._decide(run, runner, truth, why)

        def failed(code: ErrorCode, why: str) -> None:
            self._judging.pop((run.flow_id, action.action_id), None)
            self._assign(run, runner, why, code)

        judgment = Judgment(
            self._flows.world, self._flows.clock, run, action.action_id,
            [Judged('until', 'until', repeat.until,
                    lambda: {**result_of(action), 'iteration': done})], judged, failed)
        self._judging[run.flow_id, action.action_id] = judgment, runner
        self._flows.recorder.call_soon(judgment.ask)

    def _decide(self, run: FlowRun, runner: ActionRunner, truth: bool, why: str) -> None:
        repeat = runner.action.spec.repeat
        assert repeat is not None
        done = runner.action.runs + 1
        if truth or run.starts_nothing:
            self._finish(run, runner, why)
        elif done >= repeat.times:
            self._assign(run, runner, f'{why}, after {done} of {repeat.times} runs',
                         ErrorCode.REPEAT_EXHAUSTED)
        else:
            self._assign(run, runner, f'run {done + 1} of {repeat.times}: {why}')

    def _finish(self, run: FlowRun, runner: ActionRunner, why: str) -> None:
        """Journal that the action runs no more, then process its end."""
        def finish() -> None:
            if run.left:
                return
            self._flows.recorder.order(
                run.flow_id, REPEATED, {'action': runner.action.action_id}, ACTOR, why)
            run.repeated.add(runner.action.action_id)
            run.completions.append(runner)
            self._flows.advance_soon(run)

        self._flows.recorder.until_recorded(
            f'the end of the runs of {runner.action.machine.name}', finish)

    def _assign(
        self, run: FlowRun, runner: ActionRunner, why: str, code: ErrorCode | None = None
    ) -> None:
        """Assign an ended action again, to run or, with a code, to fail."""
        left = self._flows.dispatcher.time_left(run, runner.action.action_id)
        if code is None and left is not None and left <= 0:  # passed during the evaluation
            code, why = ErrorCode.DEADLINE_EXCEEDED, f'its deadline has passed; {why}'

        def assign() -> None:
            if run.left:
                return
            failure = {} if code is None else {'give_up': [code.name, why]}
            runner.fire('reassign', actor=ACTOR, cause=why, runs=runner.action.runs + 1,
                        **failure)
            self._flows.assigned(run, runner.action.action_id)

        self._flows.recorder.until_recorded(
            f'the next run of {runner.action.machine.name}', assign)

    def _due(self, run: FlowRun, action_id: str) -> None:
        if not run.left and action_id in run.runners:
            self._flows.due(run.flow_id, action_id)

    @staticmethod
    def _give_up(runner: ActionRunner) -> None:
        action = runner.action
        if action.give_up is not None and action.state is ActionState.ASSIGNED:
            code, why = action.give_up
            runner.expire(ErrorCode[code], why, ACTOR)
