# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks motions and conditions against servers, types, fields, limits and facts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from action_lifecycle_msgs.msg import CheckFault
from rclpy.action import get_action_names_and_types
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node

from .facts import Facts
from ...documents.errors import DocumentError
from ...documents.suggestions import nearest
from ...lifecycle.ports import MotionStep
from ...ros.interfaces.message_fields import fill, GoalFault, LATER, limit_faults, resolve
from ...ros.interfaces.types import action_class, UnknownType
from ...world import Condition
from ...world.condition import compile_condition, compile_over, condition_faults
from ...world.expressions.constant_values import ConditionParameters
from ...world.facts.facts import FactSet
from ...world.facts.facts_file import TF_TOPICS, TOPIC


class TopicCheck:
    """Checks that the topics of facts have the type and QoS that the facts file declares."""

    def __init__(self, world: Facts) -> None:
        self.facts: FactSet = world.model.facts
        self.unpublished: set[str] = set()  #: full names of checked topics without a publisher
        self._readers = world.subscriptions.readers

    def faults(self, names: Iterable[str]) -> Iterator[str]:
        """Yield the faults of the topics of these facts; ignores names that are no facts."""
        for topic in sorted(self.facts.topics(names)):
            reader = self._readers[topic]
            fitting, strange = reader.publishers()
            if strange and not fitting:
                yield f"topic '{reader.name}' {strange}"
            elif not fitting and topic not in TF_TOPICS:  # many robots have only one of these
                self.unpublished.add(reader.name)


def full_name(node: Node, server: str) -> str:
    """Return the fully qualified name of an action server."""
    return str(expand_topic_name(server, node.get_name(), node.get_namespace()))


def beyond_limits(node: Node, facts: FactSet, step: MotionStep, goal: Any) -> Iterator[GoalFault]:
    """Yield the fields of a filled goal that exceed the limits of its type or server."""
    server = full_name(node, step.server)
    for name, limits in facts.limits.items():
        if name == step.type or ('/action/' not in name and full_name(node, name) == server):
            yield from limit_faults(goal, limits)


def missing_servers(node: Node, steps: Collection[MotionStep]) -> set[str]:
    """Return the servers of these steps that are not visible yet."""
    seen = dict(get_action_names_and_types(node))
    return {step.server for step in steps  # step_faults reports invalid names
            if TOPIC.match(step.server) and full_name(node, step.server) not in seen}


def step_faults(
    node: Node, topics: TopicCheck, index: int, step: MotionStep, parameters: ConditionParameters
) -> Iterator[CheckFault]:
    """Yield the faults of a motion step."""
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
    seen = dict(get_action_names_and_types(node))
    if name not in seen:
        yield fault('server', f"no action server '{step.server}'"
                    + nearest(name, seen) + f" (seen: {', '.join(sorted(seen)) or 'none'})")
    elif kind is not None and step.type not in seen[name]:
        yield fault('type', f"server '{step.server}' is of type {', '.join(seen[name])}, not "
                    + step.type)
        return
    if kind is not None:
        for entry in goal_faults(node, topics, kind, step, parameters):
            yield fault(entry.path, entry.message)


def goal_faults(
    node: Node, topics: TopicCheck, kind: Any, step: MotionStep, parameters: ConditionParameters
) -> Iterator[GoalFault]:
    """Yield the faults of a goal's fields that can be found before facts are filled in."""
    facts = topics.facts
    faults: list[GoalFault] = []
    later: list[str] = []

    def value_of(text: str, path: str) -> Any:
        later.append(path)
        try:
            names = compile_over(text, facts, parameters).names
            faults.extend(GoalFault(path, f"'{text}': {wrong}") for wrong in topics.faults(names))
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
    topics: TopicCheck, conditions: Collection[Condition], parameters: ConditionParameters
) -> Iterator[CheckFault]:
    """Yield the faults of conditions, including those of the topics they read."""
    faults = list(condition_faults(conditions, topics.facts, parameters))
    wrong = {index for index, _ in faults}
    for index, condition in enumerate(conditions):
        if index not in wrong:
            names = compile_condition(condition.expression, topics.facts, parameters).names
            faults.extend((index, message) for message in topics.faults(names))
    for index, message in faults:
        yield CheckFault(kind=CheckFault.CONDITION, index=index, message=message)
