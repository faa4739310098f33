# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a robot reports about itself to the fleet, and what the ledger knows of it."""

from __future__ import annotations

from collections.abc import Mapping
import json
from typing import Any, NamedTuple

from ..documents.errors import LifecycleError
from ..documents.json_text import read_json

PERIOD = 1.0
"""Period (s) of a robot's reports."""
SILENT = 5.0
"""Age (s) of the last report after which a robot counts as silent."""
MAX_ERROR = 500
"""Maximum number of characters of an error in a report."""
MAX_ACTIVITIES = 100
"""Maximum number of open subjects of a robot that are shown, the newest first."""
SHOWN_KINDS = ('flow', 'transition', 'lock')
"""The kinds of subjects that say what a robot does now."""
ACTIVITY_COLUMNS = ('kind', 'flow_id', 'action_id', 'to_state', 'ledger_status', 'blocked_reason',
                    'cause')
"""The columns of the last row of a subject that are shown, in the order of `Activity`."""


class Claim(NamedTuple):
    """A claim that a flow of the robot needs; `held`: it had not lapsed at the last report."""

    name: str
    flow_id: str
    token: int
    held: bool


class RobotReport(NamedTuple):
    """
    What the ledger node of a robot says about itself.

    `state`: that of its sync; `lag`: age (s) of its oldest row that is not in the ledger;
    `wall_time`: its clock (s since 1970); `streams`: those from which it takes requests, as a
    worker of `group`; `ready`: it can take one now.
    """

    state: str  #: connected, disconnected, refused
    error: str = ''
    journal_seq: int = 0
    ledger_seq: int = 0
    lag: float = 0.0
    claims: tuple[Claim, ...] = ()
    streams: tuple[str, ...] = ()
    group: str = ''
    ready: bool = False
    wall_time: float = 0.0
    version: str = ''


class Activity(NamedTuple):
    """
    An open flow, an action of it that has begun, or a locked resource (`action_id`).

    `since`: time (s) for which it has been in its state, by the robot's clock; None: not known.
    """

    kind: str  #: flow, transition (of an action), lock
    flow_id: str
    action_id: str
    state: str
    ledger_status: str = ''
    blocked_reason: str = ''
    cause: str = ''
    since: float | None = None


class RobotStatus(NamedTuple):
    """
    A robot of the fleet.

    `report`: its last one, None if there is none; `age`: time (s) since then; `seq`: number of its
    last row in the ledger; `fault`: why its report can't be used.
    """

    robot: str
    report: RobotReport | None
    age: float | None
    seq: int
    activities: tuple[Activity, ...] = ()
    fault: str = ''

    @property
    def silent(self) -> bool:
        """Whether its ledger node has given no sign of life for some seconds."""
        return self.age is None or self.age > SILENT


def report_fields(report: RobotReport) -> dict[str, str]:
    """Return a report as strings; `report_from` reads them."""
    return {name: value if isinstance(value, str) else json.dumps(value)
            for name, value in report._replace(error=report.error[:MAX_ERROR])._asdict().items()}


def report_from(fields: Mapping[str, str]) -> RobotReport | None:
    """Return the report of these strings, also of another version; None if it is not usable."""
    try:
        return _report(fields)
    except LifecycleError:
        return None


def report_fault(fields: Mapping[str, str]) -> str:
    """Return why `report_from` gives None; '' if it does not."""
    try:
        _report(fields)
    except LifecycleError as error:
        return str(error)
    return ''


def _report(fields: Mapping[str, str]) -> RobotReport:
    found = dict(_DEFAULTS)
    for name, default in _DEFAULTS.items():
        if name in fields:
            try:
                found[name] = _READ.get(name, type(default))(
                    fields[name] if isinstance(default, str) else read_json(fields[name], name))
            except (TypeError, ValueError, OverflowError) as error:
                raise LifecycleError(f"field '{name}' has another type than expected: "
                                     f'{fields[name][:100]}') from error
    return RobotReport(**found)


def _claims(found: Any) -> tuple[Claim, ...]:
    claims = tuple(Claim(*claim) for claim in found)
    if any(list(map(type, claim)) != [str, str, int, bool] for claim in claims):
        raise TypeError
    return claims


_READ: dict[str, Any] = {
    'claims': _claims, 'streams': lambda found: tuple(map(str, found))}


def activity(
    record: Mapping[str, Any], report: RobotReport | None, age: float | None
) -> Activity:
    """Return the activity of an open subject, from the columns of its last row."""
    since = None
    try:
        if report is not None and age is not None:
            since = max(0.0, report.wall_time + age - float(record.get('wall_time') or ''))
    except ValueError:
        pass
    kind, flow_id, action_id, state, status, blocked, cause = (
        str(record.get(name) or '') for name in ACTIVITY_COLUMNS)
    return Activity(kind, flow_id, action_id, state, status, blocked, cause, since)


_DEFAULTS: dict[str, Any] = {'state': '', **RobotReport._field_defaults}
