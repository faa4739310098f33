# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Schedules: the times at which a flow or an action starts, by the wall clock or ROS time.

The times strictly increase, and the work to find one is bounded. `calendar_rule` evaluates
calendar rules; time zones are those of python-dateutil.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
import datetime
import math
import re
from typing import Any, Literal, Optional, Union

from dateutil import parser, tz
from pydantic import Field

from .calendar_rule import CalendarRule, Day, LAST_YEAR, rule_fault
from ...documents.errors import LifecycleError
from ...documents.models import StrictModel

EARLIEST, LATEST = 0.0, 4102444800.0
"""Range of `start_at` (s of its clock): 1970 to 2100."""
SHORTEST, LONGEST = 0.1, 315360000.0
"""Minimum and maximum period (s)."""
MAX_ZONE = 64
"""Maximum length of the name of a time zone, in characters."""
_ZONE = re.compile(r'[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z][A-Za-z0-9_+-]*)*\Z')
_DAY = 86400.0
_OFFSET = 2 * _DAY
"""Upper bound (s) of the difference between local time and UTC."""


class ScheduleSpec(StrictModel):
    """The field `schedule` of a flow or an action in a flow file."""

    start_at: Optional[Union[float, str]] = Field(
        default=None, description='The (first) time: ISO 8601 by the wall clock, seconds by the '
        'ROS clock.')
    every: Optional[Union[float, str]] = Field(
        default=None, description='Seconds, or by the wall clock a rule of RFC 5545, such as '
        'FREQ=DAILY;BYHOUR=6;BYMINUTE=0;BYSECOND=0.')
    clock: Literal['wall', 'ros'] = Field(description='Clock of the times.')
    zone: str = Field(default='UTC', description='Time zone of the wall clock: Europe/Berlin.')
    times: int = Field(default=0, ge=0, description='Runs after which it ends; 0: no end.')
    missed: Literal['skip', 'once', 'all'] = Field(
        default='once', description='Runs whose time passed while they could not start: leave '
        'them out, start one, or start all.')
    overlap: Literal['skip', 'queue', 'allow'] = Field(
        default='skip', description='If the last run is still active at the next time: leave the '
        'new run out, start it afterwards, or run both.')

    def in_words(self) -> str:
        """Return `start_at` and `every` as written in the file."""
        return ', '.join(f'{name}: {value:g}' if isinstance(value, float) else f'{name}: {value}'
                         for name in ('start_at', 'every')
                         if (value := getattr(self, name)) is not None)


def schedule_faults(spec: ScheduleSpec, *, of_action: bool) -> Iterator[tuple[str, str]]:
    """Yield the faults of a schedule: (field, message)."""
    if spec.start_at is None and spec.every is None:
        yield 'clock', "a schedule needs 'start_at' or 'every'"
    if of_action and spec.every is not None and spec.times == 0:
        yield 'every', "an action needs 'times' with 'every': else its flow would never end"
    if of_action and spec.overlap == 'allow':
        yield 'overlap', 'runs of an action can not overlap'
    zone = _zone(spec.zone)
    if zone is None:
        yield 'zone', f"no time zone '{spec.zone}'"
    start, every = _start_fault(spec), _every_fault(spec)
    if start:
        yield 'start_at', start
    if every:
        yield 'every', every
    if zone is None or start or every or not isinstance(spec.every, str):
        return
    try:
        first = Schedule(spec, EARLIEST).after(None)
    except (ValueError, TypeError, OverflowError) as error:  # dateutil refuses a part of the rule
        yield 'every', f'{spec.every!r}: {error}'
    else:
        if first is None:
            yield 'every', f'{spec.every!r} never comes'


def _start_fault(spec: ScheduleSpec) -> str:
    if spec.start_at is None:
        return ''
    if spec.clock == 'ros' and isinstance(spec.start_at, str):
        return 'by the ROS clock start_at is a number of seconds'
    if spec.clock == 'wall' and not isinstance(spec.start_at, str):
        return 'by the wall clock start_at is a date and time, such as 2027-01-31T06:00:00'
    try:
        moment = _moment(spec)
    except (ValueError, OverflowError) as error:
        return f'{spec.start_at!r} is not a date and time: {error}'
    if moment is not None and EARLIEST <= moment <= LATEST:
        return ''
    return f'{spec.start_at!r}: expected a time from 1970 to {LAST_YEAR}' \
        if spec.clock == 'wall' else \
        f'expected {EARLIEST:.0f} to {LATEST:.0f} s, got {spec.start_at:g}'


def _every_fault(spec: ScheduleSpec) -> str:
    if isinstance(spec.every, str):
        return rule_fault(spec.every) if spec.clock == 'wall' else \
            'by the ROS clock every is a number of seconds'
    if spec.every is None or SHORTEST <= spec.every <= LONGEST:
        return ''
    return f'expected at least {SHORTEST:g} s and at most {LONGEST:.0f} s, got {spec.every:g}'


def _zone(name: str) -> Any:
    """Return the time zone of this name in the tz database; None if it has none."""
    return tz.gettz(name) if _ZONE.match(name) and len(name) <= MAX_ZONE else None


def _moment(spec: ScheduleSpec) -> float | None:
    """Return `start_at` in s of its clock."""
    if not isinstance(spec.start_at, str):
        return spec.start_at
    moment = parser.isoparse(spec.start_at)
    if moment.tzinfo is None:
        moment = tz.resolve_imaginary(moment.replace(tzinfo=_zone(spec.zone)))
    return moment.timestamp()


class Schedule:
    """
    The times of a valid schedule that was created at `created` (s of its clock).

    `shift` (s) moves the times of an `every` in seconds without `start_at`. Such a schedule counts
    intervals, so if its clock is set back, its future times are moved back, too.
    """

    def __init__(self, spec: ScheduleSpec, created: float, shift: float = 0.0) -> None:
        self.spec = spec
        self.shift = shift
        self._start = _moment(spec)
        zone = _zone(spec.zone)
        if zone is None:
            raise LifecycleError(f"no time zone '{spec.zone}'")
        self._zone = zone
        self._period = spec.every if isinstance(spec.every, float) else 0.0
        self._created = created
        self._rule: CalendarRule | None = None
        self._days: Iterator[Day] = iter(())
        self._today: list[float] = []
        self._asked = math.inf
        if isinstance(spec.every, str):
            begin = created if self._start is None else self._start
            self._rule = CalendarRule(spec.every, self._local(begin))

    @property
    def shifts(self) -> bool:
        """Whether setting the clock back moves its times."""
        return self._period > 0 and self._start is None

    def after(self, moment: float | None) -> float | None:
        """Return the first time after `moment` (None: the first time); None if there is none."""
        if self._rule is not None:
            return self._of_rule(self._rule, -math.inf if moment is None else moment)
        if self._period:
            return self._nth(self._passed(moment))
        return self._start if moment is None or (
            self._start is not None and moment < self._start) else None

    def came(
        self, moment: float | None, now: float, most: float, keep: int
    ) -> tuple[int, list[float]]:
        """
        Return the number of times after `moment` up to `now`, and the last `keep` of them.

        Only the first `most` times count.
        """
        if self._rule is not None:
            return self._came_by_rule(
                self._rule, -math.inf if moment is None else moment, now, most, keep)
        if self._period:
            begin = self._passed(moment)
            end = int(min(self._passed(now), begin + most))
            return max(0, end - begin), [
                self._nth(index) for index in range(max(begin, end - keep), end)]
        found = self.after(moment)
        return (0, []) if found is None or found > now else (1, [found][:keep])

    # Periods in seconds

    def _nth(self, index: int) -> float:
        first = self._created + self._period + self.shift if self._start is None else self._start
        return first + index * self._period

    def _passed(self, moment: float | None) -> int:
        """Return the number of times up to `moment`."""
        if moment is None or moment < self._nth(0):
            return 0
        near = math.floor((moment - self._nth(0)) / self._period)
        for index in range(max(0, near - 1), near + 4):  # the division rounds
            if self._nth(index) > moment:
                return index
        raise LifecycleError(
            f'{self.spec.in_words()}: the times near {moment:g} s do not increase')

    # Calendar rules

    def _of_rule(self, rule: CalendarRule, moment: float) -> float | None:
        """Continue the search of the last call; restart it if `moment` is earlier."""
        if moment < self._asked:
            self._days, self._today = rule.days(_date_before(moment)), []
        self._asked = moment
        while not self._today or self._today[-1] <= moment:
            day = next(self._days, None)
            if day is None:
                return None
            self._today = [] if _begin_of(day) + _DAY + _OFFSET < moment else self._stamps(day)
        return self._today[bisect_right(self._today, moment)]

    def _came_by_rule(
        self, rule: CalendarRule, moment: float, now: float, most: float, keep: int
    ) -> tuple[int, list[float]]:
        """Iterate over the days; compute the times of the kept days only."""
        total, kept = 0, 0
        last: deque[tuple[int, Day]] = deque()
        for day in rule.days(_date_before(moment)):
            if _begin_of(day) - _OFFSET > now or total >= most:
                break
            number = self._number(day, moment, now)
            total, kept = total + number, kept + number
            last.append((number, day))
            while kept - last[0][0] >= keep + max(0, total - most):
                kept -= last.popleft()[0]
        stamps = [stamp for _, day in last for stamp in self._stamps(day)
                  if moment < stamp <= now]
        count = int(min(total, most))
        stamps = stamps[:len(stamps) - (total - count)]
        return count, stamps[-keep:] if keep else []

    def _number(self, day: Day, moment: float, now: float) -> int:
        """Return the number of times of a day after `moment` up to `now`."""
        begin = _begin_of(day)
        if begin + _DAY + _OFFSET < moment:
            return 0
        if begin - _OFFSET > moment and begin + _DAY + _OFFSET < now:
            midnight = datetime.datetime.combine(day[0], datetime.time())
            if self._zone.utcoffset(midnight) == self._zone.utcoffset(
                    midnight + datetime.timedelta(days=1)):
                return len(day[1])
        return sum(moment < stamp <= now for stamp in self._stamps(day))

    def _local(self, moment: float) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(math.floor(moment), self._zone).replace(tzinfo=None)

    def _stamps(self, day: Day) -> list[float]:
        """
        Return the times of a day in s since 1970, in order.

        If the local clock is set forward past a time, that time is delayed by the same amount; a
        day that is skipped as a whole has no times. If the clock is set back, a time occurs once.
        """
        date, times = day
        found = set()
        for time in times:
            moment = tz.resolve_imaginary(datetime.datetime.combine(date, time, self._zone))
            if moment.date() == date:
                found.add(moment.timestamp())
        return sorted(found)


def _begin_of(day: Day) -> float:
    """Return the start of a day in UTC (s since 1970)."""
    return (day[0].toordinal() - datetime.date(1970, 1, 1).toordinal()) * _DAY


def _date_before(moment: float) -> datetime.date | None:
    """Return a day that ends before `moment` in every time zone."""
    if not EARLIEST + _OFFSET + _DAY < moment <= 2 * LATEST:
        return None
    return datetime.datetime.fromtimestamp(
        moment - _OFFSET - _DAY, datetime.timezone.utc).date()
