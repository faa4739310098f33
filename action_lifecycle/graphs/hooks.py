# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Hooks and guards: methods of a machine's listeners, looked up once per transition.

A listener is any object. Its methods with conventional names are called in the order given in
`machine`, and the methods that the graph file names. Methods `validators`, `cond` and `unless` are
called for every transition. A guard named in the file may also be an attribute; if several
listeners have it, all must agree. A class whose hooks and guards are all methods of it, none an
attribute of an object, may say so by `hooks_are_methods = True`; then lookups are faster.

Parameters are passed by name: `event`, `source`, `target`, `state` (the source until the state
update, then the target), `machine`, `change`, and all data of the event. A guard must have
defaults for event data, since it is also called without an event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
import inspect
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from .graph import Graph, Transition
from ..documents.errors import LifecycleError
from ..documents.suggestions import nearest

RESERVED = frozenset({'event', 'source', 'target', 'state', 'machine', 'change'})

Hook = Callable[[Mapping[str, Any]], Any]
Guard = tuple[Hook, bool, str]


class Hooks(NamedTuple):
    """
    The hooks and guards of one transition.

    `is_async`: at least one is a coroutine function. `scoped`: at least one has parameters.
    """

    validators: tuple[Hook, ...]
    guards: tuple[Guard, ...]
    before: tuple[Hook, ...]
    after: tuple[Hook, ...]
    is_async: bool
    scoped: bool


class _Calls(NamedTuple):
    """
    What `Hooks` are made of: the calls by place.

    A call is a callable, or (in the notes of a graph) the index of a listener and the function of
    its class.
    """

    validators: list[Any]
    guards: list[tuple[Any, bool, str]]
    before: list[Any]
    after: list[Any]

    def all(self) -> list[Any]:  # noqa: A003
        """Return the calls of all places."""
        return [*self.validators, *(guard[0] for guard in self.guards), *self.before, *self.after]

    def replaced(self, change: Callable[[Any], Any]) -> _Calls:
        """Return the same with each call changed."""
        return _Calls(
            list(map(change, self.validators)),
            [(change(call), wanted, name) for call, wanted, name in self.guards],
            list(map(change, self.before)), list(map(change, self.after)))

    def hooks(self) -> Hooks:
        """Return the hooks."""
        calls = self.all()
        return Hooks(
            tuple(map(_by_name, self.validators)),
            tuple((_by_name(call), wanted, name) for call, wanted, name in self.guards),
            tuple(map(_by_name, self.before)),
            tuple(map(_by_name, self.after)),
            any(map(inspect.iscoroutinefunction, calls)),
            any(map(_parameters, calls)),
        ) if calls else _NONE


_NONE = Hooks((), (), (), (), False, False)


def find_hooks(graph: Graph, transition: Transition, listeners: Sequence[object]) -> Hooks:
    """
    Look up the hooks of a transition; raises `LifecycleError` for an unknown name.

    If all listeners are of classes with `hooks_are_methods`, of which there may be thousands of
    machines, what is found is noted in the graph, and only bound the next time.
    """
    key = transition, tuple(map(type, listeners))
    noted: _Calls | None = graph.hooks.get(key)
    if noted is not None:
        return noted.replaced(lambda one: MethodType(one[1], listeners[one[0]])).hooks() \
            if any(noted) else _NONE
    calls = _calls(graph, transition, listeners)
    owners = {id(listener): index for index, listener in enumerate(listeners)}
    if all(getattr(kind, 'hooks_are_methods', False) for kind in key[1]) and all(
            isinstance(call, MethodType) and id(call.__self__) in owners for call in calls.all()):
        graph.hooks[key] = calls.replaced(
            lambda call: (owners[id(call.__self__)], call.__func__))
    return calls.hooks()


def _calls(graph: Graph, transition: Transition, listeners: Sequence[object]) -> _Calls:
    event, source, target = transition.event, transition.source, transition.target
    states = graph.states
    methods = partial(_methods, listeners)
    named = partial(_named, listeners, transition)
    validators = [*methods('validators'), *named(transition.validators)]
    guards = [
        *((call, True, 'cond') for call in methods('cond')),
        *((call, False, 'unless') for call in methods('unless')),
        *((call, wanted, name)
          for names, wanted in ((transition.cond, True), (transition.unless, False))
          for name in names for call in _guards(listeners, transition, name)),
    ]
    before = [
        *methods('before_transition', f'before_{event}'), *named(transition.before),
        *methods('on_exit_state', f'on_exit_{source}'), *named(states[source].exit),
        *methods('on_transition', f'on_{event}'), *named(transition.on),
    ]
    after = [
        *methods('on_enter_state', f'on_enter_{target}'), *named(states[target].enter),
        *methods(f'after_{event}'), *named(transition.after), *methods('after_transition'),
    ]
    return _Calls(validators, guards, before, after)


def _methods(listeners: Iterable[object], *names: str) -> list[Callable[..., Any]]:
    found = (getattr(listener, name, None) for name in names for listener in listeners)
    return [method for method in found if callable(method)]


def _named(
    listeners: Iterable[object], transition: Transition, names: Iterable[str]
) -> list[Callable[..., Any]]:
    calls: list[Callable[..., Any]] = []
    for name in names:
        found = _methods(listeners, name)
        if not found:
            raise _nowhere('hook', name, transition, listeners)
        calls.extend(found)
    return calls


def _guards(
    listeners: Iterable[object], transition: Transition, name: str
) -> list[Callable[..., Any]]:
    owners = [listener for listener in listeners if hasattr(listener, name)]
    if not owners:
        raise _nowhere('guard', name, transition, listeners)
    return [_guard(owner, name) for owner in owners]


def _guard(owner: object, name: str) -> Callable[..., Any]:
    found = getattr(owner, name)
    return found if callable(found) else lambda: getattr(owner, name)


def _nowhere(
    kind: str, name: str, transition: Transition, listeners: Iterable[object]
) -> LifecycleError:
    known = {name for listener in listeners for name in dir(listener) if name[0] != '_'}
    return LifecycleError(f"{kind} '{name}' of {transition!r} is on no listener"
                          + nearest(name, known))


def _by_name(call: Callable[..., Any]) -> Hook:
    """Return a function that takes a scope and calls `call` with the parameters it declares."""
    parameters = _parameters(call)
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return lambda scope: call(**scope)
    names = [one.name for one in parameters if one.kind is not one.VAR_POSITIONAL]
    if not names:
        return lambda scope: call()
    return lambda scope: call(**{name: scope[name] for name in names if name in scope})


def _parameters(call: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    """Return the parameters of a callable; cached for methods, for all objects of a class."""
    if isinstance(call, MethodType) and isinstance(call.__func__, FunctionType):
        return _of_method(call.__func__)
    return tuple(inspect.signature(call).parameters.values())


@lru_cache(maxsize=1000)
def _of_method(function: FunctionType) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(MethodType(function, 0)).parameters.values())
