# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Lets a planner edit a running flow: each batch of ended actions is reported to it.

No action of the flow starts before it answers, and the dependents of an action that has ended
without success are not skipped. Its edits are checked as any edit. If the planner can't be
reached, it is asked again after a delay; if its edit is refused, at once, with the errors. After
too many failures, or too long a time, the flow continues unchanged.
"""

from __future__ import annotations

from typing import Any

from .asker import Asker, PlanService, Reply
from .told import check_flow
from ..edits.editing import Editor
from ..files.edit import EditResult, parse_edit
from ..run.flow_hooks import Extension
from ..run.flow_run import FlowRun
from ..run.flow_runner import FlowRunner
from ...documents.errors import LifecycleError
from ...lifecycle.ports import Handle

AUTHOR = 'planner'
NAMED = 5000
"""Maximum number of names in each list of a row; after a restart, others are reported again."""
SHOWN = 3
"""Maximum number of ended actions that the progress names."""


class Steering(Extension):
    """
    Asks `planner`, if set, about ended actions, one batch per flow at a time.

    `limit`: maximum time (s) of a question with all its tries; the check of an answer that came in
    time is not interrupted. Each step of a question is a note in the journal.
    """

    def __init__(self, flows: FlowRunner, editor: Editor) -> None:
        self.planner: PlanService | None = None
        self.limit = 60.0
        self.flows = flows
        self.editor = editor
        self._asking: dict[str, _Batch] = {}

    def may_start(self, run: FlowRun, action_id: str) -> bool:
        """Return whether no question about the flow is open."""
        return run.flow_id not in self._asking

    def is_blocking(self, run: FlowRun) -> bool:
        """Return whether a question about the flow is open and still matters."""
        return run.flow_id in self._asking and not run.starts_nothing

    keeps_held = is_blocking

    def completed(self, run: FlowRun, names: list[str]) -> None:
        """Report ended actions to the planner, now or after the current batch."""
        if self.planner is None or not _is_steered(run):
            return
        run.asked += [name for name in names if name not in run.told]
        run.told.difference_update(names)
        if run.asked and run.flow_id not in self._asking:
            self._begin(run, self.planner)

    def canceled(self, run: FlowRun) -> None:
        """Stop asking about a flow."""
        batch = self._asking.pop(run.flow_id, None)
        run.asked = []
        run.planning = ''
        if batch is not None:
            batch.drop()
            self.flows.advance_soon(run)  # all its actions may have ended

    flow_ended = left = canceled

    def halt(self) -> None:
        """Stop all questions, before the process ends; a restart asks them again."""
        for batch in self._asking.values():
            batch.drop()
        self.planner = None

    def _begin(self, run: FlowRun, planner: PlanService) -> None:
        batch = self._asking[run.flow_id] = _Batch(self, planner, run)
        run.asked = []
        self.flows.dispatcher.withdraw_all(run)
        batch.record('steering_asked')
        batch.limit(self.limit)
        # Later, when all actions that ended before a restart are counted.
        self.flows.recorder.call_soon(batch.unless_over(batch.ask))

    def ended(self, batch: _Batch, edit: str, error: str) -> None:
        """Journal the end of a question and continue the flow."""
        run = batch.run
        self._asking.pop(run.flow_id, None)
        run.planning = ''
        if error:
            self.flows.log.error(
                'flow %s goes on without the planner: %s', run.flow_id, error)
        more = bool(run.asked) and _is_steered(run)
        # The planner has answered about these: their end is not reported to it again.
        skipped = [] if more else [name for name, _ in run.dependencies.stranded()]
        batch.record('steering_answered', error, edit=edit, **(
            {'skipped': skipped[:NAMED]} if skipped else {}))
        run.told.update(skipped)
        if more:
            self._begin(run, batch.planner)
        else:
            self.flows.release(run)


def _is_steered(run: FlowRun) -> bool:
    return run.flow.steering and not run.starts_nothing


class _Batch(Asker):
    """Ended actions about which the planner is asked."""

    wanted = 'edit'

    def __init__(self, steering: Steering, planner: PlanService, run: FlowRun) -> None:
        super().__init__(steering.flows.clock)
        row = steering.flows.recorder.row
        self.steering = steering
        self.planner = planner
        self.run = run
        self.completed = run.asked
        self.base_seq = row.seq if row else 0

    def send(self, reply: Reply) -> Handle:
        return self.planner.ask_edit(self.run, self.completed, self.errors, reply)

    def judge(self, answer: str) -> None:
        """Propose the edit of an answer."""
        def proposed(result: EditResult | LifecycleError) -> None:
            if isinstance(result, LifecycleError):
                self.wrong(str(result).splitlines())
            else:
                self.end(answer)

        if not answer.strip():
            self.end()
            return
        try:
            edit = parse_edit(answer, f'edit by {AUTHOR}')
        except LifecycleError as error:
            self.wrong(str(error).splitlines())
            return
        self.steering.editor.propose(
            self.run.flow_id, edit, AUTHOR, f'after {self._about}'[:500],
            self.base_seq, self.unless_over(proposed),
            lambda staged: check_flow(
                staged.flow, self.told, self.steering.flows.recipes, self.run.flow))

    @property
    def _about(self) -> str:
        more = len(self.completed) - SHOWN
        return ', '.join(self.completed[:SHOWN]) + (f' and {more} more' if more > 0 else '')

    def report(self) -> None:
        self.run.planning = f'after {self._about}: {self.progress}'
        self.steering.flows.flow_changed(self.run)

    def note(self, event: str, *, cause: str = '', **data: Any) -> bool:
        """Record a failed try; the others are recorded by `Steering`."""
        if event == 'unreachable':
            self.record('steering_unreachable', cause)
        elif event in ('declined', 'refused'):
            self.record('steering_refused', cause, edit=self.answer)
        return True

    def record(self, event: str, cause: str = '', **data: Any) -> None:
        """Journal a step of the question."""
        self.steering.flows.recorder.note(
            self.run.flow_id, event, {
                'completed': self.completed[:NAMED], 'tries': self.tries + bool(self.failures),
                **data}, AUTHOR, cause[:1000])

    def give_up(self, message: str) -> None:
        self.end(error=message)

    def end(self, edit: str = '', error: str = '') -> None:
        """End the question."""
        self.drop()
        self.steering.ended(self, edit, error)
