# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Times at which something starts by itself: seconds, dates, rules, time zones."""

from __future__ import annotations

import datetime
import time
from typing import Any

from action_lifecycle.lifecycle.schedule.schedule import Schedule, schedule_faults, ScheduleSpec
from hypothesis import given
from hypothesis import strategies as st
import pytest

NOON = datetime.datetime(2026, 11, 21, 12, tzinfo=datetime.timezone.utc).timestamp()


def faults(of_action: bool = False, **fields: Any) -> str:
    return '\n'.join(f'{field}: {message}' for field, message in schedule_faults(
        ScheduleSpec(**fields), of_action=of_action))


def times(count: int, created: float = NOON, **fields: Any) -> list[str]:
    schedule = Schedule(ScheduleSpec(clock='wall', **fields), created)
    found: list[str] = []
    moment = None
    while len(found) < count and (moment := schedule.after(moment)) is not None:
        found.append(datetime.datetime.fromtimestamp(
            moment, datetime.timezone.utc).strftime('%m-%d %H:%M'))
    return found


@pytest.mark.parametrize('fields', [
    {'start_at': '2027-01-31T06:00:00', 'clock': 'wall'},
    {'start_at': '2027-01-31T06:00:00+02:00', 'clock': 'wall', 'missed': 'all'},
    {'every': 60, 'clock': 'ros'}, {'start_at': 12, 'every': 0.5, 'clock': 'ros'},
    {'every': 'FREQ=WEEKLY;BYDAY=MO,TU;BYHOUR=6', 'clock': 'wall', 'zone': 'Europe/Berlin'},
    {'every': 'RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29', 'clock': 'wall'}])
def test_ways_to_write_a_schedule(fields: dict[str, Any]) -> None:
    assert not faults(**fields)


@pytest.mark.parametrize(('fields', 'said'), [
    ({'clock': 'wall'}, "needs 'start_at' or 'every'"),
    ({'clock': 'ros', 'start_at': '2027-01-01T00:00:00'}, 'number of seconds'),
    ({'clock': 'ros', 'every': 'FREQ=DAILY'}, 'number of seconds'),
    ({'clock': 'wall', 'start_at': 12.0}, 'date and time'),
    ({'clock': 'wall', 'start_at': 'tomorrow'}, 'not a date and time'),
    ({'clock': 'wall', 'every': 0.0}, 'at least 0.1 s'),
    ({'clock': 'wall', 'every': -5.0}, 'at least 0.1 s'),
    ({'clock': 'wall', 'every': float('inf')}, 'at most 315360000 s'),
    ({'clock': 'ros', 'every': float('nan')}, 'at most 315360000 s'),
    ({'clock': 'wall', 'every': 60.0, 'zone': 'Mars/Olympus'}, 'no time zone'),
    ({'clock': 'wall', 'every': 60.0, 'zone': '/etc/passwd'}, 'no time zone'),
    ({'clock': 'wall', 'every': 60.0, 'zone': 'A' * 300}, 'no time zone'),
    ({'clock': 'wall', 'start_at': '2027-03-28T02:30:00', 'zone': 'aé' * 150}, 'no time zone'),
    ({'clock': 'wall', 'every': 'daily'}, 'is no rule'),
    ({'clock': 'wall', 'every': 'FREQ=SECONDLY'}, 'number of seconds'),
    ({'clock': 'wall', 'every': 'FREQ=DAILY;BYHOUR=25'}, 'BYHOUR=25: expected 0 to 23'),
    ({'clock': 'wall', 'every': 'FREQ=DAILY;BYFOO=1'}, 'BYFOO'),
    ({'clock': 'wall', 'every': 'FREQ=DAILY\nEXDATE=20270101'}, 'is no rule'),
    ({'clock': 'wall', 'every': 'FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30'}, 'goes with MONTHLY'),
    ({'clock': 'wall', 'every': 'FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30'}, 'never comes'),
    ({'clock': 'wall', 'every': 'FREQ=DAILY;INTERVAL=0'}, 'expected 1 to 1000'),
    ({'clock': 'wall', 'every': 'FREQ=DAILY;BYMONTH=13'}, 'expected 1 to 12'),
    ({'clock': 'wall', 'every': 'FREQ=YEARLY;BYEASTER=400'}, 'not in RFC 5545'),
    ({'clock': 'wall', 'every': 'FREQ=MONTHLY;BYDAY=53WE'}, 'never comes'),
    ({'clock': 'wall', 'every': 'FREQ=DAILY;' + 'BYHOUR=1;' * 30}, 'longer than'),
    ({'clock': 'wall', 'every': 60.0, 'of_action': True}, "needs 'times'"),
    ({'clock': 'wall', 'every': 60.0, 'times': 2, 'overlap': 'allow', 'of_action': True},
     'can not overlap')])
def test_what_is_wrong_with_a_schedule_is_told_soon(fields: dict[str, Any], said: str) -> None:
    started = time.monotonic()
    assert said in faults(**fields)
    assert time.monotonic() - started < 20.0


@pytest.mark.parametrize(('fields', 'said'), [
    ({'clock': 'ros', 'start_at': -1.0e15, 'every': 0.1}, 'start_at: expected 0 to 4102444800 s'),
    ({'clock': 'ros', 'start_at': -1.0e18, 'every': 5.0}, 'start_at: expected 0 to 4102444800 s'),
    ({'clock': 'ros', 'start_at': 1.0e308}, 'start_at: expected 0 to 4102444800 s'),
    ({'clock': 'ros', 'start_at': float('nan')}, 'start_at: expected 0 to 4102444800 s'),
    ({'clock': 'wall', 'start_at': -1.0e18, 'every': 'FREQ=DAILY'}, 'date and time, such as'),
    ({'clock': 'wall', 'start_at': 1.0e308, 'every': 'FREQ=DAILY'}, 'date and time, such as'),
    ({'clock': 'wall', 'start_at': '1900-01-01', 'every': 'FREQ=DAILY;BYHOUR=1,2,3'},
     "start_at: '1900-01-01': expected a time from 1970 to 2100"),
    ({'clock': 'wall', 'start_at': '9999-12-31T23:59:59'}, 'expected a time from 1970 to 2100'),
    ({'clock': 'wall', 'start_at': '0001-01-01T00:00:00+14:00'}, 'start_at'),
    ({'clock': 'wall', 'every': 1.0e308}, 'every: expected at least 0.1 s and at most 315360000'),
    ({'clock': 'wall', 'every': 'FREQ=DAILY;BYMINUTE=' + ','.join(map(str, range(30)))
      + ';BYSECOND=' + ','.join(map(str, range(30)))}, ''),
    ({'clock': 'wall', 'every': 'FREQ=DAILY;BYHOUR=1,2;BYMINUTE=' + ','.join(
        map(str, range(30))) + ';BYSECOND=' + ','.join(map(str, range(30)))},
     'at most 1440 times a day'),
    ({'clock': 'wall', 'every': 'FREQ=DAILY;UNTIL=20300101T000000Z'}, 'expected a local time'),
    ({'clock': 'wall', 'every': 'FREQ=YEARLY;BYSETPOS=' + ','.join(map(str, range(1, 40)))},
     'at most 31 numbers'),
])
def test_times_and_rules_beyond_their_bounds_are_faults(
    fields: dict[str, Any], said: str
) -> None:
    found = faults(**fields)
    assert said in found and (said or not found)


def test_the_clock_must_be_named() -> None:
    with pytest.raises(ValueError, match='clock'):
        ScheduleSpec(every=60.0)


def test_one_time() -> None:
    assert times(3, start_at='2026-11-22T06:00:00') == ['11-22 06:00']
    assert times(3, start_at='2026-11-22T06:00:00', zone='Europe/Berlin') == ['11-22 05:00']


def test_intervals_begin_one_period_from_now_or_at_start_at() -> None:
    assert times(2, every=3600.0) == ['11-21 13:00', '11-21 14:00']
    assert times(2, every=3600.0, start_at='2026-11-22T06:00:00') == [
        '11-22 06:00', '11-22 07:00']


def test_rules_follow_the_calendar_of_their_zone() -> None:
    assert times(3, every='FREQ=DAILY;BYHOUR=6;BYMINUTE=0;BYSECOND=0') == [
        '11-22 06:00', '11-23 06:00', '11-24 06:00']
    assert times(5, every='FREQ=WEEKLY;COUNT=2;BYDAY=MO;BYHOUR=0;BYMINUTE=30;BYSECOND=0',
                 zone='Europe/Berlin') == ['11-22 23:30', '11-29 23:30']


@pytest.mark.parametrize('day', ['2027-03-27', '2026-10-24'])
def test_where_clocks_are_put_forward_or_back_each_day_has_one_run(day: str) -> None:
    created = datetime.datetime.fromisoformat(day + 'T12:00:00+00:00').timestamp()
    found = times(4, created, every='FREQ=DAILY;BYHOUR=2;BYMINUTE=30;BYSECOND=0',
                  zone='Europe/Berlin')
    assert len({moment[:5] for moment in found}) == 4


@given(st.floats(0.1, 1e6), st.floats(0, 2e9), st.floats(0, 1e7))
def test_the_next_time_is_always_later(period: float, created: float, later: float) -> None:
    schedule = Schedule(ScheduleSpec(clock='ros', every=period), created)
    found = schedule.after(created + later)
    assert found is not None and found > created + later
    assert found <= created + later + 2 * period + 1e-3
