# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Machines whose hooks and guards are awaited."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from action_lifecycle.engine import LifecycleError, load_graph, Machine, TransitionNotAllowed
import pytest

LAMP = load_graph("""\
initial: off
states: {off: {}, on: {}, gone: {final: true}}
transitions:
  - {event: press, from: off, to: on, cond: powered}
  - {event: press, from: on, to: off, cond: powered}
  - {event: smash, from: [off, on], to: gone}
""")


class Listener:
    """Awaits in its guard and its hooks, and writes down what it sees."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.running = 0
        self.power = True

    async def powered(self) -> bool:
        await asyncio.sleep(0)
        return self.power

    async def before_transition(self, event: str) -> None:
        self.running += 1
        assert self.running == 1, 'two transitions at once'
        await asyncio.sleep(0.001)
        self.seen.append(f'before {event}')

    def on_transition(self) -> None:
        self.seen.append('sync hook')

    async def after_transition(self, event: str, state: str) -> None:
        await asyncio.sleep(0.001)
        self.running -= 1
        self.seen.append(f'after {event} {state}')


def test_async_hooks_and_guards_are_awaited_in_order() -> None:
    listener = Listener()
    machine = Machine(LAMP, listeners=[listener])
    transition = asyncio.run(machine.fire_async('press'))
    assert transition is not None and transition.target == 'on'
    assert listener.seen == ['before press', 'sync hook', 'after press on']
    listener.power = False
    with pytest.raises(TransitionNotAllowed) as caught:
        asyncio.run(machine.fire_async('press'))
    assert caught.value.possible == ('smash',)
    possible = asyncio.run(machine.possible_transitions())
    assert [one.event for one in possible] == ['smash']


def test_fire_refuses_async_hooks_before_anything_runs() -> None:
    listener = Listener()
    machine = Machine(LAMP, listeners=[listener])
    with pytest.raises(LifecycleError, match='await fire_async'):
        machine.fire('press')
    assert (machine.state, listener.seen) == ('off', [])
    with pytest.raises(LifecycleError, match='has to be awaited'):
        machine.possible_events()


def test_fire_refuses_an_awaitable_that_a_plain_function_returns() -> None:
    class Sly:
        powered = True

        def on_press(self) -> Any:
            return asyncio.sleep(0)

    machine = Machine(LAMP, listeners=[Sly()])
    with pytest.raises(LifecycleError, match='has to be awaited'):
        machine.fire('press')
    assert machine.state == 'off'
    asyncio.run(machine.fire_async('press'))
    assert machine.state == 'on'


def test_exception_in_an_async_hook_leaves_the_state_as_the_commit_does() -> None:
    class Failing(Listener):
        async def on_enter_gone(self) -> None:
            raise ValueError('glass')

        async def before_press(self) -> None:
            raise ValueError('finger')

    machine = Machine(LAMP, listeners=[Failing()])
    with pytest.raises(ValueError, match='finger'):
        asyncio.run(machine.fire_async('press'))
    assert machine.state == 'off'
    machine = Machine(LAMP, listeners=[Failing()])
    with pytest.raises(ValueError, match='glass'):
        asyncio.run(machine.fire_async('smash'))
    assert machine.state == 'gone'


def test_event_fired_inside_an_async_hook_queues_behind() -> None:
    class Chain(Listener):
        machine: Machine

        async def on_enter_on(self) -> None:
            assert await self.machine.fire_async('press') is None
            self.machine.fire('smash')
            await asyncio.gather(self.machine.fire_async('fly'))
            assert self.machine.state == 'on'

    listener = Chain()
    machine = listener.machine = Machine(LAMP, listeners=[listener])
    with pytest.raises(TransitionNotAllowed, match='fly'):
        asyncio.run(machine.fire_async('press'))
    assert [step.target for step in machine.history] == ['on', 'off', 'gone']


def test_task_made_by_a_hook_is_on_its_own_after_the_transition() -> None:
    class Spawning(Listener):
        machine: Machine
        later: asyncio.Task[Any]

        async def on_enter_on(self) -> None:
            async def smash() -> Any:
                while self.machine.state != 'on' or self.running:
                    await asyncio.sleep(0.001)
                return await self.machine.fire_async('smash')
            self.later = asyncio.ensure_future(smash())

    async def main() -> None:
        listener = Spawning()
        machine = listener.machine = Machine(LAMP, listeners=[listener])
        await machine.fire_async('press')
        transition = await listener.later
        assert transition.target == machine.state == 'gone'

    asyncio.run(asyncio.wait_for(main(), 10))


def test_tasks_and_threads_wait_their_turn() -> None:
    listener = Listener()
    machine = Machine(LAMP, listeners=[listener], history_limit=1000)

    def thread() -> None:
        for _ in range(10):
            asyncio.run(machine.fire_async('press'))

    async def main() -> None:
        threads = [threading.Thread(target=thread, daemon=True) for _ in range(3)]
        for one in threads:
            one.start()
        await asyncio.gather(*(machine.fire_async('press') for _ in range(30)))
        while any(one.is_alive() for one in threads):
            await asyncio.sleep(0.005)

    asyncio.run(asyncio.wait_for(main(), 60))
    assert len(machine.history) == 60
    assert machine.state == 'off'


def test_cancelled_transition_frees_the_machine() -> None:
    class Stuck(Listener):
        async def on_enter_on(self) -> None:
            await asyncio.sleep(60)

    async def main() -> None:
        machine = Machine(LAMP, listeners=[Stuck()])
        first = asyncio.ensure_future(machine.fire_async('press'))
        while machine.state != 'on':
            await asyncio.sleep(0.001)
        second = asyncio.ensure_future(machine.fire_async('smash'))
        await asyncio.sleep(0.01)
        second.cancel()
        await asyncio.sleep(0)
        first.cancel()
        results = await asyncio.gather(first, second, return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) for one in results)
        assert machine.state == 'on'
        machine._listeners[0].running = 0  # type: ignore[attr-defined]
        await machine.fire_async('smash')
        assert machine.state == 'gone'

    asyncio.run(asyncio.wait_for(main(), 10))
