# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Random conversations with kills: all is restored, and nothing is done twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
import tempfile
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.invoke import Job, Outcome
from action_lifecycle.journal import JournalError, verify_journal
from hypothesis import given, settings
from hypothesis import strategies as st

from .rig import Agent, Rig, run

GRAPH = """\
initial: ask
fields: {template: []}
states:
  ask: {type: user, template: 'What?'}
  look: {type: invoker, invoke: [{left: 'm:a', right: 'm:b'}, 'm:c'], done: found, failed: lost}
  count: {type: invoker, invoke: {map: 'm:d', over: ['x', 'y', '{{ session }}']}, done: counted}
  think: {type: agent}
  seen: {type: user, template: 'I see {{ actor_input }}, {{ context|length }}.'}
  sorry: {type: user, template: 'Lost: {{ actor_input }}'}
  bye: {type: terminal}
transitions:
  - {event: search, from: [ask, seen, sorry], to: look}
  - {event: found, from: look, to: count}
  - {event: counted, from: count, to: think}
  - {event: seen, from: think, to: seen}
  - {event: lost, from: look, to: sorry}
  - {event: give_up, from: count, to: sorry}
  - {event: talk, from: [ask, seen], to: ask}
  - {event: leave, from: [seen, sorry], to: bye}
"""
USER = ('search', 'talk', 'leave', 'give_up', 'found', 'poll')


class Broker:
    """Jobs outside the process: they outlive it, and each is performed once."""

    def __init__(self) -> None:
        self.done: dict[str, Outcome | None] = {}  #: None: not yet
        self.sent: Counter[str] = Counter()


class Engine:
    """An engine whose jobs end when the test says so."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.jobs: dict[str, Job] = {}

    def submit(self, job: Job) -> None:
        job.sent()
        self.broker.sent[job.id] += 1
        self.broker.done[job.id] = None
        self.jobs[job.id] = job

    def resume(self, job: Job, sent: bool) -> None:
        if job.id not in self.broker.done:
            if sent:  # it died between the record and the message
                job.reply(Outcome(None, 'lost'))
            else:
                self.submit(job)
            return
        self.jobs[job.id] = job
        outcome = self.broker.done[job.id]
        if outcome is not None:
            job.reply(outcome)

    def end(self, number: int, error: str) -> None:
        """End one of the open jobs, also if nobody follows it."""
        waiting = [name for name, outcome in self.broker.done.items() if outcome is None]
        if waiting:
            name = waiting[number % len(waiting)]
            outcome = Outcome(None if error else name[-3:], error)
            self.broker.done[name] = outcome
            if name in self.jobs:
                self.jobs[name].reply(outcome)

    def release(self, jobs: Any) -> None:
        pass

    def withdraw(self) -> None:
        pass

    def close(self, keep: bool = False) -> None:
        self.jobs.clear()


STEPS = st.one_of(
    st.tuples(st.just('event'), st.sampled_from(USER),
              st.sampled_from(['red', '', None, {'a': 1}])),
    st.tuples(st.just('end'), st.integers(0, 3), st.sampled_from(['', '', '', '', 'broken'])),
    st.tuples(st.just('kill'), st.integers(0, 4), st.none()))


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, min_size=5, max_size=40))
def test_a_killed_conversation_goes_on_as_if_nothing_had_happened(steps: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run(_converse(Path(folder) / 'journal', steps))


async def _quiet(rig: Rig) -> None:
    """Let everything run that can run without the outside."""
    for _ in range(300):
        await asyncio.sleep(0)
        if rig.died.is_set():
            return
    for _ in range(1000):
        if rig.sessions.status('one').status != 'running' or rig.died.is_set():
            return
        await asyncio.sleep(0.001)


async def _converse(path: Path, steps: list[Any]) -> None:
    broker, agent = Broker(), Agent()
    engine = Engine(broker)
    rig = Rig(path, agent, engine=engine)
    rig.begin(GRAPH, session_id='one')
    shown: list[Any] = []  #: statuses, over restarts

    async def restart() -> Rig:
        await rig.close()
        shown.extend(rig.seen)
        new = Rig(path, agent, engine=Engine(broker))
        new.sessions.restore()
        await _quiet(new)
        return new

    for kind, first, second in steps:
        try:
            if kind == 'event':
                await rig.sessions.send('one', first, second, 'anna')
            elif kind == 'end':
                rig.sessions.host.engine.end(first, second)  # type: ignore[union-attr]
            elif first:
                rig.journal.last = rig.journal.last_seq() + first  # it dies later
        except JournalError:
            pass
        except LifecycleError as error:
            assert 'Journal' not in type(error).__name__
        await _quiet(rig)
        if rig.died.is_set() or (kind == 'kill' and not first):
            if rig.died.is_set():
                rig = await restart()
            else:
                before = rig.sessions.view('one')
                rig = await restart()
                after = rig.sessions.view('one')
                assert after.status == before.status
                assert after == before
    rig.journal.last = 0
    await _quiet(rig)
    if rig.died.is_set():
        rig = await restart()
    shown += rig.seen
    await rig.close()
    assert all(count == 1 for count in broker.sent.values())
    _check_progress(shown)
    assert not verify_journal(path)


def _check_progress(shown: list[Any]) -> None:
    """Check that the progress of working states in a row never decreases."""
    last, state = 0.0, ''
    for status in shown:
        if status.status != 'working':
            last = 0.0
            continue
        if status.state == 'look' and state == 'count':
            last = 0.0
        assert status.progress >= last - 1e-9, (state, status)
        last, state = status.progress, status.state
