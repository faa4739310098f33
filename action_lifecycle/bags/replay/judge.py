# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Judges what was recorded again: the messages of a bag go into a world model as they arrived.

The bag is read once, also for many confirmations. Nothing is late: every due evaluation is made at
its time with the samples that arrived before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
import functools
from typing import Any, NamedTuple

from .agenda import Agenda
from .clock import CLOCK, has_clock, SIMULATED, SimulatedTime
from .comparison import Comparison, evidence_differences
from .recorded import MAINTAIN, MAINTAINED, Recorded, VIOLATED
from .topic_names import TopicNames
from ..bag import Bag
from ...documents.errors import LifecycleError
from ...documents.stamps import from_ns, to_seconds
from ...lifecycle.ports import Condition
from ...world.condition import WatchOutcome, WatchResult
from ...world.facts.facts import FactSet
from ...world.facts.facts_file import TF_TOPICS
from ...world.model import WorldModel
from ...world.watches import Watch

NOT_UNIQUE = ('the simulated time jumps back in the bag (a reset): times in it are not unique; '
              'split the bag there')
NOT_IN_ORDER = ('times jump back in the bag, in the order of writing: the recorder wrote in '
                'another order, or its clock was set back; if only the order is wrong, sort the '
                'bag by log time')
GRACE = 0.1  #: s after a violation, since recorders may have received its sample later
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
    Judge what was recorded with the messages of a bag; returns it in order of its start.

    `question` returns other conditions than the recorded ones; if it raises a LifecycleError, the
    confirmation is not comparable. Motions that had, and have, nothing to maintain are left out.
    `tolerance`: see `evidence_differences`.
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
        self._agenda = Agenda(self._model)
        self._answers: dict[int, Comparison] = {}
        self._simulated: SimulatedTime | None = None  #: if the times of the facts are simulated

    def compare(self, recorded: Sequence[Recorded]) -> list[Comparison]:
        span = self._bag.span() or (0.0, 0.0)
        if any(entry.started < SIMULATED for entry in recorded) \
                and span[0] >= SIMULATED and has_clock(self._bag):
            self._simulated = SimulatedTime(self._bag)
            span = self._simulated.span() or (0.0, 0.0)
        asked = {index: question for index, entry in enumerate(recorded)
                 for question in [self._asked(entry)] if question is not None}
        topics: set[str] = set()
        for index, question in asked.items():
            entry = recorded[index]
            if isinstance(question, str):
                self._answers[index] = Comparison(entry, entry.conditions, reason=question)
                continue
            reason, needs = self._examine(entry, question, span)
            if reason:
                self._answers[index] = Comparison(entry, question.conditions, reason=reason)
                continue
            topics |= needs
            self._agenda.add(entry.started, functools.partial(
                self._maintain if entry.kind == MAINTAIN else self._confirm,
                index, entry, question))
        last = span[1]
        for topic, message, arrival, age in self._messages(topics):
            self._agenda.proceed(arrival)
            for name in self._named.get(topic, ()):
                self._model.ingest(name, message, arrival, age)
        self._agenda.proceed(last)
        self._model.advance(max(last, self._model.now))
        return [self._with_gaps(self._answers.get(index) or Comparison(
            recorded[index], question.conditions if isinstance(question, Question) else (),
            reason='the bag ends before '
            + ('the motion' if recorded[index].kind == MAINTAIN else 'the verdict')))
            for index, question in asked.items()]

    def _asked(self, entry: Recorded) -> Question | str | None:
        """Return what to judge, or why it can't be judged; None: nothing was or is asked."""
        if entry.fault:
            return entry.fault
        try:
            question = self._question(entry)
        except LifecycleError as error:
            return ' '.join(str(error).split()) \
                if entry.conditions or entry.kind != MAINTAIN else None
        return question if question.conditions or entry.conditions else None

    @functools.cached_property
    def _named(self) -> dict[str, list[str]]:
        """Return the names of topics in the facts file by their names in the bag."""
        found: dict[str, list[str]] = {}
        for name in self._types:
            found.setdefault(self._names.resolve(name), []).append(name)
        return found

    def _examine(
        self, entry: Recorded, question: Question, span: tuple[float, float]
    ) -> tuple[str, set[str]]:
        """Return why it can't be judged ('' if it can), and the topics that it needs."""
        try:
            needs = self._model.topics(question.conditions, question.parameters)
        except LifecycleError as error:
            return ' '.join(str(error).split()), set()
        resolved = {self._names.resolve(topic): topic for topic in needs}
        known = self._bag.topics
        for topic, name in resolved.items():
            if topic not in known:
                if name != TF_TOPICS[1]:
                    return f"topic '{topic}' is not in the bag", set()
            elif known[topic].type != self._types[name]:
                return (f"topic '{topic}' carries {known[topic].type}; the facts file says "
                        f'{self._types[name]}'), set()
        if self._simulated is not None and self._simulated.jumps_back():
            return NOT_UNIQUE, set()
        begin = min(entry.started, entry.after or entry.started)
        if span[0] > begin:
            return f'the bag begins {span[0] - begin:.3g} s after the samples that count', set()
        if span[1] < entry.started:
            return 'the bag ends before ' + (
                'the motion' if entry.kind == MAINTAIN else 'the confirmation began'), set()
        return '', set(resolved)

    def _confirm(self, index: int, entry: Recorded, question: Question) -> None:
        """Begin a confirmation."""
        try:
            self._model.confirm(
                question.conditions, entry.started, lambda result: self._judged(
                    index, entry, question, result.outcome.name.lower(), result),
                after=entry.after or -1.0, names=question.parameters)
        except LifecycleError as error:
            self._refused(index, entry, question, error)

    def _maintain(self, index: int, entry: Recorded, question: Question) -> None:
        """Watch the conditions of a motion as the bridge does: first until they are known."""
        end = entry.ended + (GRACE if entry.verdict == VIOLATED else 0.0)
        watches: list[Watch] = []

        def known(result: WatchResult) -> None:
            self._agenda.add(result.stamp, lambda: None if index in self._answers else
                             watches.append(self._model.maintain(
                                 question.conditions, result.stamp, violated,
                                 names=question.parameters)))

        def violated(result: WatchResult) -> None:
            self._judged(index, entry, question, VIOLATED, result)

        def ended() -> None:
            if index not in self._answers:
                watches[-1].cancel()
                self._judged(index, entry, question, MAINTAINED, WatchResult(
                    WatchOutcome.JUDGED, watches[-1].evidence(end), end))

        try:
            watches.append(self._model.until_known(
                question.conditions, entry.started, known, names=question.parameters))
        except LifecycleError as error:
            self._refused(index, entry, question, error)
        else:
            self._agenda.add(end, ended)

    def _refused(
        self, index: int, entry: Recorded, question: Question, error: LifecycleError
    ) -> None:
        self._answers[index] = Comparison(
            entry, question.conditions, reason=' '.join(str(error).split()))

    def _judged(
        self, index: int, entry: Recorded, question: Question, verdict: str, result: WatchResult
    ) -> None:
        evidence = [found.as_dict() for found in result.evidence]
        reason = ''
        if verdict == VIOLATED and entry.stopped_by:
            reason = (f'violated {entry.ended - result.stamp:.3g} s before the end of a motion '
                      f'that was stopped ({entry.stopped_by}); since when is not recorded')
        same = list(question.conditions) == list(entry.conditions) \
            and bool(entry.evidence) and verdict != MAINTAINED
        self._answers[index] = Comparison(
            entry, question.conditions, verdict, result.stamp, evidence, reason,
            tuple(evidence_differences(entry.evidence, evidence, self._tolerance))
            if same else ())

    def _with_gaps(self, answer: Comparison) -> Comparison:
        """Return the answer; not comparable if messages may be missing in its time."""
        entry = answer.recorded
        if self._bag.time_went_back() and not answer.reason:
            span = self._bag.span()
            return Comparison(entry, answer.conditions, reason=NOT_IN_ORDER if span is not None
                              and span[0] >= SIMULATED else NOT_UNIQUE)
        first = min(entry.started, entry.after or entry.started)
        last = max(entry.ended, answer.ended)
        for gap in self._bag.gaps:
            start, end = (from_ns(gap.start), from_ns(gap.end)) if self._simulated is None \
                else self._simulated.of_gap(gap)
            if start <= last and end >= first and not answer.reason:
                what = 'motion' if entry.kind == MAINTAIN else 'confirmation'
                return Comparison(entry, answer.conditions,
                                  reason=f'the bag is damaged in the time of the {what}')
        return answer

    def _messages(self, topics: set[str]) -> Iterator[tuple[str, Any, float, float]]:
        """Yield (topic, message, arrival, age); arrivals are simulated time if that is used."""
        simulated = self._simulated is not None
        wanted = {*topics, CLOCK} if simulated else topics
        now = None
        for entry in self._bag.messages(wanted):
            if simulated and entry.topic == CLOCK:
                now = to_seconds(entry.message.clock)
            if not simulated:
                yield entry.topic, entry.message, entry.log_time, entry.age
            elif now is not None:
                yield entry.topic, entry.message, now, 0.0
