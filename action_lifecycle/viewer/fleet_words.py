# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What tables and pages say of the robots of a fleet and of their work."""

from __future__ import annotations

from ..fleet.robot_status import Activity, RobotStatus
from ..fleet.work_status import DeadLetter, Request
from ..report.wording import duration as exact_duration

SHOWN = 3
"""Maximum number of activities of a robot that are named."""
_FLOWS = {'START': 'starts', 'CONTINUE': 'runs'}


def duration(seconds: float) -> str:
    """Return a duration in whole seconds, or in a longer unit."""
    return exact_duration(round(seconds))


def seen_words(status: RobotStatus) -> str:
    """Return how long ago a robot has reported."""
    if status.age is None:
        return 'no report'
    return f'silent for {duration(status.age)}' if status.silent else 'now'


def sync_words(status: RobotStatus) -> str:
    """Return the state of a robot's sync, with what is wrong."""
    report = status.report
    if report is None:
        return status.fault or 'not known'
    return report.state + (f': {report.error}' if report.error else '')


def lag_words(status: RobotStatus) -> str:
    """Return how far a robot's ledger is behind its journal, at its last report."""
    report = status.report
    if report is None:
        return ''
    rows = report.journal_seq - report.ledger_seq
    if rows <= 0:
        return '0 s'
    return f"{duration(report.lag)}, {rows} row{'s' * (rows > 1)}"


def doing(status: RobotStatus, most: int = SHOWN) -> list[str]:
    """Return what a robot does, the newest first; flows only without actions that have begun."""
    flows = {one.flow_id for one in status.activities if one.kind == 'transition'}
    lines = [activity_words(one) for one in status.activities
             if one.kind != 'flow' or one.flow_id not in flows]
    return lines if len(lines) <= most else [*lines[:most], f'and {len(lines) - most} more']


def activity_words(one: Activity) -> str:
    """Return what an activity is, since when, and what it waits for."""
    if one.kind == 'lock':
        return f'{one.action_id} is locked' + (f': {one.cause}' if one.cause else '')
    name = f'{one.flow_id}/{one.action_id}' if one.action_id else one.flow_id
    state = _FLOWS.get(one.state, one.state.lower()) if one.kind == 'flow' else one.state
    words = f'{name}: {state}' + ('' if one.since is None else f' for {duration(one.since)}')
    return f'{words}; waits: {one.blocked_reason}' if one.blocked_reason else words


def claims_words(status: RobotStatus) -> str:
    """Return the claims that the flows of a robot need, as they were at its last report."""
    claims = status.report.claims if status.report is not None else ()
    return ', '.join(one.name + ('' if one.held else ' (lapsed)') for one in claims)


def streams_words(status: RobotStatus) -> str:
    """Return the streams from which a robot takes requests."""
    report = status.report
    if report is None or not report.streams:
        return ''
    return ', '.join(report.streams) + ('' if report.ready else ' (action node not active)')


def needs_attention(status: RobotStatus) -> bool:
    """Return whether a person should look at a robot."""
    return status.silent or status.report is None or status.report.state != 'connected' or any(
        one.kind == 'lock' or one.blocked_reason not in ('', 'dependency')
        for one in status.activities)


def flow_words(request: Request | DeadLetter) -> str:
    """Return the flow of a request: its name, or the first line of its YAML."""
    return request.data.get('flow', '').strip().partition('\n')[0]


def request_words(request: Request) -> str:
    """Return whether a request waits, who has it, or why it failed and when it is tried again."""
    if not request.worker:
        return 'waits'
    if failure := request.failure:
        tries = f'{request.tries} of {failure.max_tries}' if failure.max_tries else request.tries
        soon = '' if failure.wait is None else ', next try ' + (
            f'in {duration(failure.wait)}' if round(failure.wait) else 'when a robot is free')
        error, *_ = failure.error.splitlines() or ['']
        return f'failed try {tries}{soon}: {error}'
    return (f'held by {request.worker}, try {request.tries}, '
            f'last renewed {duration(request.idle)} ago')
