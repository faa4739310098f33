# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Evidence of a condition: the values of its facts, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
import math
from typing import Any

import numpy as np


class Validity(IntEnum):
    """Whether a fact has a value; the numbers are those of action_lifecycle_msgs/Fact."""

    UNKNOWN = 0  #: no sample yet, the newest one has no finite value, or the fact is unhealthy
    VALID = 1
    STALE = 2  #: the newest sample is older than max_age


class TruthValue(IntEnum):
    """The truth value of a condition; the numbers are those of action_lifecycle_msgs/Evidence."""

    UNKNOWN = 0  #: a fact is missing or stale
    TRUE = 1
    FALSE = 2


@dataclass(frozen=True)
class FactValue:
    """A fact at one time; `value`: number, boolean, string or numpy array; None: no sample."""

    name: str
    value: Any
    stamp: float  #: ROS time in s of the sample; 0: none
    topic: str  #: '' for tf, constants and expressions
    validity: Validity
    unit: str = ''
    note: str = ''  #: why the newest sample has no value, or why the fact is unhealthy
    late: float = 0.0  #: age in s of the newest sample when it came, if that is half of max_age
    tf: bool = False  #: whether it is read from tf
    of: FactValue | None = None  #: of an expression: a fact that it reads and that has no value

    def numbers(self) -> list[float] | None:
        """Return the value as a flat list of numbers; None if it is not numeric."""
        if isinstance(self.value, np.ndarray):
            if self.value.dtype.kind in 'biuf':
                return [float(number) for number in self.value.ravel()]
            return None
        if isinstance(self.value, (bool, int, float, np.number, np.bool_)):
            return [float(self.value)]
        return None

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-compatible data; infinities and NaN become strings."""
        entry: dict[str, Any] = {
            'name': self.name, 'stamp': self.stamp, 'topic': self.topic,
            'validity': self.validity.name.lower(), 'unit': self.unit}
        numbers = self.numbers()
        if numbers is not None:
            entry['numbers'] = [
                number if math.isfinite(number) else str(number) for number in numbers]
        elif self.value is not None:
            entry['value'] = plain_value(self.value)
        if self.note:
            entry['note'] = self.note
        return entry


@dataclass(frozen=True)
class Loss:
    """Samples of a topic that were lost between two that were seen, in s of ROS time."""

    topic: str
    count: int  #: 0: not known
    seen: float  #: arrival of the last one before
    now: float  #: arrival of the first one after, or when the loss was found

    def text(self, now: float) -> str:
        """Return what was lost, and how long before `now`."""
        what = 'a sample' if self.count == 1 else f'{self.count or "some"} samples'
        return (f'{what} of {self.topic} {"was" if self.count == 1 else "were"} lost '
                f'{max(0.0, now - self.now):.3g} s before')


@dataclass(frozen=True)
class Evidence:
    """One evaluated condition and the facts that it read."""

    condition: str
    expression: str
    verdict: TruthValue
    stamp: float  #: ROS time (s) of the evaluation
    held: float  #: time (s) for which it has been true without interruption
    facts: tuple[FactValue, ...] = ()
    note: str = ''  #: why it is unknown although the facts are known, or what was lost
    hold: float = 0.0  #: time (s) for which it has to be true
    longest: float = 0.0  #: the longest time (s) for which it has been true without interruption

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-compatible data."""
        return {
            'condition': self.condition, 'expression': self.expression,
            'verdict': self.verdict.name.lower(), 'stamp': self.stamp, 'held': self.held,
            'facts': [fact.as_dict() for fact in self.facts]}


def plain_value(value: Any) -> Any:
    """Return the value of a fact as JSON-compatible data."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [plain_value(item) for item in value]
    return value
