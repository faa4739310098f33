# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cells of tables that show the beginning of long texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.text import Text

SHOWN = 2
"""Maximum number of lines that are shown of one text."""


class ShortText:
    """A cell with texts below each other; of each, at most `SHOWN` lines are shown."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [Text(' '.join(text.split())) for text in texts]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the lines, in the width of the column."""
        mark = '...' if options.ascii_only else '…'
        for text in self._texts:
            lines = text.wrap(console, options.max_width, overflow='fold')
            shown = list(lines[:SHOWN])
            if len(lines) > SHOWN:
                shown[-1].truncate(max(0, options.max_width - len(mark)))
                shown[-1].append(mark)
            yield from shown

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return how wide the texts are."""
        return Measurement.get(console, options, Text('\n').join(self._texts))
