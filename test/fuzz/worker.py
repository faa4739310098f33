# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A process that runs many inputs in a row and tells the supervisor which one it is at."""

from __future__ import annotations

import faulthandler
import gc
import json
import logging
import mmap
import os
from pathlib import Path
import resource
import signal
import struct
import time
import traceback
from typing import Any, NoReturn
import warnings

import action_lifecycle

from .case import Case, Run

GROWTH_MB = 200
"""By how much a worker may grow; also the largest step of a single input."""
SPACE_MB = 1024
"""Address space that a worker may take beside what it begins with."""
SLOW_S = 2.0
"""CPU time that an input may take."""
SHOWN = 3000
"""Characters of an input that a record shows."""
KEPT = 20
"""Foreign errors of one kind that a worker records."""

PACKAGE = os.path.dirname(os.path.abspath(action_lifecycle.__file__)) + os.sep
STATE = struct.Struct('@qqqqddqdq')
# index, done, accepted, foreign, CPU time and steady time of the beginning, growth in kB, slowest,
# and the index again: a worker may be interrupted while it writes


class State:
    """What a worker tells, in memory that both processes see."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, STATE.size)
        self.tell(-1, 0, 0, 0, 0.0, 0.0, 0, 0.0)

    def tell(self, *values: Any) -> None:
        """Write index, done, accepted, foreign, CPU time, steady time, growth and slowest."""
        self._memory[:STATE.size] = STATE.pack(*values, values[0])

    def read(self) -> tuple[Any, ...] | None:
        """Return what was written last, None while it is being written."""
        *values, again = STATE.unpack_from(self._memory, 0)
        return tuple(values) if values[0] == again else None


def work(case: Case, run: Run, first: int, last: int, state: State, records: Path) -> NoReturn:
    """Run the inputs from `first` to before `last`, then end the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    log = os.open(records.with_suffix('.log'), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    faulthandler.enable()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter('ignore')
    gc.collect()
    gc.freeze()
    limit_space()
    code = 1
    try:
        code = _work(case, run, first, last, state, records)
    except BaseException:
        traceback.print_exc()
    os._exit(code)


def limit_space() -> None:
    """Limit the address space, so that an input that asks for everything gets a MemoryError."""
    pages = int(Path('/proc/self/statm').read_text().split()[0])
    most = pages * resource.getpagesize() + SPACE_MB * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _work(case: Case, run: Run, first: int, last: int, state: State, records: Path) -> int:
    refused = case.refused
    base = peak = _peak()
    done = accepted = foreign = 0
    slowest = 0.0
    seen: dict[str, int] = {}
    given: Any = None
    for index in range(first, last):
        began = time.process_time()
        state.tell(index, done, accepted, foreign, began, time.monotonic(), peak - base, slowest)
        try:
            given = run.input(index)
            accepted += bool(case.check(given))
        except refused:
            pass
        except BaseException as error:
            kind = 'growth' if isinstance(error, MemoryError) else 'foreign'
            foreign += kind == 'foreign'
            where = innermost(error)
            seen[where] = seen.get(where, 0) + 1
            if seen[where] <= KEPT:
                record(records, kind, index, where, given, lines_of(error))
        done += 1
        taken = time.process_time() - began
        if taken > slowest:
            slowest = taken
            if taken > SLOW_S:
                record(records, 'hang', index, f'{taken:.1f} s of CPU time', given, [])
        now = _peak()
        if now > peak:
            if now - peak > GROWTH_MB * 1024:
                record(records, 'growth', index, f'{(now - peak) // 1024} MB', given, [])
                peak = now
                break  # what is left of it would hide the growth of others
            peak = now
        if peak - base > GROWTH_MB * 1024:
            record(records, 'growth', index,
                   f'{(peak - base) // 1024} MB in {done} inputs', None, [])
            break
    state.tell(-1, done, accepted, foreign, 0.0, 0.0, peak - base, slowest)
    return 0


def _peak() -> int:
    """Return the largest resident size so far, in kB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def innermost(error: BaseException) -> str:
    """Return the type of an error, and the line of the package that it was last in."""
    place = ''
    for frame in traceback.extract_tb(error.__traceback__):
        name = os.path.abspath(frame.filename)
        if name.startswith(PACKAGE):
            place = f'{name[len(PACKAGE):]}:{frame.lineno}'
    return f'{type(error).__name__} at {place or "the harness"}'


def lines_of(error: BaseException) -> list[str]:
    """Return the last lines of a traceback."""
    return traceback.format_exception(type(error), error, error.__traceback__)[-6:]


def record(
    records: Path, kind: str, index: int, where: str, given: Any, lines: list[str]
) -> None:
    """Append a finding to the file of records."""
    try:
        shown = repr(given)
    except BaseException as error:
        shown = f'(its repr raises {error!r})'
    line = json.dumps({'kind': kind, 'index': index, 'where': where,
                       'input': shown[:SHOWN], 'traceback': ''.join(lines)[-SHOWN:]})
    with open(records, 'a', encoding='ascii') as file:
        file.write(line + '\n')
