# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Actions that replace others that have ended: the checks, and who inherits the dependents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..files.edit import FlowEdit, FlowEnd
from ..files.edit_provenance import ActionSource, Path
from ..files.flow import LoadedFlow
from ..run.flow_run import FlowRun
from ...documents.budget import spend
from ...documents.errors import Fault
from ...documents.models import as_written
from ...documents.suggestions import nearest
from ...lifecycle.states import ActionOutcome


def not_replaceable(run: FlowRun, name: str) -> str:
    """Return why an action of a running flow can't be replaced; '' if it can."""
    progress = run.progress(name)
    if progress == 'waiting':
        again = run.runners[name].action.seq > 0
        return 'it is assigned again; change it, or skip it first' if again \
            else 'it has not started; change or remove it'
    if progress != 'ended':
        return 'it is at work; cancel it first'
    outcome = run.runners[name].action.outcome
    return 'it has succeeded' if outcome is ActionOutcome.SUCCEEDED else ''


class StageBase:
    """
    The changes of an edit that is being checked, and its faults.

    `replayed`: the names that a journaled edit changed. `may_replace(name)` returns why an action
    can't be replaced, '' if it can.
    """

    def __init__(
        self, run: FlowRun, edit: FlowEdit, base_seq: int,
        replayed: frozenset[str] | None = None,
        may_replace: Callable[[str], str] | None = None,
    ) -> None:
        self.run = run
        self.edit = edit
        self.base_seq = base_seq
        self.replayed = replayed
        self._may_replace = may_replace or partial(not_replaceable, run)
        self.end: FlowEnd | None = None
        self.changes: dict[str, ActionSource | None] = {}
        self.places: dict[str, Path] = {}
        self.faults: list[Fault] = []
        self.left_out: list[str] = []

    def _progress(self, name: str) -> str:
        return 'waiting' if name in self.changes else self.run.progress(name)

    def _fault(self, place: Path, message: str) -> None:
        self.faults.append(self.edit.document.fault(place, message))

    def _replaced(self, view: LoadedFlow) -> dict[str, str]:
        """Return the replacements after the edit; adds the faults of new ones."""
        replaced = {old: new for old, new in self.run.replaced.items() if new not in self.changes}
        for name, action in view.actions.items():
            old = action.replaces
            if not old:
                continue
            if self.replayed is None:
                why = f"the flow has no action '{old}'" + nearest(old, self.run.flow.actions) \
                    if old not in self.run.flow.actions else \
                    'the edit changes it, too' if old in self.changes else \
                    f"'{replaced[old]}' replaces it already" if old in replaced else \
                    self._may_replace(old)
                if why:
                    self._fault((*self.places[name], 'replaces'),
                                f"action '{name}' can not replace '{old}': {why}")
                    continue
            replaced[old] = name
        return replaced

    def _inheriting(
        self, view: LoadedFlow, replaced: Mapping[str, str]
    ) -> dict[str, ActionSource]:
        """Return the sources of the actions that depend on a replacement from now on."""
        found: dict[str, ActionSource] = {}
        waiting = self.replayed if self.replayed is not None else [
            name for old in replaced if old not in self.run.replaced
            for name in self.run.dependencies.dag.dependents.get(old, ())
            if self._progress(name) == 'waiting']
        specs = {**{name: self.run.flow.actions[name] for name in waiting
                    if name not in self.changes and name in self.run.flow.actions},
                 **view.actions}
        for name, spec in specs.items():
            spend(len(spec.after))
            after: dict[str, Any] = {}
            for needed, kind in spec.after.items():
                last = needed
                while last in replaced:
                    last = replaced[last]
                if last == name:
                    self._fault(
                        (*self.places.get(name, ()), 'after'), f"action '{name}' can not wait for "
                        f"'{needed}', which it replaces and which has ended")
                elif last == needed or last not in spec.after:
                    after[last] = kind if isinstance(kind, str) else as_written(kind)
            if after.keys() != spec.after.keys():
                source = self.changes.get(name) or self.run.flow.source(name)
                found[name] = source._replace(raw={**source.raw, 'after': after})
        return found
