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

"""What a console block of a page shows: commands, and the pattern that their output fits."""

from __future__ import annotations

from collections.abc import Iterator
import re


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command behind a `$`, and the lines below it."""
    for part in re.split(r'^\$ ', text, flags=re.M)[1:]:
        command, _, expected = part.replace('\\\n', '').partition('\n')
        yield command.removeprefix('tools/ros-env '), expected


def pattern(expected: str) -> re.Pattern[str]:
    """Return what fits: `…` is anything, a number any number, white space any white space."""
    parts = ''
    for token in re.findall(r'…|\d[\d.:]*|\s+|[^\s\d…]+', expected.strip()):
        if token == '…':
            parts += r'[\s\S]*?'
        elif token[0].isdigit():
            parts += r'-?\d[\d.:e-]*'
        else:
            parts += r'\s*' if token.isspace() else re.escape(token)
    return re.compile(parts)
