# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

# ruff: noqa: D102 (what overrides is documented at its base)
"""
Watches evaluate conditions over time: confirm, maintain, and wait until known; or observe them.

A watch is evaluated when a sample of one of its facts arrives, and when its result may change
without one: at the end of a hold, at a time limit, or when a sample becomes too old. Each
evaluation is made for its due time, even if the caller is late.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
import math
from typing import Any

from .condition import WatchOutcome, WatchResult
from .evidence import Evidence, FactValue, Loss, TruthValue, Validity
from .expressions.expression import Expression
from .facts.fact_state import Source
from ..lifecycle.ports import Condition

ON_VALUES = (WatchOutcome.CONFIRMED, WatchOutcome.JUDGED)  #: outcomes that rely on samples
_VERDICTS = {None: TruthValue.UNKNOWN, True: TruthValue.TRUE, False: TruthValue.FALSE}


class Judged:
    """One condition of a watch with its last verdict."""

    __slots__ = ('condition', 'expression', 'longest', 'loss', 'parts', 'raw', 'raw_since',
                 'rivaled', 'settles', 'since', 'unseen', 'verdict')

    def __init__(self, condition: Condition, expression: Expression, parts: Sequence[Source]
                 ) -> None:
        self.condition = condition
        self.expression = expression
        self.parts = tuple(parts)
        self.verdict = TruthValue.UNKNOWN
        self.since = math.inf  #: time of the last change of the verdict
        self.raw = TruthValue.UNKNOWN  #: verdict of the newest samples, if there are `rivaled`
        self.raw_since = math.inf
        self.settles = -math.inf  #: from when on `raw` counts
        self.rivaled: list[Source] = []  #: facts of topics with several publishers
        self.find_rivals()
        self.longest = 0.0  #: the longest time (s) for which it was true, without the present one
        self.loss: Loss | None = None  #: the last one of a topic of its facts
        self.unseen = math.inf  #: since when samples have been lost, without a span of `within`

    def judge(self, now: float, after: float) -> bool:
        """Evaluate the condition; returns whether the verdict changed."""
        max_age = self.condition.max_age
        value = self.expression.evaluate(
            [part.read(now, after, max_age) for part in self.parts])
        verdict = _VERDICTS[value]
        if self.rivaled:
            return self._settle(verdict, now)
        return self._set(verdict, now, now)

    def _set(self, verdict: TruthValue, since: float, now: float) -> bool:
        if verdict is self.verdict and self.since != math.inf:
            return False
        if self.verdict is TruthValue.TRUE:
            self.longest = max(self.longest, now - self.since)
        self.verdict = verdict
        self.since = since
        return True

    def _settle(self, verdict: TruthValue, now: float) -> bool:
        """Take over a verdict that has lasted; a younger one is unknown."""
        new = verdict is not self.raw or self.raw_since == math.inf
        if new:
            self.raw, self.raw_since = verdict, now
        self.settles = self._settles(now)
        if now < self.settles:
            verdict = TruthValue.UNKNOWN
        return self._set(verdict, self.raw_since if verdict is self.raw else now, now) or new

    def _settles(self, now: float) -> float:
        return max((min(self.raw_since, rivals.changed) + rivals.settle(now)
                    for source in self.rivaled for rivals in source.rivals),
                   default=-math.inf)

    def find_rivals(self) -> None:
        """Find the facts of topics with several publishers; their samples count from now on."""
        self.rivaled = [source for part in self.sources().values() for source in [part.unchecked]
                        if source.contested]
        self.raw, self.raw_since, self.settles = TruthValue.UNKNOWN, math.inf, -math.inf

    def unsettled(self, now: float) -> dict[str, str]:
        """Return why the present values do not count that another publisher may contradict."""
        return {source.name: rivals.reason for source in self.rivaled
                for rivals in source.rivals
                if now < min(self.raw_since, rivals.changed) + rivals.settle(now)}

    def begin_anew(self, now: float) -> None:
        """Count from `now` how long it has been true."""
        if self.verdict is TruthValue.TRUE:
            self.longest = max(self.longest, now - self.since)
            self.since = now
        self.raw_since = max(self.raw_since, now) if self.rivaled else math.inf

    def changes(self, now: float) -> float:
        """Return when the verdict may change next without a new sample."""
        max_age = self.condition.max_age
        found = min((part.changes(now, max_age) for part in self.parts), default=math.inf)
        return min(found, self.settles) if now < self.settles else found

    def stale(self, now: float, after: float) -> bool:
        """Whether a fact of the condition is stale."""
        max_age = self.condition.max_age
        return any(part.describe(now, after, max_age).validity == Validity.STALE
                   for part in self.parts)

    def sources(self) -> dict[str, Source]:
        """Return the facts of the condition by name, with those that they are derived from."""
        seen: dict[str, Source] = {}
        todo = list(self.parts)
        for part in todo:
            seen.setdefault(part.name, part)
            todo.extend(part.parts)
        return seen

    def _lost(self, now: float) -> str:
        if self.loss is None:
            return ''
        return self.loss.text(now) + ('; the hold began again' if self.condition.hold else '')

    def evidence(self, now: float, after: float) -> Evidence:
        """Return the evidence of the last verdict."""
        held = max(0.0, now - self.since) if self.verdict is TruthValue.TRUE else 0.0
        return Evidence(
            self.condition.name, self.condition.expression, self.verdict, now, held,
            tuple(self._describe(part, now, after) for part in self.sources().values()),
            (self.expression.error if self.verdict is TruthValue.UNKNOWN else '')
            or self._lost(now),
            self.condition.hold, max(held, self.longest))

    def _describe(self, part: Source, now: float, after: float) -> FactValue:
        found = part.describe(now, after, self.condition.max_age)
        reason = self.unsettled(now).get(part.name) if self.rivaled else None
        return replace(found, validity=Validity.UNKNOWN, note=reason) \
            if reason and found.validity is Validity.VALID else found


class Watch:
    """
    A watch on conditions; `cancel` closes it without a result.

    `on_result(result)` is called once, `on_update(watch)` after each evaluation without a result.
    """

    def __init__(
        self, conditions: Sequence[Judged], now: float, after: float,
        on_result: Callable[[WatchResult], None], on_update: Callable[[Watch], None] | None,
    ) -> None:
        self.conditions = conditions
        self.start = now
        self.after = after
        self.open = True
        self.due = -math.inf  #: time of the next evaluation if no sample comes before
        self.on_close: Callable[[Watch], None] = lambda watch: None
        self.look: Callable[[], None] | None = None  #: see WorldModel
        self._on_result = on_result
        self._on_update = on_update

    def cancel(self) -> None:
        """Close the watch without a result."""
        if self.open:
            self.open = False
            self.on_close(self)

    def evidence(self, now: float) -> tuple[Evidence, ...]:
        """Return the evidence of all conditions."""
        return tuple(judged.evidence(now, self.after) for judged in self.conditions)

    def verdict(self) -> TruthValue:
        """Return the combined verdict of all conditions."""
        return combined(judged.verdict for judged in self.conditions)

    def restart(self, now: float) -> None:
        """Restart at `now` without samples, after time jumped back."""
        self.start = now
        self.after = min(self.after, now)
        self.due = now
        for judged in self.conditions:
            judged.verdict, judged.since = TruthValue.UNKNOWN, math.inf
            judged.find_rivals()
            judged.loss, judged.unseen = None, math.inf

    def begin_anew(self, now: float) -> None:
        """Restart the hold times at `now`, since earlier samples may be missing."""

    def lose(self, judged: Judged, loss: Loss) -> None:
        """Process that samples were lost of a topic of the facts of a condition."""
        judged.loss = loss

    def judge(self, now: float) -> None:
        """Evaluate all conditions; calls `on_result` if there is a result."""
        changed = now >= self.due
        for judged in self.conditions:
            if judged.judge(now, self.after):
                changed = True
        outcome = self.decide(now)
        if outcome in ON_VALUES and self.look is not None:
            self.look()
            if not self.open:  # it was judged meanwhile
                return
            for judged in self.conditions:
                judged.judge(now, self.after)
            outcome = self.decide(now)
        if outcome is not None:
            self.cancel()
            self._on_result(WatchResult(outcome, self.evidence(now), now))
            return
        if changed:
            self.due = self.next_due(now)
        if self._on_update is not None:
            self._on_update(self)

    def decide(self, now: float) -> WatchOutcome | None:
        """Return the outcome, None while there is none."""
        raise NotImplementedError

    def next_due(self, now: float) -> float:
        """Return the time of the next evaluation."""
        return min(min(judged.changes(now), self.limit(judged, now))
                   for judged in self.conditions)

    def limit(self, judged: Judged, now: float) -> float:
        """Return the next time limit of this condition after `now`; infinite if none."""
        return _later(self.start + judged.condition.within, now)


class Confirm(Watch):
    """
    Waits until all conditions are true at the same time, each for its `hold`.

    At the `within` of a condition, this condition and those with an earlier `within` must be true.
    """

    def begin_anew(self, now: float) -> None:
        for judged in self.conditions:
            judged.begin_anew(now)

    def lose(self, judged: Judged, loss: Loss) -> None:
        super().lose(judged, loss)
        judged.begin_anew(loss.now)

    def decide(self, now: float) -> WatchOutcome | None:
        missing = [judged for judged in self.conditions if not self._held(judged, now)]
        if not missing:
            return WatchOutcome.CONFIRMED
        limits = [self.start + judged.condition.within for judged in self.conditions]
        late = [judged for judged in missing if now >= self.start + judged.condition.within]
        if not late or now not in limits:  # decide at limits only: all may be true at the next one
            return None
        if any(judged.verdict is TruthValue.FALSE for judged in late):
            return WatchOutcome.REFUTED
        if any(judged.verdict is TruthValue.UNKNOWN and judged.stale(now, self.after)
               for judged in late):
            return WatchOutcome.STALE
        return WatchOutcome.TIMED_OUT

    def limit(self, judged: Judged, now: float) -> float:
        limit = super().limit(judged, now)
        if judged.verdict is TruthValue.TRUE:
            return min(limit, _later(judged.since + judged.condition.hold, now))
        return limit

    @staticmethod
    def _held(judged: Judged, now: float) -> bool:
        return judged.verdict is TruthValue.TRUE and now >= judged.since + judged.condition.hold


class Maintain(Watch):
    """
    Ends when a condition is false, or unknown for longer than its `within`.

    It is unknown from the last sample before a loss, until no more are lost for `within`.
    """

    def lose(self, judged: Judged, loss: Loss) -> None:
        before, within = judged.loss, judged.condition.within
        if before is None or loss.now >= before.now + within:
            judged.unseen = loss.seen
        super().lose(judged, loss)

    def decide(self, now: float) -> WatchOutcome | None:
        for judged in self.conditions:
            within = judged.condition.within
            if TruthValue.FALSE in (judged.verdict, judged.rivaled and judged.raw) or (
                    judged.verdict is TruthValue.UNKNOWN and now >= judged.since + within):
                return WatchOutcome.VIOLATED
            if judged.loss is not None and judged.loss.now >= judged.unseen + within:
                judged.verdict = TruthValue.UNKNOWN
                return WatchOutcome.VIOLATED
        return None

    def limit(self, judged: Judged, now: float) -> float:
        if judged.verdict is TruthValue.UNKNOWN:
            return _later(judged.since + judged.condition.within, now)
        return math.inf


class UntilKnown(Watch):
    """Ends when no condition is unknown, or at their `within`."""

    def decide(self, now: float) -> WatchOutcome | None:
        if all(judged.verdict is not TruthValue.UNKNOWN
               or now >= self.start + judged.condition.within for judged in self.conditions):
            return WatchOutcome.JUDGED
        return None


class Observation(Watch):
    """Calls `on_update` after each sample of the facts of its conditions; has no result."""

    def judge(self, now: float) -> None:
        if self._on_update is not None:
            self._on_update(self)

    def restart(self, now: float) -> None:
        super().restart(now)
        self.due = math.inf


def combined(verdicts: Any) -> TruthValue:
    """Return the verdict of the conjunction of conditions."""
    found = set(verdicts)
    if TruthValue.FALSE in found:
        return TruthValue.FALSE
    return TruthValue.UNKNOWN if TruthValue.UNKNOWN in found else TruthValue.TRUE


def _later(time: float, now: float) -> float:
    return time if time > now else math.inf
