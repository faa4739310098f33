# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The robots of a fleet and their shared work in Redis.

No command has keys in two slots. Ages come from the remaining lifetime of keys, which the server
of the key measures; so no clock of a robot or of another server counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
import re
from typing import Any

from .connection import ledger_errors
from .keys import dead_letters, resent_letter, robot_meta, robot_open, robot_status, ROBOTS
from .operations import names_of
from .scripts import script
from ...robot_status import (
    activity,
    ACTIVITY_COLUMNS,
    MAX_ACTIVITIES,
    report_fault,
    report_fields,
    report_from,
    RobotReport,
    RobotStatus,
    SHOWN_KINDS,
)
from ...work_status import (
    COUNTED,
    dead_letter,
    DeadLetter,
    is_entry_id,
    LISTED,
    missing_letter,
    new_request,
    Request,
    Resent,
    RESENT_KEPT,
    stream_work,
    StreamWork,
    TRACE_FIELDS,
)

KEPT = 30 * 86_400
"""Time (s) for which the last report of a robot is kept."""
MAX_STREAM = 100_000
"""Approximate maximum number of requests in a stream."""
_COLUMNS = (*ACTIVITY_COLUMNS, 'wall_time')


class RedisFleetView:
    """The view of a RedisLedger; `redis` is a `redis.asyncio.Redis`. See `FleetView`."""

    def __init__(self, redis: Any, robot: str) -> None:
        self._redis = redis
        self._robot = robot

    async def report(self, report: RobotReport) -> None:
        key = robot_status(self._robot)
        with ledger_errors(self._redis, key):
            pipeline = self._redis.pipeline(transaction=False)
            pipeline.hset(key, mapping=report_fields(report))
            pipeline.pexpire(key, KEPT * 1000)
            pipeline.sadd(ROBOTS, self._robot)
            await pipeline.execute()

    async def robots(self) -> list[RobotStatus]:
        with ledger_errors(self._redis):
            names = sorted(await self._redis.smembers(ROBOTS))
            pipeline = self._redis.pipeline(transaction=False)
            for name in names:
                pipeline.hgetall(robot_status(name))
                pipeline.pttl(robot_status(name))
                pipeline.hget(robot_meta(name), 'seq')
                pipeline.zrevrange(robot_open(name), 0, MAX_ACTIVITIES - 1)
            answers = await _answers(pipeline) if names else []
            found = [(name, *answers[4 * at:4 * at + 4]) for at, name in enumerate(names)]
            faults = {name: await self._fault(robot_status(name), fields)
                      for name, fields, *_ in found}
            records = await self._records([key for *_, keys in found for key in keys or ()])
        robots = []
        for name, fields, left, seq, keys in found:
            report = report_from(fields) if fields else None
            age = max(0.0, KEPT - left / 1000) if fields != {} and left >= 0 else None
            if fields != {} or seq is not None:
                robots.append(RobotStatus(
                    name, report, age,
                    int(seq) if re.fullmatch('[0-9]{1,18}', str(seq)) else 0, tuple(
                        activity(records[key], report, age)
                        for key in keys or () if key in records), faults[name]))
        return robots

    async def _fault(self, key: str, fields: Mapping[str, str] | None) -> str:
        """Return why the report under a key can't be used, '' if it can."""
        if fields is None:
            return f'key {key} is of type {await self._redis.type(key)}, expected hash'
        fault = report_fault(fields)
        return fault and f'key {key}: {fault}'

    async def _records(self, keys: list[str]) -> dict[str, Mapping[str, str | None]]:
        """Return the columns of those open subjects that say what a robot does."""
        shown = [key for key in keys if key.partition('}:')[2].startswith(_PREFIXES)]
        pipeline = self._redis.pipeline(transaction=False)
        for key in shown:
            pipeline.hmget(key, *_COLUMNS)
        answers = await _answers(pipeline) if shown else []
        return {key: dict(zip(_COLUMNS, values))
                for key, values in zip(shown, answers) if values and values[0]}

    async def work(self, stream: str, group: str) -> StreamWork:
        with ledger_errors(self._redis, stream):
            dead = int(await self._redis.xlen(dead_letters(stream)))
            groups = await self._groups(stream) \
                if await self._redis.exists(stream) else []
            found = next((one for one in groups if one['name'] == group), None)
            last = found['last-delivered-id'] if found is not None else '0-0'
            waits = await self._redis.xrange(stream, f'({last}', '+', count=LISTED)
            pending = await self._redis.xpending_range(
                stream, group, '-', '+', COUNTED) if found is not None else []
            entries = await self._entries(stream, [one['message_id'] for one in pending])
            taken = [Request(
                one['message_id'], entries.get(one['message_id'], {}), one['consumer'],
                one['time_since_delivered'] / 1000, one['times_delivered']) for one in pending]
            traces = await self._traces([one.trace_id for one in taken])
            waiting = len(waits)
            if waiting == LISTED:
                waiting = await self._count(stream, found, last)
        return stream_work(
            stream, group, waiting, int(found['pending']) if found is not None else 0, dead,
            [Request(request_id, fields) for request_id, fields in waits], zip(taken, traces))

    async def _traces(self, trace_ids: list[str]) -> list[Mapping[str, str | None]]:
        """Return the TRACE_FIELDS of operations."""
        names = [await names_of(self._redis, trace_id) for trace_id in trace_ids]
        pipeline = self._redis.pipeline(transaction=False)
        for keys in names:
            for each in keys:
                pipeline.hmget(each.trace, *TRACE_FIELDS)
        answers = iter(await _answers(pipeline) if names else ())
        found = [list(islice(answers, len(keys))) for keys in names]
        return [next((dict(zip(TRACE_FIELDS, values)) for values in each if values and values[0]),
                     {}) for each in found]

    async def _groups(self, stream: str) -> list[dict[str, Any]]:
        """Return what the server says of the groups of a stream, which must be there."""
        if not hasattr(self._redis, 'get_node_from_key'):
            return list(await self._redis.xinfo_groups(stream))
        return list(await self._redis.execute_command(  # redis-py 4.3 does not find its key
            'XINFO GROUPS', stream, target_nodes=self._redis.get_node_from_key(stream)))

    async def _entries(self, stream: str, ids: list[str]) -> dict[str, Mapping[str, str]]:
        """Return the fields of requests by their ids; those that were removed are left out."""
        pipeline = self._redis.pipeline(transaction=False)
        for request_id in ids:
            pipeline.xrange(stream, request_id, request_id)
        found = await pipeline.execute() if ids else []
        return dict(entry for entries in found for entry in entries)

    async def _count(self, stream: str, group: Mapping[str, Any] | None, last: str) -> int:
        """Return how many requests wait; at most COUNTED if the server does not know it."""
        if group is None:
            return int(await self._redis.xlen(stream))
        if group.get('lag') is not None:
            return int(group['lag'])
        return len(await self._redis.xrange(stream, f'({last}', '+', count=COUNTED))

    async def dead_letters(self, stream: str, limit: int = LISTED) -> list[DeadLetter]:
        letters = dead_letters(stream)
        with ledger_errors(self._redis, letters):
            found = await self._redis.xrevrange(letters, count=limit)
        return [dead_letter(stream, letter_id, fields) for letter_id, fields in found]

    async def resend(self, stream: str, letter_id: str, actor: str) -> Resent:
        letters, marker = dead_letters(stream), resent_letter(stream, letter_id)
        if not is_entry_id(letter_id):
            raise missing_letter(stream, letter_id)
        with ledger_errors(self._redis, letters):
            found = await self._redis.xrange(letters, letter_id, letter_id)
        fields = new_request(dead_letter(stream, *found[0]), actor) if found else {}
        with ledger_errors(self._redis):
            done, *rest = await script('types', 'resend').run(
                self._redis, [stream, letters, marker],
                [letter_id, actor, fields.get('trace_id', ''), RESENT_KEPT, MAX_STREAM,
                 *(one for pair in fields.items() for one in pair)])
        if done < 0:
            raise missing_letter(stream, letter_id)
        request_id, trace_id, by, time = rest
        return Resent(letter_id, request_id, trace_id, by, float(time), again=not done)


async def _answers(pipeline: Any) -> list[Any]:
    """Execute a pipeline; what is about a key of another type, which others wrote, is None."""
    answers = await pipeline.execute(raise_on_error=False)
    for answer in answers:
        if isinstance(answer, Exception) and 'wrong kind of value' not in str(answer):
            raise answer
    return [None if isinstance(answer, Exception) else answer for answer in answers]


_PREFIXES = tuple(f'{kind}:' for kind in SHOWN_KINDS)
