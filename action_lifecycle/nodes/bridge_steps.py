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

"""The requested steps of a motion, and the check of their limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import math
from typing import Any

from action_lifecycle_msgs import msg
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node

from ..engine.errors import LifecycleError
from ..engine.json_text import read_object
from ..ros.goals import GoalFault, limit_faults
from ..world import FactSet


@dataclass(frozen=True)
class Step:
    """One goal for one server; times in s."""

    server: str
    type: str  # noqa: A003
    goal: Any
    server_timeout: float
    timeout: float


def step_from(index: int, step: msg.Motion) -> Step:
    """Return a step of a request; raises LifecycleError if a value is not valid."""
    for name in ('server_timeout', 'timeout'):
        value = getattr(step, name)
        if not (math.isfinite(value) and value >= 0):
            raise LifecycleError(f'steps.{index}.{name}: {value}: expected seconds, 0 or more')
    goal = read_object(step.goal_json, f'steps.{index}.goal_json')
    return Step(step.server, step.type, goal, step.server_timeout, step.timeout)


def full_name(node: Node, server: str) -> str:
    """Return the fully qualified name of an action server."""
    return str(expand_topic_name(server, node.get_name(), node.get_namespace()))


def beyond_limits(node: Node, facts: FactSet, step: Step, goal: Any) -> Iterator[GoalFault]:
    """Yield the fields of a filled goal that exceed the limits of its type or server."""
    server = full_name(node, step.server)
    for name, limits in facts.limits.items():
        if name == step.type or ('/action/' not in name and full_name(node, name) == server):
            yield from limit_faults(goal, limits)
