# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs classes of input in worker processes, kills what takes too long, and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
import json
import os
from pathlib import Path
import signal
import time
from typing import Any

from .case import Case, load, Run
from .worker import record, SLOW_S, State, work

LIFE = 20_000
"""Inputs that one worker runs at most."""
LOOK_S = 0.05
GRACE_S = 3.0
BLOCKED_S = 20.0
"""Time by the wall that an input may take while it does nothing."""


@dataclass
class Tally:
    """What became of the inputs of a class."""

    name: str
    inputs: int = 0
    accepted: int = 0
    foreign: int = 0
    hangs: int = 0
    grown: int = 0  #: inputs that made a worker grow too much
    crashes: int = 0  #: workers that ended by a signal of their own
    growth_mb: int = 0  #: most that any worker has grown
    slowest: float = 0.0  #: s of CPU time
    seconds: float = 0.0  #: CPU time of the workers
    kinds: Counter[str] = field(default_factory=Counter)  #: what was found, and where

    @property
    def faults(self) -> int:
        """How many inputs found something."""
        return self.foreign + self.hangs + self.grown + self.crashes

    def row(self) -> list[str]:
        """Return the cells of the table."""
        share = 100 * self.accepted / max(1, self.inputs)
        return [self.name, f'{self.inputs:,}', f'{self.inputs / max(0.001, self.seconds):,.0f}',
                f'{share:.0f} %', str(self.foreign), str(self.hangs), str(self.grown),
                str(self.crashes), f'{self.growth_mb} MB', f'{self.slowest:.2f} s',
                f'{self.seconds:,.0f} s']


HEAD = ['class', 'inputs', 'inputs/s', 'accepted', 'foreign', 'hangs', 'growth', 'crashes',
        'most grown', 'slowest', 'CPU time']


def table(tallies: list[Tally]) -> str:
    """Return the figures as a table in Markdown."""
    rows = [HEAD, ['---'] + ['---:'] * (len(HEAD) - 1), *(tally.row() for tally in tallies)]
    if len(tallies) > 1:
        rows.append(_total(tallies).row())
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    return '\n'.join('| ' + ' | '.join(
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths))) + ' |' for row in rows)


def _total(tallies: list[Tally]) -> Tally:
    total = Tally('all')
    for tally in tallies:
        for name in ('inputs', 'accepted', 'foreign', 'hangs', 'grown', 'crashes', 'seconds'):
            setattr(total, name, getattr(total, name) + getattr(tally, name))
        total.growth_mb = max(total.growth_mb, tally.growth_mb)
        total.slowest = max(total.slowest, tally.slowest)
    return total


def run_class(
    name: str, seed: int, first: int, count: int, records: Path, case: Case | None = None
) -> Tally:
    """Run inputs of a class, worker after worker; records go to a file of this folder."""
    case = case or load(name)
    tally = Tally(name)
    path = records / f'{name}.jsonl'
    index, last = first, first + count
    while index < last:
        index = _one_life(case, name, seed, index, min(last, index + LIFE), path, tally)
    tally.kinds = Counter(
        f"{entry['kind']}: {entry['where']}" for entry in found(path))
    return tally


def found(path: Path) -> Iterator[dict[str, str]]:
    """Yield the records of a file."""
    if path.exists():
        for line in path.read_text(encoding='ascii').splitlines():
            yield json.loads(line)


def _one_life(
    case: Case, name: str, seed: int, first: int, last: int, path: Path, tally: Tally
) -> int:
    """Let a worker run until its end; return the index of the next input."""
    state = State()
    before = os.times()
    pid = os.fork()
    if pid == 0:
        work(case, Run(case, name, seed), first, last, state, path)
    why, status = _watch(pid, state)
    after = os.times()
    tally.seconds += after.children_user + after.children_system \
        - before.children_user - before.children_system
    told = state.read()
    assert told is not None, 'a worker died while it wrote where it is'
    index, done, accepted, foreign, _, _, growth, slowest = told
    tally.accepted += accepted
    tally.foreign += foreign
    tally.growth_mb = max(tally.growth_mb, growth // 1024)
    tally.slowest = max(tally.slowest, slowest)
    tally.inputs += done
    kinds = Counter(entry['kind'] for entry in found(path)
                    if first <= int(entry['index']) < first + done)
    tally.grown += kinds['growth']
    tally.hangs += kinds['hang']
    if index < 0 and not why and status == 0:
        return first + done
    tally.inputs += 1
    if why:
        tally.hangs += 1
        tally.slowest = max(tally.slowest, SLOW_S)
        record(path, 'hang', index, why, _input_of(case, name, seed, index), [])
    else:
        tally.crashes += 1
        how = f'signal {os.WTERMSIG(status)}' if os.WIFSIGNALED(status) \
            else f'exit code {os.WEXITSTATUS(status)}'
        record(path, 'crash', index, how, _input_of(case, name, seed, index), [])
    return max(first, index) + 1


def _watch(pid: int, state: State) -> tuple[str, int]:
    """Wait for the end of a worker; return why it was killed, if it was, and its status."""
    clock = (~pid << 3) | 2  # the CPU time of another process, as Linux numbers clocks
    before: tuple[Any, ...] | None = None
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return '', status
        told = state.read()
        why = ''
        if told is not None and told == before:  # seen twice: it was not just being written
            index, _, _, _, cpu, steady, _, _ = told
            if index >= 0 and time.clock_gettime(clock) - cpu > SLOW_S:
                why = f'over {SLOW_S:g} s of CPU time'
            elif index >= 0 and time.monotonic() - steady > BLOCKED_S and _waits(pid):
                why = f'blocked for {BLOCKED_S:g} s'
        before = told
        if why:
            os.kill(pid, signal.SIGABRT)  # faulthandler then writes down where it is
            return why, _end(pid)
        time.sleep(LOOK_S)


def _waits(pid: int) -> bool:
    """Whether a process waits for something, not only for its turn on a busy machine."""
    stat = Path(f'/proc/{pid}/stat').read_text()
    return stat.rpartition(') ')[2][0] in 'SD'


def _end(pid: int) -> int:
    """Wait for the end of a worker that was told to, kill it if need be; return its status."""
    until = time.monotonic() + GRACE_S
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        time.sleep(LOOK_S)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def _input_of(case: Case, name: str, seed: int, index: int) -> object:
    """Return an input that a worker did not live to record; making it may fail likewise."""
    try:
        return Run(case, name, seed).input(index)
    except BaseException as error:
        return f'(could not be made again: {error!r})'
