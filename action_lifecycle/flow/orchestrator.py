# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
Runs flows: starts each action when it may, takes in how it ended, and goes on after a restart.

Single-threaded like the runners it drives; several flows share the resources.
"""

from __future__ import annotations

import itertools
import json
import logging
import re
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from ..engine import Graph, LifecycleError, TransitionNotAllowed
from ..ledger import Row
from ..lifecycle.action import ATTEMPT_EVENTS, Action
from ..lifecycle.ports import Clock, Operator, Verifier, World
from ..lifecycle.runner import ActionRunner
from ..lifecycle.states import ActionState, ErrorCode, Outcome
from .extensions import Extension
from .loading import Flow, parse_flow
from .recorder import JournalRecorder
from .scheduler import Claim, Dependencies, Resources

_FLOW_ID = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z')

FROM_OUTSIDE = frozenset({
    'cancel', 'verified', 'postpone', 'ask_again', 'resume', 'retry', 'request_fallback',
    'receive_fallback', 'apply_fallback', 'repeat_motion', 'terminate'})
"""Events that people and other nodes may fire; the rest belongs to the scheduler and the world."""

START_AGAIN = 1.0
"""Seconds until what the journal refused is tried again."""


class FlowRun:
    """A flow that runs or has ended. `state`: START, CONTINUE, FINISH or FAIL."""

    def __init__(
        self, flow_id: str, flow: Flow, priority: int, *, recipe: str = '',
        origin: Mapping[str, Any] | None = None,
    ) -> None:
        self.flow_id = flow_id
        self.flow = flow
        self.priority = priority
        self.recipe = recipe  #: name of the recipe that a verified run leaves
        self.origin = dict(origin or {})  #: where it comes from: `kind`, and what that kind notes
        self.state = 'START'
        self.dependencies = Dependencies({
            name: spec.after for name, spec in flow.actions.items()})
        self.runners: dict[str, ActionRunner] = {}
        self.at_work: set[str] = set()
        self.done = 0
        self.canceled_by: tuple[str, str] | None = None
        self.canceled_actions: dict[str, tuple[str, str]] = {}
        self.started_at = 0.0
        self.summary: dict[str, Any] = {}
        self.notes: dict[str, Any] = {}  #: what extensions add to the summary
        self.error_code = ErrorCode.NONE
        self.error_msg = ''

    @property
    def actions(self) -> list[Action]:
        """Return the actions in topological order."""
        return [self.runners[name].action for name in self.flow.actions]

    @property
    def ended(self) -> bool:
        """Whether nothing will happen any more."""
        return self.state in ('FINISH', 'FAIL')

    def counts(self) -> Counter[str]:
        """Return how many actions are `done`, `running`, and ended with each outcome."""
        counts: Counter[str] = Counter()
        for action in self.actions:
            if action.outcome is not None and action.state is ActionState.TERMINATED:
                counts['done'] += 1
                counts[action.outcome.value] += 1
            elif action.state is not ActionState.ASSIGNED:
                counts['running'] += 1
        return counts

    def constellation_state(self) -> str:
        """Return created, executing, completed, failed, partially_failed or cancelled."""
        if not self.ended:
            return 'executing' if self.state == 'CONTINUE' else 'created'
        counts = self.counts()
        if counts['canceled']:
            return 'cancelled'
        if counts['failed'] or counts['skipped']:
            return 'partially_failed' if counts['succeeded'] else 'failed'
        return 'completed'


class Orchestrator:
    """
    Hosts the flows of one robot.

    `flow_changed(run)` is called after each change of a flow or of one of its actions; `ended`
    flows stay in `runs` until `forget`.
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
        self.resources = Resources()
        self.log = logging.getLogger('action_lifecycle')
        self._claims: dict[tuple[str, str], Claim] = {}
        self._arrival = itertools.count()
        self._dispatching = False
        self._wanted = False

    def new_id(self, flow: Flow, wanted: str = '') -> str:
        """Return an id for a flow; `LifecycleError` if the wanted one can't be used."""
        flow_id = wanted or f'{flow.name}-{uuid.uuid4().hex[:8]}'
        if not _FLOW_ID.match(flow_id):
            raise LifecycleError(f'flow_id {flow_id!r}: expected up to 128 letters, digits, '
                                 '_, - and .')
        if next(self.recorder.journal.rows(flow_id=flow_id, limit=1), None) is not None:
            raise LifecycleError(f"flow_id '{flow_id}' is in the journal already")
        return flow_id

    def submit(
        self, flow: Flow, flow_id: str, *, priority: int = 0, actor: str = '',
        recipe: str = '', origin: Mapping[str, Any] | None = None,
    ) -> FlowRun:
        """Journal a flow and begin with it; when the journal refuses, nothing has started."""
        run = FlowRun(flow_id, flow, priority, recipe=recipe, origin=origin)
        run.started_at = self.clock.now()
        self.recorder.accepted(flow_id, {
            'name': flow.name, 'text': flow.text, 'file': flow.document.name,
            'parameters': flow.parameters, 'priority': priority, 'recipe': recipe,
            'origin': run.origin}, list(flow.actions), actor)
        self._add(run)
        run.state = 'CONTINUE'
        for extension in self.extensions:
            extension.began(run)
        self._claim(run, run.dependencies.ready())
        self.flow_changed(run)
        self.dispatch()
        return run

    def _add(self, run: FlowRun) -> None:
        self.runs[run.flow_id] = run
        for action_id, spec in run.flow.actions.items():
            action = Action(run.flow_id, action_id, spec, self.graph, self.recorder)
            run.runners[action_id] = ActionRunner(
                action, self.world, self.clock, self.operator, self.verifier,
                lambda parameters, action_id=action_id:  # type: ignore[misc]
                run.flow.render(action_id, parameters),
                lambda runner: self._ended(run, runner), recipe=bool(run.recipe))

    def due(self, flow_id: str, action_id: str) -> None:
        """Let a ready action start that an extension has kept from it."""
        run = self.runs[flow_id]
        self._claim_now(run, action_id)
        self.dispatch()

    def proceed(self, flow_id: str) -> None:
        """End a flow that an extension has held, if nothing else keeps it from its end."""
        run = self.runs[flow_id]
        if not run.ended and run.done == len(run.runners):
            self._finish(run)

    def _claim(self, run: FlowRun, names: list[str]) -> None:
        for name in names:
            if run.runners[name].action.state is not ActionState.ASSIGNED:
                continue  # read back from the journal, where it has started already
            if all(extension.may_start(run, name) for extension in self.extensions):
                self._claim_now(run, name)

    def _claim_now(self, run: FlowRun, name: str) -> None:
        spec = run.flow.actions[name]
        self._claims[run.flow_id, name] = Claim(
            (-run.priority, -spec.priority, next(self._arrival)), run.flow_id, name,
            frozenset(spec.resources))

    def dispatch(self) -> None:
        """Start every action that may start."""
        self._wanted = True
        if self._dispatching:
            return  # an action that starts may end at once, and ask again
        self._dispatching = True
        try:
            while self._wanted:
                self._wanted = False
                claim = self._next_claim()
                if claim is not None:
                    self._wanted = self._start(claim)
        finally:
            self._dispatching = False

    def _next_claim(self) -> Claim | None:
        for claim in self.resources.choose(self._claims.values()):
            run = self.runs[claim.flow_id]
            if len(run.at_work) < run.flow.max_motions:
                return claim
        return None

    def _start(self, claim: Claim) -> bool:
        key = claim.flow_id, claim.action_id
        run = self.runs[claim.flow_id]
        del self._claims[key]
        self.resources.take(claim)
        run.at_work.add(claim.action_id)
        try:
            run.runners[claim.action_id].start()
        except LifecycleError as error:
            self.log.error('%s/%s does not start, trying again in %.0f s: %s', *key,
                           START_AGAIN, error)
            self.resources.release(*key)
            run.at_work.discard(claim.action_id)
            self._claims[key] = claim
            self.clock.call_later(START_AGAIN, self.dispatch)
            return False
        return True

    def _ended(self, run: FlowRun, runner: ActionRunner) -> None:
        action = runner.action
        assert action.outcome is not None
        held = self.resources.release(run.flow_id, action.action_id)
        if action.error_code is ErrorCode.STOP_UNCONFIRMED:
            self.resources.lock_all(dict.fromkeys(
                held, f'{run.flow_id}/{action.action_id} was not seen to stop'))
        run.at_work.discard(action.action_id)
        self._claims.pop((run.flow_id, action.action_id), None)
        if run.canceled_by is None and any(
                extension.again(run, runner) for extension in self.extensions):
            self._claim(run, [action.action_id])
            self.dispatch()
            return
        run.done += 1
        ready, skipped = run.dependencies.ended(action.action_id, action.outcome)
        for name, blamed in skipped:
            run.runners[name].skip('scheduler', f"'{blamed}' {action.outcome.value}")
        if run.canceled_by is None:
            self._claim(run, ready)
        else:
            for name in ready:
                run.runners[name].cancel(*run.canceled_by)
        if not run.ended and run.done == len(run.runners):
            self._finish(run)
        else:
            self.flow_changed(run)
        self.dispatch()

    def _finish(self, run: FlowRun) -> None:
        if any(extension.holds(run) for extension in self.extensions):
            self.flow_changed(run)
            return
        try:
            self._record_end(run)
        except LifecycleError as error:
            self.log.error('the end of flow %s is not recorded, trying again in %.0f s: %s',
                           run.flow_id, START_AGAIN, error)
            self.clock.call_later(START_AGAIN, lambda: self._finish(run))
        else:
            for extension in self.extensions:
                extension.flow_ended(run)
            self.flow_changed(run)

    def _record_end(self, run: FlowRun) -> None:
        counts = run.counts()
        good = counts['succeeded'] == len(run.runners)
        target = 'FINISH' if good else 'FAIL'
        summary = {
            'total': len(run.runners), **{o.value: counts[o.value] for o in Outcome},
            'recovered': sum(action.attempt > 1 and action.outcome is Outcome.SUCCEEDED
                             for action in run.actions),
            'unverified': sum(action.outcome is Outcome.SUCCEEDED
                              and not (action.passed_completed and action.evidence)
                              for action in run.actions),
            'duration': self.clock.now() - run.started_at, **run.notes,
        }
        if not good:
            if counts['canceled']:
                run.error_code = ErrorCode.CANCELED
            else:
                run.error_code = ErrorCode.FLOW_PARTIALLY_FAILED if counts['succeeded'] \
                    else ErrorCode.FLOW_FAILED
            run.error_msg = '; '.join(
                f'{action.action_id}: {action.error_msg}' for action in run.actions
                if action.outcome in (Outcome.FAILED, Outcome.CANCELED) and action.error_msg
            ) or 'canceled'
        self.recorder.flow(run.flow_id, 'finished', run.state, target, {
            **summary, 'error_code': run.error_code.name}, cause=run.error_msg, final=True)
        run.summary = summary
        run.state = target

    def cancel(self, flow_id: str, actor: str, reason: str) -> None:
        """Cancel what runs and what has not started; the flow then ends as canceled."""
        run = self.runs[flow_id]
        if run.ended or run.canceled_by is not None:
            return
        run.canceled_by = actor, reason
        self._note(flow_id, 'cancel_flow', {}, actor, reason)
        for runner in reversed(list(run.runners.values())):
            runner.cancel(actor, reason)

    def _note(
        self, flow_id: str, event: str, data: Mapping[str, Any], actor: str, cause: str
    ) -> None:
        """Record what a person wants, for the next life of the process; stopping comes first."""
        try:
            self.recorder.note(flow_id, event, data, actor=actor, cause=cause)
        except LifecycleError as error:
            self.log.error('%s of %s is not recorded, trying again in %.0f s: %s',
                           event, flow_id, START_AGAIN, error)
            self.clock.call_later(
                START_AGAIN, lambda: self._note(flow_id, event, data, actor, cause))

    def fire(self, flow_id: str, action_id: str, event: str, **data: Any) -> Action:
        """Fire an event of an action from outside; `cancel` stops it and ends it."""
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
            self._note(flow_id, 'cancel_action', {'action': action_id}, actor, cause)
            runner.cancel(actor, cause)
        else:
            if 'parameters' in data:  # refused here, not when the action is started with them
                run.flow.render(
                    action_id, {**runner.action.parameters, **data['parameters']})
            runner.fire(event, **data)
        return runner.action

    def clear_locks(self, names: list[str], actor: str, reason: str) -> list[str]:
        """Unlock these resources, or all; journaled with who says so. Returns what was locked."""
        chosen = [name for name in (names or self.resources.locked)
                  if name in self.resources.locked]
        self.recorder.unlock(chosen, actor, reason)
        self.resources.unlock(chosen)
        self.dispatch()
        return chosen

    def restore(self) -> list[FlowRun]:
        """Read the open flows back from the journal and go on with them."""
        journal = self.recorder.journal
        restored: list[FlowRun] = []
        for last in journal.open_flows():
            try:
                restored.append(self._read_back(last.flow_id))
            except LifecycleError as error:
                self.log.error('flow %s can not be read back: %s', last.flow_id, error)
                self._lock_lost(last.flow_id)
        self.resources.lock_all({row.action_id: row.cause for row in journal.open_rows('lock')})
        self._dispatching = True  # nothing new starts before all that had started is known
        for run in restored:
            try:
                self._go_on(run)
            except LifecycleError as error:
                self.log.error('flow %s can not go on: %s', run.flow_id, error)
                self._lock_lost(run.flow_id)
        self._dispatching = False
        self.dispatch()
        return restored

    def _lock_lost(self, flow_id: str) -> None:
        """Lock what the open actions of a flow hold that nobody can go on with."""
        held: dict[str, list[str]] = {}
        for row in self.recorder.journal.rows(flow_id=flow_id, kind='transition'):
            if row.event == 'start':
                held[row.action_id] = row.data.get('resources', [])
            elif row.final:
                held.pop(row.action_id, None)
        self.resources.lock_all({
            name: f'{flow_id}/{action_id} can not be read back'
            for action_id, names in held.items() for name in names})

    def _read_back(self, flow_id: str) -> FlowRun:
        """Rebuild a flow by applying its rows in order."""
        journal = self.recorder.journal
        run: FlowRun | None = None
        for row in journal.rows(flow_id=flow_id):
            data: Mapping[str, Any] = row.data
            if row.kind == 'flow' and row.event == 'accepted':
                flow = parse_flow(data['text'], data['file'], data['parameters'])
                run = FlowRun(flow_id, flow, int(data['priority']),
                              recipe=data.get('recipe', ''), origin=data.get('origin'))
                run.started_at = row.ros_time or 0.0
                self._add(run)
                continue
            if run is None:
                raise LifecycleError(f'row {row.seq} speaks of a flow that was never accepted')
            if row.kind == 'flow':
                run.state = row.to_state
            elif row.kind == 'transition':
                self._apply(run, row, data)
            elif row.event == 'cancel_flow':
                run.canceled_by = row.actor, row.cause
            elif row.event == 'cancel_action':
                run.canceled_actions[data['action']] = row.actor, row.cause
        assert run is not None
        return run

    @staticmethod
    def _apply(run: FlowRun, row: Row, data: Mapping[str, Any]) -> None:
        action = run.runners[row.action_id].action
        action.apply(row.event, row.to_state, data)
        action.restore(row.to_state)
        action.dated(row.seq, row.ros_time or 0.0)

    def _go_on(self, run: FlowRun) -> None:
        journal = self.recorder.journal
        last: dict[str, Row] = {}
        began: dict[str, Row] = {}
        for row in journal.rows(flow_id=run.flow_id, kind='transition'):
            last[row.action_id] = row
            if row.event in ATTEMPT_EVENTS:
                began[row.action_id] = row
        started = [runner for runner in run.runners.values()
                   if runner.action.state is not ActionState.ASSIGNED]
        for runner in started:
            action = runner.action
            if action.state is not ActionState.TERMINATED:
                run.at_work.add(action.action_id)
                self.resources.take(Claim(
                    (0, 0, 0), run.flow_id, action.action_id, frozenset(action.spec.resources)))
        for extension in self.extensions:
            extension.began(run)
        self._claim(run, run.dependencies.ready())
        for runner in started:
            if runner.action.state is ActionState.TERMINATED:
                self._ended(run, runner)
            else:
                row = last[runner.action.action_id]
                runner.resume(journal.elapsed_since(row), journal.elapsed_since(
                    began.get(runner.action.action_id, row)))
        for name, (actor, reason) in run.canceled_actions.items():
            run.runners[name].cancel(actor, reason)
        if run.canceled_by is not None:
            for runner in run.runners.values():
                runner.cancel(*run.canceled_by)

    def halt(self, halted: Callable[[], None]) -> None:
        """Stop all motions and leave every state as it is; the process is about to end."""
        self._dispatching = True
        runners = [runner for run in self.runs.values() if not run.ended
                   for runner in run.runners.values()]
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


def summary_json(run: FlowRun) -> str:
    """Return the summary of an ended flow as JSON."""
    return json.dumps(run.summary, sort_keys=True)
