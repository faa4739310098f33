# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Parts of an action: its work, conditions, strategies and verifiers.

Each function returns the mapping that stands in a flow file, with the place of its call in the
Python file. A field that is not given has the default of the format, see docs/flows.md and
docs/work.md. Times are in s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from .messages import sent_fields, type_name
from .source_places import place_of_caller, SourcePlace
from .values import Value
from ..files.shorthand import CONDITIONS
from ...lifecycle.checkers import name_of_checker

Message = Union[Mapping[str, Any], Any]
"""A mapping of fields, or a message, of which the fields that are not defaults are taken."""
Text = Union[str, Value]
Seconds = Union[float, Value]


class FlowPart(dict[str, Any]):
    """
    A part of an action, with the place of its call.

    `wrapped`: the kind of work under which it stands. `renamed`: names of fields whose argument in
    Python has another name. `messages`: the fields that are sent as messages. `positional`: the
    names of positional arguments, by default the order of the fields. `conditions`: the fields
    with expressions; in others, values are templates.
    """

    def __init__(
        self, place: SourcePlace, fields: Mapping[str, Any], *, wrapped: str = '',
        renamed: Mapping[str, str] = {}, messages: Sequence[str] = (),
        positional: Sequence[str] | None = None, conditions: Sequence[str] = (),
    ) -> None:
        super().__init__({renamed.get(name, name): value for name, value in fields.items()
                          if value is not None})
        self.place = place
        self.wrapped = wrapped
        self.renamed = renamed
        self.messages = messages
        self.positional = tuple(fields) if positional is None else positional
        self.conditions = conditions


# -- work

def motion(
    server: Text, type: Any, goal: Message = None, *,  # noqa: A002
    server_timeout: Seconds | None = None, timeout: Seconds | None = None,
    foreign_goals: Text | None = None,
) -> FlowPart:
    """Return a goal for an action server; `type`: the class of the action, or its name."""
    return FlowPart(place_of_caller('motion'), {
        'server': server, 'type': type_name(type, 'action'), 'goal': sent_fields(goal, type),
        'server_timeout': server_timeout, 'timeout': timeout, 'foreign_goals': foreign_goals},
        wrapped='motion', messages=('goal',))


def call(
    service: Text, type: Any, request: Message = None, *,  # noqa: A002
    success: Text | None = None, physical: bool | None = None,
    server_timeout: Seconds | None = None, timeout: Seconds | None = None,
) -> FlowPart:
    """Return a request to a service; `type`: the class of the service, or its name."""
    return FlowPart(place_of_caller('call'), {
        'service': service, 'type': type_name(type, 'srv'),
        'request': sent_fields(request, type), 'success': success, 'physical': physical,
        'server_timeout': server_timeout, 'timeout': timeout}, wrapped='call',
        messages=('request',), conditions=('success',))


def publish(
    topic: Text, type: Any, message: Message = None, *,  # noqa: A002
    rate: float | Value | None = None, until: Text | None = None, hold: Seconds | None = None,
    max_age: Seconds | None = None, within: Seconds | None = None, last: Message = None,
    qos: Mapping[str, Any] | None = None, physical: bool | None = None,
    server_timeout: Seconds | None = None,
) -> FlowPart:
    """Return one message, or a stream at `rate` Hz; `last` is `finally` of the flow file."""
    return FlowPart(place_of_caller('publish'), {
        'topic': topic, 'type': type_name(type, 'msg'), 'message': sent_fields(message, type),
        'rate': rate, 'until': until, 'hold': hold, 'max_age': max_age, 'within': within,
        'last': sent_fields(last, type), 'qos': qos, 'physical': physical,
        'server_timeout': server_timeout}, wrapped='publish', renamed={'last': 'finally'},
        messages=('message', 'finally'), conditions=('until',))


def job(
    invoke: Any, *, input: Any = None, time_limit: Seconds | None = None,  # noqa: A002
    repeat_lost: bool | None = None,
) -> FlowPart:
    """Return tasks in other processes; a function stands for `module:function`."""
    return FlowPart(place_of_caller('job'), {
        'invoke': _task(invoke), 'input': input, 'time_limit': time_limit,
        'repeat_lost': repeat_lost}, wrapped='job')


def tool(
    name: str, arguments: Mapping[str, Any] | None = None, *, time_limit: Seconds | None = None,
) -> FlowPart:
    """Return a call of a tool of the action node."""
    return FlowPart(place_of_caller('tool'), {
        'name': name, 'arguments': arguments, 'time_limit': time_limit}, wrapped='tool')


def graph(
    graph: str, *, input: Any = None, time_limit: Seconds | None = None,  # noqa: A002
) -> FlowPart:
    """Return a session of a graph of typed states."""
    return FlowPart(place_of_caller('graph'), {
        'graph': graph, 'input': input, 'time_limit': time_limit}, wrapped='graph')


def nested(flow: Any, parameters: Mapping[str, Any] | None = None) -> FlowPart:
    """Return another flow as one action: a `Flow`, or the name or the file of one."""
    return FlowPart(place_of_caller('nested'), {
        'flow': flow, 'parameters': parameters}, wrapped='flow')


def work(kind: str, **fields: Any) -> FlowPart:
    """Return work of any registered kind, also of your own."""
    return FlowPart(place_of_caller('work'), fields, wrapped=kind, conditions=('success', 'until'))


def _task(invoke: Any) -> Any:
    if isinstance(invoke, (list, tuple)):
        return [_task(item) for item in invoke]
    if isinstance(invoke, Mapping):
        return {name: _task(item) for name, item in invoke.items()}
    if callable(invoke):
        name = f"{invoke.__module__}:{getattr(invoke, '__qualname__', repr(invoke))}"
        if invoke.__module__ == '__main__' or '<' in name or hasattr(invoke, '__self__') \
                or not hasattr(invoke, '__qualname__'):
            raise ValueError(f'{name}: another process can not import it; expected a function at '
                             'the top of a module')
        return name
    return invoke


# -- conditions, strategies, verifiers

def condition(
    condition: Text, *, hold: Seconds | None = None, within: Seconds | None = None,
    max_age: Seconds | None = None,
) -> FlowPart:
    """Return a condition with its times; for an entry of require, confirm and the like."""
    return FlowPart(place_of_caller('condition'), {
        'condition': condition, 'hold': hold, 'within': within, 'max_age': max_age},
        conditions=('condition',))


def when(
    condition: Text, *, unknown: str | None = None, within: Seconds | None = None,
    max_age: Seconds | None = None,
) -> FlowPart:
    """Return the condition of a dependency in `after`, or of `until` in `repeat`."""
    return FlowPart(place_of_caller('when'), {
        'condition': condition, 'unknown': unknown, 'within': within, 'max_age': max_age},
        conditions=('condition',))


def ask(
    question: Text | None = None, options: Mapping[str, Any] | None = None, *,
    timeout: Seconds | None = None, default: str | None = None,
) -> FlowPart:
    """Return the strategy that asks a person; `options`: answers, each with its strategy."""
    return FlowPart(place_of_caller('ask'), {
        'strategy': 'ask', 'question': question, 'options': options, 'timeout': timeout,
        'default': default}, positional=('question', 'options'))


def retry_with(**parameters: Any) -> FlowPart:
    """Return the strategy that tries again, with new values of the action's parameters."""
    return FlowPart(place_of_caller('retry_with'), {
        'strategy': 'retry', 'parameters': parameters or None}, positional=())


def instead(
    *steps: FlowPart, parameters: Mapping[str, Any] | None = None, require: Any = None,
    maintain: Any = None, stopped: Any = None, confirm: Any = None,
) -> FlowPart:
    """Return the strategy that does other work, with other conditions."""
    return FlowPart(place_of_caller('instead'), {
        'strategy': 'action', 'parameters': parameters, 'require': require, **of_steps(steps),
        'maintain': maintain, 'stopped': stopped, 'confirm': confirm},
        positional=(), conditions=CONDITIONS)


def recipe(name: str, parameters: Mapping[str, Any] | None = None) -> FlowPart:
    """Return the strategy that takes the work of a recipe."""
    return FlowPart(place_of_caller('recipe'), {
        'strategy': 'recipe', 'recipe': name, 'parameters': parameters},
        positional=('recipe', 'parameters'))


def verifier(by: str, **fields: Any) -> FlowPart:
    """Return a verifier of any registered kind: sensor, operator, service, checker."""
    return FlowPart(
        place_of_caller('verifier'), {'by': by, **fields}, conditions=('verdict', 'reason'))


def checker(function: str | Callable[..., Any], *, timeout: Seconds | None = None) -> FlowPart:
    """Return the verifier that calls a registered function, given by its name or itself."""
    return FlowPart(place_of_caller('checker'), {
        'by': 'checker', 'checker': function if isinstance(function, str) else _name(function),
        'timeout': timeout}, positional=('checker',))


def _name(function: Callable[..., Any]) -> str:
    name = name_of_checker(function)
    if name is not None:
        return name
    raise ValueError(
        f'{function.__module__}:{function.__qualname__} is not registered as a checker; add the '
        f"entry point '{function.__name__} = {function.__module__}:{function.__qualname__}' to "
        'the group action_lifecycle.checkers')


def of_steps(steps: Sequence[FlowPart]) -> dict[str, Any]:
    """Return the fields of an action for its steps: one kind of work, or `steps`."""
    for step in steps:
        if not isinstance(step, FlowPart) or not step.wrapped:
            raise TypeError(f'expected work such as motion(…), got {step!r}')
    if len(steps) == 1:
        return {steps[0].wrapped: steps[0]}
    return {'steps': [{step.wrapped: step} for step in steps]} if steps else {}
