# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The conditions of a flow file for recorded confirmations of its actions."""

from __future__ import annotations

from collections.abc import Mapping
import json
from pathlib import Path
import re
from typing import Any

from .judge import Question
from .recorded import Recorded
from ...documents.errors import LifecycleError
from ...documents.suggestions import nearest
from ...documents.templates.template import has_template
from ...flow.files.flow import Flow
from ...flow.files.loader import load_flow
from ...lifecycle.ports import conditions_of
from ...lifecycle.spec import ActionSpec

_ATTEMPT = re.compile(r'\.\d+\Z')


class FlowConditions:
    """
    Returns the conditions that a flow file has for a recorded confirmation.

    `given`: values of the flow's parameters; others are those that were recorded, else their
    defaults. Raises DocumentError if the file is not valid.
    """

    def __init__(self, path: str | Path, given: Mapping[str, Any]) -> None:
        self._path = path
        self._given = dict(given)
        self._flows: dict[str, Flow] = {}
        self._declared: set[str] = set()
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
        flow = self._flow({**{name: value for name, value in recorded.parameters.items()
                              if name in self._declared}, **self._given})
        spec = _action(flow, action_path(recorded))
        name = recorded.conditions[0].name if recorded.conditions else 'confirm'
        specs = getattr(spec, name, None) if name in ('confirm', 'require') else None
        if specs is None:
            raise LifecycleError(f"conditions '{name}' are not those of an action of a flow")
        if not specs:
            raise LifecycleError(f"the action has no conditions '{name}' in this flow")
        conditions = conditions_of(specs, name)
        if any(has_template(condition.expression) for condition in conditions):
            raise LifecycleError('the condition is filled in from facts or results when the '
                                 'action starts')
        return Question(conditions, {**recorded.parameters, **spec.parameters, **self._given})

    def _flow(self, values: Mapping[str, Any]) -> Flow:
        key = json.dumps(values, sort_keys=True, default=str)
        if key not in self._flows:
            self._flows[key] = load_flow(self._path, **values)
        return self._flows[key]


def action_path(recorded: Recorded) -> str:
    """
    Return the name of an action in its outermost flow, such as fetch/grip.

    The nested flow of action `fetch` of flow F is `F/fetch`; of its second attempt, `F/fetch.2`.
    """
    nested = recorded.flow_id.split('/')[1:]
    return '/'.join([*(_ATTEMPT.sub('', part) for part in nested), recorded.action_id])


def _action(flow: Flow, path: str) -> ActionSpec:
    specs = dict(flow.named_actions())
    if path not in specs:
        raise LifecycleError(f"flow '{flow.name}' has no action '{path}'" + nearest(path, specs))
    return specs[path]
