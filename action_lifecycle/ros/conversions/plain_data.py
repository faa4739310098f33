# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Converts status messages and requests to planners to plain data."""

from __future__ import annotations

from typing import Any

from action_lifecycle_msgs.msg import ActionStatus, FlowStatus
from action_lifecycle_msgs.srv import Plan

from .basic import to_code
from .evidence import fact_kind, fact_value
from ...flow.planning.planners import PlanRequest
from ...lifecycle.states import ErrorCode
from ...world.evidence_messages import evidence_from


def plain_fields(message: Any) -> dict[str, Any]:
    """Return the fields of a message that are not messages themselves."""
    return {name: getattr(message, name)
            for name, kind in message.get_fields_and_field_types().items() if '/' not in kind}


def code_name(number: int) -> str:
    """Return the name of an error code; '' for none."""
    return '' if number == ErrorCode.NONE else to_code(number).name


def flow_data(flow: FlowStatus) -> dict[str, Any]:
    """Return a FlowStatus without its actions as plain data."""
    return {**plain_fields(flow), 'error_code': code_name(flow.error_code)}


def action_data(action: ActionStatus) -> dict[str, Any]:
    """Return an ActionStatus as plain data."""
    return {'flow_id': action.flow_id, 'action_id': action.action_id,
            'state': action.state.value, 'outcome': action.state.outcome,
            'attempt': action.attempt, 'error_code': code_name(action.error_code),
            'error_msg': action.error_msg, 'controller_said': action.controller_said,
            'sensors_said': action.sensors_said, 'seq': action.seq,
            'blocked_reason': action.blocked_reason}


def plan_request_from(message: Plan.Request) -> PlanRequest:
    """Return the request of a service call to a planner."""
    facts = message.facts.facts
    status = flow_data(message.status) if message.flow_yaml else {}
    if status:
        status = {**{key: list(value) if isinstance(value, (list, tuple)) else value
                     for key, value in status.items()},
                  'actions': [action_data(action) for action in message.status.actions]}
    return PlanRequest(
        message.request, {fact.name: fact_value(fact) for fact in facts},
        list(message.capabilities), message.flow_yaml, list(message.completed_actions),
        list(message.errors), {fact.name: fact_kind(fact) for fact in facts},
        [{**action_data(action), 'description': action.description,
          'max_attempts': action.max_attempts,
          'evidence': [evidence_from(item) for item in action.evidence]}
         for action in message.ended], status)
