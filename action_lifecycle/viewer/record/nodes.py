# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The nodes of a flow's graph, from the flow and from those that its actions run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from .shown import Node
from .versions import Version
from ...flow.files.flow import LoadedFlow
from ...flow.scheduling.dag import CycleError, topological_order
from ...lifecycle.spec import ActionSpec, WhenSpec
from ...lifecycle.work import STEPS

Nested = Callable[[str, str, Version], 'list[tuple[str, Version]]']
"""Returns the flows that an action runs, each with the prefix of the paths of its actions."""


def nodes_of(
    version: Version, nested: Nested, prefix: str = '', group: str = ''
) -> Iterator[tuple[Node, LoadedFlow | None]]:
    """
    Yield the actions of a flow in topological order, each followed by those that it runs.

    `nested(prefix, name, version)` returns the flows of action `name`. The second value is the
    flow that the action is part of; None if it is known from rows only.
    """
    flow = version.flow
    for name, after in _ordered(version).items():
        path = prefix + name
        spec = None if flow is None else flow.actions.get(name)
        if spec is None:
            yield Node(path, group=group), None
        else:
            yield Node(
                path, spec.description, kind_of(spec), spec.physical, group,
                {prefix + needed: label for needed, label in after.items()},
                spec.replaces and prefix + spec.replaces), flow
        for below, inner in nested(prefix, name, version):
            yield from nodes_of(inner, nested, below, path)


def static_flows(flow: LoadedFlow | None, name: str) -> list[LoadedFlow]:
    """Return the flows that an action will run, as far as they are known before it starts."""
    steps = {} if flow is None else flow.nested.get(name, {})
    return [steps[index][1] for index in sorted(steps)]


def kind_of(spec: ActionSpec) -> str:
    """Return the kind of an action's work; 'steps' for several kinds, '' without work."""
    kinds = list(dict.fromkeys(step.kind for step in spec.steps))
    return STEPS if len(kinds) > 1 else ''.join(kinds)


def _ordered(version: Version) -> Mapping[str, Mapping[str, str]]:
    """Return the actions in topological order, each with the labels of its dependencies."""
    known = {} if version.flow is None else version.flow.actions
    after = {name: {
        needed: label_of(kind) for needed, kind in known[name].after.items() if needed in known}
        if name in known else {} for name in version.actions}
    try:
        return {name: after[name] for name in topological_order(after)}
    except CycleError:  # of an edit that is read in part
        return after


def label_of(kind: str | WhenSpec) -> str:
    """Return the text of a dependency: its kind or condition, '' for success."""
    if isinstance(kind, WhenSpec):
        return kind.condition
    return '' if kind == 'success' else kind
