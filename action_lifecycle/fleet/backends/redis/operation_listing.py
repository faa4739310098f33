# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Lists operations in Redis.

The scripts that change operations list them in two indexes. The traces are read to learn their
states, since other programs may have changed them. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .keys import ACTIVE_OPERATIONS, operation_keys, OPERATIONS, TRACES
from ...operation_listing import changed_at, Filter, listed, OperationPage, page_of

CHUNK = 500  # traces per round trip
_FIELDS = ('state', 'updated_at', 'created_at')


async def find_operations(
    redis: Any, states: Collection[str], *, active_only: bool, offset: int, limit: int, scan: bool,
    tagged: bool,
) -> OperationPage:
    """Return a page of operations, see `Operations.find`; `tagged`: there are no indexes."""
    wanted = Filter(states, active_only)
    keys: dict[str, list[str]] = {}  # trace ids and the keys that the trace may have
    if not tagged:
        index = ACTIVE_OPERATIONS if active_only else OPERATIONS
        for trace_id in await redis.zrange(index, 0, -1):
            keys[trace_id] = [operation_keys(trace_id, each).trace for each in (False, True)]
    if scan or tagged:
        async for key in redis.scan_iter(match=f'{TRACES}*', count=CHUNK, _type='hash'):
            name = key[len(TRACES):]
            has_tag = name.startswith('{') and name.endswith('}')
            keys.setdefault(name[1:-1] if has_tag else name, [key])
    found = [(changed_at(fields), trace_id) for trace_id, fields in
             (await _read(redis, keys, _FIELDS)).items()
             if fields['state'] and wanted.accepts(fields['state'].upper())]
    chosen = page_of(found, offset, limit)
    traces = await _read(redis, {trace_id: keys[trace_id] for trace_id in chosen})
    return OperationPage(
        [listed(trace_id, traces[trace_id]) for trace_id in chosen if traces[trace_id]],
        len(found))


async def _read(
    redis: Any, keys: Mapping[str, list[str]], fields: Iterable[str] = ()
) -> dict[str, dict[str, Any]]:
    """Return these fields (default: all) of the traces, by id; of several keys the first one."""
    fields, names = list(fields), list(keys)
    traces: dict[str, dict[str, Any]] = {}
    for start in range(0, len(names), CHUNK):
        chunk = names[start:start + CHUNK]
        pipeline = redis.pipeline(transaction=False)
        for name in chunk:
            for key in keys[name]:
                pipeline.hmget(key, fields) if fields else pipeline.hgetall(key)
        values = iter(await pipeline.execute())
        for name in chunk:
            several = [next(values) for _ in keys[name]]
            if fields:
                several = [dict(zip(fields, one)) for one in several]
            traces[name] = next((one for one in several if one.get('state')), several[0])
    return traces
