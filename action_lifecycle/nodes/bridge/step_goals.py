# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The goals with which the bridge does the steps of a motion, by kind of work."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any
import uuid

from .facts import Facts
from ...documents.errors import LifecycleError
from ...lifecycle.ports import Condition, Confirmation, Handle, MotionRequest
from ...ros.calls.call_goal import CallGoal
from ...ros.calls.motion_client import MotionClient, MotionGoal
from ...ros.calls.publish_goal import PublishGoal
from ...ros.interfaces.control_names import control_fault
from ...ros.interfaces.message_fields import fill
from ...ros.interfaces.types import message_class
from ...ros.node.lifecycle_node import ManagedNode
from ...work.bridge_work import BridgeWork
from ...work.call import CallSpec
from ...work.motion import MotionSpec
from ...work.motion_host import StepGoal
from ...work.publish import PublishSpec
from ...world.facts.facts import FactSet
from ...world.unmet_conditions import confirmation


def step_goal(
    node: ManagedNode, facts: Facts, request: MotionRequest, goal_id: uuid.UUID, work: BridgeWork,
    goal: Any | None, on_state: Callable[[str], None], on_feedback: Callable[[Any], None],
    refusal: Callable[[], str], last_word: float,
) -> StepGoal:
    """Send the goal, request or message of a step; None: follow that of an earlier process."""
    if isinstance(work, PublishSpec):
        publication = PublishGoal(
            node, work, lambda condition, ended: _watch(
                node, facts, condition, request.parameters, ended),
            on_state=on_state, on_feedback=on_feedback)
        last = last_message(work)
        publication.follow(last) if goal is None else publication.send(goal, last)
        return publication
    if isinstance(work, CallSpec):
        call = CallGoal(
            node, work, request.parameters, on_state=on_state, last_word=last_word)
        call.follow() if goal is None else call.send(goal)
        return call
    motion = MotionGoal(
        node, motion_client(node, work), goal_id, server_timeout=work.server_timeout,
        on_state=on_state, on_feedback=on_feedback, refusal=refusal,
        shared=isinstance(work, MotionSpec) and work.foreign_goals == 'allow')
    motion.follow() if goal is None else motion.send(goal)
    return motion


def motion_client(node: ManagedNode, work: BridgeWork) -> MotionClient:
    """Return the client of a motion's server; it is kept, so that discovery happens once."""
    name = node.resolve_topic_name(f'{work.name}/_action/status')  # one server, one client
    client: MotionClient = node.keep(
        ('motion', name, work.type), lambda: MotionClient(node, work.name, work.type))
    return client


def last_message(work: PublishSpec) -> Any:
    """Return the message of `finally`, or None; raises `LifecycleError` if it does not fit."""
    if work.last is None:
        return None
    message = message_class(work.type)()
    faults = list(fill(message, work.last, 'finally'))
    if faults:
        raise LifecycleError('; '.join(map(str, faults)))
    return message


def name_fault_of(
    work: BridgeWork, name: str, facts: FactSet, full_name: Callable[[str], str],
    nodes: Collection[str],
) -> str:
    """
    Return why a flow may not use a service or topic; '' if it may.

    `name`: full name. What the facts and the safety topics read is not published by flows: it
    would be no evidence.
    """
    if work.has_id:
        return ''
    fault = control_fault(name, work.type, nodes)
    if fault or not isinstance(work, PublishSpec):
        return fault
    topics = {*facts.topic_types(), *(entry.spec.topic for entry in facts.safety)}
    if name in map(full_name, topics):
        return f"'{name}' is read by the facts or the safety topics; a flow can't publish on it"
    return ''


def _watch(
    node: ManagedNode, facts: Facts, condition: Condition, names: Mapping[str, Any],
    ended: Callable[[Confirmation], None],
) -> Handle:
    watch = facts.model.confirm(
        [condition], node.now(), lambda result: ended(confirmation(result, facts.names)),
        names=names)
    facts.changed()
    return watch
