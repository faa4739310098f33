# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Judges recorded confirmations again: the messages of a bag go into a world model as they arrived.

The bag is read once, also for many confirmations. Nothing is late: every due evaluation is made at
its time with the samples that arrived before it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
import functools
import math
from typing import Any, NamedTuple

from .comparison import Comparison, evidence_differences
from .recorded import Recorded
from .topic_names import TopicNames
from ..bag import Bag
from ..storage import Gap
from ...documents.errors import LifecycleError
from ...documents.stamps import from_ns, to_seconds
from ...lifecycle.ports import Condition
from ...world.condition import WatchResult
from ...world.facts.facts import FactSet
from ...world.facts.facts_file import TF_TOPICS
from ...world.model import JUMP, WorldModel

CLOCK = '/clock'
SIMULATED = 1e8  #: s; smaller ROS times are simulated
NOT_UNIQUE = ('the simulated time jumps back in the bag (a reset): times in it are not unique; '
              'split the bag there')
TOLERANCE = 0.005  #: s between the arrival at the bridge and at the recorder


class Question(NamedTuple):
    """The conditions to judge, with the names that they may use besides facts."""

    conditions: Sequence[Condition]
    parameters: Mapping[str, Any]


def replay(
    bag: Bag, facts: FactSet, recorded: Iterable[Recorded], names: TopicNames, *,
    question: Callable[[Recorded], Question] | None = None, tolerance: float = TOLERANCE,
) -> list[Comparison]:
    """
    Judge confirmations with the messages of a bag; returns them in order of their start.

    `question` returns other conditions than the recorded ones; if it raises a LifecycleError, the
    confirmation is not comparable. `tolerance`: see `evidence_differences`.
    """
    run = _Run(bag, facts, names, question or _as_recorded, tolerance)
    return run.compare(sorted(recorded, key=lambda entry: entry.started))


def _as_recorded(recorded: Recorded) -> Question:
    return Question(recorded.conditions, recorded.parameters)


class _Run:
    """One pass over a bag."""

    def __init__(
        self, bag: Bag, facts: FactSet, names: TopicNames,
        question: Callable[[Recorded], Question], tolerance: float,
    ) -> None:
        self._bag = bag
        self._model = WorldModel(facts)
        self._types = facts.topic_types()
        self._names = names
        self._question = question
        self._tolerance = tolerance
        self._answers: dict[int, Comparison] = {}
        self._clock = array('d'), array('d')  # log times and simulated times of /clock

    def compare(self, recorded: Sequence[Recorded]) -> list[Comparison]:
        span = self._bag.span() or (0.0, 0.0)
        simulated = any(entry.started < SIMULATED for entry in recorded) \
            and span[0] >= SIMULATED and CLOCK in self._bag.topics
        if simulated:
            span = self._clock_span()
        waiting: deque[tuple[int, Recorded, Question]] = deque()
        topics: set[str] = set()
        for index, entry in enumerate(recorded):
            reason, question, needs = self._examine(entry, span)
            if reason:
                self._answers[index] = Comparison(entry, question.conditions, reason=reason)
            else:
                waiting.append((index, entry, question))
                topics |= needs
        last = span[1]
        for topic, message, arrival, age in self._messages(topics, simulated):
            self._open(waiting, arrival)
            for name in self._named.get(topic, ()):
                self._model.ingest(name, message, arrival, age)
        self._open(waiting, last)
        self._model.advance(max(last, self._model.now))
        return [self._with_gaps(self._answers.get(index) or Comparison(
            entry, self._question(entry).conditions, reason='the bag ends before the verdict'))
            for index, entry in enumerate(recorded)]

    @functools.cached_property
    def _named(self) -> dict[str, list[str]]:
        """Return the names of topics in the facts file by their names in the bag."""
        found: dict[str, list[str]] = {}
        for name in self._types:
            found.setdefault(self._names.resolve(name), []).append(name)
        return found

    def _examine(
        self, entry: Recorded, span: tuple[float, float]
    ) -> tuple[str, Question, set[str]]:
        """Return why a confirmation can't be judged ('' if it can), and what to judge."""
        question = Question(entry.conditions, entry.parameters)
        try:
            question = self._question(entry)
            needs = self._model.topics(question.conditions, question.parameters)
        except LifecycleError as error:
            return ' '.join(str(error).split()), question, set()
        resolved = {self._names.resolve(topic): topic for topic in needs}
        known = self._bag.topics
        for topic, name in resolved.items():
            if topic not in known:
                if name != TF_TOPICS[1]:
                    return f"topic '{topic}' is not in the bag", question, set()
            elif known[topic].type != self._types[name]:
                return (f"topic '{topic}' carries {known[topic].type}; the facts file says "
                        f'{self._types[name]}'), question, set()
        if self._jumps_back:
            return NOT_UNIQUE, question, set()
        begin = min(entry.started, entry.after or entry.started)
        if span[0] > begin:
            return (f'the bag begins {span[0] - begin:.3g} s after the samples that count',
                    question, set())
        if span[1] < entry.started:
            return 'the bag ends before the confirmation began', question, set()
        return '', question, set(resolved)

    def _open(self, waiting: deque[tuple[int, Recorded, Question]], now: float) -> None:
        """Begin the confirmations that started before `now`."""
        while waiting and waiting[0][1].started < now:
            index, entry, question = waiting.popleft()
            try:
                self._model.confirm(
                    question.conditions, entry.started,
                    functools.partial(self._judged, index, entry, question),
                    after=entry.after or -1.0, names=question.parameters)
            except LifecycleError as error:
                self._answers[index] = Comparison(
                    entry, question.conditions, reason=' '.join(str(error).split()))

    def _judged(
        self, index: int, entry: Recorded, question: Question, result: WatchResult
    ) -> None:
        evidence = [found.as_dict() for found in result.evidence]
        same = list(question.conditions) == list(entry.conditions)
        self._answers[index] = Comparison(
            entry, question.conditions, result.outcome.name.lower(), result.stamp, evidence, '',
            tuple(evidence_differences(entry.evidence, evidence, self._tolerance))
            if same else ())

    def _with_gaps(self, answer: Comparison) -> Comparison:
        """Return the answer; not comparable if messages may be missing in its time."""
        entry = answer.recorded
        if self._bag.time_went_back() and not answer.reason:
            return Comparison(entry, answer.conditions, reason=NOT_UNIQUE)
        first = min(entry.started, entry.after or entry.started)
        last = max(entry.ended, answer.ended)
        for start, end in map(self._time_of, self._bag.gaps):
            if start <= last and end >= first and not answer.reason:
                return Comparison(entry, answer.conditions, reason='the bag is damaged in the '
                                  'time of the confirmation')
        return answer

    def _messages(
        self, topics: set[str], simulated: bool
    ) -> Iterator[tuple[str, Any, float, float]]:
        """Yield (topic, message, arrival, age); arrivals are simulated time if that is used."""
        wanted = {*topics, CLOCK} if simulated else topics
        now = None
        for entry in self._bag.messages(wanted):
            if simulated and entry.topic == CLOCK:
                now = to_seconds(entry.message.clock)
            if not simulated:
                yield entry.topic, entry.message, entry.log_time, entry.age
            elif now is not None:
                yield entry.topic, entry.message, now, 0.0

    def _time_of(self, gap: Gap) -> tuple[float, float]:
        """Return start and end (s) of a gap, in simulated time if that is used."""
        start, end = from_ns(gap.start), from_ns(gap.end)
        logged, simulated = self._clock
        if not logged:
            return start, end
        before, after = bisect_left(logged, start), bisect_right(logged, end)
        return (simulated[before - 1] if before else -math.inf,
                simulated[after] if after < len(simulated) else math.inf)

    def _clock_span(self) -> tuple[float, float]:
        logged, simulated = self._clock
        for entry in self._bag.messages([CLOCK]):
            logged.append(entry.log_time)
            simulated.append(to_seconds(entry.message.clock))
        return (min(simulated), max(simulated)) if simulated else (0.0, 0.0)

    @functools.cached_property
    def _jumps_back(self) -> bool:
        simulated = self._clock[1]
        return any(later < sooner - JUMP for sooner, later in zip(simulated, simulated[1:]))
