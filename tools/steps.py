# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
