# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The state of a running flow: its actions, dependencies and history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
import datetime
import heapq
from typing import Any, NamedTuple

from .flow_control import FlowControl
from .runners import Runners
from ..files.edit import StagedEdit
from ..files.flow import LoadedFlow
from ..scheduling.dag import topological_order
from ..scheduling.scheduler import Dependencies
from ...documents.errors import LifecycleError
from ...graphs.machine import Change, Machine
from ...graphs.packaged import packaged_graph
from ...lifecycle.action import Action
from ...lifecycle.running.runner import ActionRunner
from ...lifecycle.states import ActionOutcome, ActionState, ErrorCode

HISTORY_LIMIT = 1000
SHOWN = 200
"""Maximum number of actions of a flow in messages."""
JOBS_STAGE, RECIPE_STAGE = 'scheduled_jobs_creation', 'flow_recipe_creation'
"""The stage while the actions run, and while the recipe of a verified run is written."""

HELD = 'stopped: the flow is held'
"""Begins what an action waits for that was stopped by a pause with `hold`."""


class Ending(NamedTuple):
    """The order of an edit to end a flow; `verb`: finish or fail."""

    verb: str
    reason: str
    author: str


class FlowRun:
    """
    A flow that runs or has ended.

    `state`: START, CONTINUE, FINISH or FAIL of config/graphs/constellation.yaml; `status`: the
    next state. `stage`: a state of config/graphs/flow.yaml. `done`: number of ended actions.

    `commit(run, change)` journals a change of the state or the stage before it takes effect,
    `publish(run, change)` publishes it afterwards.
    """

    def __init__(
        self, flow_id: str, flow: LoadedFlow, priority: int,
        make_runner: Callable[[FlowRun, str], ActionRunner],
        commit: Callable[[FlowRun, Any], None], *, recipe: str = '',
        origin: Mapping[str, Any] | None = None, parent: FlowRun | None = None,
        publish: Callable[[FlowRun, Any], None] = lambda run, change: None,
    ) -> None:
        self.flow_id = flow_id
        self.parent = parent  #: the flow whose action this flow is
        self.flow = flow
        self.priority = priority
        self.recipe = recipe  #: name under which to save a verified run
        self.origin = dict(origin or {})  #: its source: `kind` and fields by kind
        self.lent: dict[str, str] = {} if parent is None else parent.lends(
            self.origin['action'])  #: resources held by outer actions, with their names in here
        self.edits: list[dict[str, Any]] = []  #: `seq`, `author` and `names` of each edit
        self._commit = commit
        self._publish = publish
        self.machine = Machine(packaged_graph('constellation'), name=flow_id,
                               commit=lambda change: commit(self, change),
                               publish=lambda change: publish(self, change))
        self.status = self.machine.state
        self.new_stages: list[str] = []  #: entered in START, journaled with its end
        self.reset_stages()
        if self._is_sorted:
            self.stages.restore(JOBS_STAGE)
        self.history: list[dict[str, Any]] = []
        self.dependencies = Dependencies({})
        self.runners = Runners(flow, lambda name: make_runner(self, name))
        self.completions: list[ActionRunner] = []  #: ended actions that are not processed yet
        self.at_work: set[str] = set()
        self.ready_at: dict[str, float] = {}  #: ROS time (s) at which an action became ready
        self.asked: list[str] = []  #: ended actions to report to the planner
        self.told: set[str] = set()  #: ended actions that need not be reported
        self.planning = ''  #: what the planner is asked; '' if it is not
        self.outcomes: Counter[str] = Counter()
        self.control = FlowControl()
        self.canceled_by: tuple[str, str] | None = None
        self.canceled_actions: dict[str, tuple[str, str]] = {}
        #: actor and reason of the cancels of actions whose end is not processed yet
        self.replaced: dict[str, str] = {}  #: the replacement of each replaced action
        self.ending: Ending | None = None
        self.repeated: set[str] = set()  #: actions that have ended and do not run again
        self.broken = ''  #: why the flow can't continue
        self.left = False  #: the process ends, or it is set aside: it changes no more here
        self.started_at = 0.0
        self.summary: dict[str, Any] = {}
        self.notes: dict[str, Any] = {}  #: additions to the summary by extensions
        self.error_code = ErrorCode.NONE
        self.error_msg = ''

    def lends(self, action_id: str) -> dict[str, str]:
        """Return the resources that the flow of an action may use, with their names in there."""
        own = self.flow.actions[action_id].resources
        return {**self.lent, **{name: f'{name}@{self.flow_id}/{action_id}' for name in own}}

    def needs(self, action_id: str) -> frozenset[str]:
        """Return the resources of an action, by their names in this flow."""
        return frozenset(self.lent.get(name, name)
                         for name in self.flow.actions[action_id].resources)

    @property
    def lineage(self) -> Iterator[FlowRun]:
        """Yield the flow and those that it nests in, the outermost last."""
        run: FlowRun | None = self
        while run is not None:
            yield run
            run = run.parent

    @property
    def root(self) -> FlowRun:
        """Return the outermost flow."""
        return self if self.parent is None else self.parent.root

    @property
    def paused(self) -> bool:
        """Return whether the flow, or one that it nests in, is paused."""
        return any(run.control.paused for run in self.lineage)

    @property
    def paused_by(self) -> str:
        """Return who has paused the flow, or one that it nests in; '' if nobody."""
        return next((run.control.paused_by for run in self.lineage if run.control.paused), '')

    @property
    def hold(self) -> bool:
        """Return whether a pause also stops what moves."""
        return any(run.control.hold for run in self.lineage)

    @property
    def state(self) -> str:
        """Return START, CONTINUE, FINISH or FAIL."""
        return self.machine.state

    @property
    def stage(self) -> str:
        """Return the state of config/graphs/flow.yaml, such as topological_sort."""
        return self.stages.state

    @property
    def _is_sorted(self) -> bool:
        """Return whether the flow comes from a recipe, made of a flow that was sorted."""
        return self.origin.get('kind') == 'recipe' and not self.edits

    @property
    def ended(self) -> bool:
        """Return whether the flow is in a final state."""
        return self.machine.graph.states[self.machine.state].final

    @property
    def done(self) -> int:
        """Return the number of ended actions."""
        return sum(self.outcomes.values())

    @property
    def all_ended(self) -> bool:
        """Return whether all actions have ended and are processed."""
        return self.done == len(self.runners) and not self.completions

    @property
    def starts_nothing(self) -> bool:
        """Return whether no more action starts: the flow is canceled, or an edit ends it."""
        return self.canceled_by is not None or self.ending is not None

    @property
    def waived(self) -> list[str]:
        """Return the ended actions that people have skipped; their dependents go on."""
        return [name for name in self.control.skipped if name in self.runners
                and self.runners[name].action.outcome is ActionOutcome.SKIPPED]

    def tally(self) -> Counter[str]:
        """Return the numbers of actions by outcome, without the replaced ones."""
        return self.outcomes - Counter(
            self.dependencies.outcomes[name].value for name in self.replaced)

    def is_good(self) -> bool:
        """Return whether a flow whose actions have all ended has succeeded."""
        if self.broken or self.ending is not None and self.ending.verb == 'fail':
            return False
        tally = self.tally()
        skipped = tally['skipped'] if self.ending is not None else sum(
            name not in self.replaced for name in self.waived)
        return tally['succeeded'] + skipped == len(self.runners) - len(self.replaced)

    def stand_in(self, name: str) -> str:
        """Return the replacement of an action, its replacement, and so on; else its name."""
        while name in self.replaced:
            name = self.replaced[name]
        return name

    def result_of(self, name: str) -> Action:
        """Return the action whose result counts as that of `name`: its last ended replacement."""
        while self.dependencies.outcomes.get(self.replaced.get(name, '')) is not None:
            name = self.replaced[name]
        return self.runners[name].action

    @property
    def actions(self) -> list[Action]:
        """Return the actions in topological order."""
        return [self.runners[name].action for name in self.dependencies.dag.order()]

    def progress(self, name: str) -> str:
        """Return waiting, at_work or ended; also ended if only the row of its end is missing."""
        if name in self.at_work:
            return 'at_work'
        runner = self.runners.one_made(name)
        if runner is not None and runner.action.state is not ActionState.ASSIGNED:
            return 'ended' if runner.action.state is ActionState.TERMINATED else 'at_work'
        never = self.dependencies.is_doomed(name) or (runner is not None and runner.repeating)
        return 'ended' if never else 'waiting'

    def is_over(self, name: str) -> bool:
        """Return whether an action has ended for good: it runs again only if a person says so."""
        return name in self.dependencies.outcomes or any(
            runner.action.action_id == name for runner in self.completions)

    def blocked_by(self, name: str) -> str:
        """Return the order of a person that an action waits for; '' if none."""
        if self.ended or name not in self.runners:
            return ''
        runner = self.runners.one_made(name)
        by = f'by {self.paused_by}'
        if runner is None or runner.action.state is ActionState.ASSIGNED:
            if self.progress(name) != 'waiting' or not self.dependencies.is_ready(name):
                return ''
            if name in self.control.breakpoints:
                return f'breakpoint, set by {self.control.breakpoints[name]}'
            return f'the flow is paused {by}' if self.paused else ''
        held = runner.held
        if held == 'stopping':
            return f'is being stopped: the flow is held {by}'
        if held == 'stopped':
            return f'{HELD} {by}'
        return f'the flow is paused {by}' if held else ''

    def schedule(self) -> None:
        """Check and sort the dependencies; raises `LifecycleError` or `CycleError`."""
        actions = self.flow.actions
        after = {name: spec.after for name, spec in actions.items()}
        if self.edits:  # an ended action may depend on an action that an edit has removed
            after = {name: {needed: kind for needed, kind in needs.items() if needed in actions}
                     for name, needs in after.items()}
        if self.stage == 'dependency_analysis':
            for name, needs in after.items():
                for needed in needs:
                    if needed not in actions:
                        raise LifecycleError(
                            f"action '{name}' waits for '{needed}', which the flow does not have")
            self.stages.fire('analysed')
        if not self._is_sorted:
            after = {name: after[name] for name in topological_order(after)}
        if self.stage == 'topological_sort':
            self.stages.fire('sorted')
        if not self.dependencies.dag.after:
            self.dependencies = Dependencies(after, hold=self.flow.steering)

    def apply_edit(self, staged: StagedEdit, seq: int, author: str) -> None:
        """Apply an edit that is journaled in row `seq`."""
        self.flow.apply(staged.flow, staged.changes)
        for name in staged.changes:
            self.runners.renew(name)
        removed = [name for name, source in staged.changes.items() if source is None]
        self.control.removed(removed)
        for name in removed:
            self.canceled_actions.pop(name, None)
        self.edits.append({'seq': seq, 'author': author, 'names': sorted(staged.changes)})
        self.replaced = {old: new for old, new in self.replaced.items()
                         if new not in staged.changes}
        self.replaced.update({
            self.flow.actions[name].replaces: name for name, source in staged.changes.items()
            if source is not None and self.flow.actions[name].replaces})
        if staged.end is not None:
            self.ending = Ending(*staged.end, author)

    def reset_stages(self) -> None:
        """Return to the first stage."""
        self.new_stages.clear()
        self.stages = Machine(
            packaged_graph('flow'), name=f'{self.flow_id} stage', commit=self._stage_changed,
            publish=self._stage_published)

    def _stage_changed(self, change: Change) -> None:
        if self.state == 'START':
            self.new_stages.append(change.target)
        else:
            self._commit(self, change)

    def _stage_published(self, change: Change) -> None:
        if self.state != 'START':
            self._publish(self, change)

    def restore(self, state: str, stage: str = '') -> None:
        """Set the state and the stage from the journal; '': the stage has not changed."""
        self.machine.restore(state)
        self.status = state
        if stage:
            self.stages.restore(stage)

    def entered(self, state: str, time: float) -> None:
        """Record in the history that a state was entered; `time` in s since 1970."""
        self.history.append({
            'step': self.history[-1]['step'] + 1 if self.history else 1, 'state': state,
            'timestamp': datetime.datetime.fromtimestamp(
                time, datetime.timezone.utc).isoformat(timespec='milliseconds'),
            'constellation_id': self.flow_id})
        del self.history[:-HISTORY_LIMIT]

    def shown(self) -> list[Action]:
        """Return the actions for messages: all, or the `SHOWN` that changed last."""
        if len(self.runners) <= SHOWN:
            return self.actions
        made = (runner.action for runner in self.runners.made())
        return heapq.nlargest(SHOWN, made, key=lambda action: (
            action.state is not ActionState.TERMINATED, action.seq))

    def counts(self) -> Counter[str]:
        """Return the numbers of actions `done`, `running`, and by outcome."""
        return Counter({**self.outcomes, 'done': self.done, 'running': len(self.at_work)})

    def constellation_state(self) -> str:
        """Return created, ready, executing, completed, failed, partially_failed or cancelled."""
        if not self.ended:
            if self.state == 'START':
                return 'created'
            return 'executing' if self.at_work or self.outcomes else 'ready'
        if self.state == 'FINISH':
            return 'completed'
        if self.tally()['canceled']:
            return 'cancelled'
        return 'partially_failed' if self.outcomes['succeeded'] else 'failed'
