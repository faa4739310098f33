# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Run the fuzzer on a class of input whose every tenth input does something wrong.

usage: planted.py FOLDER; prints the tally as JSON
"""

from __future__ import annotations

import json
import os
from pathlib import Path
import random
import signal
import sys
import time
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from fuzz import supervisor
from fuzz.case import Case

FOREIGN, SPINS, SLEEPS, GROWS, CRASHES, EVERYTHING = 10, 20, 30, 40, 50, 60
COUNT = 70


class Planted(Case):
    """Inputs that count themselves; a third of them is refused."""

    block = COUNT

    def begin(self, rng: random.Random) -> None:
        self.index = -1
        self.kept: list[Any] = []

    def make(self, rng: random.Random) -> Any:
        self.index += 1
        return rng.randrange(3)

    def check(self, given: Any) -> bool:
        index = given_index()
        if index == FOREIGN:
            raise KeyError('planted')
        if index == SPINS:
            while True:
                pass
        if index == SLEEPS:
            time.sleep(100)
        if index == GROWS:
            self.kept.append(b'x' * (250 * 1024 * 1024))
        if index == CRASHES:
            os.kill(os.getpid(), signal.SIGSEGV)
        if index == EVERYTHING:
            bytes(50 * 1024 ** 3)
        if given == 0:
            raise LifecycleError('refused')
        return True


def given_index() -> int:
    """Return the index of the input that this worker is at."""
    return int(STATE[0].read()[0])


STATE: list[Any] = []


def main(folder: Path) -> None:
    make = supervisor.State

    def one_more() -> Any:
        STATE[:] = [make()]
        return STATE[0]

    supervisor.State = one_more  # type: ignore[misc, assignment]
    supervisor.SLOW_S, supervisor.BLOCKED_S = 1.5, 3.0
    tally = supervisor.run_class('planted', 7, 0, COUNT, folder, Planted())
    records = [(entry['kind'], entry['index'])
               for entry in supervisor.found(folder / 'planted.jsonl')]
    print(json.dumps({
        'inputs': tally.inputs, 'accepted': tally.accepted, 'foreign': tally.foreign,
        'hangs': tally.hangs, 'grown': tally.grown, 'crashes': tally.crashes,
        'growth_mb': tally.growth_mb, 'records': records}))


if __name__ == '__main__':
    main(Path(sys.argv[1]))
