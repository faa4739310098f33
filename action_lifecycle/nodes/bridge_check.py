# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Whether motions and conditions fit what is there: servers, types, fields, limits, facts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from action_lifecycle_msgs.msg import CheckFault
from rclpy.action import get_action_names_and_types
from rclpy.node import Node

from .bridge_steps import beyond_limits, full_name, Step
from ..engine.errors import DocumentError, nearest
from ..ros.goals import fill, GoalFault, LATER, resolve
from ..ros.types import action_class, UnknownType
from ..world import Condition, FactSet
from ..world.conditions import condition_faults
from ..world.expressions import compile_expression
from ..world.facts_file import TOPIC


def action_servers(node: Node) -> dict[str, list[str]]:
    """Return the types of every action server that is seen, by its full name."""
    return dict(get_action_names_and_types(node))


def missing_servers(node: Node, steps: Collection[Step]) -> set[str]:
    """Return the servers of these steps that are not seen yet."""
    seen = action_servers(node)
    return {step.server for step in steps  # what is no name, step_faults tells
            if TOPIC.match(step.server) and full_name(node, step.server) not in seen}


def step_faults(
    node: Node, facts: FactSet, index: int, step: Step, parameters: Mapping[str, Any]
) -> Iterator[CheckFault]:
    """Yield what is wrong with a step of a motion."""
    def fault(path: str, message: str) -> CheckFault:
        return CheckFault(kind=CheckFault.MOTION, index=index, path=path, message=message)

    try:
        kind = action_class(step.type)
    except UnknownType as error:
        yield fault('type', str(error))
        kind = None
    try:
        name = full_name(node, step.server)
    except ValueError as error:
        yield fault('server', f"server '{step.server}': {error}")
        return
    seen = action_servers(node)
    if name not in seen:
        yield fault('server', f"no action server '{step.server}'"
                    + nearest(name, seen) + f" (seen: {', '.join(sorted(seen)) or 'none'})")
    elif kind is not None and step.type not in seen[name]:
        yield fault('type', f"server '{step.server}' is of type {', '.join(seen[name])}, not "
                    + step.type)
        return
    if kind is not None:
        for entry in goal_faults(node, facts, kind, step, parameters):
            yield fault(entry.path, entry.message)


def goal_faults(
    node: Node, facts: FactSet, kind: Any, step: Step, parameters: Mapping[str, Any]
) -> Iterator[GoalFault]:
    """Yield what is wrong with the fields of a goal, as far as it can be told beforehand."""
    faults: list[GoalFault] = []
    later: list[str] = []

    def value_of(text: str, path: str) -> Any:
        later.append(path)
        try:
            compile_expression(text, {*facts, *parameters})
        except DocumentError as error:
            faults.extend(GoalFault(path, f"'{text}', column {entry.column}: {entry.message}")
                          for entry in error.faults)
        return LATER

    data = resolve(step.goal, value_of)
    yield from faults
    goal = kind.Goal()
    wrong = list(fill(goal, data))
    yield from wrong
    if not wrong:
        for fault in beyond_limits(node, facts, step, goal):
            if not any(f'{path}.'.startswith(f'{fault.path}.') for path in later):
                yield fault


def wrong_conditions(
    facts: FactSet, conditions: Collection[Condition], parameters: Mapping[str, Any]
) -> Iterator[CheckFault]:
    """Yield what is wrong with conditions."""
    for index, message in condition_faults(conditions, facts, parameters):
        yield CheckFault(kind=CheckFault.CONDITION, index=index, message=message)
