# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Choosing between several ways out of a state.

A chooser is any callable that takes a `Choice` and returns a name, or an awaitable of one: a rule,
a service client, a language model's adapter. What it answers is checked; an answer that is none
of the names is never followed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
import inspect
import json
import logging
from typing import Any, Protocol

from .errors import LifecycleError
from .graph import Transition

_LOG = logging.getLogger(__name__)


class ChoiceError(LifecycleError):
    """No usable answer of a chooser, and no default transition to take instead."""

    def __init__(self, state: str, names: Sequence[str], reason: str) -> None:
        self.state = state
        self.names = tuple(names)
        self.reason = reason
        super().__init__(f"state '{state}': {reason}; to choose from: {', '.join(names)}")


@dataclass(frozen=True)
class Choice:
    """
    What a chooser is asked: names of next states, what each stands for, and the context.

    A tool state asks too: for a tool (`names` are those of tools), and for its arguments (no
    names; the answer is an object of `schema`).
    """

    state: str
    transitions: tuple[Transition, ...]
    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    context: Any = None
    answer: Mapping[str, Any] | None = None  #: JSON Schema, when it is not a next state

    @property
    def schema(self) -> Mapping[str, Any]:
        """Return the JSON Schema of a structured answer; by default it admits only the names."""
        return one_of('next_state', self.names) if self.answer is None else self.answer


class Chooser(Protocol):
    """Answers a choice with one of its names, or with an object (or JSON) of its schema."""

    def __call__(self, choice: Choice) -> Any | Awaitable[Any]:
        """Return the answer, or an awaitable of it."""


def first_ready(choice: Choice) -> str:
    """Choose the first whose guards hold, in the order of the graph file."""
    return choice.names[0]


def by_priority(choice: Choice) -> str:
    """Choose the transition of the highest `priority`; the first of those that share it."""
    return max(choice.transitions, key=lambda transition: transition.priority).target


class ByRule:
    """Chooses the first name whose condition on the context is true; none: no answer."""

    def __init__(self, conditions: Mapping[str, Callable[[Any], Any]]) -> None:
        self.conditions = conditions

    def __call__(self, choice: Choice) -> str | None:
        """Return the first name of the rule that is among the choice's and true."""
        for name, condition in self.conditions.items():
            if name in choice.names and condition(choice.context) is True:
                return name
        return None


async def choose(choice: Choice, chooser: Chooser | None, timeout: float | None) -> Transition:
    """
    Return the chosen transition; a single one is taken without a question.

    An answer that is none of the names, no answer within `timeout` s and a chooser that fails all
    lead to the state's default transition, or to `ChoiceError` where there is none.
    """
    if len(choice.transitions) == 1:
        return choice.transitions[0]
    try:
        answer = None if chooser is None else chooser(choice)
        if inspect.isawaitable(answer):
            answer = await asyncio.wait_for(answer, timeout)
    except asyncio.TimeoutError as error:
        return follow(choice, None, f'no answer within {timeout} s', error)
    except Exception as error:
        return follow(choice, None, f'the chooser failed: {type(error).__name__}: {error}', error)
    reason = 'there is nobody to ask' if chooser is None else f'the answer is {answer!r:.200}'
    return follow(choice, chosen_name(answer, 'next_state'), reason)


def follow(
    choice: Choice, name: str | None, reason: str, error: Exception | None = None
) -> Transition:
    """Return the transition to `name`; if it is none of the choice's, the default or an error."""
    if name in choice.names:
        return choice.transitions[choice.names.index(name)]
    for transition in choice.transitions:
        if transition.default:
            _LOG.warning("state '%s': %s; taking the default '%s'",
                         choice.state, reason, transition.target)
            return transition
    raise ChoiceError(choice.state, choice.names, reason) from error


def one_of(field: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the JSON Schema of an object whose only field has one of these names."""
    return {
        'type': 'object',
        'properties': {field: {'type': 'string', 'enum': list(names)}},
        'required': [field],
        'additionalProperties': False,
    }


def chosen_name(answer: Any, field: str) -> str | None:
    """Return the name in an answer: itself, or the field of an object or of its JSON text."""
    answer = read_answer(answer)
    if isinstance(answer, Mapping):
        answer = answer.get(field)
    return answer if isinstance(answer, str) else None


def read_answer(answer: Any) -> Any:
    """Return what the JSON text of an object stands for, and anything else as it is."""
    if not isinstance(answer, str) or not answer.lstrip().startswith('{'):
        return answer
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return answer
