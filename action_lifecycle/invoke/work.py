# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Work: a DAG of tasks in a graph file.

=================================================  ================================================
`module:function`                                  a task; `function(actor_input)` runs in a worker
`{call: module:function, input: …, time_limit: s}` the same with argument `input`, whose templates
                                                   are rendered; `retries: n`: maximum retries
`[a, b]`                                           a sequence: a's output is b's actor_input
`{left: a, right: b}`                              concurrently: `{left: …, right: …}`
`{map: a, over: '{{ actor_input.parts }}'}`        a for each element, concurrently: a list
=================================================  ================================================
"""

from __future__ import annotations

from collections.abc import Iterator
import re
from typing import Any, NamedTuple, Optional, Union

from ..documents.errors import LifecycleError
from ..documents.suggestions import nearest

MAX_ELEMENTS = 10_000
"""Maximum number of elements of a map."""
MAX_RETRIES = 100
_CALL = re.compile(r'[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\Z')


class WorkError(LifecycleError):
    """The definition of work is not valid."""


class Task(NamedTuple):
    """A function; `input`: its argument with templates, None: `actor_input`."""

    call: str
    input: Any = None  # noqa: A003
    time_limit: Optional[float] = None  #: s; None: default of the engine
    retries: int = 0  #: maximum number of retries if it fails or is lost


class Sequence(NamedTuple):
    """Parts in sequence."""

    parts: tuple[Work, ...]


class Group(NamedTuple):
    """Concurrent parts with the same input."""

    parts: dict[str, Work]


class Map(NamedTuple):
    """The same work for each element of a list, concurrently; `over`: template of the list."""

    each: Work
    over: Any


Work = Union[Task, Sequence, Group, Map]


def read_work(data: Any, where: str) -> Work:
    """Parse work from plain data; raises `WorkError` with messages that begin with `where`."""
    if isinstance(data, str):
        return _task({'call': data}, where)
    if isinstance(data, list) and data:
        return Sequence(tuple(
            read_work(part, f'{where}[{index}]') for index, part in enumerate(data)))
    if isinstance(data, dict) and data:
        if 'call' in data:
            return _task(data, where)
        if 'map' in data:
            _only(data, ('map', 'over'), where)
            over = data.get('over', '{{ actor_input }}')
            return Map(read_work(data['map'], f'{where}.map'), over)
        return Group({str(name): read_work(part, f'{where}.{name}')
                      for name, part in data.items()})
    raise WorkError(f'{where}: expected module:function, or a list or mapping of work that is not '
                    f'empty, got {data!r}')


def count(work: Work) -> int:
    """Return the number of tasks that are known before the start."""
    if isinstance(work, Sequence):
        return sum(map(count, work.parts)) + len(work.parts) - 1
    if isinstance(work, Group):
        return sum(map(count, work.parts.values())) + 1
    return 1


def tasks_of(work: Work) -> Iterator[Task]:
    """Yield the tasks of work."""
    if isinstance(work, Task):
        yield work
        return
    parts = [work.each] if isinstance(work, Map) else \
        work.parts.values() if isinstance(work, Group) else work.parts
    for part in parts:
        yield from tasks_of(part)


def with_time_limit(work: Work, limit: float) -> Work:
    """Return the work with a time limit (s) for each task that has none."""
    if isinstance(work, Task):
        return work._replace(time_limit=limit) if work.time_limit is None else work
    if isinstance(work, Map):
        return work._replace(each=with_time_limit(work.each, limit))
    if isinstance(work, Group):
        return Group({name: with_time_limit(part, limit) for name, part in work.parts.items()})
    return Sequence(tuple(with_time_limit(part, limit) for part in work.parts))


def _task(data: dict[str, Any], where: str) -> Task:
    _only(data, Task._fields, where)
    call, limit = data['call'], data.get('time_limit')
    if not (isinstance(call, str) and _CALL.match(call)):
        raise WorkError(f'{where}: expected module:function, got {call!r}')
    if limit is not None and not (type(limit) in (int, float) and 0 < limit <= 86_400):
        raise WorkError(f'{where}.time_limit: expected seconds from 0 to 86400, got {limit!r}')
    retries = data.get('retries', 0)
    if not (type(retries) is int and 0 <= retries <= MAX_RETRIES):
        raise WorkError(f'{where}.retries: expected 0 to {MAX_RETRIES}, got {retries!r}')
    return Task(call, data.get('input'), limit, retries)


def _only(data: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in data:
        if key not in known:
            raise WorkError(f"{where}: unknown field '{key}'" + nearest(str(key), known))
