# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The facts with value, unit, age and validity."""

from __future__ import annotations

import time
from typing import Any

from nicegui.element import Element

from .ticking import CLOCK_SLACK
from ...robots import Now
from ....report.looks import LOOKS

MAX_FACTS = 1000
MAX_TEXT = 2000
"""Maximum number of characters of a value."""
VALIDITY = {'valid': 'completed', 'stale': 'blocked', 'unknown': 'error'}
"""The look of each validity."""


class FactsTable(Element, component='facts_table.js'):
    """A table of facts with a filter; ages grow in the browser."""

    def __init__(self) -> None:
        super().__init__()
        self._offset = float('nan')
        self._props['facts'] = ()
        self._props['now'] = time.time()
        self._props['symbols'] = {
            validity: (LOOKS[name].symbol, LOOKS[name].css) for validity, name in VALIDITY.items()}

    def show(self, now: Now) -> None:
        """Show the facts of a robot."""
        facts: tuple[Any, ...] = tuple(
            (fact.name, fact.text[:MAX_TEXT], fact.unit, fact.validity, fact.note[:MAX_TEXT],
             fact.topic, fact.stamp) for fact in now.facts[:MAX_FACTS])
        moved = not abs(now.clock_offset - self._offset) < CLOCK_SLACK
        if facts == self._props['facts'] and not moved:
            return
        with self._props.suspend_updates():
            self._props['facts'] = facts
            self._props['now'] = time.time() + now.clock_offset
        self._offset = now.clock_offset
        self.update()
