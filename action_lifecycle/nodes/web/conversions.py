# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Converts messages to what the viewer shows now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
import math
from typing import Any

from action_lifecycle_msgs.msg import SafetyState

from ..action.bridge_client import MOTION_PREFIX
from ...documents.stamps import to_seconds
from ...lifecycle.text_format import value_in_words
from ...ros.conversions.feedback import feedback_text
from ...ros.conversions.plain_data import code_name
from ...viewer.robots import FactNow, FrameNow, MotionNow, QuestionNow, SafetyNow
from ...world.evidence_messages import evidence_from, fact_from

_SAFETY = {SafetyState.NOT_READY: 'not_ready', SafetyState.READY: 'ready',
           SafetyState.STOPPED: 'stopped'}
DIGITS = 4
"""Decimal places of translations (m) and of rotations; smaller movements are no change."""


def safety_now(message: Any) -> SafetyNow:
    """Return a SafetyState; one with an unknown state is not ready."""
    return SafetyNow(
        _SAFETY.get(message.state, 'not_ready'), code_name(message.error_code), message.reason,
        message.topic, tuple(message.locked_resources), to_seconds(message.stamp),
        message.stamp.sec * 10**9 + message.stamp.nanosec, message.cause)


def facts_now(message: Any) -> tuple[FactNow, ...]:
    """Return the facts of a WorldState in its order."""
    return tuple(
        FactNow(fact['name'], value_in_words(fact), fact['unit'], fact['validity'],
                fact.get('note', ''), fact['topic'], fact['stamp'])
        for fact in map(fact_from, message.facts))


def questions_now(node: str, message: Any) -> Iterator[QuestionNow]:
    """Yield the questions in an OperatorRequestArray of a node."""
    for request in message.requests:
        yield QuestionNow(
            request.id, node, request.kind, request.flow_id, request.action_id, request.question,
            tuple(request.options), request.default_answer, request.link,
            to_seconds(request.stamp), to_seconds(request.deadline),
            tuple(evidence_from(item) for item in request.evidence))


def motions_now(
    actions: Any, feedback: Mapping[bytes, Any]
) -> dict[tuple[str, str], MotionNow]:
    """
    Return the motions of an ActionStatusArray by flow and path of the action.

    `feedback`: messages of ExecuteMotion by the first bytes of the goal id.
    """
    motions = {}
    for action in actions.actions:
        if action.state.value != 'executing_motion':
            continue
        found = feedback.get(bytes(action.goal_id.uuid)[:MOTION_PREFIX])
        motions[action.flow_id, action.action_id] = MotionNow(
            action.step, action.state.value, '') if found is None else MotionNow(
            found.step, found.step_state, feedback_text(found.feedback_json))
    return motions


def frames_now(transforms: Iterable[Any]) -> Iterator[FrameNow]:
    """Yield transforms (geometry_msgs/TransformStamped); one that is not finite is left out."""
    for stamped in transforms:
        shift, turn = stamped.transform.translation, stamped.transform.rotation
        numbers = [round(number, DIGITS) for number in (
            shift.x, shift.y, shift.z, turn.x, turn.y, turn.z, turn.w) if math.isfinite(number)]
        if len(numbers) == 7:
            x, y, z, *rotation = numbers
            yield FrameNow(stamped.header.frame_id.lstrip('/'), stamped.child_frame_id.lstrip('/'),
                           (x, y, z), (rotation[0], rotation[1], rotation[2], rotation[3]))
