# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Where an action is: the frame and the position of its marker, from data that is there.

The first of these that is found, in this order:

1. a header of a goal of the action whose `frame_id` is not empty: that frame, at the position
   beside the header if it is given in numbers. The step that runs comes first, then the others.
2. a tf fact that a condition of its confirmation uses: the origin of the `source` frame.
3. a fact with `frame` that such a condition uses: that frame, at the value of the fact if it is
   three numbers in m, else at the origin. A fact with a position comes before one without.
4. the fixed frame, at its origin.

Conditions are those of the evidence, and before there is any those of the flow. A fact that is an
expression stands for the facts that it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
import math
from typing import Any, NamedTuple

from ...lifecycle.ports import Evidence
from ...lifecycle.text_format import value_of
from ...world.facts.facts import ConstantFact, DerivedFact, Fact, TfFact

Position = tuple[float, float, float]
ORIGIN: Position = (0.0, 0.0, 0.0)
DEPTH = 20
"""Maximum depth of messages in a goal."""


class MarkerPlace(NamedTuple):
    """A position (m) in a frame."""

    frame: str
    position: Position = ORIGIN


def place_of(
    goals: Iterable[Any], names: Iterable[str], evidence: Iterable[Evidence],
    facts: Mapping[str, Fact], fixed_frame: str,
) -> MarkerPlace:
    """
    Return the place of an action, see above.

    `goals`: of its steps, the one that runs first; `names`: the names in its conditions.
    """
    for goal in goals:
        place = next(_headers(goal), None)
        if place is not None:
            return place
    found = list(evidence)
    values = {str(fact.get('name', '')): value_of(fact)
              for entry in found for fact in entry.get('facts', ())}
    used = list(_read(facts, [*values, *names]))
    for name in used:
        fact = facts[name]
        if isinstance(fact, TfFact):
            return MarkerPlace(_frame(fact.tf.source))
    places = [MarkerPlace(_frame(facts[name].spec.frame), position) for name in used
              if _frame(facts[name].spec.frame)
              for position in [_value(facts[name], values.get(name))] if position is not None]
    if places:
        return places[0]
    framed = (_frame(facts[name].spec.frame) for name in used)
    return MarkerPlace(next(filter(None, framed), fixed_frame))


def _headers(data: Any, depth: int = DEPTH) -> Iterator[MarkerPlace]:
    """Yield the places in the fields of a goal, in the order in which they are written."""
    if isinstance(data, Mapping):
        header = data.get('header')
        if isinstance(header, Mapping) and isinstance(header.get('frame_id'), str):
            frame = _frame(header['frame_id'])
            if frame:
                yield MarkerPlace(frame, _beside(data) or ORIGIN)
        parts: Iterable[Any] = data.values()
    elif isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        parts = data
    else:
        return
    if depth:
        for part in parts:
            yield from _headers(part, depth - 1)


def _beside(data: Any) -> Position | None:
    """Return the position beside a header, as in stamped points and poses."""
    for _ in range(2):  # PoseWithCovarianceStamped has a pose in its pose
        if isinstance(data, Mapping):
            for name in ('position', 'point'):
                if name in data:
                    return _position(data[name])
            data = data.get('pose')
    return _position(data.get('position')) if isinstance(data, Mapping) else None


def _position(data: Any) -> Position | None:
    """Return a position of three numbers, as a mapping or a list; a missing coordinate is 0."""
    if isinstance(data, Mapping):
        data = [data.get(name, 0.0) for name in ('x', 'y', 'z')]
    if not isinstance(data, Sequence) or isinstance(data, (str, bytes)) or len(data) != 3:
        return None
    if any(isinstance(number, bool) or not isinstance(number, (int, float))
           or not abs(number) < math.inf for number in data):
        return None
    return float(data[0]), float(data[1]), float(data[2])


def _value(fact: Fact, value: Any) -> Position | None:
    if fact.spec.unit != 'm':
        return None
    return _position(fact.spec.constant if isinstance(fact, ConstantFact) else value)


def _read(facts: Mapping[str, Fact], names: Iterable[str]) -> Iterator[str]:
    """Yield the facts among these names once, with those that they read."""
    seen: set[str] = set()
    todo = list(names)[::-1]
    while todo:
        name = todo.pop()
        if name in facts and name not in seen:
            seen.add(name)
            yield name
            fact = facts[name]
            if isinstance(fact, DerivedFact):
                todo += fact.expression.names[::-1]


def _frame(name: str) -> str:
    """Return the name of a frame as tf2 has it; '' if it is not one."""
    name = name.strip().lstrip('/')
    return name if name.isprintable() else ''
