# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Schedules: checked as in a flow file, asked for their times, and taken as jobs."""

from __future__ import annotations

import json
import math
import random
from typing import Any

from action_lifecycle.documents.models import validate
from action_lifecycle.documents.yaml_document import Document
from action_lifecycle.flow.jobs.job import read_job, ScheduledJob
from action_lifecycle.lifecycle.schedule.schedule import Schedule, schedule_faults, ScheduleSpec

from .case import Case
from .values import how_many, mutated, number, text

ZONES = ('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe',
         'Pacific/Apia', 'Nowhere/At_all', 'GMT+5', 'EST5EDT', '')
DAYS = ('MO', 'TU', 'SU', '1MO', '-1FR', '53MO', '5WE')
STARTS = ('2027-01-31T06:00:00', '2027-03-28T02:30:00', '2026-10-25T02:30:00', '1900-01-01',
          '1970-01-01T00:00:00Z', '9999-12-31T23:59:59', '0001-01-01', '2024-02-29',
          '2027-01-31T06:00:00+14:00', '2027-W05-3', '2027-01', '20270131T060000', '2038-01-19',
          '2262-04-11T23:47:16', '2027-01-31T24:00:00', '2027-01-31T06:00:60')


def rule(rng: random.Random) -> str:
    """Return a rule of RFC 5545."""
    parts = [f"FREQ={rng.choice(('DAILY', 'DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY', 'HOURLY'))}"]
    for name, least, most in (
            ('BYHOUR', 0, 23), ('BYMINUTE', 0, 59), ('BYSECOND', 0, 59), ('INTERVAL', 1, 400),
            ('COUNT', 1, 500), ('BYMONTH', 1, 12), ('BYMONTHDAY', -31, 31),
            ('BYYEARDAY', -366, 366), ('BYWEEKNO', -53, 53), ('BYSETPOS', -5, 5)):
        if rng.random() < (0.5 if name in ('BYHOUR', 'BYMINUTE', 'BYSECOND') else 0.1):
            several = rng.choice((1, 1, 1, 2, 3, rng.choice((4, 24))))
            many = 1 if name in ('INTERVAL', 'COUNT') else several
            values = [str(rng.randrange(least, most + 1)) for _ in range(many)]
            if rng.random() < 0.03:
                values[0] = str(rng.choice((0, 60, 61, 99, 10**6, 10**9, -1)))
            parts.append(f"{name}={','.join(values)}")
    if rng.random() < 0.15:
        parts.append(f"BYDAY={','.join(rng.choices(DAYS, k=rng.randrange(1, 4)))}")
    if rng.random() < 0.05:
        parts.append(rng.choice(('UNTIL=20280101T000000', 'UNTIL=20280101T000000Z', 'WKST=SU',
                                 'BYEASTER=0', 'UNTIL=19000101', 'RDATE=1', 'BYHOUR=5')))
    if rng.random() < 0.1:
        rng.shuffle(parts)
    return ';'.join(parts)


def schedule(rng: random.Random, of_action: bool = False) -> Any:
    """Return a schedule as a flow file has it, mostly a good one."""
    made: dict[str, Any] = {'clock': rng.choice(('wall', 'wall', 'ros'))}
    ros = made['clock'] == 'ros'
    if rng.random() < 0.6:
        made['start_at'] = rng.choice((0.0, 10.0, 1e9, rng.uniform(0, 2e9))) if ros \
            else rng.choice(STARTS)
    if rng.random() < 0.75 or 'start_at' not in made:
        made['every'] = rng.choice((0.1, 0.5, 1.0, 60.0, 86400.0, 0.3)) if ros \
            or rng.random() < 0.3 else rule(rng)
    for name in ('start_at', 'every'):
        if name in made and rng.random() < 0.08:
            made[name] = number(rng) if rng.random() < 0.7 else text(rng)
    if of_action or rng.random() < 0.3:
        made['times'] = rng.choice((1, 2, 5, 1000, 10**9) if of_action else (0, 1, 2, 5, 10**9))
    if rng.random() < 0.3:
        made['zone'] = rng.choice(ZONES)
    if rng.random() < 0.3:
        made['missed'] = rng.choice(('skip', 'once', 'all'))
    if rng.random() < 0.3:
        made['overlap'] = rng.choice(('skip', 'queue', 'allow'))
    return mutated(rng, made, how_many(rng) // 2) if rng.random() < 0.3 else made


def clock(rng: random.Random) -> float:
    """Return a time that a clock may show, in s."""
    return rng.choice((
        rng.uniform(1.7e9, 1.9e9), rng.uniform(1.7e9, 1.9e9), rng.uniform(0.0, 1e5), 0.0,
        2147483647.0))


class Schedules(Case):
    """Schedules that are checked, asked after random times, and taken by jobs."""

    def make(self, rng: random.Random) -> Any:
        created = clock(rng)
        steps = [created + rng.choice((0.0, 1.0, 0.5, 60.0, -5.0, 86400.0, 1e6, 1e8, -1e6))
                 * rng.random() for _ in range(4)]
        return schedule(rng), created, steps, rng.random() < 0.3, \
            rng.choice((0.0, 0.0, 1.0, -1e3)), clock(rng)

    def check(self, given: Any) -> bool:
        data, created, steps, of_action, shift, moment = given
        document = Document('s', data, (1, 1), {})
        spec = validate(document, ScheduleSpec)
        if list(schedule_faults(spec, of_action=of_action)):
            return False
        spec.in_words()
        made = Schedule(spec, created, shift)
        self._follow(made, moment)
        self._follow(made, None)
        self._take(ScheduledJob('j', 'n', spec, created, seen=created), steps)
        return True

    @staticmethod
    def _follow(made: Schedule, moment: float | None) -> None:
        """Ask for some times; each must be later than the last."""
        for _ in range(4):
            found = made.after(moment)
            if found is None:
                return
            assert math.isfinite(found), found
            assert moment is None or found > moment, (found, moment)
            moment = found

    @staticmethod
    def _take(job: ScheduledJob, steps: list[float]) -> None:
        """Look at the clock as the jobs of a robot do, and read the job back in between."""
        for now in steps:
            job.moved(now)
            moment = job.next
            if moment is not None and moment <= now:
                job.take(now)
                job.owed = job.owed[1:]
            again = read_job(json.loads(json.dumps(job.data(), allow_nan=False)))
            assert again.data() == job.data()
            job = again
            assert job.over in (True, False)


CASE = Schedules()
