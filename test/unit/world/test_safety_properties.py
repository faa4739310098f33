# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Safety under random publishers, silences, stops and late judgements, on a stepped clock."""

from __future__ import annotations

from dataclasses import dataclass, field
import math
from typing import Any

from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.world import parse_facts, Safety, SafetyMonitor, SafetyStatus
from action_lifecycle.world.safety.safety import APART, BEATS, LATE, LISTEN
from hypothesis import given, settings
from hypothesis import strategies as st

from . import messages

MAX_AGE = 0.5
STEP = 0.01
FACTS = {mode: parse_facts(f"""
estop: {{topic: estop, type: std_msgs/msg/Bool, field: data, mode: {mode}, max_age: {MAX_AGE}}}
""") for mode in ('heartbeat', 'on_change')}


@dataclass
class Publisher:
    name: bytes
    period: float
    says_stop: bool = False
    silent: bool = False
    due: float = 0.0


@dataclass
class World:
    """Publishers, a process that listens to them and may be held up, and what it was told."""

    mode: str = 'heartbeat'
    now: float = 10.0
    known: frozenset[bytes] = frozenset()
    queue: list[bool] = field(default_factory=list)
    held_until: float = -math.inf
    stop_taken: float = -math.inf
    taken: list[float] = field(default_factory=list)
    looked: float = -math.inf

    def __post_init__(self) -> None:
        self.publishers: dict[bytes, Publisher] = {}
        self.changes: list[SafetyStatus] = []
        self.monitor = SafetyMonitor(FACTS[self.mode], self.changes.append)
        self.spec, = self.monitor.specs()
        self.count = 0

    def change(self, what: str, number: float) -> None:
        present = list(self.publishers.values())
        one = present[int(number * 1000) % len(present)] if present else None
        if what == 'appear' and len(present) < 3:
            self.count += 1
            name = b'%d' % self.count
            self.publishers[name] = Publisher(name, 0.02 + number / 2, due=self.now)
        elif what == 'hold':
            self.held_until = self.now + number * 2
        elif what == 'move' and self.monitor.status.state is Safety.READY:
            self.monitor.moved = True
        elif what == 'clear':
            self.clear()
        elif one is not None and what == 'vanish':
            del self.publishers[one.name]
        elif one is not None and what in ('stop', 'go'):
            one.says_stop = what == 'stop'
            one.due = self.now if self.mode == 'on_change' else one.due
        elif one is not None and what in ('silent', 'speak'):
            one.silent = what == 'silent'
            one.due = max(one.due, self.now)

    def clear(self) -> None:
        self.look()
        stopped = self.monitor.status.state is Safety.STOPPED
        refused = self.monitor.clear(self.now)
        if stopped and not refused:
            assert self.monitor.status.state is Safety.READY
            assert self.now >= self.stop_taken + MAX_AGE
            assert len(self.known) <= 1

    def look(self) -> None:
        self.known = frozenset(self.publishers)
        self.looked = self.now
        if self.monitor.set_publishers(self.spec, self.known, self.now):
            self.taken.clear()

    def step(self) -> None:
        self.now += STEP
        for publisher in self.publishers.values():
            if not publisher.silent and self.now >= publisher.due:
                publisher.due = self.now + publisher.period \
                    if self.mode == 'heartbeat' else math.inf
                self.queue.append(publisher.says_stop)
        if self.now < self.held_until:
            return
        if self.now >= self.looked + 0.25:
            self.look()
        if self.now >= self.monitor.next_deadline():
            self.read()  # as the guard of the bridge does
            self.monitor.advance(self.now)
        self.read()
        self.judge()

    def read(self) -> None:
        for says_stop in self.queue[-10:]:
            if says_stop:
                self.stop_taken = self.now
            if not self.taken or self.now - self.taken[-1] >= APART - 1e-9:
                self.taken.append(self.now)
            self.monitor.ingest(self.spec, messages.flag(says_stop), self.now)
        self.queue.clear()

    def judge(self) -> None:
        status = self.monitor.status
        if status.state is Safety.STOPPED and status.code is not ErrorCode.ESTOP:
            assert self.monitor.moved, 'a silence was latched before anything has moved'
        if status.state is not Safety.READY:
            return
        assert self.now >= self.stop_taken + MAX_AGE - 1e-9
        assert len(self.known) <= 1
        if self.mode == 'heartbeat':
            assert len(self.taken) >= BEATS
            assert self.now <= self.taken[-1] + 2 * MAX_AGE + STEP
            assert self.taken[-1] - self.taken[-BEATS] <= (BEATS - 1) * (2 * MAX_AGE + STEP)


CHANGES = st.lists(st.tuples(
    st.sampled_from(['appear', 'appear', 'vanish', 'stop', 'go', 'go', 'silent', 'speak', 'speak',
                     'hold', 'move', 'move', 'clear', 'clear', 'wait']),
    st.floats(0.0, 1.0), st.integers(1, 120)), max_size=40)


def run(mode: str, changes: list[Any]) -> World:
    world = World(mode)
    world.change('appear', 0.1)
    for what, number, steps in changes:
        world.change(what, number)
        for _ in range(steps):
            world.step()
    return world


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(['heartbeat', 'on_change']), CHANGES)
def test_no_order_of_events_makes_it_ready_too_early(mode: str, changes: list[Any]) -> None:
    run(mode, changes)


@settings(max_examples=50, deadline=None)
@given(st.floats(0.02, 0.4), st.integers(0, 50))
def test_a_regular_publisher_makes_it_ready_and_its_silence_not(period: float, later: int) -> None:
    world = run('heartbeat', [])
    world.publishers[b'1'].period = period
    while world.monitor.status.state is not Safety.READY:
        world.step()
        assert world.now < 12.0
    world.monitor.moved = True
    for _ in range(later):
        world.step()
    world.publishers[b'1'].silent = True
    end = world.now + MAX_AGE + STEP + LATE + LISTEN
    while world.monitor.status.state is Safety.READY:
        world.step()
        assert world.now < end
    assert world.monitor.status.code is ErrorCode.SAFETY_STALE


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(0.0, 0.3), st.booleans()), min_size=1, max_size=30))
def test_a_stop_is_latched_whoever_else_speaks(messages_: list[tuple[float, bool]]) -> None:
    monitor = SafetyMonitor(FACTS['heartbeat'], lambda status: None)
    spec, = monitor.specs()
    now, stopped = 1.0, False
    for pause, stop in messages_:
        now += pause
        monitor.ingest(spec, messages.flag(stop), now)
        stopped = stopped or stop
        assert (monitor.status.state is Safety.STOPPED) is stopped
