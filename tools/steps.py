# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Announce each step of a long command and say how long it took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import subprocess
import sys
import time


def say(text: str) -> None:
    """Print one line of progress on stderr, so that stdout stays the command's own."""
    sys.stderr.write(f'== {text}\n')  # at once, also from several threads
    sys.stderr.flush()


@contextmanager
def step(name: str) -> Iterator[None]:
    """Announce `name`; after the block, also a failed one, say how many seconds it took."""
    say(f'{name} …')
    start = time.monotonic()
    try:
        yield
    except BaseException:
        say(f'{name} … FAILED after {time.monotonic() - start:.1f} s')
        raise
    say(f'{name} … {time.monotonic() - start:.1f} s')


def run_all(steps: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Run every step's command, also after a failure; return the names of the failed steps."""
    failed = []
    for name, command in steps:
        sys.stdout.flush()
        try:
            with step(name):
                subprocess.run(command, check=True)
        except subprocess.CalledProcessError:
            failed.append(name)
    return failed
