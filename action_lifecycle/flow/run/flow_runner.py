# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Runs flows through the states of `constellation_states`.

It is single-threaded, as the runners of the actions are; all flows share the resources. Each
change is journaled before it takes effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
import logging
from typing import Any

from .constellation_states import ConstellationAgentStateManager
from .dispatcher import Dispatcher
from .flow_hooks import Extension
from .flow_run import FlowRun
from .recorder import JournalRecorder
from .start_inputs import fetch_seen
from .summary import summary_of, why_failed
from ..files.alternatives import Alternatives, no_recipes, Recipes
from ..files.flow import LoadedFlow
from ...graphs.graph import Graph
from ...lifecycle.action import Action
from ...lifecycle.ports import LifecycleClock, Operator, Verifier, WorkHost, World
from ...lifecycle.running.runner import ActionRunner
from ...lifecycle.states import ErrorCode

_STATES = ConstellationAgentStateManager()


@dataclass(eq=False, repr=False)
class FlowRunner:
    """
    Runs the flows of one robot; `runs`: flows by id, `extensions`: called in this order.

    `begin` claims the resources of a flow's ready actions; the `dispatcher` starts those whose
    resources are free. Ended actions are collected; `advance` handles the flow's state, which
    merges them and starts the actions that become ready, until none is left.

    `flow_changed(run)` is called after each change of a flow or of one of its actions.
    """

    graph: Graph
    recorder: JournalRecorder
    world: World
    clock: LifecycleClock
    operator: Operator
    verifier: Verifier
    flow_changed: Callable[[FlowRun], None]
    host: WorkHost | None = None  #: does the work that the bridge does not do

    def __post_init__(self) -> None:
        self.runs: dict[str, FlowRun] = {}
        self.extensions: list[Extension] = []
        self.recipes: Recipes = no_recipes
        self.folders: Sequence[str] | None = None  #: of nested flows; see `Sources`
        self.log = logging.getLogger('action_lifecycle')
        self.dispatcher = Dispatcher(
            self.runs, self.extensions, self.recorder, self.world, self.clock)
        self.resources = self.dispatcher.resources
        self._advancing: set[str] = set()

    def new_run(
        self, flow: LoadedFlow, flow_id: str, priority: int, recipe: str,
        origin: Mapping[str, Any] | None, parent: FlowRun | None = None,
    ) -> FlowRun:
        """Return a new run in START; it is not added to `runs`. `parent`: its outer flow."""
        return FlowRun(flow_id, flow, priority, self._runner, self.recorder.flow_changed,
                       recipe=recipe, origin=origin, parent=parent,
                       publish=self.recorder.flow_published)

    def _runner(self, run: FlowRun, name: str) -> ActionRunner:
        action = Action(run.flow_id, name, run.flow.actions[name], self.graph, self.recorder)
        return ActionRunner(
            action, self.world, self.clock, self.operator, self.verifier,
            Alternatives(run.flow, action, lambda *names: self.recipes(*names)),
            lambda runner: self._ended(run, runner), recipe=bool(run.recipe),
            fetch=partial(fetch_seen, self.world, run) if run.flow.late[name] else None,
            host=self.host, progressed=partial(self._progressed, run, name),
            paused=lambda: run.paused)

    def open(self, run: FlowRun) -> None:  # noqa: A003
        """Add a flow to the scheduler and the extensions; starts no action yet."""
        self.dispatcher.scheduler.limit(
            run.flow_id, run.flow.max_motions, None if run.parent is None
            else (run.parent.flow_id, run.origin['action']))
        for extension in self.extensions:
            extension.began(run)

    def begin(self, run: FlowRun) -> None:
        """
        Claim the resources of a flow's ready actions.

        After a restart, first resume the actions that had started.
        """
        for name in run.flow.actions:
            self.dispatcher.watch_deadline(run, name)
        for extension in self.extensions:
            extension.completed(run, [])
        self.dispatcher.follow_up(run, run.dependencies.ready(), [])

    def handle(self, run: FlowRun) -> None:
        """Call the handler of the flow's state, which sets the flow's status."""
        _STATES.handle(run, self.dispatcher)

    def advance(self, run: FlowRun) -> None:
        """Handle the current state of a flow and enter the next one."""
        self._advancing.discard(run.flow_id)
        if run.ended or run.left:
            return
        self.handle(run)
        if run.status in ('FINISH', 'FAIL'):
            if run.parent is not None or self.recorder.ends_are_safe:
                self._finish(run)
            else:
                self.recorder.when_ends_are_safe(lambda: self.advance(run))
        elif run.status != run.state and self.recorder.until_recorded(
                f'{run.status} of flow {run.flow_id}', lambda: run.machine.fire(run.status),
                lambda: self.advance(run)):
            self.advance_soon(run)  # for actions that have ended in the meantime
        self.flow_changed(run)
        self.dispatcher.dispatch()

    def advance_soon(self, run: FlowRun) -> None:
        """Advance the flow in a later callback, so that simultaneous ends form one batch."""
        if run.flow_id not in self._advancing:
            self._advancing.add(run.flow_id)
            self.recorder.call_soon(lambda: self.advance(run))

    def _finish(self, run: FlowRun) -> None:
        summary = summary_of(run, self.clock.now())
        if run.status == 'FAIL':
            run.error_code, run.error_msg = why_failed(run)
        if self.recorder.until_recorded(
                f'the end of flow {run.flow_id}',
                lambda: run.machine.fire(run.status, **summary, error_code=run.error_code.name,
                                         cause=run.error_msg, final=run.parent is None),
                lambda: self.advance(run)):
            run.summary = summary
            self.dispatcher.scheduler.forget(run.flow_id)
            self.dispatcher.tell_extensions('flow_ended', run)

    def _progressed(self, run: FlowRun, name: str) -> None:
        self.dispatcher.waits.compare(run, name)
        self.flow_changed(run)

    def _ended(self, run: FlowRun, runner: ActionRunner) -> None:
        action = runner.action
        held = self.dispatcher.ended(run, action.action_id)
        if action.error_code is ErrorCode.STOP_UNCONFIRMED or action.unstopped:
            self.resources.lock_all(dict.fromkeys(
                held, f'{run.flow_id}/{action.action_id} was not seen to stop'))
            for key in self.dispatcher.scheduler.waiting_for(held):
                self.dispatcher.waits.claimed(self.runs[key[0]], key[1])
                self.flow_changed(self.runs[key[0]])
        if self.runs_again(run, runner):
            self.dispatcher.dispatch()
            return
        run.completions.append(runner)
        self.advance_soon(run)

    def runs_again(self, run: FlowRun, runner: ActionRunner) -> bool:
        """Return whether an extension assigns an ended action again, or decides it later."""
        with self.dispatcher.guard(run):
            return not run.starts_nothing and any(
                extension.assign_again(run, runner) for extension in self.extensions)
        return False

    # Called by extensions

    def due(self, flow_id: str, action_id: str) -> None:
        """Start a ready action that an extension has delayed, if the others permit it."""
        run = self.runs[flow_id]
        if not run.ended and run.dependencies.is_ready(action_id):
            with self.dispatcher.guard(run):
                self.dispatcher.claim(run, [action_id])
            self.dispatcher.dispatch()

    def assigned(self, run: FlowRun, action_id: str) -> None:
        """Start an action that was assigned again, or end it if that is ordered."""
        if run.starts_nothing:
            self.dispatcher.end_waiting(run)
            return
        left = self.dispatcher.time_left(run, action_id)
        if action_id in run.canceled_actions:
            self.dispatcher.end_canceled(run, action_id)
        elif left is not None and left <= 0:  # its deadline passed before this was recorded
            self.dispatcher.watch_deadline(run, action_id)
        else:
            self.due(run.flow_id, action_id)

    def release(self, run: FlowRun) -> None:
        """Start all ready actions of a flow that an extension has delayed; skip the held ones."""
        with self.dispatcher.guard(run):
            self.dispatcher.follow_up(run, run.dependencies.ready(), [])
        self.advance_soon(run)
