# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Announce each step of a long command and say how long it took."""

from __future__ import annotations

from contextlib import contextmanager
import sys
import time
from typing import Iterator


def say(text: str) -> None:
    """Print one line of progress on stderr, so that stdout stays the command's own."""
    print('== ' + text, file=sys.stderr, flush=True)


@contextmanager
def step(name: str) -> Iterator[None]:
    """Announce `name`, then say how many seconds its block took, also when it failed."""
    say(f'{name} …')
    start = time.monotonic()
    try:
        yield
    except BaseException:
        say(f'{name} … FAILED after {time.monotonic() - start:.1f} s')
        raise
    say(f'{name} … {time.monotonic() - start:.1f} s')
