# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""One flow at any moment, with the flows that its actions run."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
import contextlib
import itertools
import math

import yaml

from .action_rows import ActionRows
from .attempts import apply_row, attempts_of
from .flow_part import FlowPart
from .flow_states import FlowStates
from .shown import (
    AttemptShown,
    Bar,
    FLOW,
    FlowHead,
    FlowShown,
    Node,
    Shown,
    StateEntered,
    STRUCTURE,
)
from .structures import Structures
from .versions import FlowVersions
from ...documents.errors import LifecycleError
from ...flow.files.journaled import JournaledText
from ...flow.run.flow_control import CONTROL_EVENTS
from ...graphs.packaged import packaged_graph
from ...journal.flow_rows import is_flow_change, PLAN
from ...journal.projection import ReadOnly
from ...journal.row import Row
from ...lifecycle.action import Action
from ...lifecycle.flow_ids import is_within, parent_of, stored
from ...lifecycle.spec import ActionSpec

NOW = 2**63 - 1


class FlowRecord:
    """
    What happened in a flow, from its rows; `take` takes them in order.

    Paths are those of `lifecycle.flow_ids.shown`: an action that ran several times has flows
    `pick`, `pick.2` and so on, with actions `pick/grip` and `pick.2/grip`; `nodes` has those of
    the last attempt. A moment (`seq`) is the number of a row; None is now.
    """

    def __init__(self, flow_id: str) -> None:
        self.flow_id = flow_id
        self._clear()

    def _clear(self) -> None:
        self._root = FlowPart(self.flow_id)
        self._parts = {self.flow_id: self._root}
        self._by_prefix = {'': self._root}
        self._states = FlowStates()
        self._rows: list[Row] = []
        self._changed: list[tuple[str, ...]] = []  #: the paths that each row has changed
        self._named: dict[str, list[Row]] = {}  #: rows of flows that name an action, by path
        self._stops: list[tuple[int, float]] = []
        self._latest: list[float] = []  #: the latest wall time so far, by row
        self._structures = Structures(self._root, self._by_prefix)
        self._began = 0.0

    def restart(self) -> None:
        """Forget all rows: another journal is at the place of the one they came from."""
        self._clear()

    # Rows

    @property
    def last_seq(self) -> int:
        """Return the number of the last row, 0 if there is none."""
        return self._stops[-1][0] if self._stops else 0

    @property
    def head(self) -> FlowHead:
        """Return the flow as it is in a list."""
        head, flow = self._root.versions.head, self.flow()
        done = flow.total - flow.counts['waiting'] - flow.counts['running']
        return FlowHead(
            self.flow_id, str(head.get('name', '')) or self.flow_id, str(head.get('file', '')),
            self._began, self._states.ended, flow.state, done, flow.total,
            self._stops[0][0] if self._stops else 0, flow.paused, flow.error_code)

    @property
    def fault(self) -> str:
        """Return why the text of the flow or an edit can't be read; '' if it can."""
        return self._root.versions.fault

    def take(self, row: Row) -> set[str]:
        """Take the next row; returns the paths that it has changed. Other rows are ignored."""
        flow_id = row.action_id if row.kind == PLAN and not row.flow_id else row.flow_id
        if row.seq <= self.last_seq or not is_within(flow_id, self.flow_id):
            return set()
        self._began = self._began or row.wall_time
        self._rows.append(row)
        self._stops.append((row.seq, row.wall_time))
        self._latest.append(max(row.wall_time, self._latest[-1] if self._latest else 0.0))
        part = self._parts.get(flow_id) or self._add_part(flow_id)
        part.begun = part.begun or row.seq
        takes = self._take_action if row.kind == 'transition' or (
            row.kind == 'note' and row.action_id) else self._take_flow
        changed = takes(part, row)
        self._changed.append(tuple(changed))
        return changed

    def completed_by(self, row: Row) -> JournaledText | None:
        """
        Return the text of a flow if a row completes it, else None.

        A large flow takes long to read; call `cached` in a thread before `take`.
        """
        part = self._parts.get(row.flow_id)
        return (FlowVersions(row.flow_id) if part is None else part.versions).completed_by(row)

    def _add_part(self, flow_id: str) -> FlowPart:
        part = self._parts[flow_id] = FlowPart(flow_id)
        self._by_prefix[part.prefix] = part
        return part

    def _take_action(self, part: FlowPart, row: Row) -> set[str]:
        name = row.action_id
        rows = part.action(name)
        changed = rows.take(row)
        paths = {rows.path}
        if part.versions.name((name,), row.seq):
            paths |= self._restructured(part, row.seq)
        if changed and part is self._root:
            self._states.count(row.seq, name, rows.now.state, rows.now.outcome)
            paths.add(FLOW)
        if row.kind == 'transition' and row.final and name in part.control.breakpoints:
            part.control.ended(name)
            self._ordered(row.seq)
            paths.add(FLOW)
        return paths

    def _take_flow(self, part: FlowPart, row: Row) -> set[str]:
        paths = {FLOW if part is self._root else part.group}
        data = row.data_or_empty
        if part is self._root:
            self._states.take(row)
        if row.kind == 'flow' and row.event in ('accepted', 'text'):
            paths |= self._take_text(part, row)
        elif row.kind == 'flow' and row.event == 'edited':
            part.versions.take_edit(row)
            part.control.removed(part.versions.removed(row.seq))
            self._ordered(row.seq)
            paths |= self._restructured(part, row.seq)
        elif row.kind == 'note' and row.event in CONTROL_EVENTS:
            with contextlib.suppress(TypeError, ValueError):  # a row may have any content
                part.control.apply(row.event, data, row.actor, row.cause, row.seq)
            self._ordered(row.seq)
        elif row.kind == 'note' and row.event == 'cancel_flow':
            part.control.end_pause()
            self._ordered(row.seq)
        if row.kind == 'note':
            for name in dict.fromkeys(_texts([data.get('action')]) + _texts(data.get('actions'))):
                paths.add(part.prefix + name)
                self._named.setdefault(part.prefix + name, []).append(row)
        return paths

    def _take_text(self, part: FlowPart, row: Row) -> set[str]:
        part.versions.take_text(row)
        outer = self._parts.get(parent_of(part.flow_id))
        if row.event == 'accepted' and outer is not None and not outer.add_run(row.seq, part):
            return set()  # as it was expected
        return self._restructured(part, row.seq)

    def _restructured(self, part: FlowPart, seq: int) -> set[str]:
        self._structures.changed(seq)
        if part is self._root:
            self._states.set_total(seq, len(part.versions.at(seq).actions))
        return {STRUCTURE, FLOW}

    def _ordered(self, seq: int) -> None:
        self._states.ordered(seq, self._root.control, [
            part.prefix + name for part in self._parts.values()
            for name in part.control.breakpoints])

    # Views

    def nodes(self, seq: int | None = None) -> Mapping[str, Node]:
        """Return the actions by path, in topological order."""
        return self._structures.at(NOW if seq is None else seq)[0]

    def shown(self, path: str, seq: int | None = None) -> Shown:
        """Return an action at a moment."""
        rows = self._of(path)
        found = Shown() if rows is None else rows.at(seq)
        return found._replace(breakpoint=True) if path in self._states.breakpoints(seq) else found

    def seen(self, path: str = '') -> int:
        """Return the last row of the flow, or of an action and the orders to it, 0: no row."""
        if not path:
            return self.last_seq
        own = self._of(path)
        return max(own.rows[-1].seq if own is not None and own.rows else 0,
                   self._named[path][-1].seq if path in self._named else 0,
                   self._stops[0][0] if self._stops else 0)

    def flow(self, seq: int | None = None) -> FlowShown:
        """Return the flow at a moment."""
        return self._states.at(seq)

    def entered(self, seq: int | None = None) -> list[StateEntered]:
        """Return the states that the flow has entered up to a moment, in order."""
        return self._states.entered(seq)

    def bars(self, seq: int | None = None, paths: Iterable[str] | None = None) -> list[Bar]:
        """Return the states and waits up to a moment, of all actions or of those at `paths`."""
        if paths is not None:
            return [bar for path in paths if (found := self._of(path)) is not None
                    for bar in found.bars(seq)]
        return [bar for part in self._parts.values() for rows in part.actions.values()
                for bar in rows.bars(seq)]

    def row(self, seq: int) -> Row | None:
        """Return a row, None if it is not one of the flow."""
        index = bisect.bisect_left(self._stops, (seq, 0.0))
        found = self._rows[index] if index < len(self._rows) else None
        return found if found is not None and found.seq == seq else None

    def history(self, path: str = '', seq: int | None = None) -> list[Row]:
        """Return the rows of an action with orders to it, or the changes of the whole flow."""
        end = NOW if seq is None else seq
        if not path:
            return [row for row in self._rows if row.seq <= end and (
                row.kind == 'transition' or is_flow_change(row))]
        own = [] if (rows := self._of(path)) is None else rows.until(seq)
        return sorted([*own, *(row for row in self._named.get(path, ()) if row.seq <= end)])

    def action(self, path: str, seq: int | None = None) -> Action:
        """
        Return an action with its data; raises JournalError if a row of it can't be used.

        Its `spec` has the values that the last attempt was begun with, as far as they are known.
        """
        action = self._new_action(path, seq)
        for row in () if (rows := self._of(path)) is None else rows.until(seq):
            apply_row(action, row)
        flow = self._structures.flow_of(path, NOW if seq is None else seq)
        if flow is not None and (action.parameters or action.fields or action.seen):
            with contextlib.suppress(LifecycleError):
                action.spec = flow.render(
                    action.action_id, action.parameters, action.fields, action.seen)
        return action

    def attempts(self, path: str, seq: int | None = None) -> list[AttemptShown]:
        """Return the attempts of an action in order."""
        rows = self._of(path)
        return [] if rows is None else attempts_of(self._new_action(path, seq), rows.until(seq))

    def text(self, path: str = '', seq: int | None = None) -> str:
        """Return the YAML of the flow, or of one action, with the edits up to a moment."""
        if not path:
            end = NOW if seq is None else seq
            flow = self._root.versions.at(end).flow
            return self._root.versions.text(end) if flow is None else flow.text_now()
        flow = self._structures.flow_of(path, NOW if seq is None else seq)
        if flow is None:
            return ''
        name = stored('', path)[1]
        written: str = yaml.safe_dump(
            {name: dict(flow.raws[name])}, sort_keys=False, allow_unicode=True)
        return written

    def changed(self, after: int, until: int) -> set[str]:
        """Return the paths that the rows after `after` up to `until` have changed."""
        first, last = (bisect.bisect_right(self._stops, (seq, math.inf))
                       for seq in (after, until))
        return set(itertools.chain.from_iterable(self._changed[first:last]))

    def seqs(self) -> Sequence[tuple[int, float]]:
        """Return number and wall time (s) of all rows."""
        return self._stops

    def at_time(self, wall: float) -> int:
        """Return the last row at or before a wall time (s), 0 if there is none."""
        index = bisect.bisect_right(self._latest, wall)
        return self._stops[index - 1][0] if index else 0

    def _of(self, path: str) -> ActionRows | None:
        part, name = self._structures.find(path)
        return None if part is None else part.actions.get(name)

    def _new_action(self, path: str, seq: int | None) -> Action:
        flow = self._structures.flow_of(path, NOW if seq is None else seq)
        flow_id, name = stored(self.flow_id, path)
        return Action(flow_id, name, ActionSpec() if flow is None else flow.actions[name],
                      packaged_graph('action'), ReadOnly())


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
