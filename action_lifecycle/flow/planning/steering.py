# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Lets a planner edit a running flow: each batch of completed actions is sent to it.

No action of the flow starts before it answers. Its edits are checked as any edit. If the planner
can't be reached, it is asked again after a delay; if its edit is refused, at once, with the
errors. After too many failures the flow continues unchanged.
"""

from __future__ import annotations

from .asker import Asker, PlanService, Reply
from ..edits.editing import Editor
from ..files.edit import EditResult, parse_edit
from ..run.flow_hooks import Extension
from ..run.flow_run import FlowRun
from ..run.flow_runner import FlowRunner
from ...documents.errors import LifecycleError
from ...lifecycle.ports import Handle

AUTHOR = 'planner'


class Steering(Extension):
    """Asks `planner`, if set, about completed actions, one batch per flow at a time."""

    def __init__(self, flows: FlowRunner, editor: Editor) -> None:
        self.planner: PlanService | None = None
        self.flows = flows
        self.editor = editor
        self._asking: dict[str, _Batch] = {}

    def may_start(self, run: FlowRun, action_id: str) -> bool:
        """Return whether no question about the flow is open."""
        return run.flow_id not in self._asking

    def is_blocking(self, run: FlowRun) -> bool:
        """Return whether a question about the flow is open."""
        return run.flow_id in self._asking

    def completed(self, run: FlowRun, names: list[str]) -> None:
        """Report completed actions to the planner, now or after the current batch."""
        if not run.flow.steering or self.planner is None or run.canceled_by is not None:
            return
        run.asked += names
        if run.asked and not self.is_blocking(run):
            self._begin(run, self.planner)

    def canceled(self, run: FlowRun) -> None:
        """Stop asking about a flow."""
        batch = self._asking.pop(run.flow_id, None)
        run.asked = []
        if batch is not None:
            batch.drop()

    def _begin(self, run: FlowRun, planner: PlanService) -> None:
        batch = self._asking[run.flow_id] = _Batch(self, planner, run)
        run.asked = []
        self.flows.recorder.note(
            run.flow_id, 'steering_asked', {'completed': batch.completed}, AUTHOR, '')
        batch.ask()

    def ended(self, batch: _Batch, edit: str, error: str) -> None:
        """Journal the end of a question and continue the flow."""
        run = batch.run
        del self._asking[run.flow_id]
        if error:
            self.flows.log.error(
                'flow %s goes on without the planner: %s', run.flow_id, error)
        self.flows.recorder.note(run.flow_id, 'steering_answered', {
            'completed': batch.completed, 'edit': edit,
            'tries': batch.tries + bool(batch.failures)}, AUTHOR, error)
        if run.asked:
            self._begin(run, batch.planner)
        else:
            self.flows.release(run)


class _Batch(Asker):
    """Completed actions about which the planner is asked."""

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
            self.run.flow_id, edit, AUTHOR, f"after {', '.join(self.completed)}"[:500],
            self.base_seq, self.unless_over(proposed))

    def report(self, text: str) -> None:
        self.steering.flows.log.debug('flow %s: %s', self.run.flow_id, text)

    def give_up(self, message: str) -> None:
        self.end(error=message)

    def end(self, edit: str = '', error: str = '') -> None:
        """End the question."""
        self.drop()
        self.steering.ended(self, edit, error)
