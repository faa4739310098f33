# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Lists operations in Redis.

The scripts that change operations list them in two indexes. The traces are read to learn their
states, since other programs may have changed them. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
import json
from typing import Any

from .keys import ACTIVE_OPERATIONS, operation_keys, OPERATIONS, trace_id_of, TRACES
from .scripts import script
from ...operation_listing import changed_at, Filter, listed, OperationPage, page_of

CHUNK = 2000  # traces per round trip
_TIMES = ('updated_at', 'created_at')


async def find_operations(
    redis: Any, states: Collection[str], *, active_only: bool, offset: int, limit: int, scan: bool,
    tagged: bool,
) -> OperationPage:
    """Return a page of operations, see `Operations.find`; `tagged`: there are no indexes."""
    wanted = Filter(states, active_only)
    keys: dict[str, tuple[str, str]] = {}  # trace ids, and the keys that their trace may have
    if not tagged:
        index = ACTIVE_OPERATIONS if active_only else OPERATIONS
        for trace_id in await redis.zrange(index, 0, -1):
            keys[trace_id] = (operation_keys(trace_id, False).trace,
                              operation_keys(trace_id, True).trace)
    if scan or tagged:
        async for key in redis.scan_iter(match=f'{TRACES}*', count=CHUNK, _type='hash'):
            keys.setdefault(trace_id_of(key), (key, key))
    found = []
    names = list(keys)
    for start in range(0, len(names), CHUNK):
        chunk = names[start:start + CHUNK]
        for name, (state, *times) in zip(chunk, await _states(
                redis, [keys[name] for name in chunk], tagged)):
            if state and wanted.accepts(state.upper()):
                found.append((changed_at(dict(zip(_TIMES, times))), name))
    page = page_of(found, offset, limit)
    pipeline = redis.pipeline(transaction=False)
    for name in page:
        for key in keys[name]:
            pipeline.hgetall(key)
    traces = await pipeline.execute()
    return OperationPage(
        [listed(name, plain or tagged_one) for name, plain, tagged_one
         in zip(page, traces[::2], traces[1::2]) if plain or tagged_one], len(found))


async def _states(
    redis: Any, keys: Sequence[tuple[str, str]], tagged: bool
) -> Iterable[Sequence[str | None]]:
    """Return the state of each trace and its times, in the order of `_TIMES`."""
    if tagged:
        pipeline = redis.pipeline(transaction=False)
        for key, _ in keys:
            pipeline.hmget(key, 'state', *_TIMES)
        answers: list[Sequence[str | None]] = await pipeline.execute()
        return answers
    values = json.loads(await script('types', 'read_traces').run(
        redis, [key for pair in keys for key in pair]))
    width = 1 + len(_TIMES)
    return [values[start:start + width] for start in range(0, len(values), width)]
