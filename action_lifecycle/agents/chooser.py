# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Choosers select one of several transitions from a state.

A chooser is a callable that takes a `Choice` and returns a name or an awaitable of one: a rule, a
service client, an adapter of a language model. Other answers are refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
import inspect
import logging
from typing import Any

from ..documents.errors import LifecycleError
from ..documents.json_schema import object_schema
from ..documents.json_text import read_json
from ..graphs.graph import Transition

_LOG = logging.getLogger(__name__)


class ChoiceError(LifecycleError):
    """The chooser gave no usable answer and the state has no default transition."""

    def __init__(self, state: str, names: Sequence[str], reason: str) -> None:
        self.state = state
        self.names = tuple(names)
        self.reason = reason
        super().__init__(f"state '{state}': {reason}; to choose from: {', '.join(names)}")


@dataclass(frozen=True)
class Choice:
    """
    The question to a chooser: the next states with descriptions, and the context.

    A tool state asks with it for a tool (`names` are tools) or for its arguments (no names; the
    answer is an object that is valid by `schema`).
    """

    state: str
    transitions: tuple[Transition, ...]
    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    context: Any = None
    answer: Mapping[str, Any] | None = None  #: JSON Schema of an answer that is no next state

    @property
    def schema(self) -> Mapping[str, Any]:
        """Return the JSON Schema of the answer; by default, an object with one of the names."""
        return one_of('next_state', self.names) if self.answer is None else self.answer

    @property
    def described(self) -> dict[str, str]:
        """Return the descriptions by name."""
        return dict(zip(self.names, self.descriptions))


Chooser = Callable[[Choice], Any]
"""Answers a choice with one of its names, or with an object (or JSON text) of its schema."""


def first_ready(choice: Choice) -> str:
    """Choose the first transition in the order of the graph file."""
    return choice.names[0]


def by_priority(choice: Choice) -> str:
    """Choose the transition with the highest `priority`, or the first of several."""
    return max(choice.transitions, key=lambda transition: transition.priority).target


class ByRule:
    """Chooses the first name whose condition on the context is True; None if there is none."""

    def __init__(self, conditions: Mapping[str, Callable[[Any], Any]]) -> None:
        self.conditions = conditions

    def __call__(self, choice: Choice) -> str | None:
        """Return the first name of the choice whose condition is True, else None."""
        for name, condition in self.conditions.items():
            if name in choice.names and condition(choice.context) is True:
                return name
        return None


async def awaited(value: Any | Awaitable[Any]) -> Any:
    """Return a value, or the result of an awaitable."""
    return await value if inspect.isawaitable(value) else value


async def choose(choice: Choice, chooser: Chooser | None, timeout: float | None) -> Transition:
    """
    Return the chosen transition; a single one is taken without asking.

    If the answer is none of the names, does not come within `timeout` s, or the chooser fails, the
    default transition of the state is taken. Raises `ChoiceError` if there is none.
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
    """Return the transition to `name` or the default one; raises `ChoiceError` if none exists."""
    if name in choice.names:
        return choice.transitions[choice.names.index(name)]
    for transition in choice.transitions:
        if transition.default:
            _LOG.warning("state '%s': %s; taking the default '%s'",
                         choice.state, reason, transition.target)
            return transition
    raise ChoiceError(choice.state, choice.names, reason) from error


def one_of(field: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the JSON Schema of an object with one field, whose value is one of `names`."""
    return object_schema({field: {'type': 'string', 'enum': list(names)}})


def chosen_name(answer: Any, field: str) -> str | None:
    """Return the name in an answer: a string, or the field of an object or its JSON text."""
    answer = read_answer(answer)
    if isinstance(answer, Mapping):
        answer = answer.get(field)
    return answer if isinstance(answer, str) else None


def read_answer(answer: Any) -> Any:
    """Parse an answer that is a JSON object; return any other answer unchanged."""
    if not isinstance(answer, str) or not answer.lstrip().startswith('{'):
        return answer
    try:
        return read_json(answer, 'answer')
    except LifecycleError:
        return answer
