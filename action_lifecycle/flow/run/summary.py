# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The summary and the error message of an ended flow."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from .flow_run import FlowRun
from .metrics import FlowMetrics
from ...lifecycle.states import ActionOutcome, ErrorCode

MAX_ERRORS = 20
"""Maximum number of action errors in the message of a failed flow."""
MAX_LENGTH = 1000
"""Maximum length of each, in characters."""


def summary_of(run: FlowRun, now: float) -> dict[str, Any]:
    """Return totals, times and metrics; `now`: ROS time in s."""
    actions = run.actions
    return {
        'total': len(actions), **{o.value: run.outcomes[o.value] for o in ActionOutcome},
        'recovered': sum(action.attempt > 1 and action.outcome is ActionOutcome.SUCCEEDED
                         for action in actions),
        'unverified': sum(action.outcome is ActionOutcome.SUCCEEDED
                          and not (action.passed_completed and action.evidence)
                          for action in actions),
        'skipped_by_people': len(run.waived),
        'edits': len(run.edits), 'replaced': len(run.replaced),
        **({} if run.ending is None else {'ended_by': run.ending._asdict()}),
        'duration': now - run.started_at,
        **({'planning_s': run.origin['planning_s']} if 'planning_s' in run.origin else {}),
        'metrics': asdict(FlowMetrics.of(actions)), **run.notes,
    }


def why_failed(run: FlowRun) -> tuple[ErrorCode, str]:
    """Return error code and message of a flow that ends in FAIL."""
    if run.broken:
        return run.error_code or ErrorCode.INTERNAL, run.broken
    tally = run.tally()
    code = ErrorCode.FLOW_PARTIALLY_FAILED if tally['succeeded'] else ErrorCode.FLOW_FAILED
    if run.ending is not None and run.ending.verb == 'fail' and run.canceled_by is None:
        return code, run.ending.reason
    failed = [action for action in run.actions if action.error_msg
              and action.outcome in (ActionOutcome.FAILED, ActionOutcome.CANCELED)
              and action.action_id not in run.replaced]
    words = '; '.join(
        f'{action.action_id}: {action.error_msg[:MAX_LENGTH]}' for action in failed[:MAX_ERRORS])
    if len(failed) > MAX_ERRORS:
        words += f'; and {len(failed) - MAX_ERRORS} more'
    if tally['canceled']:
        return ErrorCode.CANCELED, words or 'canceled'
    return code, words or 'no action succeeded'
