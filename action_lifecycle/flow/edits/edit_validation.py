# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Checks an edit against the current state of a flow.

Merge rule: steps on actions that have started since `base_seq` are left out; ended actions stay,
also if they are assigned again; running actions can't be removed. The cost depends on the size of
the edit, not of the flow.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from .replacements import StageBase
from ..files.checks import checked_action, order_faults
from ..files.edit import EditRefused, EditStep, FlowEdit, FlowEnd, parse_edit, StagedEdit
from ..files.edit_provenance import ActionSource, Path
from ..files.flow import LoadedFlow
from ..files.loader import MAX_ACTIONS, nested_faults, steps_for
from ..files.names import name_fault
from ..files.shorthand import after_in_full, merged
from ..files.sources import from_rows
from ..run.flow_run import FlowRun
from ..scheduling.dag import CycleError
from ..scheduling.scheduler import After, Dependencies
from ...documents.budget import budget, BudgetExceeded, spend
from ...documents.errors import Fault
from ...documents.suggestions import nearest
from ...journal.row import Row


def stage_edit(run: FlowRun, edit: FlowEdit, base_seq: int = 0) -> StagedEdit:
    """
    Check an edit against the current flow; raises `EditRefused` with all faults.

    `base_seq`: newest journal row that the author has seen; 0: the current one. The edit is
    refused if its actions were edited after that row. Steps on actions that started after that
    row are left out.
    """
    return _staged(_Stage(run, edit, base_seq))


def check_edit(flow: LoadedFlow, edit: FlowEdit) -> StagedEdit:
    """Check an edit against a flow that has not started; raises `EditRefused` with all faults."""
    run = idle_run(flow)
    run.dependencies = Dependencies(
        {name: action.after for name, action in flow.actions.items()})
    return _staged(_Stage(run, edit, 0, may_replace=lambda name: ''))


def idle_run(flow: LoadedFlow) -> FlowRun:
    """Return a run of a flow to check or replay edits on; nothing of it can run."""
    def nothing_runs(*asked: Any) -> Any:
        raise AssertionError('nothing of this flow runs')

    return FlowRun(flow.name, flow, 0, nothing_runs, nothing_runs)


def replay_edit(run: FlowRun, row: Row) -> StagedEdit:
    """Apply the edit of a row 'edited' to a run, and return it."""
    data = row.data
    run.flow.sources.add(from_rows(data.get('nested', [])))
    staged = _staged(_Stage(
        run, parse_edit(data['edit'], data['file']), 0, frozenset(data['names'])))
    run.apply_edit(staged, row.seq, row.actor)
    return staged


def _staged(stage: _Stage) -> StagedEdit:
    try:
        with budget(steps_for(stage.edit.text), 'judging the edit'):
            for step in stage.edit.steps:
                getattr(stage, f'_{step.verb}')(step)
            staged = stage.result()
    except BudgetExceeded as error:
        document = stage.edit.document
        raise EditRefused([Fault(document.name, *document.mark(), str(error))]) from error
    if faults := nested_faults(staged.flow, staged.flow.actions):
        raise EditRefused(dict.fromkeys(faults))
    return staged


class _Stage(StageBase):
    """Collects the changes of an edit without changing the flow."""

    # Steps

    def _add(self, step: EditStep) -> None:
        for name, raw in step.value.items():
            place = step.number, step.verb, name
            if message := name_fault(name):
                self._fault(place, message)
            elif self._has(name):
                self._fault(place, f"the flow has an action '{name}' already; to change it say "
                            "'update'")
            else:
                self._change(name, place, raw)

    def _remove(self, step: EditStep) -> None:
        for position, name in enumerate(step.value):
            place = step.number, step.verb, position
            if not self._may_change(step.verb, name, place):
                continue
            if self._has_run(name):
                self._fault(place, f"action '{name}' is assigned again, after it has ended: it "
                            'can not be removed; skip it')
            else:
                self._drop(name, place)

    def _update(self, step: EditStep) -> None:
        for name, fields in step.value.items():
            place = step.number, step.verb, name
            if self._may_change(step.verb, name, place):
                self._change(name, place, merged(self._raw(name), fields))

    def _depend(self, step: EditStep) -> None:
        for name, more in step.value.items():
            place = step.number, step.verb, name
            if self._may_change(step.verb, name, place):
                added = after_in_full(more)
                if not isinstance(added, dict):
                    self._fault(place, 'expected names, or a mapping of names and kinds')
                    continue
                self._change(name, place, {
                    **self._raw(name), 'after': {**self._after(name), **added}})

    def _independ(self, step: EditStep) -> None:
        for name, gone in step.value.items():
            place = step.number, step.verb, name
            if self._may_change(step.verb, name, place):
                after = dict(self._after(name))
                spend(len(after))
                for position, needed in enumerate(gone):
                    if after.pop(needed, None) is None:
                        self._fault((*place, position), f"action '{name}' does not wait for "
                                    f"'{needed}'" + nearest(needed, after))
                self._change(name, place, {**self._raw(name), 'after': after})

    def _clear(self, step: EditStep) -> None:
        self._drop_waiting(step, ())

    def _build(self, step: EditStep) -> None:
        self._drop_waiting(step, step.value)
        for name, raw in step.value.items():
            place = step.number, step.verb, name
            if name_fault(name):
                self._fault(place, f'{name!r} is not a name')
            elif self._has(name) and not self._is_open(name):
                self.left_out.append(f'{step.verb} {name}')
            elif self._unedited(name, place):
                self._change(name, place, raw)

    def _finish(self, step: EditStep) -> None:
        self.end = FlowEnd(step.verb, step.value)

    _fail = _finish

    # Helpers

    def _is_open(self, name: str) -> bool:
        """Return whether an action may still be changed."""
        if self.replayed is not None:
            return name in self.replayed
        return self._progress(name) == 'waiting'

    def _waiting(self) -> Iterator[str]:
        """Yield the actions that have not started."""
        spend(len(self.run.flow.actions) + len(self.changes))
        for name in self.run.flow.actions:
            if self._has(name) and self._is_open(name):
                yield name
        yield from [name for name, source in self.changes.items()
                    if source is not None and name not in self.run.flow.actions]

    def _has_run(self, name: str) -> bool:
        """Return whether an action that waits has ended before; what was done stays."""
        runner = self.run.runners.one_made(name)
        return self.replayed is None and runner is not None and runner.action.seq > 0

    def _has(self, name: str) -> bool:
        return self.changes[name] is not None if name in self.changes \
            else name in self.run.flow.actions

    def _raw(self, name: str) -> Mapping[str, Any]:
        source = self.changes.get(name)
        return source.raw if source is not None else self.run.flow.raws[name]

    def _after(self, name: str) -> Mapping[str, Any]:
        written = self._raw(name).get('after', self.run.flow.defaults.get('after', {}))
        full = after_in_full(written)
        return full if isinstance(full, dict) else {}

    def _may_change(self, verb: str, name: str, place: Path) -> bool:
        """Return whether a step may change an action; if not, add a fault or skip the step."""
        if not self._has(name):
            self._fault(place, f"the flow has no action '{name}'"
                        + nearest(name, self.run.flow.actions))
            return False
        if self.replayed is not None:
            return name in self.replayed or name in self.changes
        progress = self._progress(name)
        if progress == 'waiting':
            return self._unedited(name, place)
        seen = not self.base_seq or self.run.runners[name].action.begun_seq <= self.base_seq
        if progress == 'at_work' and (seen or verb == 'remove'):
            self._fault(place, f"action '{name}' is at work: it can not be "
                        + ('removed' if verb == 'remove' else 'changed') + '; cancel it first')
        elif seen:
            self._fault(place, f"action '{name}' has ended: it can not be changed or removed")
        else:
            self.left_out.append(f'{verb} {name}')
        return False

    def _unedited(self, name: str, place: Path) -> bool:
        """Return whether an action is unedited since `base_seq`; if not, add a fault."""
        if self.base_seq:
            for other in reversed(self.run.edits):
                if other['seq'] <= self.base_seq:
                    break
                spend(len(other['names']))
                if name in other['names']:
                    self._fault(place, f"action '{name}' was changed by {other['author']} in row "
                                f"{other['seq']}, after row {self.base_seq}")
                    return False
        return True

    def _change(self, name: str, place: Path, raw: Mapping[str, Any]) -> None:
        after = raw.get('after')
        spend(len(raw) + (len(after) if isinstance(after, (dict, list)) else 1))
        self.changes[name] = ActionSource(self.edit.document, place, raw)
        self.places[name] = place

    def _drop_waiting(self, step: EditStep, kept: Container[str]) -> None:
        place = step.number, step.verb
        for name in list(self._waiting()):
            if name not in kept and not self._has_run(name) and self._unedited(name, place):
                self._drop(name, place)

    def _drop(self, name: str, place: Path) -> None:
        if name in self.run.flow.actions:
            self.changes[name] = None
            self.places[name] = place
        else:
            self.changes.pop(name, None)

    # Result

    def result(self) -> StagedEdit:
        """Check all changes together; raises `EditRefused`."""
        run, flow = self.run, self.run.flow
        view = self._checked(self.changes)
        replaced = self._replaced(view)
        if inheriting := self._inheriting(view, replaced):
            self.changes.update(inheriting)
            known, view = view, self._checked(inheriting)
            view.actions.update({**known.actions, **view.actions})
            view.late.update({**known.late, **view.late})

        def stand_in(name: str) -> str:
            while name in replaced:
                name = replaced[name]
            return name

        after: dict[str, After | None] = {
            name: view.actions[name].after if name in view.actions else None
            for name in self.changes}
        if self.replayed is None:
            self._dependents(after)
            if len(flow.actions) + sum(source is not None for source in self.changes.values()) \
                    > MAX_ACTIONS:
                self._fault((), f'more than {MAX_ACTIONS} actions')
            if not any(source is not None for source in self.changes.values()) and not any(
                    name not in self.changes for name in flow.actions):
                self._fault((), 'no action would be left')
            if not self.faults:
                try:
                    undo = run.dependencies.dag.change(after)
                    self.faults += order_faults(
                        view, view.actions, run.dependencies.dag.after.__getitem__, stand_in)
                    undo()
                except CycleError as error:
                    place = next((self.places[name] for name in error.cycle
                                  if name in self.places), ())
                    self._fault(place, str(error))
        if self.faults:
            raise EditRefused(dict.fromkeys(self.faults))
        return StagedEdit(self.changes, after, view, tuple(self.left_out), self.end)

    def _checked(self, names: Iterable[str]) -> LoadedFlow:
        """Return a view of the flow with the specs of these changes; adds their faults."""
        view = self.run.flow.with_changes(self.changes)
        for name in names:
            if self.changes[name] is not None:
                action, faults = checked_action(view, name, self._Names(self))
                self.faults += faults
                if action is not None:
                    view.actions[name] = action
        return view

    def _dependents(self, after: dict[str, After | None]) -> None:
        """Handle the dependents of removed actions."""
        dag = self.run.dependencies.dag
        for gone in [name for name, source in self.changes.items() if source is None]:
            for name in dag.dependents.get(gone, ()):
                if name in self.changes:
                    continue  # checked as a change
                if self._progress(name) == 'waiting':
                    self._fault(self.places[gone], f"action '{name}' waits for '{gone}', which "
                                'the edit removes')
                else:
                    known = after.get(name) or dag.after[name]
                    after[name] = {key: kind for key, kind in known.items() if key != gone}

    class _Names:
        """The names of the actions after the edit."""

        def __init__(self, stage: _Stage) -> None:
            self._stage = stage

        def __contains__(self, name: object) -> bool:
            return isinstance(name, str) and self._stage._has(name)

        def __iter__(self) -> Iterator[str]:
            return (name for name in {**self._stage.run.flow.actions, **self._stage.changes}
                    if self._stage._has(name))

        def __len__(self) -> int:
            return sum(1 for _ in self)
