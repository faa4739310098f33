# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Figures of a report as short strings, for tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .runs import NOT_SHOWN

NO_FLOW = '(flow not in the journal)'
NO_SERVER = '(unknown)'


def subject(group: Mapping[str, Any]) -> str:
    """Return the name of a group."""
    level = group['level']
    if level == 'journal':
        return str(group['journal'])
    if level == 'flow':
        return group['flow'] or NO_FLOW
    if level == 'action':
        return f"{group['flow'] or NO_FLOW}/{group['action']}"
    if level == 'server':
        return f"{group['kind']} {group['server']}" if group['kind'] else NO_SERVER
    return 'all'


def percent(share: Mapping[str, Any], *, interval: bool = True) -> str:
    """Return a share as `P % [LOW, HIGH] (k/n)`; '-' if n is 0."""
    if share['share'] is None:
        return '-'
    digits = 1 if share['n'] >= 200 else 0
    low, value, high = (f'{100 * share[name]:.{digits}f}' for name in ('low', 'share', 'high'))
    return f'{value} %' + (f' [{low}, {high}]' if interval else '') \
        + f" ({share['k']}/{share['n']})"


def hours(mtbf: Mapping[str, Any], *, interval: bool = True) -> str:
    """Return the mean operating time between failures, with its interval."""
    if mtbf['hours'] is None:
        return f"> {duration(mtbf['low'] * 3600)}" if mtbf['operating_h'] else '-'
    low, value, high = (duration(mtbf[name] * 3600) for name in ('low', 'hours', 'high'))
    return f'{value} [{low}, {high}]' if interval else value


def duration(seconds: float | None) -> str:
    """Return a duration with its unit."""
    if seconds is None:
        return '-'
    for most, unit, size in ((60, 's', 1), (3600, 'min', 60), (172800, 'h', 3600)):
        if seconds < most:
            return f'{seconds / size:.3g} {unit}'
    return f'{seconds / 86400:.3g} d'


def between(first: str, last: str) -> str:
    """Return the days from `first` to `last` (ISO 8601)."""
    return ' to '.join(dict.fromkeys(filter(None, (first[:10], last[:10])))) or 'no time'


def wrong_reports(controller: Mapping[str, Any]) -> str:
    """Return the false successes by verdict of the sensors."""
    return ', '.join(f"{controller[verdict]} {verdict.replace('_', ' ')}"
                     for verdict in NOT_SHOWN if controller[verdict])
