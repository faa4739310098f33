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

"""
Runs flows: starts ready actions, processes their ends, and applies edits.

It is single-threaded, as the runners are; all flows share the resources. A flow goes through the
states of `constellation_states`; each change is journaled before it takes effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
import logging
import re
from typing import Any
import uuid

from .alternatives import Alternatives, no_recipes, Recipes
from .constellation_states import ConstellationAgentStateManager
from .dag import topological_order
from .editing import Editor
from .extensions import Extension
from .flow import Flow
from .recorder import JournalRecorder
from .restoring import restore_flows
from .results import Seen
from .run import FlowRun
from .scheduler import Dependencies, Resources
from .starting import Starter
from .steering import Steering
from .summary import summary_of, why_failed
from ..engine import Graph, LifecycleError, TransitionNotAllowed
from ..lifecycle.action import Action
from ..lifecycle.journal_retry import until_recorded
from ..lifecycle.ports import Clock, Operator, Verifier, World
from ..lifecycle.runner import ActionRunner
from ..lifecycle.states import ErrorCode

_FLOW_ID = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z')

FROM_OUTSIDE = frozenset({
    'cancel', 'verified', 'postpone', 'ask_again', 'resume', 'retry', 'request_fallback',
    'receive_fallback', 'apply_fallback', 'repeat_motion', 'terminate'})
"""Events that people and other nodes may fire; others belong to the scheduler and the world."""

AT_ONCE = 100
"""Number of actions canceled at once, before other callbacks run."""

_STATES = ConstellationAgentStateManager()


class Orchestrator:
    """
    Runs the flows of one robot.

    `submit` journals a flow and sorts its dependencies (`schedule`). `begin` and `go_on` let ready
    actions claim their resources (`Starter.claim`); `dispatch` starts those whose resources are
    free. Ended actions are collected; `advance` handles the flow's state, which processes them
    (`weave`) and continues with the actions that become ready, until none is left (`_finish`).

    `flow_changed(run)` is called after each change of a flow or of one of its actions. Ended flows
    stay in `runs` until `forget`.
    """

    def __init__(
        self, graph: Graph, recorder: JournalRecorder, world: World, clock: Clock,
        operator: Operator, verifier: Verifier, flow_changed: Callable[[FlowRun], None],
    ) -> None:
        self.graph = graph
        self.recorder = recorder
        self.world = world
        self.clock = clock
        self.operator = operator
        self.verifier = verifier
        self.flow_changed = flow_changed
        self.runs: dict[str, FlowRun] = {}
        self.extensions: list[Extension] = []
        self.recipes: Recipes = no_recipes
        self.log = logging.getLogger('action_lifecycle')
        self.until_recorded = partial(until_recorded, clock.call_later)
        self._advancing: set[str] = set()
        self._seen = Seen(world)
        self.steering = Steering(self)
        self.editor = Editor(self)
        self.stage, self.edit, self.propose = \
            self.editor.stage, self.editor.edit, self.editor.propose
        self.starter = Starter(
            self.runs, self.extensions, world, clock, recorder.call_soon)

    @property
    def resources(self) -> Resources:
        """Return the resources of the robot and their holders."""
        return self.starter.resources

    def locked_for(self, action: Action) -> str:
        """Return the locked resources that an action waits for, with reasons; '' if none."""
        return self.starter.scheduler.locked_for(action.flow_id, action.action_id)

    def new_id(self, stem: str, wanted: str = '') -> str:
        """Return the wanted id, or a new one from `stem`; raises `LifecycleError` if not valid."""
        flow_id = wanted or f'{stem}-{uuid.uuid4().hex[:8]}'
        if not _FLOW_ID.match(flow_id):
            raise LifecycleError(f'flow_id {flow_id!r}: expected up to 128 letters, digits, '
                                 '_, - and .')
        if next(self.recorder.journal.rows(flow_id=flow_id, limit=1), None) is not None:
            raise LifecycleError(f"flow_id '{flow_id}' is in the journal already")
        return flow_id

    # The states of a flow

    def submit(
        self, flow: Flow, flow_id: str, *, priority: int = 0, actor: str = '',
        recipe: str = '', origin: Mapping[str, Any] | None = None,
    ) -> FlowRun:
        """Journal a flow and start it; raises JournalError, and then nothing has started."""
        run = self.new_run(flow.copy(), flow_id, priority, recipe, origin)
        run.started_at = self.clock.now()
        _STATES.get_state(run.state).handle(run, self)
        run.machine.fire(run.status, actor=actor, final=run.broken != '', cause=run.broken, flow={
            'name': flow.name, 'text': flow.text, 'file': flow.document.name,
            'parameters': flow.parameters, 'priority': priority, 'recipe': recipe,
            'origin': run.origin})
        self.runs[flow_id] = run
        if run.ended:
            run.error_code, run.error_msg = why_failed(run)
            self.flow_changed(run)
        else:
            self.open(run)
            self.begin(run)
            self.flow_changed(run)
            self.dispatch()
        return run

    def new_run(
        self, flow: Flow, flow_id: str, priority: int, recipe: str,
        origin: Mapping[str, Any] | None,
    ) -> FlowRun:
        """Return a new run in START; it is not added to `runs`."""
        return FlowRun(flow_id, flow, priority, self._runner, self.recorder.flow_changed,
                       recipe=recipe, origin=origin)

    def _runner(self, run: FlowRun, name: str) -> ActionRunner:
        action = Action(run.flow_id, name, run.flow.actions[name], self.graph, self.recorder)
        return ActionRunner(
            action, self.world, self.clock, self.operator, self.verifier,
            Alternatives(lambda: run.flow, action, lambda *names: self.recipes(*names)),
            lambda runner: self._ended(run, runner), recipe=bool(run.recipe),
            look=partial(self._seen.fetch, run) if run.flow.late[name] else None)

    def schedule(self, run: FlowRun) -> None:
        """Check and sort the dependencies of a flow; raises `LifecycleError` or `CycleError`."""
        actions = run.flow.actions
        after = {name: spec.after for name, spec in actions.items()}
        if run.edits:  # an ended action may depend on an action that an edit has removed
            after = {name: {needed: kind for needed, kind in needs.items() if needed in actions}
                     for name, needs in after.items()}
        if run.stage == 'dependency_analysis':
            for name, needs in after.items():
                for needed in needs:
                    if needed not in actions:
                        raise LifecycleError(
                            f"action '{name}' waits for '{needed}', which the flow does not have")
            run.stages.fire('analysed')
            after = {name: after[name] for name in topological_order(after)}
            run.stages.fire('sorted')
        if not run.dependencies.dag.after:
            run.dependencies = Dependencies(after)

    def open(self, run: FlowRun) -> None:  # noqa: A003
        """Add a flow to the scheduler and the extensions; starts no action yet."""
        self.starter.scheduler.limit(run.flow_id, run.flow.max_motions)
        for extension in self.extensions:
            extension.began(run)

    def begin(self, run: FlowRun) -> None:
        """
        Let the ready actions of a flow claim their resources.

        After a restart, actions that had started must have been resumed before.
        """
        for name in run.flow.actions:
            self.starter.watch_deadline(run, name)
        self.steering.completed(run, [])  # repeats a question that was open at a restart
        self.go_on(run, run.dependencies.ready(), [])

    def advance(self, run: FlowRun) -> None:
        """Handle the current state of a flow and enter the next one."""
        self._advancing.discard(run.flow_id)
        if run.ended:
            return
        _STATES.get_state(run.state).handle(run, self)
        if run.status in ('FINISH', 'FAIL'):
            self._finish(run)
        elif run.status != run.state:
            self._enter(run)
        self.flow_changed(run)
        self.dispatch()

    def _enter(self, run: FlowRun) -> None:
        if self.until_recorded(f'{run.status} of flow {run.flow_id}',
                               lambda: run.machine.fire(run.status), lambda: self.advance(run)):
            self.advance_soon(run)  # for actions that ended meanwhile

    def advance_soon(self, run: FlowRun) -> None:
        """Advance the flow in a later callback, so that simultaneous ends form one batch."""
        if run.flow_id not in self._advancing:
            self._advancing.add(run.flow_id)
            self.recorder.call_soon(lambda: self.advance(run))

    def weave(self, run: FlowRun, completed: Sequence[ActionRunner]) -> bool:
        """Process a batch of ended actions; returns whether the flow has ended."""
        ready: list[str] = []
        skipped: list[tuple[str, str]] = []
        for runner in completed:
            action = runner.action
            assert action.outcome is not None
            run.outcomes[action.outcome.value] += 1
            more, never = run.dependencies.ended(action.action_id, action.outcome)
            ready += more
            skipped += never
        self.steering.completed(run, [runner.action.action_id for runner in completed])
        self.go_on(run, ready, skipped)
        return self._at_its_end(run)

    def go_on(self, run: FlowRun, ready: list[str], skipped: list[tuple[str, str]]) -> None:
        """Let ready actions claim their resources; end the actions that are skipped."""
        for name, blamed in skipped:
            outcome = run.dependencies.outcomes[blamed]
            self.starter.withdraw(run, name)
            if run.canceled_by is not None:
                run.runners[name].cancel(*run.canceled_by)
            else:
                run.runners[name].skip('scheduler', f"'{blamed}' {outcome.value}")
        if run.canceled_by is not None:
            for name in ready:
                if run.progress(name) == 'waiting':
                    run.runners[name].cancel(*run.canceled_by)
        elif not self.steering.busy(run):  # else `release` does it afterwards
            self.starter.claim(run, ready)

    def release(self, run: FlowRun) -> None:
        """Start the actions that had to wait while the planner was asked for an edit."""
        self.starter.claim(run, run.dependencies.ready())
        self.advance_soon(run)

    def _at_its_end(self, run: FlowRun) -> bool:
        return run.done == len(run.runners) and not run.completions \
            and not self.steering.busy(run) \
            and not any(extension.holds(run) for extension in self.extensions)

    def proceed(self, flow_id: str) -> None:
        """Check again whether a flow has ended, after an extension held it."""
        self.advance_soon(self.runs[flow_id])

    def give_up(self, run: FlowRun, why: str) -> None:
        """Stop all motions; the flow ends in FAIL."""
        run.broken = why
        self.cancel(run.flow_id, 'orchestrator', why)

    def _finish(self, run: FlowRun) -> None:
        summary = summary_of(run, self.clock.now())
        if run.status == 'FAIL':
            run.error_code, run.error_msg = why_failed(run)
        if not self.until_recorded(
                f'the end of flow {run.flow_id}',
                lambda: run.machine.fire(run.status, **summary, error_code=run.error_code.name,
                                         cause=run.error_msg, final=True),
                lambda: self.advance(run)):
            return
        run.summary = summary
        self.starter.scheduler.forget(run.flow_id)
        for extension in self.extensions:
            extension.flow_ended(run)

    def due(self, flow_id: str, action_id: str) -> None:
        """Start a ready action that an extension has held back."""
        run = self.runs[flow_id]
        if not run.ended and run.dependencies.is_ready(action_id):
            self.starter.claim_one(run, action_id)
            self.dispatch()

    def dispatch(self) -> None:
        """Start every action that may start."""
        self.starter.dispatch()

    def _ended(self, run: FlowRun, runner: ActionRunner) -> None:
        action = runner.action
        held = self.starter.ended(run, action.action_id)
        if action.error_code is ErrorCode.STOP_UNCONFIRMED:
            self.resources.lock_all(dict.fromkeys(
                held, f'{run.flow_id}/{action.action_id} was not seen to stop'))
            for key in self.starter.scheduler.waiting_for(held):
                self.starter.tell_locked(*key)
                self.flow_changed(self.runs[key[0]])
        if run.canceled_by is None and any(
                extension.again(run, runner) for extension in self.extensions):
            self.dispatch()
            return
        run.completions.append(runner)
        self.advance_soon(run)

    # Commands from outside

    def cancel(self, flow_id: str, actor: str, reason: str) -> None:
        """Cancel all actions of a flow that have not ended; the flow then ends as canceled."""
        run = self.runs[flow_id]
        if run.ended or run.canceled_by is not None:
            return
        run.canceled_by = actor, reason
        self.note(flow_id, 'cancel_flow', {}, actor, reason)
        self.steering.drop(run)
        self.cancel_all(run)

    def cancel_all(self, run: FlowRun) -> None:
        """Cancel all actions of a canceled flow, running ones first."""
        assert run.canceled_by is not None
        for name in list(run.at_work):
            run.runners[name].cancel(*run.canceled_by)
        waiting = [name for name in run.runners if name not in run.dependencies.outcomes]
        for name in waiting:
            self.starter.withdraw(run, name)
        self._cancel_some(run, waiting[::-1])

    def _cancel_some(self, run: FlowRun, names: list[str]) -> None:
        assert run.canceled_by is not None
        for name in names[:AT_ONCE]:
            if name in run.runners and name not in run.at_work:
                run.runners[name].cancel(*run.canceled_by)
        if names[AT_ONCE:]:
            self.recorder.call_soon(lambda: self._cancel_some(run, names[AT_ONCE:]))

    def note(
        self, flow_id: str, event: str, data: Mapping[str, Any], actor: str, cause: str
    ) -> None:
        """Journal a command so that it survives a restart; a failed write is repeated later."""
        self.until_recorded(f'{event} of {flow_id}', lambda: self.recorder.note(
            flow_id, event, data, actor=actor, cause=cause))

    def fire(self, flow_id: str, action_id: str, event: str, **data: Any) -> Action:
        """Fire an event of an action from outside; raises TransitionNotAllowed."""
        run = self.runs[flow_id]
        runner = run.runners[action_id]
        if run.ended or event not in FROM_OUTSIDE:
            raise TransitionNotAllowed(
                event, runner.action.state.value, (),
                'the flow has ended' if run.ended else 'it can not be sent from outside')
        if event == 'verified' and runner.action.sensors_said != 'confirmed':
            raise TransitionNotAllowed(event, runner.action.state.value, (),
                                       'the sensors have not confirmed it')
        if event == 'cancel':
            actor, cause = str(data.get('actor', '')), str(data.get('cause', 'canceled'))
            self.note(flow_id, 'cancel_action', {'action': action_id}, actor, cause)
            self.starter.withdraw(run, action_id)
            runner.cancel(actor, cause)
        else:
            if 'parameters' in data:  # raises here, not when the action starts
                run.flow.render(
                    action_id, {**runner.action.parameters, **data['parameters']},
                    runner.action.fields)
            runner.fire(event, **data)
        return runner.action

    def clear_locks(
        self, names: Sequence[str], actor: str, reason: str, order: str = ''
    ) -> list[str]:
        """
        Unlock resources, and journal it with the actor; returns those that were locked.

        `order`: the open order of `clear_stop` that this completes.
        """
        chosen = [name for name in names if name in self.resources.locked]
        self.recorder.unlock(chosen, actor, reason, order)
        self.starter.scheduler.unlock(chosen)
        for flow_id, _ in self.starter.scheduler.waiting_for(chosen):
            self.flow_changed(self.runs[flow_id])
        self.dispatch()
        return chosen

    # Restart and shutdown

    def restore(self) -> list[FlowRun]:
        """Restore the open flows from the journal and resume them."""
        return restore_flows(self)

    def halt(self, halted: Callable[[], None]) -> None:
        """Stop all motions and keep all states, before the process ends; then call `halted`."""
        self.starter.halted = True
        runners = [runner for run in self.runs.values() if not run.ended
                   for runner in run.runners.made()]
        open_count = len(runners)
        if not runners:
            halted()
            return

        def one_halted() -> None:
            nonlocal open_count
            open_count -= 1
            if open_count == 0:
                halted()

        for runner in runners:
            runner.halt(one_halted)

    def forget(self, flow_id: str) -> None:
        """Drop an ended flow from memory; the journal keeps it."""
        if self.runs[flow_id].ended:
            del self.runs[flow_id]
