# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a process knows of the goals, calls and publications that it has sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math
from types import SimpleNamespace
from typing import Any

from .scripted_doing import Doing
from .stepped_clock import Later
from .stepped_world import Future, Sender
from ..lifecycle.ports import Confirmation, Evidence, Handle
from ..lifecycle.states import ErrorCode, FOREIGN_GOAL
from ..lifecycle.text_format import answer_text
from ..lifecycle.work import work_evidence
from ..work.bridge_work import BridgeWork
from ..work.call import CallSpec
from ..work.motion_host import StepEnd
from ..work.publish import PublishSpec
from ..world.expressions.constant_values import ConditionParameters
from ..world.expressions.expression import compile_expression
from ..world.facts.selectors import compile_path

_CODES = {'aborted': ErrorCode.MOTION_ABORTED, 'canceled': ErrorCode.MOTION_CANCELED}


class ScriptedGoal:
    """What a process knows of a step."""

    def __init__(self, work: Any, sender: Sender) -> None:
        self.done = Future()
        self._work = work
        self._sender = sender
        self._doing: Doing | None = None
        self._sent = False
        self._timers: list[Later] = []

    def send(self, begin: Callable[[], Doing], *, missing: bool) -> None:
        """Begin; where there is no server, wait for one in vain."""
        if missing:
            self._later(self._work.server_timeout, lambda: self._end(
                '', ErrorCode.SERVER_MISSING, self._nobody(), sent=False))
        else:
            self._attach(begin())

    def cancel(self) -> None:
        """Cancel it; what a killed process drops cancels nothing."""
        if self._sender.clock.alive:
            self._cancel()

    def _cancel(self) -> None:
        raise NotImplementedError

    def follow(self, doing: Doing | None) -> None:
        """Follow what an earlier process has begun; None: nothing of it is known."""
        raise NotImplementedError

    def give_up(self) -> None:
        """Stop waiting for the end."""
        raise NotImplementedError

    def _attach(self, doing: Doing) -> None:
        self._doing, self._sent = doing, True
        self._sender.on_state('executing')
        doing.done.add_done_callback(lambda done: self._sender.clock.call_soon(
            lambda: self._ended(done.result())))

    def _ended(self, said: str) -> None:
        raise NotImplementedError

    def _nobody(self) -> str:
        return f"no server '{self._work.name}'"

    def _nothing_sent(self) -> None:
        self._end('', ErrorCode.CANCELED, 'nothing was sent', sent=False)

    def _later(self, seconds: float, callback: Callable[[], None]) -> None:
        if seconds < math.inf:
            self._timers.append(self._sender.clock.call_later(seconds, callback))

    def _end(
        self, said: str, code: ErrorCode, message: str, *, stopped: bool = True, **fields: Any
    ) -> None:
        for timer in self._timers:
            timer.cancel()
        self.done.set_result(
            StepEnd(said, code, message, stopped, self._sender.clock.time, **fields))


class ScriptedMotion(ScriptedGoal):
    """A goal of an action server."""

    def follow(self, doing: Doing | None) -> None:
        """Follow what is being done, or was."""
        if doing is not None:
            self._attach(doing)
        else:
            self._later(0.0, lambda: self._end(
                '', ErrorCode.GOAL_UNKNOWN, f"server '{self._work.name}' does not know the goal",
                unknown=True))

    def _cancel(self) -> None:
        if self._doing is not None:
            self._doing.cancel()
        elif not self._sent:
            self._nothing_sent()

    def give_up(self) -> None:
        """Stop waiting."""
        self._end('', ErrorCode.STOP_UNCONFIRMED,
                  f"server '{self._work.name}' has not answered", stopped=False, unknown=True)

    def _ended(self, said: str) -> None:
        assert self._doing is not None
        behaviour = self._doing.behaviour
        words = said + (behaviour.text and f': {behaviour.text}')
        if said == 'rejected':
            self._end('', ErrorCode.GOAL_REJECTED, f"server '{self._work.name}' {words}")
        elif self._doing.preempted and self._work.foreign_goals != 'allow':
            self._end(said, FOREIGN_GOAL, f"{said}; server '{self._work.name}' has a goal of "
                      'another client')
        else:
            self._end(said, _CODES.get(said, ErrorCode.NONE), words,
                      result=behaviour.values or None)


class ScriptedCall(ScriptedGoal):
    """A request to a service, which can't be taken back."""

    def send(self, begin: Callable[[], Doing], *, missing: bool) -> None:
        super().send(begin, missing=missing)
        if not missing:
            self._later(self._work.timeout, lambda: self._unanswered(
                ErrorCode.MOTION_TIMEOUT, f'no response within {self._work.timeout:g} s; it may '
                'have been carried out'))

    def follow(self, doing: Doing | None) -> None:
        """End: a service does not know the request of an earlier process."""
        self._later(0.0, lambda: self._unanswered(
            ErrorCode.GOAL_UNKNOWN, 'it may have been called before the restart'))

    def _cancel(self) -> None:
        """Wait for the response for a while."""
        if self._sent or self._doing is not None:
            self._later(self._sender.last_word, self.give_up)
        else:
            self._nothing_sent()

    def give_up(self) -> None:
        """Stop waiting."""
        self._unanswered(ErrorCode.STOP_UNCONFIRMED, 'it has not answered')

    def _unanswered(self, code: ErrorCode, why: str) -> None:
        self._end('', code, f"service '{self._work.name}': {why}", stopped=False, unknown=True)

    def _ended(self, said: str) -> None:
        assert self._doing is not None
        values, text = self._doing.behaviour.values, self._doing.behaviour.text
        good, evidence = said == 'succeeded', [work_evidence(
            'success', said, self._sender.clock.time)]
        if good:
            good, evidence = _judged(
                self._work.success, values, self._work.name, self._sender.clock.time,
                self._sender.parameters)
        words = text or str(values.get('message', ''))
        if good:
            self._end('succeeded', ErrorCode.NONE, 'answered' + (words and f': {words}'),
                      result=values or None, evidence=evidence)
        else:
            self._end(
                'aborted', ErrorCode.CALL_FAILED, f"service '{self._work.name}': "
                f"{self._work.success or 'success'} is false" + (words and f': {words}'),
                result=values or None, evidence=evidence)


class Publication(ScriptedGoal):
    """Messages on a topic; what they set going lasts until `finally`."""

    def __init__(self, work: Any, sender: Sender) -> None:
        super().__init__(work, sender)
        self._watch: Handle | None = None
        self._finishing = False

    def send(self, begin: Callable[..., Doing], *, missing: bool) -> None:
        """Publish until the condition is true."""
        work = self._work
        if missing:
            super().send(begin, missing=True)
            return
        if not work.rate:
            self._attach(begin(0.0))
            return
        watch = self._sender.watch(work.until_condition(), self._judged)
        if self._finishing:  # it is true already: nothing has to be sent
            watch.cancel()
            return
        self._watch, self._sent = watch, True
        self._doing = begin(math.inf)

    def follow(self, doing: Doing | None) -> None:
        """End a publication of an earlier process by the message of `finally`."""
        has_last = self._work.last is not None
        if has_last and doing is not None:
            doing.leave()
        self._later(0.0, lambda: self._end(
            '', ErrorCode.GOAL_UNKNOWN, f"topic '{self._work.name}': the publication was "
            'interrupted', stopped=has_last or not self._work.rate, unknown=True))

    def _cancel(self) -> None:
        """Publish no more."""
        if not self._sent:
            self._nothing_sent()
        elif not self._finishing:
            self._finish('', ErrorCode.CANCELED, 'canceled')

    def give_up(self) -> None:
        """Stop waiting."""
        self._end('', ErrorCode.STOP_UNCONFIRMED, 'not acknowledged', stopped=False)

    def _nobody(self) -> str:
        return f"nobody subscribes to '{self._work.name}'"

    def _ended(self, said: str) -> None:
        if not self._finishing:
            self._finish('succeeded', ErrorCode.NONE, 'sent')

    def _judged(self, found: Confirmation) -> None:
        if self._finishing:
            return
        if found.verdict == 'confirmed':
            self._finish('succeeded', ErrorCode.NONE, 'sent', found.evidence)
        else:
            self._finish('', ErrorCode.UNTIL_TIMEOUT, f"topic '{self._work.name}': not true "
                         f'within {self._work.within:g} s: {answer_text(found)}', found.evidence)

    def _finish(
        self, said: str, code: ErrorCode, message: str, evidence: Sequence[Evidence] = ()
    ) -> None:
        self._finishing = True
        if self._watch is not None:
            self._watch.cancel()
        if self._doing is not None:
            if said == 'succeeded':
                self._doing.finish('succeeded')
            else:
                self._doing.leave()
        stopped = said == 'succeeded' or not self._work.rate or self._work.last is not None
        self._end(said, code, message, stopped=stopped, sent=self._sent, evidence=evidence)


def goal_of(work: BridgeWork, sender: Sender) -> ScriptedGoal:
    """Return a new goal for a step."""
    return (Publication if isinstance(work, PublishSpec) else
            ScriptedCall if isinstance(work, CallSpec) else ScriptedMotion)(work, sender)


def _judged(
    text: str, values: Mapping[str, Any], service: str, stamp: float,
    parameters: Mapping[str, Any],
) -> tuple[bool, list[Evidence]]:
    """Return whether a response is a success, and the evidence."""
    if not text:
        good = bool(values.get('success', True))
        return good, [{**work_evidence('success', service, stamp),
                       'verdict': 'true' if good else 'false'}]
    expression = compile_expression(text, None, condition=True, source='success', dotted=True)
    response, known = _namespace(values), ConditionParameters.of(parameters)
    found: list[Any] = []
    for name in expression.names:
        try:
            found.append(compile_path(name, '')[0](response))
        except (LookupError, AttributeError, TypeError, ValueError):
            found.append(known.get(name))
    good = bool(expression.evaluate(found))
    return good, [{'condition': 'success', 'expression': text, 'stamp': stamp, 'held': 0.0,
                   'verdict': 'true' if good else 'false', 'facts': []}]


def _namespace(data: Any) -> Any:
    if isinstance(data, dict):
        return SimpleNamespace(**{name: _namespace(value) for name, value in data.items()})
    return [_namespace(value) for value in data] if isinstance(data, list) else data
