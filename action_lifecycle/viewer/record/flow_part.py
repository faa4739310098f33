# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""One journaled flow in a record: the outermost one, or one that an action runs."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from .action_rows import ActionRows
from .nodes import kind_of, static_flows
from .versions import FlowVersions, Version
from ...flow.run.flow_control import FlowControl
from ...lifecycle.flow_ids import nested_id, parent_of, root_of, shown


class NestedRun(NamedTuple):
    """A flow that an action has run; `attempt`: of the action."""

    seq: int
    attempt: int
    part: FlowPart


class FlowPart:
    """
    A flow with its actions by name.

    `prefix`: of the paths of its actions, such as `pick.2/`; `runs`: the flows that its actions
    have run, by action.
    """

    def __init__(self, flow_id: str) -> None:
        self.flow_id = flow_id
        self.versions = FlowVersions(flow_id)
        self.control = FlowControl()
        self.begun = 0  #: its first row
        self.actions: dict[str, ActionRows] = {}
        self.runs: dict[str, list[NestedRun]] = {}
        self.prefix = prefix_of(flow_id)
        self.name = flow_id.rpartition('/')[2].partition('.')[0]  #: of its action, if it nests
        self.group = shown(parent_of(flow_id), self.name)[1] if self.prefix else ''

    def action(self, name: str) -> ActionRows:
        """Return the rows of an action."""
        found = self.actions.get(name)
        if found is None:
            found = self.actions[name] = ActionRows(self.prefix + name)
        return found

    def add_run(self, seq: int, part: FlowPart) -> bool:
        """
        Add a flow that an action runs, when it is accepted.

        Returns whether it differs from what was expected before it ran.
        """
        runs = self.runs.setdefault(part.name, [])
        rows = self.actions.get(part.name)
        attempt = 0 if rows is None else rows.now.attempt
        expected = self.nested(part.name, self.versions.at(seq), seq)
        runs.append(NestedRun(seq, attempt, part))
        return (part.prefix, _outline(part.versions.at(seq))) not in [
            (prefix, _outline(version)) for prefix, version in expected]

    def nested(self, name: str, version: Version, seq: int) -> list[tuple[str, Version]]:
        """
        Return the flows that an action runs after the rows up to `seq`, with their prefixes.

        They are those of its last attempt that ran any, then those that it will run.
        """
        runs = [run for run in self.runs.get(name, ()) if run.seq <= seq]
        current = [run.part for run in runs if run.attempt == runs[-1].attempt]
        found = [(part.prefix, part.versions.at(seq)) for part in current]
        return found + expected_flows(
            self.flow_id, name, version, len(current), {run.part.flow_id for run in runs})


def expected_flows(
    flow_id: str, name: str, version: Version, begun: int = 0,
    taken: Container[str] = (),
) -> list[tuple[str, Version]]:
    """Return the flows that an action will run, without the first `begun` ones."""
    found = []
    number = 1
    for flow in static_flows(version.flow, name)[begun:]:
        while nested_id(flow_id, name, number) in taken:
            number += 1
        found.append((prefix_of(nested_id(flow_id, name, number)), Version(flow, ())))
        number += 1
    return found


def prefix_of(flow_id: str) -> str:
    """Return the beginning of the paths of a flow's actions; '' for an outermost flow."""
    return flow_id[len(root_of(flow_id)) + 1:] + '/' if '/' in flow_id else ''


def _outline(version: Version) -> dict[str, object]:
    """Return what the graph shows of a flow: its actions and their dependencies."""
    known = {} if version.flow is None else version.flow.actions
    return {name: known.get(name) and (
        known[name].after, known[name].description, kind_of(known[name]), known[name].physical)
        for name in version.actions}
