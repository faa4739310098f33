# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Prints the steps of a long command and their durations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
import subprocess
import sys
import time


def say(text: str) -> None:
    """Print a line of progress to stderr; stdout is for the output of the command."""
    sys.stderr.write(f'== {text}\n')  # one write, so that lines of several threads do not mix
    sys.stderr.flush()


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print `name`; after the block, also if it fails, print its duration (s)."""
    say(f'{name} …')
    start = time.monotonic()
    try:
        yield
    except BaseException:
        say(f'{name} … FAILED after {time.monotonic() - start:.1f} s')
        raise
    say(f'{name} … {time.monotonic() - start:.1f} s')


def run_all(steps: Sequence[tuple[str, Sequence[str]]],
            environment: Mapping[str, str] | None = None) -> list[str]:
    """Run the commands of all steps, also after a failure; returns the names of failed steps."""
    failed = []
    for name, command in steps:
        sys.stdout.flush()
        try:
            with step(name):
                subprocess.run(command, check=True, env=environment)
        except subprocess.CalledProcessError:
            failed.append(name)
    return failed
