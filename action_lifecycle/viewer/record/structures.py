# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The graph of a flow at any moment, with the flows that its actions run."""

from __future__ import annotations

import bisect
from collections import OrderedDict
from collections.abc import Mapping

from .flow_part import expected_flows, FlowPart
from .nodes import nodes_of
from .shown import Node
from .versions import Version
from ...flow.files.flow import LoadedFlow
from ...lifecycle.flow_ids import stored

KEPT = 4
"""Number of moments whose graphs are kept."""
Structure = tuple[Mapping[str, Node], Mapping[str, 'LoadedFlow | None']]
"""The nodes by path, in topological order, and the flow that each is part of."""


class Structures:
    """The graphs of a flow; `parts`: it and those that its actions run, by prefix of the paths."""

    def __init__(self, root: FlowPart, parts: Mapping[str, FlowPart]) -> None:
        self._root = root
        self._parts = parts
        self._changes = [0]  #: the rows that have changed the graph
        self._built: OrderedDict[int, Structure] = OrderedDict()

    def changed(self, seq: int) -> None:
        """Take note that row `seq` has changed the graph."""
        if self._changes[-1] != seq:
            self._changes.append(seq)
        self._built.pop(len(self._changes), None)

    def at(self, seq: int) -> Structure:
        """Return the graph after the rows up to `seq`."""
        index = bisect.bisect_right(self._changes, seq)
        found = self._built.get(index)
        if found is None:
            found = self._built[index] = self._build(self._changes[index - 1])
            if len(self._built) > KEPT:
                self._built.popitem(last=False)
        return found

    def find(self, path: str) -> tuple[FlowPart | None, str]:
        """Return the part that an action belongs to, if it has run, and the action's name."""
        outer, slash, name = path.rpartition('/')
        return self._parts.get(outer + slash), name

    def flow_of(self, path: str, seq: int) -> LoadedFlow | None:
        """Return the flow that has an action, also of an earlier attempt; None if not known."""
        part, name = self.find(path)
        if part is None or part.begun > seq:
            return self.at(seq)[1].get(path)
        flow = part.versions.at(seq).flow
        return flow if flow is not None and name in flow.actions else None

    def _build(self, seq: int) -> Structure:
        def nested(prefix: str, name: str, version: Version) -> list[tuple[str, Version]]:
            part = self._parts.get(prefix)
            if part is None:
                flow_id, _ = stored(self._root.flow_id, prefix)
                return expected_flows(flow_id, name, version)
            return part.nested(name, version, seq)

        nodes: dict[str, Node] = {}
        flows: dict[str, LoadedFlow | None] = {}
        if self._root.begun and self._root.begun <= seq:
            for node, flow in nodes_of(self._root.versions.at(seq), nested):
                nodes[node.path], flows[node.path] = node, flow
        return nodes, flows
