# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Messages of a topic in which facts have given values.

A value is written at the field path of its fact. Where a reducer leaves a choice, the simplest
message is taken: all elements equal the value, or (for `norm`) the first one does. What was
written is read again with the readers of the facts, so a message never says something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
import contextlib
import copy
import math
from typing import Any

import numpy as np

from .field_writing import CannotWrite, Elements, FieldWriter, MOST, NewElement, parse
from ..documents.errors import LifecycleError
from ..world.expressions.field_paths import FieldStep, IndexStep, MatchStep
from ..world.expressions.reducers import reduce_elements, reduce_window, REDUCERS
from ..world.facts.arrays import Absent
from ..world.facts.fact_state import finite
from ..world.facts.facts import TopicFact
from ..world.facts.safety_topics import SafetyTopic

HINT = ('give a message of the topic under `messages` of the robot, with the value in it, or a '
        'function under `writers` of ScriptedNode')

Writer = Callable[[Any, Any], None]
"""Writes a value into a message: `writer(message, value)`."""


class TopicMessages:
    """
    The messages of one topic.

    `new`: makes an empty message, or one with the fields of the script. `writers`: functions by
    fact that write a value, in place of the field path.
    """

    def __init__(
        self, facts: Iterable[TopicFact], safety: Sequence[SafetyTopic], new: Callable[[], Any],
        new_element: NewElement, writers: Mapping[str, Writer] | None = None,
    ) -> None:
        self._facts = sorted(facts, key=lambda fact: len(_selectors(fact)))
        self._safety = safety
        self._new = new
        self._writer = FieldWriter(new_element, places(self._facts))
        self._writers = writers or {}

    @property
    def names(self) -> list[str]:
        """Return the names of the facts."""
        return [fact.name for fact in self._facts]

    def message(
        self, values: Mapping[str, Any], pressed: bool = False, *, exact: bool = False
    ) -> Any:
        """
        Return a message with these values of facts; raises LifecycleError.

        A fact without a value has none in the message, if its type permits it; see `unsilenced`.
        `pressed`: the safety topics stop motions. Without `exact`, fields of whole numbers are
        rounded, as a ramp leads through the values between.
        """
        message = self._new()
        given = [(fact, values[fact.name]) for fact in self._facts
                 if values.get(fact.name) is not None and not is_timing(fact)]
        for fact, value in given:
            self._write(message, fact, value, exact)
        for fact in self._facts:
            if values.get(fact.name) is None and not is_timing(fact):
                message = self._silenced(message, fact, given)
        for topic in self._safety:
            _set_safety(message, topic, pressed, self._writer)
        for fact, value in given if not pressed else ():
            found = reading(fact, message)
            if not _equal(found, value, exact):
                raise LifecycleError(
                    f"fact '{fact.name}': its value is to be {_shown(value)}, and another fact of "
                    f"topic '{fact.topic}' makes it {_shown(found)} in the same fields; {HINT}")
        return message

    def unsilenced(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the facts without a value that have one in the message, since its type does."""
        message = self.message(values)
        found = {fact.name: reading(fact, message) for fact in self._facts
                 if values.get(fact.name) is None and not is_timing(fact)}
        return {name: value for name, value in found.items() if value is not None}

    def _write(self, message: Any, fact: TopicFact, value: Any, exact: bool) -> None:
        if _equal(reading(fact, message), value, exact):
            return
        if fact.name in self._writers:
            self._writers[fact.name](message, value)
            if _equal(reading(fact, message), value, exact):
                return
            raise LifecycleError(f"fact '{fact.name}': its function under `writers` has written "
                                 f'{_shown(reading(fact, message))} instead of {_shown(value)}')
        why = ''
        for field in _fields(fact, value, _sizes(fact, message)):
            try:
                self._writer.write(message, str(fact.spec.field), field)
            except CannotWrite as error:
                why = why or str(error)
                continue
            if _equal(reading(fact, message), value, exact):
                return
        reducer = '' if fact.elements == 'latest' else f" with reducer '{fact.elements}'"
        raise LifecycleError(
            f"fact '{fact.name}': no message is known in which field '{fact.spec.field}'{reducer} "
            f'is {_shown(value)}' + (why and f' ({why})') + f'; {HINT}')

    def _silenced(
        self, message: Any, fact: TopicFact, given: Sequence[tuple[TopicFact, Any]]
    ) -> Any:
        """Return a message without a value of the fact, if there is one."""
        if reading(fact, message) is None:
            return message
        changed = copy.deepcopy(message)
        with contextlib.suppress(CannotWrite):
            nothing = np.full(max(_size(fact, message), 1), math.nan) \
                if _is_several(fact, message) else math.nan
            self._writer.write(changed, str(fact.spec.field), nothing)
            if reading(fact, changed) is None and all(
                    _equal(reading(other, changed), reading(other, message), False)
                    for other, _ in given):
                return changed
        return message


def is_count(fact: TopicFact) -> bool:
    """Whether a fact is the number of the elements of a field."""
    names = [fact.spec.reduce] if isinstance(fact.spec.reduce, str) else list(fact.spec.reduce)
    return names[0] == 'count' and (len(names) == 2 or not fact.spec.window)


def is_timing(fact: TopicFact) -> bool:
    """Whether a fact measures the times of samples, not what is in them."""
    return bool(fact.over_time) and REDUCERS.find(fact.over_time).timing


def timing_fault(fact: TopicFact, value: Any) -> str:
    """Return why a value can't be scripted because of its window; '' if it can."""
    if fact.over_time in ('', 'rate', 'count'):
        return ''
    if fact.over_time == 'age':
        return (f"fact '{fact.name}' is the age of the samples of topic '{fact.topic}': no "
                'message can give it; make the topic silent with null for its other facts')
    try:
        if _equal(reduce_window(fact.over_time, [value] * 4), value, False):
            return ''
    except (TypeError, ValueError):
        pass
    return (f"fact '{fact.name}': samples that stay at {_shown(value)} do not have it as their "
            f"'{fact.over_time}' over a window; read the field in a fact without a window, and "
            'script that one')


def reading(fact: TopicFact, message: Any) -> Any:
    """Return the value of a fact in one message, as the bridge reads it; None: it has none."""
    try:
        value = fact.read(message)
        if fact.elements != 'latest':
            value = reduce_elements(fact.elements, value)
        return finite(value, fact.ordered)
    except (Absent, AttributeError, TypeError, ValueError):
        return None


def places(facts: Iterable[TopicFact]) -> dict[tuple[str, str], int]:
    """
    Return an index for each name by which elements of arrays are selected.

    `velocity[0:3]` and `velocity[name=finger]` are different elements, so `finger` is not among
    the first three names.
    """
    taken: dict[str, set[int]] = {}
    fields: dict[tuple[str, str], set[str]] = {}
    for fact in facts:
        steps = parse(str(fact.spec.field))
        for field, step in zip(steps, steps[1:]):
            if not isinstance(field, FieldStep):
                continue
            if isinstance(step, MatchStep):
                for text in step.texts:
                    fields.setdefault((step.key, text), set()).add(field.name)
            elif isinstance(step, IndexStep) and not step.every:
                taken.setdefault(field.name, set()).update(_indices(step.index))
    found: dict[tuple[str, str], int] = {}
    for (key, text), names in fields.items():
        used = {place for (other, _), place in found.items() if other == key}
        used.update(*(taken.get(name, ()) for name in names))
        found[key, text] = next(place for place in range(len(used) + 1) if place not in used)
    return found


def _indices(index: Any) -> Iterable[int]:
    if isinstance(index, int):
        return (index,) if index >= 0 else ()
    if isinstance(index, slice) and (index.stop or 0) > 0:
        return range(min(index.stop, MOST))[index]
    return ()


def _selectors(fact: TopicFact) -> list[Any]:
    return [step for step in parse(str(fact.spec.field)) if isinstance(step, MatchStep)
            or (isinstance(step, IndexStep) and isinstance(step.index, int))]


def _raw(fact: TopicFact, message: Any) -> Any:
    try:
        return fact.read(message)
    except (Absent, AttributeError, TypeError, ValueError):
        return None


def _size(fact: TopicFact, message: Any) -> int:
    """Return how many elements the field has now."""
    value = _raw(fact, message)
    if value is None or isinstance(value, str) or is_count(fact):
        return 0
    return int(np.size(value)) if not isinstance(value, list) else len(value)


def _is_several(fact: TopicFact, message: Any) -> bool:
    return isinstance(_raw(fact, message), (list, np.ndarray)) and not is_count(fact)


def _sizes(fact: TopicFact, message: Any) -> Sequence[int]:
    """Return how many elements may be written: all that a path selects, or those there are."""
    last = parse(str(fact.spec.field))[-1]
    size, selected = _size(fact, message), 0
    if isinstance(last, IndexStep) and isinstance(last.index, slice):
        selected = len(list(_indices(last.index)))
    elif isinstance(last, MatchStep) and len(last.texts) > 1:
        selected = len(last.texts)
    return [length for length in (selected, size) if length] or [1, 2]


def _fields(fact: TopicFact, value: Any, sizes: Sequence[int]) -> Iterator[Any]:
    """Yield values of the field from which the fact may have its value; simple ones first."""
    if is_count(fact):
        if float(value) == int(value) and 0 <= value <= MOST:
            yield Elements(value)
        return
    reducer = fact.elements
    if reducer == 'latest':
        yield value
        return
    if np.shape(value):
        return
    for length in sizes:
        alone = np.zeros(length)
        alone[0] = value
        same = np.full(length, value)
        spread = np.zeros(length)
        spread[0] = float(value) * length / math.sqrt(max(length - 1, 1))
        yield from (alone, same) if reducer in ('norm', 'sum') else (same, spread, alone)


def _set_safety(message: Any, topic: SafetyTopic, pressed: bool, writer: FieldWriter) -> None:
    """Write a value that stops motions, or one that permits them."""
    if topic.read is None or topic.stops(message) is pressed:
        return
    given = list(topic.values) if pressed is not topic.permits else []
    for value in (*given, False, True, 0, 1, 2, 255, 'ok', 'stop'):
        with contextlib.suppress(CannotWrite):
            writer.write(message, str(topic.spec.field), value)
            if topic.stops(message) is pressed:
                return
    raise LifecycleError(
        f"{topic.label} on topic '{topic.spec.topic}': no value of field '{topic.spec.field}' is "
        f"known that {'stops' if pressed else 'permits'} motions; give the topic's message under "
        '`messages` of the robot')


def _equal(found: Any, wanted: Any, exact: bool) -> bool:
    if found is None or isinstance(found, str) or isinstance(wanted, str):
        return isinstance(found, str) and isinstance(wanted, str) and str(found) == str(wanted)
    try:
        one, other = np.asarray(found), np.asarray(wanted)
        if one.shape != other.shape:
            return False
        if one.dtype.kind in 'US' or other.dtype.kind in 'US':
            return bool((one == other).all())
        close = 1e-9 if exact or one.dtype.kind not in 'iu' else 0.5
        return bool(np.allclose(one.astype(float), other.astype(float), rtol=1e-6, atol=close))
    except (TypeError, ValueError):
        return False


def _shown(value: Any) -> str:
    return 'none' if value is None else str(value.tolist() if isinstance(
        value, (np.ndarray, np.generic)) else value)
