# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Restores the open flows by replaying their rows of the journal in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import gc

from .set_aside import Damage, faults_text, open_flow_ids, SetAside
from ..edits.edit_validation import replay_edit
from ..files.journaled import JournaledText
from ..run.flow_control import CONTROL_EVENTS, RESUMED, RETRIED
from ..run.flow_ender import BROKEN, CANCEL_ACTION, ORCHESTRATOR
from ..run.flow_run import FlowRun, JOBS_STAGE
from ..run.flow_runner import FlowRunner
from ..run.nested import NestedFlows, TAKEN
from ..run.repeats import REPEATED
from ...documents.errors import LifecycleError
from ...journal.action_rows import concerns_action, replay
from ...journal.durability import STEP
from ...journal.flow_rows import STAGE
from ...journal.row import Row
from ...lifecycle.action import Action, ATTEMPT_EVENTS
from ...lifecycle.flow_ids import depth_of, parent_of
from ...lifecycle.running.runner import ActionRunner
from ...lifecycle.states import ActionOutcome, ActionState, ErrorCode


class Restored:
    """A restored flow, with the journal rows that its actions' elapsed times are taken from."""

    def __init__(self, flows: FlowRunner, flow_id: str) -> None:
        self._flows = flows
        self._journal = flows.recorder.journal
        self._last: dict[str, Row] = {}
        self._began: dict[str, Row] = {}
        self._text = JournaledText()
        self._accepted: Row | None = None
        self.run: FlowRun
        for row, fault in self._journal.checked_rows(flow_id=flow_id):
            if fault:
                raise LifecycleError(f'row {row.seq} {fault}')
            self._apply(row)
        if not hasattr(self, 'run'):
            raise LifecycleError(f'flow {flow_id} was never accepted as a whole')

    def _apply(self, row: Row) -> None:
        if row.kind == 'flow' and row.event in ('accepted', 'text'):
            self._take_text(row)
        elif row.kind not in ('flow', 'transition', 'note'):
            pass  # plans and jobs are restored elsewhere
        elif not hasattr(self, 'run'):
            raise LifecycleError(f"row {row.seq} comes before the flow's row 'accepted'")
        elif row.kind == 'flow':
            if row.event == 'edited':
                replay_edit(self.run, row)
            self._take_state(row)
            if self.run.ended and row.event != TAKEN:
                self.run.error_code = ErrorCode[row.data.get('error_code', 'NONE')]
                self.run.error_msg = row.cause
        elif row.kind == 'transition':
            self._transition(row)
        elif row.event == REPEATED:
            self.run.repeated.add(row.data['action'])
            self.run.canceled_actions.pop(row.data['action'], None)
        elif concerns_action(row):
            self._flows.dispatcher.waits.read_back(row)
        elif row.event == STEP:
            self.run.runners[row.action_id].action.begin_step(row.data)
        elif row.event == 'cancel_flow':
            self.run.canceled_by = row.actor, row.cause
            self.run.control.end_pause()
        elif row.event == BROKEN:
            self.run.broken = row.cause
            self.run.error_code = ErrorCode.__members__.get(
                row.data['error_code'], ErrorCode.INTERNAL)
        elif row.event == CANCEL_ACTION:
            self.run.canceled_actions[row.data['action']] = row.actor, row.cause
        elif row.event in CONTROL_EVENTS:
            self._control(row)
        elif row.event in ('steering_asked', 'steering_answered'):
            self.run.asked = list(row.data['completed']) if row.event == 'steering_asked' else []
            self.run.told.update(row.data['completed'], row.data.get('skipped', ()))
        elif row.kind == 'note':
            self._flows.operator.read_back(row)

    def _control(self, row: Row) -> None:
        control = self.run.control
        if row.event == RESUMED and control.hold and 'action' not in row.data:
            control.went_on = row
        elif row.event == RETRIED:
            names = row.data.get('actions', [row.data['action']])
            control.retries.update(dict.fromkeys(names, (row.actor, row.cause)))
            for name in names:
                self.run.canceled_actions.pop(name, None)
        control.apply(row.event, row.data, row.actor, row.cause, row.seq)

    def _take_text(self, row: Row) -> None:
        self._accepted = self._accepted or row
        if not self._text.take(row):
            return
        head, flow = self._text.head, self._text.read(self._flows.folders)
        parent = None
        if '/' in row.flow_id:
            parent = self._flows.runs.get(parent_of(row.flow_id))
            if parent is None:
                raise LifecycleError(_without_outer(row.flow_id))
        self.run = self._flows.new_run(
            flow, row.flow_id, int(head['priority']), head.get('recipe', ''),
            head.get('origin') or {}, parent)
        self.run.started_at = self._accepted.ros_time or 0.0
        self.run.restore('START', head.get('stage', ''))
        self.run.entered('START', self._accepted.wall_time)

    def _take_state(self, row: Row) -> None:
        assert self._accepted is not None
        stage = row.data.get('stage', '')
        if row.to_state != 'START' and 'stage' not in self._accepted.data:
            stage = stage or JOBS_STAGE  # an earlier version journaled no stages
        self.run.restore(row.to_state, stage)
        if row.event not in (STAGE, TAKEN):
            self.run.entered(row.to_state, row.wall_time)

    def _transition(self, row: Row) -> None:
        action = self.run.runners[row.action_id].action
        replay(action, row)
        action.dated(row.seq, row.ros_time or 0.0, row.to_state)
        self._last[row.action_id] = row
        self._flows.dispatcher.waits.changed(action)
        if not row.final:
            self.run.repeated.discard(row.action_id)
        self.run.control.retries.pop(row.action_id, None)
        if row.final:
            # The cancel of an action that would run again still has to be carried out.
            if not _runs_several_times(action) or action.outcome is not ActionOutcome.SUCCEEDED:
                self.run.canceled_actions.pop(row.action_id, None)
            self.run.control.ended(row.action_id)
        if row.event == 'reassign':
            self.run.told.discard(row.action_id)
        if row.event in ATTEMPT_EVENTS:
            self._began[row.action_id] = row
        if row.event == 'start':
            self.run.control.started(row.action_id)

    def resume(self) -> None:
        """Resume the flow."""
        flows, run, journal = self._flows, self.run, self._journal
        run.schedule()
        if run.ended:  # a nested flow whose result is not taken yet
            return
        if run.state == 'START':
            run.machine.fire('CONTINUE')
            run.status = run.state
        at_work, ended = [], []
        for runner in run.runners.made():
            if runner.action.state is ActionState.TERMINATED:
                last = self._last.get(runner.action.action_id)
                if last is None or not last.final:
                    continue  # canceled by its parent since the rows were read; its end follows
                if run.starts_nothing or runner.action.action_id not in run.control.retries \
                        and not _runs_several_times(runner.action):
                    run.completions.append(runner)
                else:
                    ended.append(runner)
            elif runner.action.state is not ActionState.ASSIGNED:
                at_work.append(runner)
                flows.dispatcher.resume(run, runner.action.action_id)
        flows.open(run)
        for runner in at_work:  # before any cancel, since goals may be active
            if self._obeys(runner):
                continue
            row = self._last[runner.action.action_id]
            runner.resume(
                journal.elapsed_since(row),
                journal.elapsed_since(self._limited_from(runner.action.action_id)),
                hold=run.hold)
        for runner in ended:
            if runner.action.action_id not in run.control.retries \
                    and not flows.runs_again(run, runner):
                run.completions.append(runner)
        flows.begin(run)
        flows.advance(run)
        if run.canceled_by is None:
            for extension in flows.extensions:
                extension.restored(run)
        for name in list(run.canceled_actions):
            if name in run.runners:
                flows.dispatcher.end_canceled(run, name)
        if run.canceled_by is not None:
            flows.dispatcher.cancel_all(run)
        elif run.broken:
            flows.dispatcher.cancel(run, ORCHESTRATOR, run.broken)
        elif run.ending is not None:
            flows.dispatcher.end_waiting(run)
        flows.dispatcher.waits.compare_all(run)

    def _obeys(self, runner: ActionRunner) -> bool:
        """
        Carry out the order to an action that the restart has interrupted, where nothing works.

        Returns whether there is one. Otherwise the action resumes, and could end by itself.
        """
        run, action = self.run, runner.action
        canceled = run.canceled_by or run.canceled_actions.get(action.action_id)
        if canceled is not None and (
                action.state is ActionState.STATUS_VERIFICATION_REQUESTED
                or action.state is ActionState.IN_PROGRESS and not action.goal_id):
            runner.cancel(*canceled)
            return True
        if action.state not in (ActionState.ERROR, ActionState.FALLBACK_RECEIVED):
            return False
        if canceled is not None:
            runner.cancel(*canceled)
        elif action.action_id in run.control.skipped:
            runner.waive(*run.control.skipped[action.action_id])
        elif action.state is ActionState.ERROR and not run.starts_nothing \
                and action.action_id in run.control.retries:
            runner.retry(*run.control.retries.pop(action.action_id))
        else:
            return False
        return True

    def _limited_from(self, name: str) -> Row:
        """Return the row from which the time limit of an attempt counts."""
        began = self._began.get(name, self._last[name])
        held = [run.control.went_on for run in self.run.lineage if run.control.went_on]
        return max([began, *held], key=lambda row: row.seq)

    def leave(self) -> None:
        """Stop the resumed actions and drop the flow, to set it aside."""
        for runner in self.run.runners.made():
            runner.halt(lambda: None)
        self._flows.dispatcher.leave(self.run)
        del self._flows.runs[self.run.flow_id]


@contextmanager
def _nothing_thrown_away() -> Iterator[None]:
    """Disable garbage collection while many long-lived objects are created."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@_nothing_thrown_away()
def restore_flows(flows: FlowRunner, nested: NestedFlows) -> list[FlowRun]:
    """
    Restore all open flows, then resume them; `nested`: follows those that actions run.

    Flows that can't be restored, for whatever content of the journal, are set aside (see
    `set_aside`); the others resume.
    """
    journal, aside = flows.recorder.journal, SetAside(flows, nested.given_up)
    damage = Damage(journal)
    restored: list[Restored] = []
    failed: dict[str, str] = {}
    for flow_id in sorted(open_flow_ids(journal), key=depth_of):  # outer flows first
        try:
            faults = damage.of_flow(flow_id)
            if faults:
                raise LifecycleError(f'the journal is damaged: {faults_text(faults)}')
            restored.append(Restored(flows, flow_id))
            flows.runs[flow_id] = restored[-1].run
        except Exception as error:  # rows may be damaged
            failed[flow_id] = _why(flows, flow_id, error)
    flows.resources.lock_all({row.action_id: row.cause for row, fault in
                              journal.checked_open_rows('lock') if not fault})
    flows.dispatcher.halted = True  # no start before the holders of all resources are known
    for one in restored:
        try:
            if one.run.parent is not None and one.run.parent.flow_id in failed:
                raise LifecycleError(_without_outer(one.run.flow_id))
            one.resume()
        except Exception as error:
            failed[one.run.flow_id] = _why(flows, one.run.flow_id, error)
            one.leave()
    for flow_id, reason in failed.items():
        aside.flow(flow_id, reason)
    if damage.news:
        aside.lock_everything(damage.faults, damage.news)
    nested.settle()
    flows.dispatcher.halted = False
    flows.dispatcher.dispatch()
    return [one.run for one in restored if one.run.flow_id not in failed]


def _runs_several_times(action: Action) -> bool:
    return action.spec.repeat is not None or action.spec.schedule is not None


def _without_outer(flow_id: str) -> str:
    return f'flow {parent_of(flow_id)}, whose action it is, can not be read back'


def _why(flows: FlowRunner, flow_id: str, error: Exception) -> str:
    """Return why a flow can't be restored; unexpected errors are logged with a traceback."""
    if isinstance(error, LifecycleError):
        return str(error)
    flows.log.exception('flow %s can not be read back', flow_id)
    return f'{type(error).__name__}: {error}'
