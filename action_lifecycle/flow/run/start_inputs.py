# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Results and facts available when an action starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from .flow_run import FlowRun
from ...documents.templates.template import parts_read, render, TemplateError
from ...lifecycle.action import Action
from ...lifecycle.ports import (
    Condition,
    Confirmation,
    ConfirmRequest,
    Evidence,
    Handle,
    knows,
    LifecycleClock,
    World,
)
from ...lifecycle.spec import WhenSpec
from ...lifecycle.states import ErrorCode
from ...lifecycle.text_format import answer_text, value_of

ASK_AGAIN = 5.0
"""Timeout (s) of one evaluation; a condition that is still unknown is evaluated again."""


def result_of(action: Action) -> dict[str, Any]:
    """Return the result of an ended action for templates."""
    return {
        'outcome': action.outcome.value if action.outcome else '', 'attempts': action.attempt,
        'error_code': action.error_code.name, 'error_msg': action.error_msg,
        'duration': round(sum(action.spent.values()), 6),
        'controller_said': action.controller_said, 'sensors_said': action.sensors_said,
        'result': action.result, 'results': action.results, 'facts': facts_in(action.evidence)}


def facts_in(evidence: Iterable[Evidence]) -> dict[str, Any]:
    """Return the values of the valid facts in evidence."""
    return {
        fact['name']: value_of(fact) for item in evidence for fact in item.get('facts', ())
        if fact.get('validity') == 'valid'}


def fetch_seen(
    world: World, run: FlowRun, action: Action, found: Callable[[dict[str, Any]], None],
    failed: Callable[[ErrorCode, str], None],
) -> Handle | None:
    """
    Fetch the facts and results that an action's templates read, when the action starts.

    Calls `found` with `facts` and `results`, or `failed` if a fact is unknown.
    """
    late = [text for path, text in run.flow.late[action.action_id] if path[0] != 'repeat']
    results = {name: result_of(run.result_of(name)) for name in sorted({
        name for text in late for name, _ in parts_read(text, 'results')})}
    facts = sorted({name for text in late for name, _ in parts_read(text, 'facts')})
    if not facts:
        found({'results': results, 'facts': {}})
        return None

    def evaluated(answer: Confirmation) -> None:
        values = facts_in(answer.evidence)
        missing = [name for name in facts if name not in values]
        if missing:
            failed(answer.error_code or ErrorCode.REQUIRE_UNKNOWN,
                   f"templates read {', '.join(missing)}: {answer_text(answer)}")
        else:
            found({'results': results, 'facts': {name: values[name] for name in facts}})

    return world.evaluate(ConfirmRequest(
        run.flow_id, action.action_id, action.attempt,
        [Condition('facts', knows(name)) for name in facts]), ASK_AGAIN, evaluated)


class Judged(NamedTuple):
    """A condition to evaluate: its name, its name in messages, and the values that it may read."""

    name: str
    said: str
    when: WhenSpec
    result: Callable[[], Mapping[str, Any]]


def of_dependencies(run: FlowRun, name: str) -> list[Judged]:
    """Return the conditions in an action's `after`."""
    return [Judged('after', f"after '{needed}'", when,
                   partial(result_of, run.runners[needed].action))
            for needed, when in run.flow.actions[name].after.items()
            if isinstance(when, WhenSpec)]


class Judgment:
    """Evaluates conditions of an action, one after the other."""

    def __init__(
        self, world: World, clock: LifecycleClock, run: FlowRun, name: str,
        conditions: Sequence[Judged], judged: Callable[[bool, str], None],
        failed: Callable[[ErrorCode, str], None],
    ) -> None:
        self._world = world
        self._clock = clock
        self._run = run
        self._name = name
        self._judged = judged
        self._failed = failed
        self._open = list(conditions)
        self._since = clock.now()
        self._asked: Handle | None = None
        self._canceled = False

    def cancel(self) -> None:
        """Stop the evaluation without a result."""
        self._canceled = True
        if self._asked is not None:
            self._asked.cancel()

    def ask(self) -> None:
        """Evaluate the next condition; after the last one, call `judged`."""
        if self._canceled:
            return
        if not self._open:
            self._judged(True, '')
            return
        name, said, when, result_of_it = self._open[0]
        result = result_of_it()
        spec = self._run.flow.actions[self._name]
        try:
            condition = str(render(when.condition, {
                **spec.parameters, 'results': {
                    name: result_of(self._run.result_of(name))
                    for name, _ in parts_read(when.condition, 'results')}}))
        except TemplateError as error:
            self._failed(ErrorCode.REQUIRE_UNKNOWN, f'{said}: {error}')
            return
        left = when.within - (self._clock.now() - self._since) if when.within else ASK_AGAIN
        wait = min(ASK_AGAIN, max(0.0, left)) if when.unknown == 'wait' else 0.0
        self._asked = self._world.evaluate(ConfirmRequest(
            self._run.flow_id, self._name, 0,
            [Condition(name, condition, max_age=when.max_age)], 0.0,
            {**spec.parameters, **{key: result[key] for key in (
                'outcome', 'attempts', 'error_code', 'duration', 'iteration') if key in result}}),
            wait, self._evaluated)

    def _evaluated(self, answer: Confirmation) -> None:
        if self._canceled:
            return
        _, said, when, _ = self._open[0]
        if answer.verdict == 'confirmed':
            self._open.pop(0)
            self.ask()
        elif answer.verdict == 'refuted':
            self._judged(False, f'{said}: {answer_text(answer)}')
        elif when.unknown == 'fail' or (
                when.within and self._clock.now() - self._since >= when.within):
            self._failed(answer.error_code or ErrorCode.REQUIRE_UNKNOWN,
                         f'{said}: {answer_text(answer)}')
        else:
            self._asked = self._clock.call_later(0.1, self.ask)
