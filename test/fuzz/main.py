# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command line of the fuzzer."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import os
from pathlib import Path
import sys
import tempfile
import time

from .case import load, MODULES, Run
from .supervisor import found, run_class, table, Tally

SHARES = {
    'goals': 0.38, 'messages': 0.34, 'schedules': 0.05, 'conditions': 0.1, 'requests': 0.05,
    'templates': 0.03, 'facts': 0.02, 'flows': 0.012, 'files': 0.012, 'edits': 0.004,
    'journals': 0.002, 'hostile': 0.006,
}
"""What part of all inputs each class has: the dear ones have less."""
SHOWN = 12
"""Kinds of errors of a class that are shown."""


def main(arguments: Sequence[str], usage: str | None = None) -> int:
    """Run the fuzzer; return the exit code."""
    parser = argparse.ArgumentParser(
        prog='tools/fuzz', description=usage, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--count', type=int, default=50_000, help='inputs of all classes together')
    parser.add_argument('--class', dest='classes', action='append', choices=sorted(MODULES),
                        help='only this class, with all the inputs; may be given again')
    parser.add_argument('--seed', type=int, default=1, help='another seed, other inputs')
    parser.add_argument('--first', type=int, default=0, help='index of the first input')
    parser.add_argument('--index', type=int, help='show this input and run it here')
    parser.add_argument('--records', type=Path, help='folder for what is found')
    given = parser.parse_args(arguments)
    names = given.classes or list(SHARES)
    if given.index is not None:
        return show(names[0], given.seed, given.index)
    records = given.records or Path(tempfile.mkdtemp(prefix='fuzz-'))
    records.mkdir(parents=True, exist_ok=True)
    whole = sum(SHARES[name] for name in names)
    began = time.monotonic()
    tallies: list[Tally] = []
    for name in names:
        for old in (records / f'{name}.jsonl', records / f'{name}.log'):
            old.unlink(missing_ok=True)
        count = max(1, round(given.count * SHARES[name] / whole))
        tallies.append(_apart(name, given.seed, given.first, count, records))
        print(table(tallies[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
    print(table(tallies))
    print(f'\n--seed {given.seed}, {os.cpu_count()} cores, one of them used, '
          f'{time.monotonic() - began:.0f} s; records in {records}')
    return report(tallies, given.seed, records)


def _apart(name: str, seed: int, first: int, count: int, records: Path) -> Tally:
    """Run a class in a process of its own, so that what it imports is not there for the next."""
    import pickle
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, 'wb') as pipe:
                pickle.dump(run_class(name, seed, first, count, records), pipe)
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, 'rb') as pipe:
        content = pipe.read()
    os.waitpid(pid, 0)
    if not content:
        raise SystemExit(f'tools/fuzz: class {name} could not be run')
    tally: Tally = pickle.loads(content)
    return tally


def report(tallies: Sequence[Tally], seed: int, records: Path) -> int:
    """Print where errors came from and how to repeat one of each; return the exit code."""
    for tally in tallies:
        first: dict[str, str] = {}
        for entry in found(records / f'{tally.name}.jsonl'):
            first.setdefault(f"{entry['kind']}: {entry['where']}", str(entry['index']))
        for kind, _ in tally.kinds.most_common(SHOWN):
            print(f'{tally.name}: {kind}; repeat: tools/fuzz --seed {seed} '
                  f'--class {tally.name} --index {first[kind]}')
    return 1 if any(tally.faults for tally in tallies) else 0


def show(name: str, seed: int, index: int) -> int:
    """Run the inputs of a block up to this one, and show it and what comes of it."""
    case = load(name)
    run = Run(case, name, seed)
    for before in range(index - index % case.block, index):
        try:
            case.check(run.input(before))
        except Exception:  # it has an index of its own
            continue
    given = run.input(index)
    print(given if isinstance(given, str) else repr(given))
    try:
        accepted = case.check(given)
    except case.refused as error:
        print(f'refused: {error}')
    else:
        print('accepted' if accepted else 'refused')
    return 0
