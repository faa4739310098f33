# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Machines that several threads drive at once."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
from functools import partial
import threading
from typing import Any

from action_lifecycle.engine import Graph, load_graph, Machine, TransitionNotAllowed
from action_lifecycle.graphs.packaged import config_file
from hypothesis import given, settings
from hypothesis import strategies as st

GRAPHS = [load_graph(config_file(f'graphs/{name}.yaml'))
          for name in ('action', 'constellation', 'operation')]


class Guards:
    """Guards that say yes, with a hook that fires the next event now and then."""

    physical = has_evidence = outcome_without_work = True

    def __init__(self) -> None:
        self.running = 0
        self.extra: list[str] = []

    def before_transition(self) -> None:
        self.running += 1
        assert self.running == 1, 'two transitions at once'

    def after_transition(self, machine: Machine) -> None:
        self.running -= 1
        if self.extra:
            machine.fire(self.extra.pop())


def together(*jobs: Callable[[], None]) -> None:
    """Run the jobs in threads that start at the same moment."""
    barrier = threading.Barrier(len(jobs))

    def run(job: Callable[[], None]) -> None:
        barrier.wait(10)
        job()

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


@st.composite
def drives(draw: Any) -> tuple[Graph, list[list[str]], list[str]]:
    graph = draw(st.sampled_from(GRAPHS))
    events = st.lists(st.sampled_from(graph.events), max_size=25)
    return graph, draw(st.lists(events, min_size=8, max_size=8)), draw(events)


@settings(max_examples=100)
@given(drives())
def test_eight_threads_leave_a_legal_path(
    drive: tuple[Graph, list[list[str]], list[str]]
) -> None:
    graph, sequences, extra = drive
    journal: list[tuple[str, str, str]] = []
    guards = Guards()
    guards.extra = list(extra)
    machine = Machine(
        graph, listeners=[guards], history_limit=10_000,
        commit=lambda change: journal.append((change.event, change.source, change.target)))

    def job(events: list[str]) -> Callable[[], None]:
        def fire() -> None:
            for event in events:
                with contextlib.suppress(TransitionNotAllowed):
                    machine.fire(event)
        return fire

    together(*map(job, sequences))
    history = machine.history
    assert journal == [(step.event, step.source, step.target) for step in history]
    state = graph.initial
    for step in history:
        assert step in graph.table[state][step.event]
        state = step.target
    assert machine.state == state


def expecting(machine: Machine, event: str, outcomes: list[object]) -> None:
    try:
        outcomes.append(machine.fire(event, expect='status_verification_requested'))
    except TransitionNotAllowed as error:
        outcomes.append(error)


def test_of_two_threads_that_expect_one_state_one_wins() -> None:
    for _ in range(200):
        machine = Machine(GRAPHS[0], listeners=[Guards()], state='status_verification_requested')
        outcomes: list[object] = []

        together(*(partial(expecting, machine, event, outcomes) for event in ('verified', 'fail')))
        refused = [one for one in outcomes if isinstance(one, TransitionNotAllowed)]
        assert len(refused) == 1
        assert len(machine.history) == 1
        assert machine.state in ('completed', 'error')


def test_other_thread_waits_its_turn_and_is_judged_by_the_state_it_finds() -> None:
    entered, go_on = threading.Event(), threading.Event()

    class Slow(Guards):

        def on_start(self) -> None:
            entered.set()
            assert go_on.wait(10)

    machine = Machine(GRAPHS[0], listeners=[Slow()])
    done: list[str] = []

    def first() -> None:
        machine.fire('start')
        done.append('start')

    def second() -> None:
        assert entered.wait(10)
        threading.Timer(0.05, go_on.set).start()
        assert machine.fire('execute').source == 'in_progress'
        done.append('execute')

    together(first, second)
    assert machine.state == 'executing_motion'
    assert sorted(done) == ['execute', 'start']
