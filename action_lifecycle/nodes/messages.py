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

"""Converts between the lifecycle's objects and ROS messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
import json
import math
from typing import Any
import uuid

from action_lifecycle_msgs import msg
from builtin_interfaces.msg import Time
from unique_identifier_msgs.msg import UUID

from ..dialogue import Request
from ..engine.errors import LifecycleError
from ..engine.json_text import read_json
from ..flow.run import FlowRun
from ..journal import Row
from ..lifecycle.action import Action
from ..lifecycle.ports import Evidence
from ..lifecycle.spec import ConditionSpec, MotionSpec
from ..lifecycle.states import ActionState, ErrorCode, LEDGER_STATUS, ledger_status, Outcome
from ..lifecycle.words import printable

LAST_TIME = 2**31 - 1
"""The largest `sec` of builtin_interfaces/Time, in 2038."""
LONGEST_QUESTION = 500
"""Maximum number of characters of a question in a line."""
_VERDICTS = {'unknown': msg.Evidence.UNKNOWN, 'true': msg.Evidence.TRUE,
             'false': msg.Evidence.FALSE}
_VERDICT_NAMES = {number: name for name, number in _VERDICTS.items()}
_VALIDITIES = {'unknown': msg.Fact.UNKNOWN, 'valid': msg.Fact.VALID, 'stale': msg.Fact.STALE}
_PLAIN_STATUS = {state.value: status.value for state, status in LEDGER_STATUS.items()}
_VALIDITY_NAMES = {number: name for name, number in _VALIDITIES.items()}


def to_time(seconds: float) -> Time:
    """Return ROS time from seconds, clamped to 0 and LAST_TIME."""
    sec, nanosec = sec_nanosec(seconds)
    return Time(sec=sec, nanosec=nanosec)


def sec_nanosec(seconds: float) -> tuple[int, int]:
    """Return the fields (sec, nanosec) of ROS time from seconds, clamped as in `to_time`."""
    if not seconds < LAST_TIME:
        return LAST_TIME, 0
    return divmod(round(max(0.0, seconds) * 1e9), 1_000_000_000)


def to_seconds(time: Time) -> float:
    """Return seconds from ROS time."""
    return float(time.sec) + float(time.nanosec) * 1e-9


def to_uuid(text: str) -> UUID:
    """Return the message of a hexadecimal UUID; '': zeros."""
    return UUID(uuid=list(uuid.UUID(text).bytes)) if text else UUID()


def to_code(number: int) -> ErrorCode:
    """Return the error code of a message; an unknown number becomes INTERNAL."""
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.INTERNAL


def _json_number(number: float) -> float | str:
    """Return a number for JSON; infinities and NaN become strings."""
    return number if math.isfinite(number) else str(number)


def json_or_text(text: str) -> Any:
    """Return the value of a JSON text; the text itself if it is not valid JSON."""
    try:
        return _without_constants(read_json(text, 'value_json'))
    except LifecycleError:
        return text


def _without_constants(value: Any) -> Any:
    """Return a JSON value with infinities and NaN replaced by strings."""
    if isinstance(value, float):
        return _json_number(value)
    if isinstance(value, dict):
        return {key: _without_constants(item) for key, item in value.items()}
    return list(map(_without_constants, value)) if isinstance(value, list) else value


def evidence_from(message: msg.Evidence) -> Evidence:
    """Return evidence as the journal stores it; invalid verdicts become 'unknown'."""
    facts: list[dict[str, Any]] = []
    for fact in message.facts:
        item: dict[str, Any] = {
            'name': fact.name, 'stamp': to_seconds(fact.stamp), 'topic': fact.topic,
            'validity': _VALIDITY_NAMES.get(fact.validity, 'unknown'), 'unit': fact.unit}
        if fact.value_json:
            item['value'] = json_or_text(fact.value_json)
        else:
            item['numbers'] = [_json_number(float(number)) for number in fact.numbers]
        facts.append(item)
    return {
        'condition': message.condition, 'expression': message.expression,
        'verdict': _VERDICT_NAMES.get(message.verdict, 'unknown'),
        'stamp': to_seconds(message.stamp),
        'held': message.held if math.isfinite(message.held) else 0.0, 'facts': facts}


def evidence_to(evidence: Mapping[str, Any]) -> msg.Evidence:
    """Return the message of evidence from the journal."""
    return msg.Evidence(
        condition=evidence['condition'], expression=evidence['expression'],
        verdict=_VERDICTS[evidence['verdict']], stamp=to_time(evidence['stamp']),
        held=float(evidence['held']),
        facts=[msg.Fact(
            name=fact['name'], stamp=to_time(fact['stamp']), topic=fact['topic'],
            validity=_VALIDITIES[fact['validity']],
            numbers=[float(number) for number in fact.get('numbers', ())],
            value_json=json.dumps(fact['value']) if 'value' in fact else '',
            unit=fact.get('unit', '')) for fact in evidence['facts']])


def condition_to(condition: ConditionSpec, name: str) -> msg.Condition:
    """Return the message of a condition."""
    return msg.Condition(name=name, expression=condition.condition, hold=condition.hold,
                         within=condition.within, max_age=condition.max_age)


def motion_to(motion: MotionSpec) -> msg.Motion:
    """Return the message of one step of a motion."""
    return msg.Motion(
        server=motion.server, type=motion.type, goal_json=json.dumps(motion.goal),
        server_timeout=motion.server_timeout, timeout=motion.timeout)


def change_to(row: Row, previous_seq: int = 0) -> msg.ActionStateChange:
    """Return the event of a journal row of kind transition."""
    data = row.data
    outcome = str(data.pop('outcome', ''))
    return msg.ActionStateChange(
        stamp=to_time(row.ros_time or 0.0), seq=row.seq, previous_seq=previous_seq,
        flow_id=row.flow_id, action_id=row.action_id, attempt=row.attempt, event=row.event,
        from_state=row.from_state, to_state=row.to_state, outcome=outcome,
        ledger_status=status_of(row.to_state, outcome), cause=row.cause, actor=row.actor,
        error_code=int(ErrorCode[data.pop('error_code', 'NONE')]),
        goal_id=to_uuid(str(data.pop('goal_id', ''))),
        evidence=[evidence_to(item) for item in data.pop('evidence', ())],
        data_json=json.dumps(data, sort_keys=True))


def status_of(state: str, outcome: str) -> str:
    """Return the ledger status of a state; both arguments as the journal stores them."""
    return _PLAIN_STATUS.get(state) or ledger_status(
        ActionState(state), Outcome(outcome) if outcome else None).value


def status_to(
    action: Action, resources: Iterable[str] = (), now: float = 0.0, locked: str = '',
) -> msg.ActionStatus:
    """Return the status message of an action; `locked`: the locked resources it waits for."""
    blocked = f'dependency: {locked}' if locked else action.blocked_reason
    return msg.ActionStatus(
        stamp=to_time(action.changed_at), seq=action.seq, flow_id=action.flow_id,
        action_id=action.action_id, description=action.spec.description,
        state=msg.ActionState(
            value=action.state.value, outcome=action.outcome.value if action.outcome else '',
            ledger_status=action.ledger_status.value, blocked_reason=blocked.partition(':')[0]),
        attempt=action.attempt, max_attempts=action.spec.retry.times + 1,
        error_code=int(action.error_code), error_msg=action.error_msg,
        controller_said=action.controller_said, sensors_said=action.sensors_said,
        evidence=[evidence_to(item) for item in action.evidence],
        goal_id=to_uuid(action.goal_id), resources=list(resources), blocked_reason=blocked,
        elapsed=max(0.0, now - action.started_at) if action.attempt else 0.0)


def flow_to(
    run: FlowRun, now: float, locked: Callable[[Action], str] = lambda action: '',
) -> msg.FlowStatus:
    """
    Return the status message of a flow; of many actions, only those that changed last.

    `locked(action)` returns the locked resources that an action waits for.
    """
    counts = run.counts()
    return msg.FlowStatus(
        stamp=to_time(now), flow_id=run.flow_id, name=run.flow.name, stage=run.stage,
        state=run.state,
        constellation_state=run.constellation_state(), total=len(run.runners),
        done=counts['done'], running=counts['running'], succeeded=counts['succeeded'],
        failed=counts['failed'], skipped=counts['skipped'], canceled=counts['canceled'],
        error_code=int(run.error_code), error_msg=run.error_msg,
        actions=[status_to(action, now=now, locked=locked(action)) for action in run.shown()])


def request_to(request: Request) -> msg.OperatorRequest:
    """Return the message of an open question to a person."""
    question = request.question
    return msg.OperatorRequest(
        id=request.id, kind=question.kind, stamp=to_time(request.asked_at),
        deadline=to_time(request.deadline), flow_id=question.flow_id,
        action_id=question.action_id, question=question.text, link=question.link,
        options=list(question.options), default_answer=question.default,
        evidence=[evidence_to(item) for item in question.evidence])


def asked_in_words(request: msg.OperatorRequest) -> str:
    """Return an open question as a line: action, text, options, time limit, how to answer."""
    about = '/'.join(filter(None, (request.flow_id, request.action_id))) or request.kind
    options = f" ({', '.join(request.options)})" if request.options else ''
    seconds = to_seconds(request.deadline) - to_seconds(request.stamp)
    limit = f', within {seconds:.0f} s' if seconds > 0 else ''
    if limit and request.default_answer:
        limit += f" (then '{request.default_answer}')"
    text = printable(' '.join(request.question.split()), LONGEST_QUESTION)
    return f"{about} asks a person: '{text}'{options}{limit}; answer: action_lifecycle operator"


def planned_fact(declared: msg.Fact, read: msg.Fact | None) -> msg.Fact:
    """
    Return a fact for a planner request, from the bridge's declaration and its current value.

    Without a value, `value_json` is the JSON Schema of its values, as in ~/declared_facts.
    """
    if read is None or read.validity == msg.Fact.UNKNOWN:
        return declared
    if declared.value_json == '{"type": "boolean"}' and read.numbers:
        read.value_json = json.dumps(bool(read.numbers[0]))
    return read


def fact_kind(fact: msg.Fact) -> str:
    """Return type and unit of a planner's fact, such as 'number in m'; '' if unknown."""
    value = fact_value(fact)
    schema = json_or_text(fact.value_json) if value is None else _schema_of(value)
    kind = schema.get('type', '') if isinstance(schema, dict) else ''
    if kind == 'array':
        items = schema.get('items')
        kind = f"list of {items['type']}s" if isinstance(items, dict) and 'type' in items \
            else 'list'
    return ' in '.join(filter(None, (str(kind), fact.unit)))


def _schema_of(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {'type': 'array', 'items': _schema_of(value[0])} if value else {'type': 'array'}
    return {'type': {bool: 'boolean', str: 'string'}.get(type(value), 'number')}


def fact_value(fact: msg.Fact) -> Any:
    """Return the value of a fact: a number, list, string or object; None if never seen."""
    if fact.validity == msg.Fact.UNKNOWN:
        return None
    if fact.value_json:
        return json_or_text(fact.value_json)
    return fact.numbers[0] if len(fact.numbers) == 1 else list(fact.numbers)
