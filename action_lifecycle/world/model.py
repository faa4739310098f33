# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The world model: takes samples and evaluates conditions; without threads, clock or ROS.

All times are seconds of ROS time. The caller passes samples to `ingest` and calls `advance` at
`next_deadline`; results come by callback from within these calls.

    model = WorldModel(load_facts('facts.yaml'))
    model.confirm([Condition('grasped', 'finger_gap > 0.01', hold=0.3, within=2.0)],
                  now=12.0, after=11.5, on_result=print)
    model.ingest('joint_states', message, received=12.01)
    model.advance(model.next_deadline())
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
import functools
import heapq
import itertools
import math
from typing import Any, TypeVar

from .condition import compile_condition, compile_over, WatchResult
from .evidence import Evidence, FactValue, Loss, TruthValue
from .expressions.constant_values import ConditionParameters
from .expressions.expression import certain_fault
from .facts.fact_sources import FactSources
from .facts.facts import FactSet
from .facts.rivals import Publishers, Sender, unknown_sender
from .watches import Confirm, Judged, Maintain, Observation, UntilKnown, Watch
from ..documents.errors import DocumentError, Fault
from ..lifecycle.ports import Condition

JUMP = 0.1  #: s; if time jumps back by more, all samples are dropped
OnResult = Callable[[WatchResult], None]
OnUpdate = Callable[[Watch], None]
WatchT = TypeVar('WatchT', bound=Watch)


class WorldModel:
    """
    The current facts, and the open watches on conditions.

    `late`: maximum delay (s) of a due evaluation; a later one restarts the hold, since samples
    from before may not have been passed to `ingest` yet.
    """

    def __init__(self, facts: FactSet, *, late: float = math.inf) -> None:
        self.facts = facts
        self.late = late
        self.now = -math.inf
        self.look: Callable[[Iterable[str]], None] | None = None
        """Called with topics before a decision on their samples; it may call `distrust`."""
        self._distrusted: dict[str, str] = {}  #: reasons by topic
        self.read_waiting: Callable[[], None] | None = None
        """Called before a due evaluation; it may `ingest` what arrived before the due time."""
        self._sources = FactSources(facts)
        self._arrived: dict[str, float] = {}  #: time of the last message, by topic
        self._watching: dict[str, dict[Watch, None]] = {}
        self._dues: list[tuple[float, int, Watch]] = []
        self._numbers = itertools.count()

    # -- samples and time

    def ingest(self, topic: str, message: Any, received: float, age: float = 0.0) -> float:
        """
        Process a message of a topic (named as in the facts file) that arrived at `received`.

        `age`: time (s) since a latched message was published; without a stamp, it counts as
        measured then. Evaluations due before `received` are made first, with the earlier samples.
        Returns the time that counts as its arrival: time never goes back but for a reset.
        """
        dues = self._dues
        if received >= self.now and not (dues and dues[0][0] <= received):
            self.now = received
        else:
            self.advance(received)
        now = self.now
        self._arrived[topic] = now
        self._sources.take(topic, message, now, age)
        watches = self._watching.get(topic)
        if watches:
            for watch in list(watches):
                self._judge(watch, now)
            due = self._sources.changes(topic, now)
            for watch in watches:
                if due < watch.due:
                    watch.due = due
                    self._schedule(watch)
        return now

    def lost(self, topic: str, count: int, now: float) -> None:
        """
        Process that messages of a topic were lost until `now`; `count`: 0 if it is not known.

        Holds begin again; `advance` makes the evaluations that are due then.
        """
        now = max(now, self.now)
        loss = Loss(topic, count, self._arrived.get(topic, now), now)
        self._arrived[topic] = now
        self._sources.lose(loss)
        for watch in list(self._watching.get(topic, ())):
            for judged in watch.conditions:
                if topic in self.facts.topics(part.name for part in judged.parts):
                    watch.lose(judged, loss)
            watch.due = min(watch.due, now)
            self._schedule(watch)

    def advance(self, now: float) -> None:
        """Make all evaluations due until `now`, each for its due time."""
        if now < self.now - JUMP:
            self._restart(now)
        dues = self._dues
        if self.read_waiting is not None and dues and dues[0][0] <= now:
            self.read_waiting()
        self.now = now = max(now, self.now)
        while dues and dues[0][0] <= now:
            due, _, watch = heapq.heappop(dues)
            if watch.open and due == watch.due:
                if now - due > self.late:
                    watch.begin_anew(now)
                self._judge(watch, due)

    def set_publishers(
        self, topic: str, nodes: Sequence[str], now: float, name: str = '',
        sender: Sender = unknown_sender,
    ) -> None:
        """
        Take note of the nodes of all publishers of a topic; `name`: the topic's for messages.

        `sender()` tells during `ingest` which publisher sent the message, None: it is not known.
        With several, conditions on its facts count only if none may contradict; see rivals.py.
        """
        self.advance(now)
        self._sources.set_publishers(topic, Publishers(name or topic, nodes, sender), self.now)
        for watch in list(self._watching.get(topic, ())):
            for judged in watch.conditions:
                judged.find_rivals()
            watch.due = self.now
            self._judge(watch, self.now)

    def distrust(self, topic: str, reason: str, now: float) -> None:
        """
        Drop the samples of a topic, as its messages can't be understood; '': they can again.

        Its facts are unknown for `reason` until the next sample.
        """
        if reason == self._distrusted.get(topic, ''):
            return
        self._distrusted[topic] = reason
        self.advance(now)
        self._sources.distrust(topic, reason, self.now)
        for watch in list(self._watching.get(topic, ())):
            watch.due = self.now
            self._judge(watch, self.now)

    @property
    def waiting(self) -> bool:
        """Whether there may be a deadline."""
        return bool(self._dues)

    @property
    def watched(self) -> bool:
        """Whether a watch is open, so that samples may change something."""
        return any(self._watching.values())

    def next_deadline(self) -> float:
        """Return when `advance` must be called next; infinite if only samples change results."""
        dues = self._dues
        while dues and not (dues[0][2].open and dues[0][0] == dues[0][2].due):
            heapq.heappop(dues)
        return dues[0][0] if dues else math.inf

    def _restart(self, now: float) -> None:
        """Drop all samples, as time jumped back (a simulation was reset)."""
        self.now = now
        self._sources.clear(now)
        self._arrived.clear()
        self._dues.clear()
        for watch in dict.fromkeys(itertools.chain.from_iterable(self._watching.values())):
            watch.restart(now)
            self._schedule(watch)

    # -- queries

    def value(self, name: str, now: float) -> FactValue:
        """Return the value of a fact at `now`."""
        return self._sources[name].describe(now)

    def evaluate(
        self, conditions: Iterable[Condition], now: float,
        names: Mapping[str, Any] | None = None,
    ) -> tuple[TruthValue, tuple[Evidence, ...]]:
        """Evaluate conditions once; returns the combined verdict and the evidence of each."""
        watch = self.until_known(conditions, now, lambda result: None, names=names)
        watch.cancel()
        return watch.verdict(), watch.evidence(self.now)

    def expression(
        self, text: str, now: float, names: Mapping[str, Any] | None = None
    ) -> tuple[Any, str]:
        """
        Return the value of an expression over facts and `names`, or None and the reason.

        Raises DocumentError if it can't be compiled.
        """
        self.advance(now)
        parameters = ConditionParameters.of(names)
        compiled = compile_over(text, self.facts, parameters)
        if self.look is not None:
            self.look(self.facts.topics(compiled.names))
        parts = [self._sources.part(name, parameters) for name in compiled.names]
        values = [part.read(self.now, -math.inf, 0.0) for part in parts]
        value = compiled.evaluate(values)
        judged = Judged(Condition('', text), compiled, parts)
        unsettled = judged.unsettled(self.now)
        if unsettled:
            return None, ', '.join(f"fact '{name}' is unknown: {reason}"
                                   for name, reason in unsettled.items())
        if value is not None:
            return value, ''
        missing = [f"fact '{found.name}' is {found.validity.name.lower()}"
                   + (found.note and f': {found.note}')
                   for part, entry in zip(parts, values) if entry is None
                   for found in [part.describe(self.now)]]
        return None, ', '.join(missing) or compiled.error

    def confirm(
        self, conditions: Iterable[Condition], now: float, on_result: OnResult, *,
        after: float = -math.inf, names: Mapping[str, Any] | None = None,
        on_update: OnUpdate | None = None,
    ) -> Confirm:
        """
        Watch until all conditions are true or time is up; ignores samples up to `after`.

        Raises DocumentError for a condition that is true whatever is measured.
        """
        return self._open(Confirm, conditions, now, after, names, on_result, on_update)

    def maintain(
        self, conditions: Iterable[Condition], now: float, on_result: OnResult, *,
        names: Mapping[str, Any] | None = None, on_update: OnUpdate | None = None,
    ) -> Maintain:
        """Watch until one of the conditions is broken; the result is VIOLATED."""
        return self._open(Maintain, conditions, now, -math.inf, names, on_result, on_update)

    def until_known(
        self, conditions: Iterable[Condition], now: float, on_result: OnResult, *,
        names: Mapping[str, Any] | None = None,
    ) -> UntilKnown:
        """Watch until every condition is known or its `within` is over; the result is JUDGED."""
        return self._open(UntilKnown, conditions, now, -math.inf, names, on_result, None)

    def observe(
        self, conditions: Iterable[Condition], now: float, on_update: OnUpdate, *,
        names: Mapping[str, Any] | None = None,
    ) -> Observation:
        """Call back after each sample of the facts of conditions, until the watch is canceled."""
        return self._open(
            Observation, conditions, now, -math.inf, names, lambda result: None, on_update)

    def topics(
        self, conditions: Iterable[Condition], names: Mapping[str, Any] | None = None
    ) -> set[str]:
        """Return the topics that conditions need; raises DocumentError if one is not valid."""
        return self.facts.topics(
            name for condition in conditions
            for name in compile_condition(condition.expression, self.facts, names).names)

    # -- internal

    def _open(
        self, kind: type[WatchT], conditions: Iterable[Condition], now: float, after: float,
        names: Mapping[str, Any] | None, on_result: OnResult, on_update: OnUpdate | None,
    ) -> WatchT:
        judged = self._compile(conditions, names, evidence=kind is Confirm)
        self.advance(now)
        topics = self.facts.topics(part.name for entry in judged for part in entry.parts)
        watch = kind(judged, self.now, after, on_result, on_update)
        if self.look is not None:
            watch.look = functools.partial(self.look, topics)
        watch.on_close = functools.partial(self._forget, topics)
        for topic in topics:
            self._watching.setdefault(topic, {})[watch] = None
        self._judge(watch, self.now)
        return watch

    def _forget(self, topics: Iterable[str], watch: Watch) -> None:
        for topic in topics:
            self._watching[topic].pop(watch)

    def _judge(self, watch: Watch, now: float) -> None:
        if watch.open:
            due = watch.due
            watch.judge(now)
            if watch.open and watch.due != due:
                self._schedule(watch)

    def _schedule(self, watch: Watch) -> None:
        if watch.due != math.inf:
            heapq.heappush(self._dues, (watch.due, next(self._numbers), watch))

    def _compile(
        self, conditions: Iterable[Condition], names: Mapping[str, Any] | None,
        evidence: bool = False,
    ) -> Sequence[Judged]:
        parameters = ConditionParameters.of(names)
        judged = []
        for condition in conditions:
            faults = condition.faults()
            expression = compile_condition(condition.expression, self.facts, parameters)
            if evidence:
                fault = certain_fault(expression, {**self.facts.fixed, **parameters})
                faults += [f'{condition.expression!r}: {fault}'] if fault else []
            if faults:
                raise DocumentError(Fault(condition.name or 'condition', 1, 1, fault)
                                    for fault in faults)
            judged.append(Judged(condition, expression, [
                self._sources.part(name, parameters) for name in expression.names]))
        return judged
