# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks edits of running flows, also with the bridge, journals and applies them."""

from __future__ import annotations

from collections.abc import Callable

from .edit_validation import stage_edit
from ..files.edit import EditRefused, EditResult, FlowEdit, StagedEdit
from ..files.flow import LoadedFlow
from ..run.flow_run import FlowRun, RECIPE_STAGE
from ..run.flow_runner import FlowRunner
from ..run.recorder import name_lists
from ...documents.errors import LifecycleError

Check = Callable[[LoadedFlow, Callable[['LifecycleError | None'], None]], None]
"""Checks the actions of a flow with the bridge, then calls back with the error or None."""


class Editor:
    """Applies edits to running flows; `propose` also runs `check`, if set."""

    def __init__(self, flows: FlowRunner) -> None:
        self.check: Check | None = None
        self._flows = flows

    def stage(self, flow_id: str, edit: FlowEdit, base_seq: int = 0) -> StagedEdit:
        """Check an edit against the current flow; raises `EditRefused` with all faults."""
        run = self._flows.runs.get(flow_id)
        if run is None or run.ended:
            raise EditRefused.because(edit, f"there is no running flow '{flow_id}'")
        if run.canceled_by is not None:
            raise EditRefused.because(edit, f"flow '{flow_id}' is being canceled")
        if run.ending is not None:
            raise EditRefused.because(
                edit, f"flow '{flow_id}' is being ended by {run.ending.author}: "
                f'{run.ending.reason}')
        if run.stage == RECIPE_STAGE:
            raise EditRefused.because(
                edit, f"all actions of flow '{flow_id}' have ended, its recipe is being written")
        return stage_edit(run, edit, base_seq)

    def edit(
        self, flow_id: str, edit: FlowEdit, author: str, reason: str, base_seq: int = 0
    ) -> EditResult:
        """
        Apply an edit to a running flow as a whole, or not at all.

        `base_seq`: newest journal row that the author has seen; 0: not checked. Raises
        `EditRefused` or a journal error; then nothing has changed.
        """
        staged = self.stage(flow_id, edit, base_seq)
        run = self._flows.runs[flow_id]
        if not staged.after and staged.end is None:
            return EditResult(0, staged.left_out)
        run.machine.fire(
            'START' if edit.rebuilds else 'CONTINUE', event='edited', edit=edit.text,
            file=edit.document.name, names=sorted(staged.changes),
            left_out=list(staged.left_out), nested=staged.flow.nested_sources(), actor=author,
            cause=reason, **name_lists(
                added=[name for name, source in staged.changes.items()
                       if source is not None and name not in run.flow.actions],
                removed=[name for name, source in staged.changes.items() if source is None]))
        row = self._flows.recorder.row
        assert row is not None
        run.apply_edit(staged, row.seq, author)
        with self._flows.dispatcher.guard(run):
            self._restart(run, staged)
        self._flows.advance_soon(run)
        self._flows.flow_changed(run)
        self._flows.dispatcher.dispatch()
        return EditResult(row.seq, staged.left_out)

    def propose(
        self, flow_id: str, edit: FlowEdit, author: str, reason: str, base_seq: int,
        done: Callable[[EditResult | LifecycleError], None],
        judge: Callable[[StagedEdit], None] = lambda staged: None,
    ) -> None:
        """
        Check an edit, also with `check`; apply it; call `done` with the result or error.

        `judge`: a further check of this author's edits, which raises `LifecycleError`.
        """
        def checked(error: LifecycleError | None) -> None:
            try:
                if error is not None:
                    raise error
                result = self.edit(flow_id, edit, author, reason, base_seq)
            except LifecycleError as refused:
                done(refused)
            except Exception as unexpected:  # the author must get an answer
                self._flows.log.exception('the edit of flow %s by %s', flow_id, author)
                done(LifecycleError(f'internal error: {unexpected!r}'))
            else:
                done(result)

        try:
            staged = self.stage(flow_id, edit, base_seq)
            judge(staged)
        except LifecycleError as error:
            done(error)
            return
        if self.check is not None and staged.flow.actions:
            self.check(staged.flow, checked)
        else:
            checked(None)

    def _restart(self, run: FlowRun, staged: StagedEdit) -> None:
        """Schedule the changed actions anew."""
        for name in staged.changes:
            self._flows.dispatcher.withdraw(run, name)
        ready, skipped = run.dependencies.change(staged.after)
        if run.state == 'START':
            run.reset_stages()
            self._flows.advance(run)
        for name, source in staged.changes.items():
            if source is not None:
                self._flows.dispatcher.watch_deadline(run, name)
        self._flows.dispatcher.follow_up(run, ready, skipped)
        if run.ending is not None:
            self._flows.dispatcher.tell_extensions('ending', run)
            self._flows.dispatcher.end_waiting(run)
