# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The flows of a robot: commands, edits, restart and shutdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import re
from typing import Any
import uuid

from .control.orders import Control
from .edits.editing import Editor
from .files.flow import LoadedFlow
from .planning.steering import Steering
from .restart.restore import restore_flows
from .run.flow_run import FlowRun
from .run.flow_runner import FlowRunner
from .run.nested import NestedFlows
from .run.repeats import Repeats
from .run.summary import why_failed
from ..documents.errors import LifecycleError, TransitionNotAllowed
from ..lifecycle.action import Action
from ..lifecycle.ports import WorkRequest
from ..lifecycle.states import blocked_text

_FLOW_ID = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z')

FROM_OUTSIDE = (
    'cancel', 'verified', 'postpone', 'ask_again', 'resume', 'retry', 'request_fallback',
    'receive_fallback', 'apply_fallback', 'repeat_motion', 'request_recipe', 'terminate')
"""Events that users and other nodes may fire; others are fired by the scheduler and the world."""

BEGINNING = ('resume', 'retry', 'apply_fallback', 'repeat_motion')
"""Those that begin an attempt or a motion; refused while the flow is paused."""


class FlowKnown(LifecycleError):
    """A flow has the id already; it may have ended."""


class Orchestrator(FlowRunner):
    """
    Runs the flows of one robot and accepts commands.

    `submit` journals a flow and starts it; `cancel`, `fire`, `edit`, `control` and `clear_locks`
    change running flows; `restore` resumes flows after a restart. Ended flows stay in `runs` until
    `forget`.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.editor = Editor(self)
        self.stage, self.edit, self.propose = \
            self.editor.stage, self.editor.edit, self.editor.propose
        self.steering = Steering(self, self.editor)
        self.control = Control(self)
        self.nested = NestedFlows(self, self._submit_nested, self.cancel)
        self.extensions += [self.control, self.steering, self.nested, Repeats(self)]
        self.host = self.nested.host(self.host)

    def blocked_for(self, action: Action) -> str:
        """Return the reason (see ActionStatus) why an action that is not ended waits."""
        waits = self.dispatcher.waits.reason(self.runs[action.flow_id], action.action_id)
        return blocked_text(waits) or action.reason_of_state

    def locked_for(self, action: Action) -> str:
        """Return the locked resources that an action waits for, with reasons; '' if none."""
        return self.dispatcher.scheduler.locked_for(action.flow_id, action.action_id)

    def new_id(self, stem: str, wanted: str = '') -> str:
        """
        Return `wanted` or a new id from `stem`.

        Raises `FlowKnown` if the journal has `wanted`, else `LifecycleError` if it is bad.
        """
        flow_id = wanted or f'{stem}-{uuid.uuid4().hex[:8]}'
        if not _FLOW_ID.match(flow_id):
            raise LifecycleError(f'flow_id {flow_id!r}: expected up to 128 letters, digits, '
                                 '_, - and .')
        if next(self.recorder.journal.rows(flow_id=flow_id, limit=1), None) is not None:
            raise FlowKnown(f"a flow with the id '{flow_id}' is in the journal already")
        return flow_id

    def submit(
        self, flow: LoadedFlow, flow_id: str, *, priority: int = 0, actor: str = '',
        recipe: str = '', origin: Mapping[str, Any] | None = None,
        parent: FlowRun | None = None,
    ) -> FlowRun:
        """
        Journal a flow and start it; if it raises JournalError, nothing was started.

        It does so, too, if the journal has no room for what the flow does.
        A flow that can't be started, for whatever error, ends in FAIL. `parent`: the flow whose
        action it is; see `NestedFlows`.
        """
        if parent is None:
            self.recorder.journal.check_room()
        run = self.new_run(flow.copy(), flow_id, priority, recipe, origin, parent)
        run.started_at = self.clock.now()
        self.handle(run)
        why = {'error_code': run.error_code.name} if run.broken else {}
        run.machine.fire(
            run.status, actor=actor, final=run.broken != '' and parent is None, cause=run.broken,
            **why, flow={
                'name': flow.name, 'text': flow.text, 'file': flow.document.name,
                'parameters': {} if flow.is_loop else flow.parameters, 'priority': priority,
                'recipe': recipe, 'origin': run.origin, 'nested': flow.nested_sources()})
        self.runs[flow_id] = run
        if run.ended:
            run.error_code, run.error_msg = why_failed(run)
            self.dispatcher.tell_extensions('flow_ended', run)
            self.flow_changed(run)
            return run
        with self.dispatcher.guard(run):
            self.open(run)
            self.begin(run)
        self.flow_changed(run)
        self.dispatcher.dispatch()
        return run

    def _submit_nested(
        self, flow: LoadedFlow, flow_id: str, outer: FlowRun, request: WorkRequest
    ) -> FlowRun:
        return self.submit(
            flow, flow_id, priority=outer.priority, actor='flow', parent=outer, origin={
                'kind': 'nested', 'flow': outer.flow_id, 'action': request.action_id,
                'request': request.id, **({'loop': True} if flow.is_loop else {})})

    def cancel(self, flow_id: str, actor: str, reason: str) -> None:
        """Cancel all actions of a flow that have not ended; the flow then ends as canceled."""
        self.dispatcher.cancel(self.runs[flow_id], actor, reason)

    def fire(self, flow_id: str, action_id: str, event: str, **data: Any) -> Action:
        """Fire one of the user's events of an action; raises TransitionNotAllowed."""
        run = self.runs[flow_id]
        runner = run.runners[action_id]
        if run.ended or event not in FROM_OUTSIDE:
            raise TransitionNotAllowed(
                event, runner.action.state.value, (),
                'the flow has ended' if run.ended else 'it can not be sent from outside')
        if event == 'verified' and runner.action.spec.confirm \
                and runner.action.sensors_said != 'confirmed':
            raise TransitionNotAllowed(event, runner.action.state.value, (),
                                       'the sensors have not confirmed it')
        if event in BEGINNING and run.paused:
            raise TransitionNotAllowed(event, runner.action.state.value, (),
                                       f'the flow is paused by {run.paused_by}')
        if event in BEGINNING and action_id in run.canceled_actions:
            raise TransitionNotAllowed(event, runner.action.state.value, (),
                                       'it is being canceled')
        if event != 'cancel' and runner.repeating:
            raise TransitionNotAllowed(event, runner.action.state.value, (),
                                       'its next change is decided, and is being recorded')
        if event == 'cancel' and run.is_over(action_id):
            raise TransitionNotAllowed(event, runner.action.state.value, (), 'it has ended')
        if event == 'cancel':
            self.dispatcher.cancel_action(
                run, action_id, str(data.get('actor', '')), str(data.get('cause', 'canceled')))
        else:
            if 'parameters' in data:  # raises here, instead of when the action starts
                run.flow.render(
                    action_id, {**runner.action.parameters, **data['parameters']},
                    runner.action.fields)
            runner.fire(event, **data)
        return runner.action

    def clear_locks(
        self, names: Sequence[str], actor: str, reason: str, order: str = ''
    ) -> list[str]:
        """
        Unlock resources and journal it with the actor; returns the names that were locked.

        `order`: the open order of `clear_stop` that this completes.
        """
        chosen = [name for name in names if name in self.resources.locked]
        self.recorder.unlock(chosen, actor, reason, order)
        self.dispatcher.scheduler.unlock(chosen)
        for flow_id, name in self.dispatcher.scheduler.waiting_for(chosen):
            self.dispatcher.waits.compare(self.runs[flow_id], name)
            self.flow_changed(self.runs[flow_id])
        self.dispatcher.dispatch()
        return chosen

    # Restart and shutdown

    def restore(self) -> list[FlowRun]:
        """Restore the open flows from the journal and resume them."""
        return restore_flows(self, self.nested)

    def halt(self, halted: Callable[[], None]) -> None:
        """
        Stop all motions before the process ends, keep all states, then call `halted`.

        All flows are dropped: answers and deadlines that come later change nothing.
        """
        self.dispatcher.halted = True
        self.steering.halt()
        runs = list(self.runs.values())
        self.runs.clear()  # another orchestrator restores them, maybe in the same process
        for run in runs:
            self.dispatcher.leave(run)
        runners = [runner for run in runs if not run.ended for runner in run.runners.made()]
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
