# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Schedules of all kinds, drawn by hypothesis, and how much work a question to one takes."""

from __future__ import annotations

from collections.abc import Callable
import datetime
import sys
from typing import Any

from action_lifecycle.lifecycle.schedule.schedule import LATEST, schedule_faults, ScheduleSpec
from hypothesis import strategies as st

ZONES = (
    'UTC', 'Europe/Berlin', 'America/New_York', 'America/Sao_Paulo', 'Australia/Lord_Howe',
    'Pacific/Apia', 'Asia/Kathmandu', 'Africa/Casablanca', 'Asia/Beirut')
DAYS = ('MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU')
START = datetime.datetime(1970, 1, 2)
END = datetime.datetime(2099, 12, 30)
LEAP_DAY = datetime.datetime(2024, 2, 29, 12)

moments = st.one_of(
    st.datetimes(START, END), st.just(LEAP_DAY), st.datetimes(
        datetime.datetime(2011, 12, 28), datetime.datetime(2012, 1, 2)))

stamps = moments.map(lambda moment: moment.replace(tzinfo=datetime.timezone.utc).timestamp())
readings = st.one_of(stamps, st.floats(0.0, LATEST), st.just(0.0))
WORK = 3_000_000
"""Calls that one question may take: some 50 for each day of 130 years, and for its times."""


def _numbers(least: int, most: int) -> st.SearchStrategy[str]:
    return st.lists(st.integers(least, most).filter(bool) if least < 0 else st.integers(
        least, most), min_size=1, max_size=6).map(lambda found: ','.join(map(str, found)))


@st.composite
def rules(draw: st.DrawFn) -> str:
    """Draw a rule that has no fault, but may never come."""
    frequency = draw(st.sampled_from(['DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY']))
    long = frequency in ('MONTHLY', 'YEARLY')
    ordinal = st.sampled_from(['', '', '1', '-1', '5'] if long else [''])
    parts: dict[str, st.SearchStrategy[str]] = {
        'INTERVAL': st.one_of(st.integers(1, 4), st.integers(1, 1000)).map(str),
        'BYMONTH': _numbers(1, 12), 'BYHOUR': _numbers(0, 23), 'BYMINUTE': _numbers(0, 59),
        'BYSECOND': _numbers(0, 59), 'COUNT': st.integers(1, 5000).map(str),
        'UNTIL': moments.map(lambda moment: f'{moment:%Y%m%dT%H%M%S}'),
        'BYDAY': st.lists(st.builds(str.__add__, ordinal, st.sampled_from(DAYS)), min_size=1,
                          max_size=4).map(','.join),
        'WKST': st.sampled_from(DAYS)}
    if long:
        parts.update(BYMONTHDAY=_numbers(-31, 31), BYSETPOS=_numbers(-9, 9))
    if frequency == 'YEARLY':
        parts.update(BYYEARDAY=_numbers(-366, 366), BYWEEKNO=_numbers(-53, 53))
    names = draw(st.lists(st.sampled_from(sorted(parts)), unique=True, max_size=4))
    return ';'.join([f'FREQ={frequency}', *(f'{name}={draw(parts[name])}' for name in names)])


@st.composite
def specs(draw: st.DrawFn, of_rules: bool = True, of_seconds: bool = True) -> ScheduleSpec:
    """Draw a schedule without faults."""
    fields: dict[str, Any] = {
        'missed': draw(st.sampled_from(['skip', 'once', 'all'])),
        'overlap': draw(st.sampled_from(['skip', 'queue', 'allow'])),
        'times': draw(st.one_of(st.just(0), st.integers(0, 20), st.just(10**18)))}
    if of_rules and (not of_seconds or draw(st.booleans())):
        fields.update(clock='wall', zone=draw(st.sampled_from(ZONES)), every=draw(rules()))
        if draw(st.booleans()):
            fields['start_at'] = draw(moments).isoformat()
    else:
        fields['clock'] = draw(st.sampled_from(['wall', 'ros']))
        if draw(st.booleans()):
            fields['start_at'] = draw(moments).isoformat() if fields['clock'] == 'wall' \
                else draw(st.floats(0.0, 4e9))
        if 'start_at' not in fields or draw(st.booleans()):
            fields['every'] = draw(st.one_of(st.floats(0.1, 10.0), st.floats(0.1, 3e8)))
    spec = ScheduleSpec(**fields)
    return spec if not any(schedule_faults(spec, of_action=False)) else ScheduleSpec(
        **{**fields, 'every': 60.0})


def calls(work: Callable[[], Any]) -> int:
    """Return how many calls of functions some work takes."""
    count = 0

    def called(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ('call', 'c_call')

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
