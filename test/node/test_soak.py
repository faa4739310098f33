# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A robot under load, with orders of people, kills and faults at random, is judged at rest.

It takes 30 s, in `make test-all` five minutes, else SOAK_SECONDS. SOAK_SEED repeats what is
ordered, killed and hurt, and when; what that meets is up to the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import random
import time
from typing import Any

import pytest

from .soak_rig import Soak
from .waiting import until_answered

SEED = os.environ.get('SOAK_SEED', '1')
ROUND = (40, 90)  #: things that happen between two rests


def lengths() -> Iterator[Any]:
    """Yield for how many seconds it goes on, with the time that the last rest may take."""
    asked = os.environ.get('SOAK_SECONDS')
    if asked:
        yield pytest.param(float(asked), marks=pytest.mark.timeout(float(asked) + 600.0))
    else:
        yield pytest.param(30.0, marks=pytest.mark.timeout(300.0))
        yield pytest.param(300.0, marks=[pytest.mark.long, pytest.mark.timeout(900.0)])


@pytest.fixture
def soak(tmp_path: Path) -> Iterator[Soak]:
    soak = Soak(tmp_path)
    try:
        soak.begin()
        yield soak
    finally:
        soak.close()


@contextmanager
def kept(soak: Soak) -> Iterator[None]:
    """Keep what shows how a failure came about."""
    try:
        yield
    except BaseException:
        print(f'journal, logs, orders: {soak.keep()}', flush=True)
        raise


def stir_and_judge(soak: Soak, end: float) -> int:
    """Let things happen and judge what came of them, until it is time; returns how often."""
    began = time.monotonic()
    number = 0
    while time.monotonic() < end:
        rng = random.Random(f'{SEED}/{number}')
        # Every third round begins before all nodes know of each other again.
        if number % 3 == 0:
            until_answered(soak.until, soak.people.client)
        for _ in range(3):
            soak.people.submit(rng)
        for _ in range(rng.randint(*ROUND)):
            soak.spin(rng.uniform(0.0, 0.8))
            soak.stir(rng)
            if time.monotonic() > end:
                break
        stirred = time.monotonic()
        soak.rest(rng)
        rested = time.monotonic()
        soak.check()
        number += 1
        now = time.monotonic()
        now, figures = time.monotonic(), soak.figures
        print(f'round {number}: {now - began:.0f} s ({rested - stirred:.0f} s to rest, '
              f'{now - rested:.0f} s to check), {figures["rows"]} rows, '
              f'{figures["motions"]} motions', flush=True)
    return number


@pytest.mark.parametrize('seconds', lengths())
def test_nothing_moves_unseen_whatever_is_ordered_killed_and_hurt(
    soak: Soak, seconds: float
) -> None:
    print(f'SOAK_SEED={SEED} SOAK_SECONDS={seconds:g}')
    began = time.monotonic()
    with kept(soak):
        rounds = stir_and_judge(soak, began + seconds)
    for what, count in sorted({**soak.figures, **{
            f'order {kind}': count for kind, count in soak.people.kinds().items()}}.items()):
        print(f'  {what}: {count}')
    print(f'{time.monotonic() - began:.0f} s, {rounds} rounds, violations: 0')
    assert soak.figures['motions'] > seconds / 20, soak.people.refused  # there was a load
