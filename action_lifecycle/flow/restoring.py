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

"""Reads the open flows back from the journal, by applying their rows in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
import gc
from typing import Any, TYPE_CHECKING

from .edits import parse_edit
from .loading import parse_flow
from .run import FlowRun
from .staging import replay_edit
from ..engine import LifecycleError
from ..ledger import JournalReader, Row
from ..lifecycle.action import ATTEMPT_EVENTS
from ..lifecycle.states import ActionState

if TYPE_CHECKING:
    from .orchestrator import Orchestrator


class Restored:
    """A flow read back, and the rows from which the times of its actions are known."""

    def __init__(self, orchestrator: Orchestrator, flow_id: str) -> None:
        self._orchestrator = orchestrator
        self._journal = orchestrator.recorder.journal
        self._last: dict[str, Row] = {}
        self._began: dict[str, Row] = {}
        self._text: list[str] = []
        self._accepted: Row | None = None
        self.run: FlowRun
        for row in self._journal.rows(flow_id=flow_id):
            self._apply(row, row.data)
        if not hasattr(self, 'run'):
            raise LifecycleError(f'flow {flow_id} was never accepted as a whole')
        for name, row in self._last.items():
            self.run.runners[name].action.restore(row.to_state)

    def _apply(self, row: Row, data: Mapping[str, Any]) -> None:
        if row.kind == 'flow' and row.event in ('accepted', 'text'):
            self._take_text(row, data)
        elif row.kind not in ('flow', 'transition', 'note'):
            pass  # plans and jobs have readers of their own
        elif not hasattr(self, 'run'):
            raise LifecycleError(f'row {row.seq} speaks of a flow that was never accepted')
        elif row.kind == 'flow':
            if 'edit' in data:
                self._edit(row, data)
            self.run.restore(row.to_state)
            self.run.entered(row.to_state, row.wall_time)
        elif row.kind == 'transition':
            self._transition(row, data)
        elif row.event == 'cancel_flow':
            self.run.canceled_by = row.actor, row.cause
        elif row.event == 'cancel_action':
            self.run.canceled_actions[data['action']] = row.actor, row.cause
        elif row.event in ('steering_asked', 'steering_answered'):
            self.run.asked = list(data['completed']) if row.event == 'steering_asked' else []
        elif row.kind == 'note':
            self._orchestrator.operator.read_back(row)

    def _take_text(self, row: Row, data: Mapping[str, Any]) -> None:
        self._accepted = self._accepted or row
        self._text.append(data['text'])
        head = self._accepted.data
        if len(self._text) < head.get('parts', 1):
            return
        flow = parse_flow(''.join(self._text), head['file'], head['parameters'])
        self.run = self._orchestrator.new_run(
            flow, row.flow_id, int(head['priority']), head.get('recipe', ''), head.get('origin'))
        self.run.started_at = self._accepted.ros_time or 0.0
        self.run.entered('START', self._accepted.wall_time)

    def _edit(self, row: Row, data: Mapping[str, Any]) -> None:
        run = self.run
        staged = replay_edit(run, parse_edit(data['edit'], data['file']), data['names'])
        run.flow.apply(staged.flow, staged.changes)
        for name in staged.changes:
            run.runners.renew(name)
        run.edits.append({'seq': row.seq, 'author': row.actor, 'names': data['names']})

    def _transition(self, row: Row, data: Mapping[str, Any]) -> None:
        action = self.run.runners[row.action_id].action
        action.apply(row.event, row.to_state, data)
        action.dated(row.seq, row.ros_time or 0.0, row.to_state)
        self._last[row.action_id] = row
        if row.final:  # a later attempt is another one than the one that was canceled
            self.run.canceled_actions.pop(row.action_id, None)
        if row.event in ATTEMPT_EVENTS:
            self._began[row.action_id] = row

    def go_on(self) -> None:
        """Take up what was going on."""
        orchestrator, run, journal = self._orchestrator, self.run, self._journal
        orchestrator.schedule(run)
        if run.state == 'START':
            run.machine.fire('CONTINUE')
            run.status = run.state
        started = [runner for runner in run.runners.made()
                   if runner.action.state is not ActionState.ASSIGNED]
        for runner in started:
            action = runner.action
            if action.state is not ActionState.TERMINATED:
                orchestrator.starter.resume(run, action.action_id)
            else:
                run.completions.append(runner)
        orchestrator.open(run)
        for runner in started:  # before anything may cancel them: their goals are out there
            if runner.action.state is not ActionState.TERMINATED:
                row = self._last[runner.action.action_id]
                runner.resume(journal.elapsed_since(row), journal.elapsed_since(
                    self._began.get(runner.action.action_id, row)))
        orchestrator.begin(run)
        orchestrator.advance(run)
        for name, (actor, reason) in run.canceled_actions.items():
            if name in run.runners:
                run.runners[name].cancel(actor, reason)
        if run.canceled_by is not None:
            orchestrator.cancel_all(run)


def held_by_open_actions(journal: JournalReader, flow_id: str) -> dict[str, str]:
    """Return what the open actions of a flow hold that nobody can go on with, and why."""
    held: dict[str, list[str]] = {}
    for row in journal.rows(flow_id=flow_id, kind='transition'):
        if row.event == 'start':
            held[row.action_id] = row.data.get('resources', [])
        elif row.final:
            held.pop(row.action_id, None)
    return {name: f'{flow_id}/{action_id} can not be read back'
            for action_id, names in held.items() for name in names}


@contextmanager
def _nothing_thrown_away() -> Iterator[None]:
    """Keep the collector from searching, again and again, what is built up and stays."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@_nothing_thrown_away()
def restore_flows(orchestrator: Orchestrator) -> list[FlowRun]:
    """Read all open flows back, and go on once it is known what each of them holds."""
    journal, resources = orchestrator.recorder.journal, orchestrator.resources
    restored: list[Restored] = []
    for last in journal.open_flows():
        try:
            restored.append(Restored(orchestrator, last.flow_id))
            orchestrator.runs[last.flow_id] = restored[-1].run
        except LifecycleError as error:
            orchestrator.log.error('flow %s can not be read back: %s', last.flow_id, error)
            resources.lock_all(held_by_open_actions(journal, last.flow_id))
    resources.lock_all({row.action_id: row.cause for row in journal.open_rows('lock')})
    orchestrator.starter.halted = True  # nothing starts before all that had started is known
    for one in restored:
        try:
            one.go_on()
        except LifecycleError as error:
            orchestrator.log.error('flow %s can not go on: %s', one.run.flow_id, error)
            resources.lock_all(held_by_open_actions(journal, one.run.flow_id))
    orchestrator.starter.halted = False
    orchestrator.dispatch()
    return [one.run for one in restored]
