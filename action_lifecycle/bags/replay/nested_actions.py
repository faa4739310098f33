# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Finds what was recorded of an action, also one of a nested flow or of `for_each`, in a flow file.

Nested flows are made as in a run. Values that were read when an action started are those that the
journal has; without a journal, those among the recorded parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import re
from typing import Any

from .journaled import Inputs, JournaledRuns
from .recorded import Recorded
from ...documents.errors import LifecycleError
from ...documents.suggestions import nearest
from ...documents.templates.template import has_template
from ...flow.files.flow import LoadedFlow
from ...flow.files.loader import nested_flow
from ...flow.files.loops import LoopSpec
from ...lifecycle.spec import ActionSpec
from ...lifecycle.work import NestingSpec
from ...traces.contents import TraceKey

_RUN = re.compile(r'\.\d+\Z')  # the number of a further run in the id of a nested flow


def action_spec(flow: LoadedFlow, recorded: Recorded, runs: JournaledRuns | None) -> ActionSpec:
    """
    Return the action of a flow that was recorded; raises LifecycleError if there is none.

    `runs`: the journal, if there is one.
    """
    path, flow_id = '', recorded.flow_id.split('/')[0]
    parts = recorded.flow_id.split('/')[1:]
    names = [*(_RUN.sub('', part) for part in parts), recorded.action_id]
    name = names[0]
    for place, part in enumerate(parts):
        flow_id, path = f'{flow_id}/{part}', f'{path}{names[place]}/'
        _require(flow, name, path[:-1])
        outer = _Outer(flow, name, recorded.parameters if place == len(parts) - 1 else {},
                       runs.nested.get(flow_id) if runs is not None else None)
        flow, name = outer.inner(names[place + 1], path)
    _require(flow, name, path + recorded.action_id)
    for key, value in flow.bound.get(name, {}).items():
        if recorded.parameters.get(key, value) != value:
            raise LifecycleError(f"{key} of '{path}{name}' is {value!r} in this flow, and was "
                                 f'{recorded.parameters[key]!r}')
    return _filled(flow, name, recorded, None if runs is None else runs.inputs.get(
        TraceKey(recorded.flow_id, recorded.action_id, recorded.attempt)))


def _require(flow: LoadedFlow, name: str, path: str) -> None:
    if name not in flow.actions:
        raise LifecycleError(f"flow '{flow.name}' has no action '{path}'"
                             + nearest(name, flow.actions))


def _filled(
    flow: LoadedFlow, name: str, recorded: Recorded, inputs: Inputs | None
) -> ActionSpec:
    """Return the spec of an action with what an attempt has read at its start."""
    if inputs is not None:
        if recorded.kind in inputs.fields:
            raise LifecycleError(f"a fallback has replaced '{recorded.kind}' in this attempt")
        return flow.render(name, inputs.parameters, None, inputs.seen or None)
    late = {str(path[1]) for path, _ in flow.late.get(name, ()) if path[0] == 'parameters'}
    values = {key: recorded.parameters[key] for key in late.intersection(recorded.parameters)}
    return flow.render(name, values) if values else flow.actions[name]


class _Outer:
    """
    An action whose work is a nested flow.

    `recorded`: parameters of an action of the nested flow. `inputs`: what the journal has.
    """

    def __init__(
        self, flow: LoadedFlow, name: str, recorded: Mapping[str, Any], inputs: Inputs | None
    ) -> None:
        self._flow = flow
        self._name = name
        self._recorded = recorded
        self._inputs = inputs

    def inner(self, wanted: str, path: str) -> tuple[LoadedFlow, str]:
        """Return the nested flow that has the action `wanted`, and its name there."""
        reads = any(where[0] != 'repeat' for where, _ in self._flow.late.get(self._name, ()))
        flows = [] if reads else [
            flow for _, flow in self._flow.nested.get(self._name, {}).values()]
        if not any(wanted in flow.actions for flow in flows):
            flows = [*flows, *self._made()]
        for flow in flows:
            if wanted in flow.actions:
                return flow, wanted
        for flow in flows:
            if flow.is_loop and len(flow.actions) == 1 and wanted.isdigit():
                return flow, next(iter(flow.actions))  # of the one element that is known
        if not flows and reads:
            raise LifecycleError(
                f"action '{path}{wanted}' is in a flow that depends on what '{path[:-1]}' reads "
                'when it starts: give --journal FILE')
        found = {name: None for flow in flows for name in flow.actions}
        raise LifecycleError(f"flow '{self._flow.name}' has no action '{path}{wanted}'"
                             + nearest(wanted, found))

    def _made(self) -> Iterator[LoadedFlow]:
        """Yield the flows of the steps with the values that the action has read."""
        flow, inputs = self._flow, self._inputs
        spec, seen = flow.actions[self._name], {}
        if inputs is not None:
            spec = flow.render(self._name, inputs.parameters, inputs.fields, inputs.seen or None)
            seen = dict(inputs.seen)
        steps = list(enumerate(spec.steps))
        if inputs is not None:  # two steps may have actions of the same name
            steps.sort(key=lambda entry: entry[0] != inputs.step)
        for _, step in steps:
            known = self._known(step) if isinstance(step, NestingSpec) else None
            nested = None if known is None else nested_flow(flow, self._name, known, seen)
            if nested is not None:
                yield nested

    def _known(self, step: NestingSpec) -> Any:
        """Return a step whose values are known; None if they are not."""
        values = dict(step)
        if isinstance(step, LoopSpec):
            if not isinstance(step.elements, list):
                if step.name not in self._recorded:
                    return None
                values['elements'] = [self._recorded[step.name]]
        else:
            given = values.get('parameters') or {}
            late = [name for name, value in given.items() if has_template(value)]
            if any(name not in self._recorded for name in late):
                return None
            values['parameters'] = {**given, **{name: self._recorded[name] for name in late}}
        return type(step)(**values).placed(step.path)
