# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Times at which a flow or an action starts by itself, on a clock that is named.

The calendar part (RFC 5545 rules, time zones) is python-dateutil's.
"""

from __future__ import annotations

from collections.abc import Iterator
import datetime
import math
import re
from typing import Literal, Optional, Union

from dateutil import parser, rrule, tz
from pydantic import Field

from ..engine.models import StrictModel

MAX_RULE = 200
"""Longest rule, in characters."""
SHORTEST = 0.1
"""Shortest period in s."""
_ZONE = re.compile(r'[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z][A-Za-z0-9_+-]*)*\Z')
_PARTS = re.compile(r'(RRULE:)?[A-Z]+=[A-Z0-9,+:-]+(;[A-Z]+=[A-Z0-9,+:-]+)*\Z')
_BY_DAY = frozenset({'BYMONTHDAY', 'BYYEARDAY', 'BYWEEKNO', 'BYSETPOS'})
"""Parts that may leave a rule without any day; then only months and years are gone through."""
_RANGES = {'INTERVAL': (1, 1000), 'COUNT': (1, 1_000_000), 'BYMONTH': (1, 12)}
"""Of numbers with which dateutil would search for ever."""


class ScheduleSpec(StrictModel):
    """When something starts by itself: `schedule` in a flow file, of the flow or of an action."""

    start_at: Optional[Union[float, str]] = Field(
        default=None, description='The (first) time: ISO 8601 by the wall clock, seconds by the '
        'ROS clock.')
    every: Optional[Union[float, str]] = Field(
        default=None, description='Seconds, or by the wall clock a rule of RFC 5545, such as '
        'FREQ=DAILY;BYHOUR=6;BYMINUTE=0;BYSECOND=0.')
    clock: Literal['wall', 'ros'] = Field(description='Which clock.')
    zone: str = Field(default='UTC', description='Time zone of the wall clock: Europe/Berlin.')
    times: int = Field(default=0, ge=0, description='Runs after which it ends; 0: no end.')
    missed: Literal['skip', 'once', 'all'] = Field(
        default='once', description='Runs whose time passed while nobody could start them.')
    overlap: Literal['skip', 'queue', 'allow'] = Field(
        default='skip', description='When it is time while the last run still goes on: leave '
        'this one out, start it afterwards, or run both.')

    def in_words(self) -> str:
        """Return start_at and every as they are written."""
        return ', '.join(f'{name}: {value:g}' if isinstance(value, float) else f'{name}: {value}'
                         for name in ('start_at', 'every')
                         if (value := getattr(self, name)) is not None)


def schedule_faults(spec: ScheduleSpec, *, of_action: bool) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a schedule: the field and the message."""
    if spec.start_at is None and spec.every is None:
        yield 'clock', "a schedule needs 'start_at' or 'every'"
    if spec.clock == 'ros':
        for field in ('start_at', 'every'):
            if isinstance(getattr(spec, field), str):
                yield field, f'by the ROS clock {field} is a number of seconds'
    elif isinstance(spec.start_at, float):
        yield 'start_at', 'by the wall clock start_at is a date and time, such as ' \
            '2027-01-31T06:00:00'
    for field in ('start_at', 'every'):
        value = getattr(spec, field)
        if isinstance(value, float) and not math.isfinite(value):
            yield field, f'expected a finite number, got {value}'
    if isinstance(spec.every, float) and spec.every < SHORTEST:
        yield 'every', f'expected at least {SHORTEST:g} s, got {spec.every:g}'
    if of_action and spec.every is not None and spec.times == 0:
        yield 'every', "an action needs 'times' with 'every': else its flow would never end"
    if of_action and spec.overlap == 'allow':
        yield 'overlap', 'an action can not run beside itself'
    if not (_ZONE.match(spec.zone) and tz.gettz(spec.zone)):
        yield 'zone', f"no time zone '{spec.zone}'"
        return
    try:
        _moment(spec)
    except (ValueError, OverflowError) as error:
        yield 'start_at', f'{spec.start_at!r} is not a date and time: {error}'
        return
    if isinstance(spec.every, str) and spec.clock == 'wall':
        fault = _rule_fault(spec.every)
        if fault:
            yield 'every', fault
        else:
            try:
                first = Schedule(spec, 0.0).after(None)
            except (ValueError, TypeError, OverflowError) as error:
                yield 'every', f'{spec.every!r}: {error}'
            else:
                if first is None:
                    yield 'every', f'{spec.every!r} never comes'


def _rule_fault(text: str) -> str:
    if len(text) > MAX_RULE:
        return f'longer than {MAX_RULE} characters'
    if not _PARTS.match(text):
        return f'{text!r} is no rule: expected such as FREQ=DAILY;BYHOUR=6;BYMINUTE=0;BYSECOND=0'
    parts = dict(part.split('=', 1) for part in text.removeprefix('RRULE:').split(';'))
    frequency = parts.get('FREQ')
    if frequency not in ('DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'):
        return f'FREQ={frequency}: expected DAILY, WEEKLY, MONTHLY or YEARLY; shorter periods ' \
            'are a number of seconds'
    if 'BYEASTER' in parts:
        return 'BYEASTER is not in RFC 5545'
    for name, (least, most) in _RANGES.items():
        for number in parts[name].split(',') if name in parts else ():
            if not (re.fullmatch('[+-]?[0-9]{1,9}', number) and least <= int(number) <= most):
                return f'{name}={parts[name]}: expected {least} to {most}'
    wrong = sorted(_BY_DAY & parts.keys()) if frequency in ('DAILY', 'WEEKLY') else []
    return f'{wrong[0]} goes with MONTHLY or YEARLY' if wrong else ''


def _moment(spec: ScheduleSpec) -> float | None:
    """Return `start_at` in s of its clock."""
    if not isinstance(spec.start_at, str):
        return spec.start_at
    moment = parser.isoparse(spec.start_at)
    if moment.tzinfo is None:
        moment = tz.resolve_imaginary(moment.replace(tzinfo=tz.gettz(spec.zone)))
    return moment.timestamp()


class Schedule:
    """
    The times of a schedule that was made at `created` (s of its clock).

    `shift` (s) moves the times of an `every` in seconds that has no `start_at`: it counts
    intervals, so when its clock goes back, what is to come goes back with it.
    """

    def __init__(self, spec: ScheduleSpec, created: float, shift: float = 0.0) -> None:
        self.spec = spec
        self.shift = shift
        self._start = _moment(spec)
        self._zone = tz.gettz(spec.zone)
        self._created = created
        self._rule: rrule.rrule | None = None
        self._stamps: Iterator[float] = iter(())
        self._next: float | None = None
        self._asked = math.inf
        if isinstance(spec.every, str):
            begin = created if self._start is None else self._start
            rule = rrule.rrulestr(spec.every, dtstart=self._local(begin))
            assert isinstance(rule, rrule.rrule)
            self._rule = rule

    @property
    def shifts(self) -> bool:
        """Whether its times go back with the clock."""
        return isinstance(self.spec.every, float) and self._start is None

    def after(self, moment: float | None) -> float | None:
        """Return the first time later than `moment` (None: the first of all); None: no more."""
        if self._rule is not None:
            return self._of_rule(self._rule, moment)
        if isinstance(self.spec.every, float):
            first = self._created + self.spec.every + self.shift if self._start is None \
                else self._start
            if moment is None or moment < first:
                return first
            period = self.spec.every
            found = first + (math.floor((moment - first) / period) + 1) * period
            return found if found > moment else found + period
        if moment is None or (self._start is not None and moment < self._start):
            return self._start
        return None

    def _of_rule(self, rule: rrule.rrule, moment: float | None) -> float | None:
        """Go on where the last question ended: a rule is gone through from its first time."""
        moment = -math.inf if moment is None else moment
        if moment < self._asked:
            self._stamps = map(self._stamp, rule)
            self._next = self._following()
        self._asked = moment
        while self._next is not None and self._next <= moment:
            self._next = self._following()
        return self._next

    def _following(self) -> float | None:
        try:
            return next(self._stamps, None)
        except IndexError:  # of dateutil, for a day such as 53MO in a month
            return None

    def _local(self, moment: float) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(math.floor(moment), self._zone).replace(tzinfo=None)

    def _stamp(self, local: datetime.datetime) -> float:
        return tz.resolve_imaginary(local.replace(tzinfo=self._zone)).timestamp()
