# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

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
    """Return what fits: `…` is anything; numbers, white space, bars of histograms are any."""
    parts = ''
    for token in re.findall(
            r'\|[^|\n]+\|(?= n =)|…|\d[\d.:]*|\s+|[^\s\d…|]+|\|', expected.strip()):
        if token == '…':
            parts += r'[\s\S]*?'
        elif token[0] == token[-1] == '|' != token:
            parts += r'\|[^|\n]+\|'
        elif token[0].isdigit():
            parts += r'-?\d[\d.:e-]*'
        else:
            parts += r'\s*' if token.isspace() else re.escape(token)
    return re.compile(parts)
