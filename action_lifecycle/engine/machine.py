# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
The machine: one state on a shared graph, moved by events, with hooks around each move.

A transition runs in this order::

    validators, guards, before_transition, before_<event>, on_exit_state, on_exit_<state>,
    on_transition, on_<event>, journal commit, STATE UPDATE, publish,
    on_enter_state, on_enter_<state>, after_<event>, after_transition

See `hooks` for how these are found on the machine's listeners.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

from .errors import LifecycleError, TransitionNotAllowed
from .graph import Graph, Transition
from .hooks import NO_HOOKS, RESERVED, Guard, Hook, Hooks, find_hooks

T = TypeVar('T')
Event = tuple[str, 'str | None', dict[str, Any]]

_RUNNING: ContextVar[tuple[object, ...]] = ContextVar('running transitions', default=())


class Change(NamedTuple):
    """One transition of one machine, with the data of its event."""

    event: str
    source: str
    target: str
    data: Mapping[str, Any]
    machine: Machine


class Machine:
    """
    A state on a graph; threads and asyncio tasks may share it.

    `commit(change)` is called when all hooks before it agreed; if it raises, nothing happened.
    `publish(change)` is called when the state is updated. An exception after the commit leaves
    the state advanced; it goes to `on_error(change, error)` if given, else to the caller of
    `fire`. `state` starts the machine there; no hook is called for it. The last `history_limit`
    transitions are remembered; it is the journal, not the machine, that has all.
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
        """The name of the current state."""
        return self._state

    @property
    def history(self) -> tuple[Transition, ...]:
        """The latest transitions, the oldest first, at most `history_limit`."""
        return tuple(self._history)

    @property
    def is_final(self) -> bool:
        """Whether the current state is a final one."""
        return self.graph.states[self._state].final

    def add_listener(self, listener: object) -> None:
        """Add an object whose methods are hooks and guards; it counts from the next event on."""
        self._listeners = (*self._listeners, listener)
        self._hooks = {}

    def fire(self, event: str, /, expect: str | None = None, **data: Any) -> Change | None:
        """
        Make the transition of this event; the data reach every hook that declares them.

        `expect` makes it a compare-and-set: it is refused unless that is the current state.
        Raises `TransitionNotAllowed`, or what a hook raised. Another thread's transition is
        waited for. Inside a hook the event queues behind the transition that runs, and None is
        returned; what it raises then reaches the caller of the first `fire`.
        """
        owner = threading.get_ident()
        if self._owner == owner:
            self._queue.append((event, expect, data))
            return None
        with self._lock:
            self._owner = owner
            try:
                return _at_once(self._run(event, expect, data, True))
            finally:
                self._owner = 0

    async def fire_async(
        self, event: str, /, expect: str | None = None, **data: Any
    ) -> Change | None:
        """
        Do what `fire` does, and await hooks and guards that are async.

        `fire`, called from the same thread while this awaits a hook, queues its event too.
        """
        if self._running in _RUNNING.get():
            self._queue.append((event, expect, data))
            return None
        await self._acquire()
        self._running = object()
        self._owner = threading.get_ident()
        reset = _RUNNING.set((*_RUNNING.get(), self._running))
        try:
            return await self._run(event, expect, data, False)
        finally:
            _RUNNING.reset(reset)
            self._running = None
            self._owner = 0
            self._lock.release()

    def possible_events(self, **data: Any) -> tuple[str, ...]:
        """Return the events that the guards admit now; guards may declare the data."""
        return _at_once(self._possible(data))

    async def possible_events_async(self, **data: Any) -> tuple[str, ...]:
        """Do what `possible_events` does, and await guards that are async."""
        return await self._possible(data)

    async def _acquire(self) -> None:
        """Take the lock without blocking the event loop; it may be released by any thread."""
        if self._lock.acquire(blocking=False):
            return
        taken = asyncio.get_running_loop().run_in_executor(None, self._lock.acquire)
        try:
            await asyncio.shield(taken)
        except asyncio.CancelledError:
            taken.add_done_callback(lambda _: self._lock.release())
            raise

    async def _run(
        self, event: str, expect: str | None, data: dict[str, Any], sync: bool
    ) -> Change | None:
        """Make one transition, then those of the events that its hooks fired."""
        change = failure = None
        try:
            change = await self._transition(event, expect, data, sync)
        except Exception as error:
            if not self._queue:
                raise
            failure = error
        while self._queue:
            try:
                await self._transition(*self._queue.pop(0), sync)
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return change

    async def _transition(
        self, event: str, expect: str | None, data: dict[str, Any], sync: bool
    ) -> Change:
        source = self._state
        if expect is not None and expect != source:
            raise await self._refusal(event, data, f"expected state '{expect}'")
        refused: list[str] = []
        for transition in self.graph.table[source].get(event, ()):
            hooks = self._hooks.get(transition) or self._find_hooks(transition)
            change = Change(event, source, transition.target, data, self)
            scope: dict[str, Any] = {}
            if hooks is NO_HOOKS:
                break
            if sync and hooks.is_async:
                raise LifecycleError(f"event '{event}' has async hooks: await fire_async()")
            scope = self._scope(change)
            await _call(hooks.validators, scope)
            if await _holds(hooks.guards, scope, refused):
                break
        else:
            raise await self._refusal(event, data, ', '.join(refused))
        if hooks.before:
            await _call(hooks.before, scope)
        if self._commit is not None:
            self._commit(change)
        self._state = transition.target
        self._remember(transition)
        try:
            if self._publish is not None:
                self._publish(change)
            if hooks.after:
                scope['state'] = transition.target
                await _call(hooks.after, scope)
        except Exception as error:
            if self._on_error is None:
                raise
            self._on_error(change, error)
        return change

    def _find_hooks(self, transition: Transition) -> Hooks:
        hooks = find_hooks(self.graph, transition, self._listeners)
        self._hooks[transition] = hooks
        return hooks

    def _scope(self, change: Change) -> dict[str, Any]:
        data = change.data
        if data and not RESERVED.isdisjoint(data):
            names = ', '.join(sorted(RESERVED.intersection(data)))
            raise LifecycleError(f"event '{change.event}': {names} can't name data")
        return {**data, 'event': change.event, 'source': change.source, 'target': change.target,
                'state': change.source, 'machine': self, 'change': change}

    def _remember(self, transition: Transition) -> None:
        history = self._history
        history.append(transition)
        if len(history) > self._history_limit:
            del history[0]

    async def _possible(self, data: Mapping[str, Any]) -> tuple[str, ...]:
        source = self._state
        found = []
        for event, transitions in self.graph.table[source].items():
            for transition in transitions:
                hooks = self._hooks.get(transition) or self._find_hooks(transition)
                change = Change(event, source, transition.target, data, self)
                if not hooks.guards or await _holds(hooks.guards, self._scope(change), []):
                    found.append(event)
                    break
        return tuple(found)

    async def _refusal(
        self, event: str, data: dict[str, Any], reason: str
    ) -> TransitionNotAllowed:
        try:
            possible = await self._possible(data)
        except Exception:  # a guard of another event that needs other data
            possible = tuple(self.graph.table[self._state])
        return TransitionNotAllowed(event, self._state, possible, reason)

    def __repr__(self) -> str:
        return f'<Machine {self.name}: {self._state}>'


def _at_once(steps: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that has nothing to wait for."""
    try:
        steps.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    steps.close()
    raise LifecycleError('a hook has to be awaited: use the async method')


async def _call(hooks: Iterable[Hook], scope: dict[str, Any]) -> None:
    for hook in hooks:
        result = hook(scope)
        if result is not None and inspect.isawaitable(result):
            await result


async def _holds(guards: Iterable[Guard], scope: dict[str, Any], refused: list[str]) -> bool:
    """Ask the guards; the first that refuses is added to `refused`."""
    for guard, wanted, name in guards:
        answer = guard(scope)
        if answer is not True and answer is not False and inspect.isawaitable(answer):
            answer = await answer
        if bool(answer) is not wanted:
            refused.append(f"guard '{name}' is {bool(answer)}")
            return False
    return True
