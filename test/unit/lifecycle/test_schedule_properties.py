# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Any schedule: its times strictly increase, and each question takes bounded work."""

from __future__ import annotations

import datetime
from itertools import islice, pairwise
import math

from action_lifecycle.lifecycle.schedule.calendar_rule import rule_fault
from action_lifecycle.lifecycle.schedule.schedule import (
    LATEST,
    Schedule,
    schedule_faults,
    ScheduleSpec,
)
from dateutil import rrule
from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from .schedules import calls, moments, readings, rules, specs, WORK

YEAR = 366 * 86400.0


def some(schedule: Schedule, moment: float | None, number: int) -> list[float]:
    """Return the next times after a moment."""
    found: list[float] = []
    while len(found) < number and (moment := schedule.after(moment)) is not None:
        found.append(moment)
    return found


@settings(max_examples=50, deadline=None)
@given(specs(), readings, readings)
def test_times_strictly_increase(spec: ScheduleSpec, created: float, moment: float) -> None:
    schedule = Schedule(spec, created)
    for begin in (None, moment):
        found = some(schedule, begin, 40)
        assert begin is None or all(stamp > begin for stamp in found)
        assert all(earlier < later for earlier, later in pairwise(found))


@settings(max_examples=50, deadline=None)
@given(specs(), readings, st.lists(readings, min_size=1, max_size=6))
def test_the_next_time_does_not_depend_on_what_was_asked_before(
    spec: ScheduleSpec, created: float, asked: list[float]
) -> None:
    schedule = Schedule(spec, created)
    for moment in asked:
        assert schedule.after(moment) == Schedule(spec, created).after(moment)


@settings(max_examples=50, deadline=None)
@given(specs(), readings, readings, st.integers(0, 300), st.integers(0, 400), st.integers(1, 50))
def test_what_has_come_is_counted_as_if_gone_through(
    spec: ScheduleSpec, created: float, moment: float, ahead: int, most: int, keep: int
) -> None:
    schedule = Schedule(spec, created)
    found = some(schedule, moment, ahead + 1)
    now = found[ahead] - 1e-3 if len(found) > ahead else LATEST
    expected = [stamp for stamp in found if stamp <= now][:most]
    assert Schedule(spec, created).came(moment, now, most, keep) == (
        len(expected), expected[-keep:])


@settings(max_examples=50, deadline=None)
@given(rules(), moments)
def test_rules_have_the_times_that_dateutil_gives_them(
    text: str, start: datetime.datetime
) -> None:
    spec = ScheduleSpec(clock='wall', every=text, start_at=start.isoformat())
    begin = start.replace(microsecond=0)
    if rule_fault(text) or any(schedule_faults(spec, of_action=False)):
        return
    end = min(datetime.datetime(2100, 1, 1), begin + datetime.timedelta(days=4000))
    expected: list[float] = []
    try:
        for moment in islice(rrule.rrulestr(text, dtstart=begin), 60):
            if moment >= end:
                break
            expected.append(moment.replace(tzinfo=datetime.timezone.utc).timestamp())
    except IndexError:  # of dateutil, for a fifth week day in some months
        pass
    assert some(Schedule(spec, 0.0), None, len(expected)) == expected


@settings(max_examples=25, deadline=None)
@given(specs(), readings, readings, st.one_of(readings, st.just(math.inf)))
def test_each_question_takes_bounded_work(
    spec: ScheduleSpec, created: float, moment: float, now: float
) -> None:
    schedule = Schedule(spec, created)
    assert calls(lambda: schedule.after(moment)) < WORK
    assert calls(lambda: schedule.came(moment, min(now, LATEST), math.inf, 1001)) < WORK


DENSE = ','.join(map(str, range(24)))


@pytest.mark.parametrize('every', [
    0.1, f'FREQ=DAILY;BYHOUR={DENSE};BYMINUTE=0,10,20,30,40,50',
    f'FREQ=DAILY;BYHOUR={DENSE};BYMINUTE=0,15,30,45;COUNT=1000000',
    f'FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYHOUR={DENSE}',
    f'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYHOUR={DENSE};BYSETPOS=1,2,3,-1'])
def test_half_a_century_of_missed_times_takes_bounded_work(every: float | str) -> None:
    spec = ScheduleSpec(clock='wall', every=every, start_at='1970-01-02T00:00:00')
    now = 56 * YEAR
    schedule = Schedule(spec, 0.0)
    found: list[tuple[int, list[float]]] = []
    assert calls(lambda: found.append(schedule.came(None, now, math.inf, 1001))) < WORK
    assert calls(lambda: schedule.after(now)) < WORK
    number, last = found[0]
    assert len(last) == 1001 or 'COUNT' in str(every)
    assert number >= 1001 and all(earlier < later for earlier, later in pairwise(last))


@pytest.mark.parametrize('every', [
    'FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30', 'FREQ=YEARLY;BYMONTH=4;BYMONTHDAY=31',
    'FREQ=YEARLY;BYYEARDAY=366;BYSETPOS=' + ','.join(map(str, range(2, 33))),
    'FREQ=DAILY;BYMONTH=2;INTERVAL=365', 'FREQ=YEARLY;BYWEEKNO=53;BYMONTH=6',
    'FREQ=MONTHLY;BYDAY=99999999999999999999MO', 'FREQ=YEARLY;BYMONTHDAY=999'])
def test_that_a_rule_never_comes_is_found_with_bounded_work(every: str) -> None:
    spec = ScheduleSpec(clock='wall', every=every, start_at='1970-01-02T00:00:00')
    assert calls(lambda: list(schedule_faults(spec, of_action=False))) < WORK / 10
    assert 'never comes' in str(list(schedule_faults(spec, of_action=False)))


def test_a_day_that_a_time_zone_leaves_out_has_no_run() -> None:
    spec = ScheduleSpec(
        clock='wall', every='FREQ=DAILY;BYHOUR=6;BYMINUTE=0;BYSECOND=0', zone='Pacific/Apia',
        start_at='2011-12-28T00:00:00')
    found = some(Schedule(spec, 0.0), None, 4)
    assert [datetime.datetime.fromtimestamp(stamp + 14 * 3600, datetime.timezone.utc).day
            for stamp in found[2:]] == [31, 1]
    assert found[2] - found[1] == 86400.0
