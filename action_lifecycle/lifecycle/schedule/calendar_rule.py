# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
The times of an RFC 5545 rule, day by day, with bounded work.

python-dateutil finds the days. It searches until year 9999, so the rule is evaluated 7600 years
later, which keeps the search short; the Gregorian calendar repeats every 400 years.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import datetime
from itertools import groupby, product
import re

from dateutil import rrule

LAST_YEAR = 2100
"""Times in this year and later are ignored."""
MAX_RULE = 200
"""Maximum length of a rule, in characters."""
MAX_A_DAY = 1440
"""Maximum number of times per day."""
MAX_POSITIONS = 31
"""Maximum number of values of BYSETPOS."""
LATER = 7600
"""Shift (years) with which dateutil evaluates a rule; a multiple of 400."""
_PARTS = re.compile(r'(RRULE:)?[A-Z]+=[A-Z0-9,+:-]+(;[A-Z]+=[A-Z0-9,+:-]+)*\Z')
_NUMBER = re.compile(r'[+-]?[0-9]{1,9}\Z')
_UNTIL = re.compile(r'[0-9]{8}(T[0-9]{6})?\Z')
_BY_DAY = frozenset({'BYMONTHDAY', 'BYYEARDAY', 'BYWEEKNO', 'BYSETPOS'})
"""Parts that may leave a rule without days; allowed with MONTHLY and YEARLY only."""
_OF_DAY = {'BYHOUR': 23, 'BYMINUTE': 59, 'BYSECOND': 59}
"""Parts for the time of day, each with its maximum."""
_RANGES = {'INTERVAL': (1, 1000), 'COUNT': (1, 1_000_000), 'BYMONTH': (1, 12),
           **{name: (0, most) for name, most in _OF_DAY.items()}}
_PERIOD = {'DAILY': 1, 'WEEKLY': 7}
"""Periods of a fixed length, in days."""

Day = tuple[datetime.date, tuple[datetime.time, ...]]


def rule_fault(text: str) -> str:
    """Return the fault of a rule; '' if it is valid."""
    if len(text) > MAX_RULE:
        return f'longer than {MAX_RULE} characters'
    if not _PARTS.match(text):
        return f'{text!r} is no rule: expected e.g. FREQ=DAILY;BYHOUR=6;BYMINUTE=0;BYSECOND=0'
    parts = _parts(text)
    frequency = parts.get('FREQ')
    if frequency not in ('DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'):
        return f'FREQ={frequency}: expected DAILY, WEEKLY, MONTHLY or YEARLY; shorter periods ' \
            'are a number of seconds'
    if 'BYEASTER' in parts:
        return 'BYEASTER is not in RFC 5545'
    for name, (least, most) in _RANGES.items():
        for number in parts[name].split(',') if name in parts else ():
            if not (_NUMBER.match(number) and least <= int(number) <= most):
                return f'{name}={parts[name]}: expected {least} to {most}'
    if 'UNTIL' in parts and not _UNTIL.match(parts['UNTIL']):
        return f"UNTIL={parts['UNTIL']}: expected a local time, such as 20271231T235959"
    if parts.get('BYSETPOS', '').count(',') >= MAX_POSITIONS:
        return f'BYSETPOS: expected at most {MAX_POSITIONS} numbers'
    if len(_times(parts, datetime.time())) > MAX_A_DAY:
        return f'expected at most {MAX_A_DAY} times a day; shorter periods are a number of seconds'
    wrong = sorted(_BY_DAY & parts.keys()) if frequency in _PERIOD else []
    return f'{wrong[0]} goes with MONTHLY or YEARLY' if wrong else ''


def _parts(text: str) -> dict[str, str]:
    return dict(part.split('=', 1) for part in text.removeprefix('RRULE:').split(';'))


def _times(parts: Mapping[str, str], start: datetime.time) -> tuple[datetime.time, ...]:
    """Return the times of a day; parts that the rule does not give come from `start`."""
    present = (start.hour, start.minute, start.second)
    numbers = [sorted({int(number) for number in parts[name].split(',')}) if name in parts
               else [now] for name, now in zip(_OF_DAY, present)]
    return tuple(datetime.time(hour, minute, second)
                 for hour, minute, second in product(*numbers))


class CalendarRule:
    """A valid rule that starts at `start`, a local time in whole seconds."""

    def __init__(self, text: str, start: datetime.datetime) -> None:
        parts = _parts(text)
        self._start = start
        self._times = _times(parts, start.time())
        self._count = int(parts.pop('COUNT', 0))
        until = parts.pop('UNTIL', '')
        self._until = datetime.datetime.strptime(
            until, '%Y%m%dT%H%M%S' if 'T' in until else '%Y%m%d') if until else None
        self._picks = 'BYSETPOS' in parts  # selects among all times of a month or year
        if not self._picks:
            parts.update(dict.fromkeys(_OF_DAY, '0'))
        period = 0 if self._count else _PERIOD.get(parts['FREQ'], 0)
        self._period = period * int(parts.get('INTERVAL', 1))
        self._text = ';'.join(f'{name}={value}' for name, value in parts.items())
        self._rule(start)  # raises if dateutil does not accept it

    def days(self, since: datetime.date | None = None) -> Iterator[Day]:
        """
        Yield each day that has times, with its times in order.

        `since`: earlier days are not needed, but some of them may be yielded.
        """
        start, left = self._start, self._count
        if since is not None and self._period and since > start.date():
            passed = (since - start.date()).days // self._period
            start += datetime.timedelta(days=passed * self._period)
        for day, times in self._found(start):
            if day == self._start.date():
                times = tuple(time for time in times if time >= self._start.time())
            if self._until is not None and day >= self._until.date():
                times = tuple(time for time in times if datetime.datetime.combine(
                    day, time) <= self._until)
            if self._count:
                times = times[:left]
                left -= len(times)
            if times:
                yield day, times
            if (self._count and not left) or (
                    self._until is not None and day >= self._until.date()):
                return

    def _found(self, start: datetime.datetime) -> Iterator[Day]:
        """Yield the days that dateutil finds."""
        try:
            for date, moments in groupby(self._rule(start), datetime.datetime.date):
                day = date.replace(year=date.year - LATER)
                if day.year >= LAST_YEAR:
                    return
                yield day, tuple(moment.time() for moment in moments) if self._picks \
                    else self._times
        except (IndexError, ValueError, OverflowError):  # e.g. 53MO in a month
            return

    def _rule(self, start: datetime.datetime) -> rrule.rrule:
        begin = start if self._picks else start.replace(hour=0, minute=0, second=0)
        rule = rrule.rrulestr(self._text, dtstart=begin.replace(year=begin.year + LATER))
        assert isinstance(rule, rrule.rrule)
        return rule
