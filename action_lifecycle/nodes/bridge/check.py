# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks motions and conditions against servers, types, fields, limits and facts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
import functools
from typing import Any

from action_lifecycle_msgs.msg import CheckFault
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node

from .facts import Facts
from .step_goals import name_fault_of
from ...documents.errors import DocumentError, LifecycleError
from ...documents.suggestions import nearest
from ...lifecycle.ports import MotionStep
from ...ros.interfaces.control_names import own_nodes
from ...ros.interfaces.graph import names_seen
from ...ros.interfaces.message_fields import fill, GoalFault, kind_faults, limit_faults
from ...ros.interfaces.responses import ResponseCondition
from ...ros.interfaces.type_hashes import other_receiver
from ...ros.interfaces.types import sent_class, UnknownType
from ...work.bridge_work import BridgeWork, work_of_step
from ...work.call import CallSpec
from ...work.goal_values import LATER, resolve
from ...work.publish import PublishSpec
from ...world import Condition
from ...world.condition import compile_condition, compile_over, condition_faults
from ...world.expressions.constant_values import ConditionParameters
from ...world.expressions.value_types import Kind
from ...world.facts.facts import FactSet
from ...world.facts.facts_file import is_type, TF_TOPICS, TOPIC

_WHAT = {'motion': ('server', 'no action server'), 'call': ('service', 'no service'),
         'publish': ('topic', 'nobody subscribes to topic')}
"""Names for messages, by kind of work: what a step uses, and what is missing."""


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
            fitting, strange, misread, _ = reader.publishers()
            if misread or (strange and not fitting):
                yield f"topic '{reader.name}' {strange}"
            elif unmatched := reader.unmatched(fitting):
                yield f"topic '{reader.name}' {unmatched}"
            elif not fitting and topic not in TF_TOPICS:  # many robots have only one of these
                self.unpublished.add(reader.name)


def full_name(node: Node, server: str) -> str:
    """Return the fully qualified name of an action server."""
    return _full_name(server, node.get_name(), node.get_namespace())


@functools.lru_cache(maxsize=1000)
def _full_name(server: str, name: str, namespace: str) -> str:
    return str(expand_topic_name(server, name, namespace))


def beyond_limits(
    node: Node, facts: FactSet, step: MotionStep, goal: Any, label: str
) -> Iterator[GoalFault]:
    """Yield the fields of a filled goal that exceed the limits of its type or server."""
    server = full_name(node, step.server)
    for name, limits in facts.limits.items():
        if name == step.type or (not is_type(name) and full_name(node, name) == server):
            yield from limit_faults(goal, limits, label)


def missing_servers(node: Node, steps: Collection[MotionStep]) -> set[str]:
    """Return the servers of these steps that are not visible yet."""
    seen = {kind: names_seen(node, kind) for kind in {step.kind for step in steps}}
    return {step.server for step in steps  # step_faults reports invalid names
            if TOPIC.match(step.server) and full_name(node, step.server) not in seen[step.kind]}


def step_faults(
    node: Node, topics: TopicCheck, index: int, step: MotionStep, parameters: ConditionParameters
) -> Iterator[CheckFault]:
    """Yield the faults of a motion step."""
    def fault(path: str, message: str) -> CheckFault:
        return CheckFault(kind=CheckFault.MOTION, index=index, path=path, message=message)

    what, missing = _WHAT[step.kind]
    try:
        kind = sent_class(step.kind, step.type)
    except UnknownType as error:
        yield fault('type', str(error))
        kind = None
    try:
        work = work_of_step(step)
        name = full_name(node, step.server)
    except LifecycleError as error:
        yield fault('', str(error))
        return
    except ValueError as error:
        yield fault(work.name_field, f"{what} '{step.server}': {error}")
        return
    refused = name_fault_of(
        work, name, topics.facts, functools.partial(full_name, node), own_nodes(node))
    if refused:
        yield fault(work.name_field, refused)
        return
    seen = names_seen(node, step.kind)
    if name not in seen:
        known = sorted(seen) if step.kind == 'motion' else sorted(
            name for name, types in seen.items() if step.type in types)
        yield fault(work.name_field, f"{missing} '{step.server}'"
                    + nearest(name, seen) + f" (seen: {', '.join(known) or 'none'})")
    elif kind is not None and step.type not in seen[name]:
        yield fault('type', f"{what} '{step.server}' is of type {', '.join(seen[name])}, not "
                    + step.type)
        return
    elif kind is not None and (other := other_receiver(node, step.kind, name, step.type)):
        yield fault('type', f"{what} '{step.server}': {other}")
        return
    if kind is not None:
        for entry in goal_faults(node, topics, kind, step, work.data_field, parameters):
            yield fault(entry.path, entry.message)
        for entry in _own_faults(node, topics, step, work, parameters):
            yield fault(entry.path, entry.message)


def _own_faults(
    node: Node, topics: TopicCheck, step: MotionStep, work: BridgeWork,
    parameters: ConditionParameters,
) -> Iterator[GoalFault]:
    """Yield the faults of the fields that only one kind of work has."""
    if isinstance(work, CallSpec):
        try:
            ResponseCondition(work.type, work.success, parameters)
        except DocumentError as error:
            for entry in error.faults:
                yield GoalFault('success', f"'{work.success}', column {entry.column}: "
                                + entry.message)
    elif isinstance(work, PublishSpec):
        if work.until:
            for fault in wrong_conditions(topics, [work.until_condition()], parameters):
                yield GoalFault('until', f"'{work.until}': {fault.message}")
        if work.last is not None:
            last = sent_class(step.kind, step.type)()
            wrong = list(fill(last, work.last, 'finally'))
            yield from wrong or beyond_limits(node, topics.facts, step, last, 'finally')


def goal_faults(
    node: Node, topics: TopicCheck, kind: Any, step: MotionStep, label: str,
    parameters: ConditionParameters,
) -> Iterator[GoalFault]:
    """Yield the faults of fields that are sent, before facts are filled in."""
    facts = topics.facts
    faults: list[GoalFault] = []
    later: list[str] = []
    kinds: dict[str, Kind] = {}

    def value_of(text: str, path: str) -> Any:
        later.append(path)
        try:
            compiled = compile_over(text, facts, parameters)
            kinds[text] = compiled.kind
            faults.extend(GoalFault(path, f"'{text}': {wrong}")
                          for wrong in topics.faults(compiled.names))
        except DocumentError as error:
            faults.extend(GoalFault(path, f"'{text}', column {entry.column}: {entry.message}")
                          for entry in error.faults)
        return LATER

    data = resolve(step.goal, value_of, label)
    yield from faults
    goal = kind()
    wrong = list(fill(goal, data, label))
    wrong += kind_faults(
        kind(), step.goal, lambda text: kinds.get(text, Kind.ANY), label)
    yield from wrong
    if not wrong:
        for fault in beyond_limits(node, facts, step, goal, label):
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
