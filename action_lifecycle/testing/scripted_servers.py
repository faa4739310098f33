# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The servers, services and subscribers of a scripted robot; they outlive the process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from .script import Behaviour, Behaviours
from .scripted_facts import Signals
from .stepped_clock import Later, SteppedClock
from .stepped_world import StepEnd
from ..lifecycle.ports import Condition, Confirmation, Evidence, Handle, MotionStep
from ..lifecycle.states import ErrorCode
from ..lifecycle.work import work_evidence
from ..work.bridge_work import work_of_step
from ..work.publish import PublishSpec
from ..world.expressions.expression import compile_expression
from ..world.facts.selectors import compile_path

DEFAULT = Behaviour()

Until = Callable[[Condition, Callable[[Confirmation], None]], Handle]
"""Confirms the condition that ends a publication."""


@dataclass
class SentGoal:
    """A goal, request or publication that a server got."""

    server: str
    goal: Any
    at: float  #: s
    end: StepEnd | None = None
    tell: Callable[[StepEnd], None] = field(default=lambda end: None, repr=False)


class ScriptedServers:
    """
    Does the steps as their `Behaviour` says.

    `goals`: all that were sent, in order. `until` is set by who runs the flow.
    """

    def __init__(
        self, clock: SteppedClock, signals: Signals, behaviours: Mapping[str, Behaviours]
    ) -> None:
        self.goals: list[SentGoal] = []
        self.until: Until | None = None
        self._clock = clock
        self._signals = signals
        self._behaviours = behaviours
        self._counts: dict[str, int] = {}
        self._open: dict[str, _Doing] = {}
        self._ended: dict[str, SentGoal] = {}

    def begin(
        self, step: MotionStep, goal: Mapping[str, Any], key: str,
        ended: Callable[[StepEnd], None],
    ) -> Handle:
        """Begin a step; see `stepped_world.Server`."""
        return self.do(step.server, goal, key, ended, step)

    def do(
        self, name: str, goal: Any, key: str, ended: Callable[[StepEnd], None],
        step: MotionStep | None = None,
    ) -> Handle:
        """Do what the behaviour of `name` says with its next goal."""
        sent = SentGoal(name, goal, self._clock.time, tell=ended)
        self.goals.append(sent)
        doing = _Doing(self, self._clock, self._signals, self._next(name), sent, key, step)
        self._open[key] = doing
        doing.begin()
        return doing

    def follow(self, key: str, ended: Callable[[StepEnd], None]) -> Handle | None:
        """Follow a goal that was sent before; see `stepped_world.Server`."""
        if key in self._open:
            self._open[key].sent.tell = ended
            return self._open[key]
        sent = self._ended.get(key)
        if sent is None or sent.end is None:
            return None
        end = sent.end
        return self._clock.call_later(0.0, lambda: ended(end))

    def lose_process(self) -> None:
        """Forget calls and publications, as the process that made them is gone."""
        for key, doing in list(self._open.items()):
            doing.sent.tell = lambda end: None
            if doing.step is not None and doing.step.kind != 'motion':
                doing.leave()
                del self._open[key]

    def count(self, name: str) -> int:
        """Return how many goals a server got."""
        return sum(goal.server == name for goal in self.goals)

    def ended(self, key: str, sent: SentGoal) -> None:
        """Note the end of a goal."""
        self._open.pop(key, None)
        if sent.end is not None:
            self._ended[key] = sent

    def _next(self, name: str) -> Behaviour:
        given = self._behaviours.get(name, DEFAULT)
        if isinstance(given, Behaviour):
            return given
        index = self._counts.get(name, 0)
        self._counts[name] = index + 1
        return given[min(index, len(given) - 1)] if given else DEFAULT


class _Doing:
    """A goal that is being done."""

    def __init__(
        self, servers: ScriptedServers, clock: SteppedClock, signals: Signals,
        behaviour: Behaviour, sent: SentGoal, key: str, step: MotionStep | None,
    ) -> None:
        self._servers = servers
        self._clock = clock
        self._signals = signals
        self._behaviour = behaviour
        self.sent = sent
        self.step = step
        self._key = key
        self._courses: dict[str, tuple[Any, Any]] = {}  #: before and since it began
        self._timer: Later | None = None
        self._watch: Handle | None = None
        self._canceled = False

    def begin(self) -> None:
        """Begin."""
        behaviour, clock = self._behaviour, self._clock
        if behaviour.result in ('rejected', 'missing'):
            self._timer = clock.call_later(0.0, lambda: self._end(behaviour.result))
            return
        work = None if self.step is None else work_of_step(self.step)
        takes = behaviour.takes
        if isinstance(work, PublishSpec):
            takes = work.within if work.until else 0.0
        before = {name: self._signals.course(name) for name in behaviour.during}
        self._signals.begin(behaviour.during, clock.time, takes)
        self._courses = {name: (course, self._signals.course(name))
                         for name, course in before.items()}
        if isinstance(work, PublishSpec) and work.until:
            assert self._servers.until is not None
            self._watch = self._servers.until(work.until_condition(), self._published)
        elif isinstance(work, PublishSpec) or behaviour.result != 'none':
            self._timer = clock.call_later(takes, self._by_itself)

    def cancel(self) -> None:
        """Cancel it as its behaviour says."""
        behaviour = self._behaviour
        if self._canceled or self.sent.end is not None or behaviour.on_cancel == 'ignores':
            return
        if self.step is not None and self.step.kind == 'call':
            return  # a service can't take a request back
        self._canceled = True
        if self._timer is not None:
            self._timer.cancel()
        if self._watch is not None:
            self._watch.cancel()
        self._timer = self._clock.call_later(behaviour.stops_in, lambda: self._end('canceled'))

    def leave(self) -> None:
        """Stop without an end, as what did it is gone."""
        for part in (self._timer, self._watch):
            if part is not None:
                part.cancel()
        self._settle()

    def _by_itself(self) -> None:
        behaviour = self._behaviour
        said: str = behaviour.result
        evidence: Sequence[Evidence] = ()
        code = ErrorCode.NONE
        if self.step is not None and self.step.kind == 'call' and said == 'succeeded':
            success, evidence = _judged(
                self.step.options.get('success', ''), behaviour.values, self.sent.server,
                self._clock.time)
            if not success:
                said, code = 'aborted', ErrorCode.CALL_FAILED
        elif self.step is not None and self.step.kind == 'call':
            code = ErrorCode.CALL_FAILED
        self._end(said, behaviour.text, code, evidence, by_itself=True)

    def _published(self, found: Confirmation) -> None:
        if found.verdict == 'confirmed':
            self._end('succeeded', 'published', evidence=found.evidence, by_itself=True)
        else:
            self._end('aborted', found.note or found.verdict, ErrorCode.UNTIL_TIMEOUT,
                      found.evidence)

    def _end(
        self, said: str, text: str = '', code: ErrorCode = ErrorCode.NONE,
        evidence: Sequence[Evidence] = (), by_itself: bool = False,
    ) -> None:
        self._settle()
        behaviour = self._behaviour
        if by_itself:
            self._signals.begin(behaviour.after, self._clock.time, 0.0)
        self.sent.end = StepEnd(
            said, text or behaviour.text, behaviour.values or None, code, evidence)
        self._servers.ended(self._key, self.sent)
        self.sent.tell(self.sent.end)

    def _settle(self) -> None:
        """Let ramps stay where they are, and other facts be what they were."""
        for name, (before, begun) in self._courses.items():
            self._signals.settle(name, begun, before, self._clock.time)
        self._courses = {}


def _judged(
    text: str, values: Mapping[str, Any], service: str, stamp: float
) -> tuple[bool, list[Evidence]]:
    """Return whether a response is a success, and the evidence."""
    if not text:
        good = bool(values.get('success', True))
        return good, [{**work_evidence('success', service, stamp),
                       'verdict': 'true' if good else 'false'}]
    expression = compile_expression(text, None, condition=True, source='success', dotted=True)
    response = _namespace(values)
    found: list[Any] = []
    for name in expression.names:
        try:
            found.append(compile_path(name, '')[0](response))
        except (LookupError, AttributeError, TypeError, ValueError):
            found.append(None)
    good = bool(expression.evaluate(found))
    return good, [{'condition': 'success', 'expression': text, 'stamp': stamp, 'held': 0.0,
                   'verdict': 'true' if good else 'false', 'facts': []}]


def _namespace(data: Any) -> Any:
    if isinstance(data, dict):
        return SimpleNamespace(**{name: _namespace(value) for name, value in data.items()})
    return [_namespace(value) for value in data] if isinstance(data, list) else data
