# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The machine: a current state on a shared graph, changed by events, with hooks and guards.

A transition runs in this order::

    validators, guards, before_transition, before_<event>, on_exit_state, on_exit_<state>,
    on_transition, on_<event>, journal commit, STATE UPDATE, publish,
    on_enter_state, on_enter_<state>, after_<event>, after_transition

`hooks` describes how these are looked up on the machine's listeners.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextvars import ContextVar
import inspect
import logging
import threading
from typing import Any, NamedTuple, TypeVar

from .graph import Graph, Transition
from .hooks import find_hooks, Guard, Hook, Hooks, RESERVED
from ..documents.errors import LifecycleError, TransitionNotAllowed

T = TypeVar('T')
Event = tuple[str, 'str | None', dict[str, Any]]

_LOG = logging.getLogger(__name__)
_RUNNING: ContextVar[tuple[object, ...]] = ContextVar('running transitions', default=())


class Change(NamedTuple):
    """One transition of one machine, with the data of its event."""

    transition: Transition
    data: Mapping[str, Any]
    machine: Machine

    @property
    def event(self) -> str:
        """Return the name of the event."""
        return self.transition.event

    @property
    def source(self) -> str:
        """Return the name of the state before."""
        return self.transition.source

    @property
    def target(self) -> str:
        """Return the name of the state after."""
        return self.transition.target


class Machine:
    """
    A state machine on a graph; threads and asyncio tasks may share it.

    Hooks may fire events of a second machine, unless a hook of that machine fires events of the
    first one from another thread, which would deadlock.

    `commit(change)` is called after all hooks before it; if it raises, nothing has changed.
    `publish(change)` is called after the state update. An exception after the commit does not undo
    the change; it goes to `on_error(change, error)` if given, else to the caller of `fire`.
    `state`: the initial state of this machine; no hook is called for it. `history` has the last
    `history_limit` transitions; the journal has all.
    """

    __slots__ = ('graph', 'name', '_state', '_listeners', '_hooks', '_commit', '_publish',
                 '_on_error', '_history', '_history_limit', '_lock', '_owner', '_running',
                 '_queue')

    def __init__(
        self,
        graph: Graph,
        *,
        listeners: Iterable[object] = (),
        commit: Callable[[Change], object] | None = None,
        publish: Callable[[Change], object] | None = None,
        on_error: Callable[[Change, Exception], object] | None = None,
        state: str | None = None,
        name: str = '',
        history_limit: int = 100,
    ) -> None:
        for outlet in (commit, publish, on_error):
            if inspect.iscoroutinefunction(outlet):
                raise LifecycleError(f'{outlet.__qualname__} is async; it must be done when it '
                                     'returns')
        self.graph = graph
        self.name = name or graph.name
        self._state = graph.initial if state is None else graph.state(state).name
        self._listeners = tuple(listeners)
        self._hooks: dict[Transition, Hooks] = {}
        self._commit = commit
        self._publish = publish
        self._on_error = on_error
        self._history: list[Transition] = []
        self._history_limit = history_limit
        self._lock = threading.Lock()
        self._owner = 0
        self._running: object = None
        self._queue: list[Event] = []

    @property
    def state(self) -> str:
        """Return the name of the current state."""
        return self._state

    @property
    def history(self) -> tuple[Transition, ...]:
        """Return the last transitions, oldest first, at most `history_limit`."""
        return tuple(self._history)

    def restore(self, state: str) -> None:
        """Set the current state from a record, without hooks; raises `LifecycleError`."""
        self._state = self.graph.state(state).name

    def add_listener(self, listener: object) -> None:
        """Add an object whose methods are hooks and guards, from the next event on."""
        self._listeners = (*self._listeners, listener)
        self._hooks = {}

    def fire(self, event: str, /, expect: str | None = None, **data: Any) -> Transition | None:
        """
        Make the transition of an event; its data are passed to hooks that declare them.

        `expect`: refuse the event unless this is the current state (compare-and-set). Raises
        `TransitionNotAllowed`, or the exception of a hook. The call waits for the transition of
        another thread. If called in a hook, the event is queued until the current transition is
        done, and None is returned; its errors are raised by the first `fire`.
        """
        owner = threading.get_ident()
        if self._owner == owner:
            self._queue.append((event, expect, data))
            return None
        with self._lock:
            self._owner = owner
            transition = failure = None
            try:
                try:
                    transition = self._move(event, expect, data)
                except Exception as error:
                    failure = error
                while self._queue:
                    try:
                        self._move(*self._queue.pop(0))
                    except Exception as error:
                        failure = self._first(failure, error)
            finally:
                if self._queue:
                    self._drop_queue()
                self._owner = 0
        if failure is not None:
            raise failure
        return transition

    async def fire_async(
        self, event: str, /, expect: str | None = None, **data: Any
    ) -> Transition | None:
        """
        Do the same as `fire`, with async hooks and guards.

        If `fire` is called from the same thread while a hook is awaited, its event is queued, too.
        """
        if self._running in _RUNNING.get():
            self._queue.append((event, expect, data))
            return None
        await self._acquire()
        self._owner = threading.get_ident()
        self._running = object()
        reset = _RUNNING.set((*_RUNNING.get(), self._running))
        transition = failure = None
        try:
            try:
                transition = await self._move_async(event, expect, data)
            except Exception as error:
                failure = error
            while self._queue:
                try:
                    await self._move_async(*self._queue.pop(0))
                except Exception as error:
                    failure = self._first(failure, error)
        finally:
            _RUNNING.reset(reset)
            self._running = None
            if self._queue:
                self._drop_queue()
            self._owner = 0
            self._lock.release()
        if failure is not None:
            raise failure
        return transition

    def possible_events(self, **data: Any) -> tuple[str, ...]:
        """Return the events that the guards permit now; `data` is passed to guards."""
        return tuple(one.event for one in _at_once(self.possible_transitions(**data)))

    async def possible_transitions(self, **data: Any) -> tuple[Transition, ...]:
        """Return the transition that each possible event would take now; awaits async guards."""
        found = []
        for transitions in self.graph.table[self._state].values():
            for transition in transitions:
                guards = self._hooks_of(transition).guards
                if await _hold_async(guards, self._scope(transition, data)) is None:
                    found.append(transition)
                    break
        return tuple(found)

    def _move(self, event: str, expect: str | None, data: dict[str, Any]) -> Transition:
        source = self._state
        if expect is not None and expect != source:
            raise _at_once(self._refusal(event, data, f"expected state '{expect}'"))
        refusals: tuple[str, ...] = ()
        for transition in self.graph.table[source].get(event, ()):
            validators, guards, before, after, is_async, scoped = (
                self._hooks.get(transition) or self._hooks_of(transition))
            if is_async:
                raise LifecycleError(f"event '{event}' has async hooks: await fire_async()")
            scope = self._scope(transition, data) if scoped else data
            if validators:
                _call(validators, scope)
            refusal = _hold(guards, scope)
            if refusal is None:
                break
            refusals += (refusal,)
        else:
            raise _at_once(self._refusal(event, data, ', '.join(refusals)))
        if before:
            _call(before, scope)
        self._advance(transition, data)
        try:
            if self._publish is not None:
                self._publish(Change(transition, data, self))
            if after:
                if scoped:
                    scope['state'] = transition.target
                _call(after, scope)
        except Exception as error:
            self._failed(transition, data, error)
        return transition

    async def _move_async(
        self, event: str, expect: str | None, data: dict[str, Any]
    ) -> Transition:
        """Do the same as `_move` with awaits; separate, since awaiting costs time."""
        source = self._state
        if expect is not None and expect != source:
            raise await self._refusal(event, data, f"expected state '{expect}'")
        refusals: tuple[str, ...] = ()
        for transition in self.graph.table[source].get(event, ()):
            hooks = self._hooks_of(transition)
            scope = self._scope(transition, data)
            await _call_async(hooks.validators, scope)
            refusal = await _hold_async(hooks.guards, scope)
            if refusal is None:
                break
            refusals += (refusal,)
        else:
            raise await self._refusal(event, data, ', '.join(refusals))
        await _call_async(hooks.before, scope)
        self._advance(transition, data)
        try:
            if self._publish is not None:
                self._publish(Change(transition, data, self))
            scope['state'] = transition.target
            await _call_async(hooks.after, scope)
        except Exception as error:
            self._failed(transition, data, error)
        return transition

    def _advance(self, transition: Transition, data: dict[str, Any]) -> None:
        if self._commit is not None:
            self._commit(Change(transition, data, self))
        self._state = transition.target
        history = self._history
        history.append(transition)
        if len(history) > self._history_limit:
            del history[0]

    def _failed(self, transition: Transition, data: dict[str, Any], error: Exception) -> None:
        """Report an exception after the commit."""
        if self._on_error is None:
            raise error
        self._on_error(Change(transition, data, self), error)

    def _hooks_of(self, transition: Transition) -> Hooks:
        known = self._hooks  # read before the listeners, as add_listener replaces it after them
        hooks = known.get(transition)
        if hooks is None:
            known[transition] = hooks = find_hooks(self.graph, transition, self._listeners)
        return hooks

    def _scope(self, transition: Transition, data: dict[str, Any]) -> dict[str, Any]:
        """Return the values for all parameters that hooks may declare."""
        if data and not RESERVED.isdisjoint(data):
            names = ', '.join(sorted(RESERVED.intersection(data)))
            raise LifecycleError(f"event '{transition.event}': {names} can't name data")
        return {**data, 'event': transition.event, 'source': transition.source,
                'target': transition.target, 'state': transition.source, 'machine': self,
                'change': Change(transition, data, self)}

    async def _refusal(
        self, event: str, data: dict[str, Any], reason: str
    ) -> TransitionNotAllowed:
        try:
            possible = tuple(one.event for one in await self.possible_transitions(**data))
        except Exception:  # a guard that needs the data of another event
            possible = tuple(self.graph.table[self._state])
        return TransitionNotAllowed(event, self._state, possible, reason)

    async def _acquire(self) -> None:
        """Take the lock without blocking the event loop; any thread may release it."""
        if self._lock.acquire(blocking=False):
            return
        taken = asyncio.get_running_loop().run_in_executor(None, self._lock.acquire)
        try:
            await asyncio.shield(taken)
        except asyncio.CancelledError:
            taken.add_done_callback(lambda _: self._lock.release())
            raise

    def _first(self, failure: Exception | None, error: Exception) -> Exception:
        """Return the first failure, for the caller; log a later one."""
        if failure is None:
            return error
        _LOG.error('%s: a queued event failed too: %s', self, error)
        return failure

    def _drop_queue(self) -> None:
        """Drop the queued events after an interrupt or a cancel."""
        for event, _, _ in self._queue:
            _LOG.warning("%s: event '%s' is dropped: the transition before it was interrupted",
                         self, event)
        self._queue.clear()

    def __repr__(self) -> str:
        return f'<Machine {self.name}: {self._state}>'


def _call(hooks: Iterable[Hook], scope: Mapping[str, Any]) -> None:
    for hook in hooks:
        result = hook(scope)
        if result is not None:
            _refuse_awaitable(result)


async def _call_async(hooks: Iterable[Hook], scope: Mapping[str, Any]) -> None:
    for hook in hooks:
        result = hook(scope)
        if inspect.isawaitable(result):
            await result


def _hold(guards: Iterable[Guard], scope: Mapping[str, Any]) -> str | None:
    """Return None if all guards agree, else the reason of the first refusal."""
    for guard, wanted, name in guards:
        answer = guard(scope)
        if answer is not wanted:
            _refuse_awaitable(answer)
            if bool(answer) is not wanted:
                return _refusal_of(name, wanted)
    return None


async def _hold_async(guards: Iterable[Guard], scope: Mapping[str, Any]) -> str | None:
    for guard, wanted, name in guards:
        answer = guard(scope)
        if inspect.isawaitable(answer):
            answer = await answer
        if bool(answer) is not wanted:
            return _refusal_of(name, wanted)
    return None


def _refusal_of(guard: str, wanted: bool) -> str:
    return f"guard '{guard}' does not hold" if wanted else f"guard '{guard}' holds"


def _refuse_awaitable(result: object) -> None:
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise LifecycleError('a hook or guard has to be awaited: use the async method')


def _at_once(steps: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends."""
    try:
        steps.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    steps.close()
    raise LifecycleError('a hook or guard has to be awaited: use the async method')
