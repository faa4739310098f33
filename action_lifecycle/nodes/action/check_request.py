# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Creates the request with which the bridge checks an action before anything moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import dataclasses
import json
from typing import Any

from action_lifecycle_msgs.srv import Check

from ...documents.templates.template import has_template, parts_read
from ...flow.files.checks import judged_conditions, RESULT_NAMES
from ...flow.files.edit_provenance import Path
from ...flow.files.flow import LoadedFlow
from ...lifecycle.ports import Condition, conditions_of, knows, MotionStep
from ...lifecycle.spec import ActionSpec
from ...ros.conversions.motion import condition_to, step_to


def check_request(
    flow: LoadedFlow, action_id: str, action: ActionSpec, full_name: Callable[[str], str]
) -> tuple[Check.Request, list[Path]]:
    """
    Return the request, and the path of each of its conditions in the action.

    Values that are filled in when the action starts are left out of the goals, but the facts that
    they read are checked. `full_name`: of a service or topic that the action node uses itself,
    whose namespace may be another one than the bridge's.
    """
    conditions = [*_conditions(action), *_facts_read(flow, action_id)]
    names: dict[str, Any] = {  # a value that is filled in later counts as a number
        name: 0.0 if has_template(value) else value for name, value in action.parameters.items()}
    if any(True for _ in judged_conditions(action)):
        names = {**RESULT_NAMES, 'iteration': 1, **names}
    return Check.Request(
        steps=[step_to(_without_late(step.bridge_step() if step.is_physical() else
                                     dataclasses.replace(step.bridge_step(),
                                                         server=full_name(step.name))))
               for step in action.checked_steps],
        conditions=[condition_to(condition) for _, condition in conditions],
        parameters_json=json.dumps(names)), [where for where, _ in conditions]


def _conditions(action: ActionSpec) -> Iterator[tuple[Path, Condition]]:
    for field in ('require', 'maintain', 'confirm'):
        for index, condition in enumerate(conditions_of(getattr(action, field), field)):
            yield (field, index, 'condition'), condition
    if action.stopped is not None:
        yield ('stopped', 0, 'condition'), conditions_of([action.stopped], 'stopped')[0]
    for where, _, when in judged_conditions(action):
        if not has_template(when.condition):
            yield where, Condition(str(where[0]), when.condition, max_age=when.max_age)


def _facts_read(flow: LoadedFlow, action_id: str) -> Iterator[tuple[Path, Condition]]:
    for where, text in flow.late.get(action_id, ()):
        for name, _ in sorted(parts_read(text, 'facts')):
            yield where, Condition(str(where[0]), knows(name))


def _without_late(step: MotionStep) -> MotionStep:
    if has_template(step.goal) or has_template(step.options):
        step = dataclasses.replace(step, goal=_pruned(step.goal), options=_pruned(step.options))
    return step


def _pruned(data: Any) -> Any:
    """Return a copy without strings that are filled in later, and lists that contain one."""
    if isinstance(data, dict):
        return {key: _pruned(value) for key, value in data.items()
                if not (has_template(value) and isinstance(value, (str, list)))}
    return data
