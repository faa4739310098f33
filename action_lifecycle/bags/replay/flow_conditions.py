# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The conditions of a flow file for what was recorded of its actions."""

from __future__ import annotations

from collections.abc import Mapping
import json
from pathlib import Path
from typing import Any

from .journaled import JournaledRuns
from .judge import Question
from .nested_actions import action_spec
from .recorded import CONFIRM, MAINTAIN, Recorded, REQUIRE
from ...documents.errors import LifecycleError
from ...documents.templates.template import has_template
from ...flow.files.flow import LoadedFlow
from ...flow.files.loader import load_flow
from ...lifecycle.flow_ids import root_of
from ...lifecycle.ports import conditions_of


class FlowConditions:
    """
    Returns the conditions that a flow file has for what was recorded.

    `given`: values of the flow's parameters; others are those that were recorded, else their
    defaults. `runs`: the journal, which has more of them. `notes`: where a recorded value was
    taken in place of another default of the file. Raises DocumentError if the file is not valid.
    """

    def __init__(
        self, path: str | Path, given: Mapping[str, Any], runs: JournaledRuns | None = None
    ) -> None:
        self._path = path
        self._given = dict(given)
        self._runs = runs
        self._flows: dict[str, LoadedFlow] = {}
        self._declared: set[str] = set()
        self.notes: list[str] = []
        try:
            self._declared = set(self._flow(self._given).spec.parameters)
        except LifecycleError:  # a parameter without a default: it may have been recorded
            from ...documents.yaml_document import read_document
            data = read_document(path).data
            declared = data.get('parameters') if isinstance(data, dict) else None
            if not isinstance(declared, dict) or not any(
                    isinstance(one, dict) and one.get('default') is None
                    for one in declared.values()):
                raise
            self._declared = set(declared)

    def __call__(self, recorded: Recorded) -> Question:
        """Return conditions and parameters; raises LifecycleError if the flow has none."""
        values = recorded.parameters if self._runs is None else {
            **recorded.parameters, **self._runs.parameters.get(root_of(recorded.flow_id), {})}
        as_recorded = {name: value for name, value in values.items()
                       if name in self._declared and name not in self._given}
        flow = self._flow({**as_recorded, **self._given})
        self._note_defaults(flow, as_recorded)
        spec, kind = action_spec(flow, recorded, self._runs), recorded.kind
        if kind not in (CONFIRM, REQUIRE, MAINTAIN):
            raise LifecycleError(f"conditions '{kind}' are not those of an action of a flow")
        conditions = conditions_of(getattr(spec, kind), kind)
        if not conditions:
            raise LifecycleError(f"the action has no conditions '{kind}' in this flow")
        if any(has_template(condition.expression) for condition in conditions):
            raise LifecycleError('the condition is filled in from facts or results when the '
                                 'action starts, and they are not recorded: give --journal FILE')
        return Question(conditions, {**recorded.parameters, **spec.parameters, **self._given})

    def _note_defaults(self, flow: LoadedFlow, recorded: Mapping[str, Any]) -> None:
        for name, value in recorded.items():
            default = flow.spec.parameters[name].default
            if default is None or default == value:
                continue
            note = (f"{self._path}: parameter '{name}' is {_json(value)} as recorded, not the "
                    f'default {_json(default)}; to judge with that: -p {name}={_json(default)}')
            if note not in self.notes:
                self.notes.append(note)

    def _flow(self, values: Mapping[str, Any]) -> LoadedFlow:
        key = json.dumps(values, sort_keys=True, default=str)
        if key not in self._flows:
            self._flows[key] = load_flow(self._path, **values)
        return self._flows[key]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
