# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Converts motions and confirmations, as both sides of the bridge's actions use them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import json
import math
import re
from typing import Any

from action_lifecycle_msgs import msg
from action_lifecycle_msgs.action import ConfirmOutcome, ExecuteMotion
from action_lifecycle_msgs.srv import Evaluate

from .basic import from_uuid, to_code, to_time, to_uuid
from .evidence import evidence_to
from ...documents.errors import LifecycleError
from ...documents.json_text import json_or_text, read_object
from ...documents.stamps import to_seconds
from ...lifecycle.ports import (
    Condition,
    Confirmation,
    ConfirmRequest,
    MotionRequest,
    MotionStep,
    WorkResult,
)
from ...world.evidence_messages import evidence_from
from ...world.expressions.constant_values import ConditionParameters

CALLER = slice(8, 12)
"""Bytes of the id of an `execute_motion` goal that are the same in all goals of one caller."""
BOX = '; black box: '
"""What comes before the name of a black box at the end of `error_msg`, in messages only."""
_BOX = re.compile(BOX + r'([A-Za-z0-9_.-]{1,300}\.mcap)\Z')
_VERDICTS = {name: getattr(ConfirmOutcome.Result, name.upper())
             for name in ('confirmed', 'refuted', 'timed_out', 'stale')}
_VERDICT_NAMES = {number: name for name, number in _VERDICTS.items()}
_EVALUATED = {msg.Evidence.TRUE: 'confirmed', msg.Evidence.FALSE: 'refuted'}


def condition_to(condition: Condition) -> msg.Condition:
    """Return the message of a condition."""
    return msg.Condition(
        name=condition.name, expression=condition.expression, hold=condition.hold,
        within=condition.within, max_age=condition.max_age)


def condition_from(message: msg.Condition) -> Condition:
    """Return a condition of a request."""
    return Condition(message.name or 'condition', message.expression, message.hold,
                     message.within, message.max_age)


def parameters_from(text: str) -> ConditionParameters:
    """Return the parameters of a request; raises LifecycleError unless they are a JSON object."""
    return ConditionParameters(read_object(text, 'parameters_json'))


def step_to(step: MotionStep) -> msg.Motion:
    """Return the message of one step of a motion."""
    return msg.Motion(
        kind=step.kind, server=step.server, type=step.type, goal_json=json.dumps(step.goal),
        server_timeout=step.server_timeout, timeout=step.timeout,
        options_json=json.dumps(step.options) if step.options else '')


def steps_from(messages: Iterable[msg.Motion]) -> list[MotionStep]:
    """Return the steps of a request; raises LifecycleError if a value is not valid."""
    steps = []
    for index, step in enumerate(messages):
        for name in ('server_timeout', 'timeout'):
            value = getattr(step, name)
            if not (math.isfinite(value) and value >= 0):
                raise LifecycleError(f'steps.{index}.{name}: {value}: expected seconds, 0 or more')
        goal = read_object(step.goal_json, f'steps.{index}.goal_json')
        options = read_object(step.options_json or '{}', f'steps.{index}.options_json')
        kind = step.kind or msg.Motion.MOTION
        if kind not in (msg.Motion.MOTION, msg.Motion.CALL, msg.Motion.PUBLISH):
            raise LifecycleError(
                f"steps.{index}.kind: '{kind}': expected motion, call or publish")
        steps.append(MotionStep(step.server, step.type, goal, step.server_timeout, step.timeout,
                                kind, options))
    return steps


def motion_request_to(request: MotionRequest) -> ExecuteMotion.Goal:
    """Return the goal of a motion."""
    return ExecuteMotion.Goal(
        flow_id=request.flow_id, action_id=request.action_id, attempt=request.attempt,
        goal_id=to_uuid(request.goal_id), steps=list(map(step_to, request.steps)),
        parameters_json=json.dumps(dict(request.parameters)),
        maintain=list(map(condition_to, request.maintain)),
        confirm=list(map(condition_to, request.confirm)),
        stopped=condition_to(request.stopped) if request.stopped else msg.Condition(),
        stop_timeout=request.stop_timeout, resume=request.resume)


def motion_request_from(goal: ExecuteMotion.Goal) -> MotionRequest:
    """Return the motion of a goal; raises LifecycleError if a value is not valid."""
    return MotionRequest(
        goal.flow_id, goal.action_id, goal.attempt,
        from_uuid(goal.goal_id).hex if any(goal.goal_id.uuid) else '',
        steps_from(goal.steps), parameters_from(goal.parameters_json),
        list(map(condition_from, goal.maintain)), list(map(condition_from, goal.confirm)),
        condition_from(goal.stopped) if goal.stopped.expression else None,
        goal.stop_timeout, goal.resume)


def motion_result_to(
    result: WorkResult, topics: Mapping[str, str]
) -> ExecuteMotion.Result:
    """Return the message of a motion's result; `topics`: see `evidence_to`."""
    return ExecuteMotion.Result(
        outcome=result.outcome, controller_said=result.controller_said,
        result_json='' if result.result is None else json.dumps(result.result),
        results_json=[json.dumps(one) for one in result.results],
        steps_done=result.steps_done, ended=to_time(result.ended), stopped=result.stopped,
        error_code=int(result.error_code), error_msg=_with_box(result.error_msg, result.black_box),
        evidence=[evidence_to(item, topics) for item in result.evidence])


def motion_result_from(
    message: ExecuteMotion.Result, goals: Mapping[str, Any], note: str
) -> WorkResult:
    """Return the result of a motion; `goals`, `note`: see `WorkResult`."""
    error_msg, black_box = _without_box(message.error_msg)
    return WorkResult(
        message.outcome or 'failed', to_seconds(message.ended), message.controller_said,
        message.stopped, to_code(message.error_code), error_msg,
        list(map(evidence_from, message.evidence)), json_or_text(message.result_json or 'null'),
        message.steps_done, goals, note, list(map(json_or_text, message.results_json)),
        black_box=black_box)


def confirm_request_to(request: ConfirmRequest) -> ConfirmOutcome.Goal:
    """Return the goal of a confirmation."""
    return ConfirmOutcome.Goal(
        flow_id=request.flow_id, action_id=request.action_id, attempt=request.attempt,
        conditions=list(map(condition_to, request.conditions)), after=to_time(request.after),
        parameters_json=json.dumps(dict(request.parameters)))


def confirm_request_from(goal: ConfirmOutcome.Goal) -> ConfirmRequest:
    """Return the confirmation of a goal; raises LifecycleError if a value is not valid."""
    parameters = parameters_from(goal.parameters_json)
    if not goal.conditions:
        raise LifecycleError('conditions: expected at least one')
    return ConfirmRequest(
        goal.flow_id, goal.action_id, goal.attempt, list(map(condition_from, goal.conditions)),
        to_seconds(goal.after), parameters)


def confirmation_to(
    confirmation: Confirmation, topics: Mapping[str, str]
) -> ConfirmOutcome.Result:
    """Return the message of a confirmation; `topics`: see `evidence_to`."""
    return ConfirmOutcome.Result(
        verdict=_VERDICTS.get(confirmation.verdict, 0),
        error_code=int(confirmation.error_code),
        error_msg=_with_box(confirmation.error_msg, confirmation.black_box),
        evidence=[evidence_to(item, topics) for item in confirmation.evidence])


def confirmation_event(
    goal: ConfirmOutcome.Goal, result: ConfirmOutcome.Result, started: float, ended: float
) -> msg.Confirmation:
    """Return the message of a confirmation that was watched from `started` to `ended` (s)."""
    return msg.Confirmation(
        stamp=to_time(ended), started=to_time(started), flow_id=goal.flow_id,
        action_id=goal.action_id, attempt=goal.attempt, conditions=goal.conditions,
        after=goal.after, parameters_json=goal.parameters_json, verdict=result.verdict,
        evidence=result.evidence, error_code=result.error_code, error_msg=result.error_msg)


def confirmation_from(message: ConfirmOutcome.Result, note: str) -> Confirmation:
    """Return a confirmation; `note`: see `Confirmation`."""
    return _confirmation(_VERDICT_NAMES.get(message.verdict, 'failed'), message, note)


def evaluation_to(request: ConfirmRequest, wait: float) -> Evaluate.Request:
    """Return the request to evaluate conditions; `wait`: time (s) to wait for unknown facts."""
    return Evaluate.Request(
        conditions=list(map(condition_to, request.conditions)), wait=wait,
        parameters_json=json.dumps(dict(request.parameters)))


def evaluation_from(message: Evaluate.Response) -> Confirmation:
    """Return the result of an evaluation: confirmed, refuted, or stale (unknown)."""
    return _confirmation(_EVALUATED.get(message.verdict, 'stale'), message)


def _confirmation(verdict: str, message: Any, note: str = '') -> Confirmation:
    error_msg, black_box = _without_box(message.error_msg)
    return Confirmation(verdict, list(map(evidence_from, message.evidence)),
                        to_code(message.error_code), error_msg, note, black_box)


def _with_box(error_msg: str, name: str) -> str:
    return f'{error_msg}{BOX}{name}' if name else error_msg


def _without_box(error_msg: str) -> tuple[str, str]:
    """Return a message of the bridge without the name of its black box, and that name."""
    found = _BOX.search(error_msg)
    return (error_msg[:found.start()], found[1]) if found else (error_msg, '')
