# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The facts of conditions: their values when a condition was met, and when it was not."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping
import math
from typing import Any, NamedTuple

import numpy as np

MAX_ROWS = 20
"""Maximum number of rows that are named for a condition."""
MAX_COMPONENTS = 16
"""Maximum number of components of a fact that is a list."""
MAX_TEXTS = 20
"""Maximum number of different strings of a fact."""
MAX_EXAMPLES = 8
"""Maximum number of attempts that are named for a condition that was met, and that was not."""
VERDICTS = ('true', 'false', 'unknown')


class Example(NamedTuple):
    """An attempt with evidence of a condition; `journal`: its index."""

    journal: int
    flow_id: str
    action_id: str
    attempt: int


class ConditionTally:
    """Verdicts of one condition of one action, and the values of its facts by verdict."""

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self.rows: list[tuple[int, int]] = []  #: journal and row, where it was not met
        self._examples: dict[str, deque[Example]] = defaultdict(
            lambda: deque(maxlen=MAX_EXAMPLES))
        self._numbers: dict[tuple[str, int, str], array[float]] = defaultdict(lambda: array('d'))
        self._texts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._units: dict[str, str] = {}

    def add(self, evidence: Mapping[str, Any], seq: int, example: Example) -> None:
        """Add one piece of evidence, of row `seq`."""
        verdict = str(evidence.get('verdict'))
        verdict = verdict if verdict in VERDICTS else 'unknown'
        self.verdicts[verdict] += 1
        if verdict != 'true' and len(self.rows) < MAX_ROWS:
            self.rows.append((example.journal, seq))
        self._examples['met' if verdict == 'true' else 'not_met'].append(example)
        for fact in evidence.get('facts') or ():
            name = str(fact['name'])
            self._units.setdefault(name, str(fact.get('unit') or ''))
            if fact.get('validity') == 'unknown':
                continue
            numbers = fact.get('numbers')
            if numbers is None:
                texts = self._texts[name, verdict]
                text = str(fact.get('value', ''))[:200]
                if text in texts or len(texts) < MAX_TEXTS:
                    texts[text] += 1
                continue
            for index, number in enumerate(numbers[:MAX_COMPONENTS]):
                if isinstance(number, (int, float)) and math.isfinite(number):
                    self._numbers[name, index, verdict].append(number)

    def examples(self) -> dict[str, list[Example]]:
        """Return the newest attempts with which it was met and not met."""
        return {which: list(self._examples[which]) for which in ('met', 'not_met')}

    def facts(self) -> Iterator[dict[str, Any]]:
        """Yield the values of each component of each fact, by verdict of the condition."""
        lists = {name for name, index, _ in self._numbers if index}
        for name, index in dict.fromkeys(key[:2] for key in self._numbers):
            yield {'fact': f'{name}[{index}]' if name in lists else name,
                   'unit': self._units[name],
                   'by_verdict': {verdict: spread(self._numbers[name, index, verdict])
                                  for verdict in VERDICTS
                                  if (name, index, verdict) in self._numbers}}
        for name in dict.fromkeys(name for name, _ in self._texts):
            yield {'fact': name, 'unit': self._units[name],
                   'by_verdict': {verdict: {'n': sum(texts.values()),
                                            'texts': dict(texts.most_common())}
                                  for verdict in VERDICTS
                                  if (texts := self._texts.get((name, verdict)))}}


def spread(values: array[float]) -> dict[str, Any]:
    """Return number, median and range of values."""
    found = np.frombuffer(values)
    return {'n': len(values), 'median': float(np.median(found)),
            'min': float(found.min()), 'max': float(found.max())}
