# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Random flows, failures, edits and crashes against a slow, obvious reference.

The reference knows the actions, what each waits for and which of them are to fail; it works out
how each must end by asking again and again who can still start. The real flow runs on a real
journal and a server that counts what it was told to do; the process is killed where chance says.
FLOW_ROUNDS (40): how many random flows are tried.
"""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
import random
from typing import Any, NamedTuple

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.flow.run.flow_run import FlowRun
from action_lifecycle.lifecycle.ports import MotionRequest
from action_lifecycle.lifecycle.states import ActionState, ErrorCode
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from .robot import Clock, Process, Robot

ROUNDS = int(os.environ.get('FLOW_ROUNDS', '40'))
KINDS = ('success', 'completion', 'unconditional', 'when')
RESOURCES = ('arm', 'base', 'camera')


class Drawn(NamedTuple):
    """An action that chance has made."""

    needs: dict[str, str]
    fails: bool
    refuses: bool
    resources: frozenset[str]
    priority: int

    def raw(self) -> dict[str, Any]:
        """Return what a flow file says of it."""
        return {
            'motion': {'server': 's', 'type': 'a/action/B'}, 'confirm': 'z > 0',
            'idempotent': True, 'priority': self.priority, 'resources': sorted(self.resources),
            'after': {name: {'condition': 'z > 0', 'unknown': 'fail'} if kind == 'when' else kind
                      for name, kind in self.needs.items()}}


class Model:
    """What is wanted: by action, what it waits for and whether it is to fail."""

    def __init__(self) -> None:
        self.after: dict[str, dict[str, str]] = {}
        self.fails: set[str] = set()
        self.refuses: set[str] = set()  #: actions whose conditions are false
        self.resources: dict[str, frozenset[str]] = {}

    def take(self, name: str, drawn: Drawn) -> None:
        """Take in an action as it was drawn, new or anew."""
        self.after[name] = dict(drawn.needs)
        for names, wanted in (self.fails, drawn.fails), (self.refuses, drawn.refuses):
            (names.add if wanted else names.discard)(name)
        self.resources[name] = drawn.resources

    def outcomes(self) -> dict[str, str]:
        """Work out how each action ends."""
        ended: dict[str, str] = {}
        while len(ended) < len(self.after):
            before = len(ended)
            for name, needs in self.after.items():
                if name in ended:
                    continue
                if any(needed in ended and not self._meets(ended[needed], kind)
                       for needed, kind in needs.items()):
                    ended[name] = 'skipped'
                elif all(needed in ended for needed in needs):
                    if 'when' in needs.values() and name in self.refuses:
                        ended[name] = 'skipped'
                    else:
                        ended[name] = 'failed' if name in self.fails else 'succeeded'
            assert len(ended) > before, 'the reference hangs'
        return ended

    @staticmethod
    def _meets(outcome: str, kind: str) -> bool:
        return outcome in {'success': ('succeeded',), 'completion': ('succeeded', 'failed')}.get(
            kind, ('succeeded', 'failed', 'skipped', 'canceled'))


class CountingRobot(Robot):
    """Does each goal once, however often it is asked; tells of two that share a resource."""

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        super().__init__(clock)
        self.rng = rng
        self.goals: dict[str, tuple[str, float]] = {}  #: by goal id: the action, when it ends
        self.done: dict[str, int] = {}
        self.model = Model()  #: knows what fails
        self.most = 0

    def execute(self, request: MotionRequest, result: Any) -> Any:
        motion = super().execute(request, result)
        name, now = request.action_id, self.clock.time
        if request.goal_id not in self.goals:
            if request.resume:  # it never arrived
                self.clock.call_later(0.1, lambda: motion.end('not_running'))
                return motion
            self.goals[request.goal_id] = name, now + self.rng.choice([0.5, 1.0, 3.0])
            self.done[name] = self.done.get(name, 0) + 1
        running = [other for other, end in self.goals.values() if end > now]
        self.most = max(self.most, len(running))
        for other in set(running) - {name}:
            assert self.model.resources[name].isdisjoint(
                self.model.resources[other]), (name, other)
        end = self.goals[request.goal_id][1]
        self.clock.call_later(max(0.0, end - now), motion.end)
        return motion

    def confirm(self, request: Any, result: Any) -> Any:
        verdicts = self.verdicts.setdefault((request.action_id, request.name), [])
        liars = {'after': self.model.refuses, 'confirm': self.model.fails}.get(request.name, set())
        if request.action_id in liars:
            verdicts[:] = ['refuted']
        return super().confirm(request, result)


class Case:
    """One random flow, with its reference."""

    def __init__(self, seed: int, path: Path) -> None:
        self.rng = random.Random(seed)
        self.path = path
        self.clock = Clock()
        self.robot = CountingRobot(self.clock, self.rng)
        self.robot.motions = []
        self.robot.by_hand.add('motion')
        self.model = Model()
        self.robot.model = self.model
        self.limit = self.rng.randint(1, 4)
        self.count = 0
        self.seen: tuple[int, list[str]] = (0, [])  #: a journal row, and what waited then

    def draw(self, others: list[str]) -> Drawn:
        """Return a random action; it waits for some of the others."""
        rng = self.rng
        needs = {needed: rng.choice(KINDS) for needed in rng.sample(
            others, min(len(others), rng.choice([0, 1, 1, 2, 3])))}
        return Drawn(needs, rng.random() < 0.25, rng.random() < 0.3,
                     frozenset(rng.sample(RESOURCES, rng.choice([0, 1, 1, 2]))),
                     rng.randint(-2, 2))

    def new_name(self) -> str:
        self.count += 1
        return f'n{self.count - 1}'

    def text(self) -> str:
        actions = {}
        for _ in range(self.rng.randint(1, 8)):
            name, drawn = self.new_name(), self.draw(list(self.model.after))
            self.model.take(name, drawn)
            actions[name] = drawn.raw()
        return json.dumps({'flow': 'f', 'max_motions': self.limit, 'actions': actions})

    def look(self, process: Process, run: FlowRun) -> None:
        """Look at the flow, as the author of an edit does."""
        self.seen = process.journal.last_seq(), self.waiting(run)

    @staticmethod
    def waiting(run: FlowRun) -> list[str]:
        return [name for name in run.flow.actions if run.progress(name) == 'waiting']

    def edit(self, process: Process, run: FlowRun) -> None:
        """Make a random edit; what is refused must leave all as it was."""
        rng, model = self.rng, self.model
        if rng.random() < 0.7:  # else the author looked some time ago
            self.look(process, run)
        base_seq, seen = self.seen
        waiting = self.waiting(run)
        drawn: dict[str, Drawn] = {}  #: what the edit says of whole actions
        needs: dict[str, dict[str, str]] = {}  #: what others shall wait for
        gone: set[str] = set()
        choice = rng.choice(['add', 'add', 'remove', 'update', 'depend', 'independ', 'clear',
                             'build', 'build'])
        if choice == 'add':
            drawn[self.new_name()] = self.draw(list(model.after))
        elif choice == 'clear':
            gone = set(waiting)
        elif choice == 'build':
            gone = set(waiting)
            others = [name for name in model.after if name not in gone or rng.random() < 0.1]
            for name in [*rng.sample(list(model.after), rng.randint(0, len(model.after))),
                         *(self.new_name() for _ in range(rng.randint(0, 3)))]:
                drawn[name] = self.draw([other for other in others if other != name])
                others.append(name)
            gone -= set(drawn)
        elif not seen or (name := rng.choice(seen)) not in model.after:
            return
        elif choice == 'remove':
            gone = {name}
        elif choice == 'update':
            needs[name] = dict.fromkeys(rng.sample(
                list(model.after), rng.randint(0, min(2, len(model.after)))), 'success')
        elif choice == 'depend':
            needs[name] = {**model.after[name],
                           rng.choice(list(model.after)): rng.choice(KINDS[:3])}
        elif model.after[name]:
            needs[name] = dict(model.after[name])
            del needs[name][rng.choice(list(needs[name]))]
        else:
            return
        value: Any = {
            'clear': True, 'remove': sorted(gone),
            'update': {name: {'priority': 3, 'after': list(wanted)}
                       for name, wanted in needs.items()},
            'depend': {name: dict(wanted.items() - model.after[name].items())
                       for name, wanted in needs.items()},
            'independ': {name: sorted(set(model.after[name]) - set(wanted))
                         for name, wanted in needs.items()},
        }.get(choice, {name: one.raw() for name, one in drawn.items()})
        edited_since = {name for edit in run.edits if edit['seq'] > base_seq > 0
                        for name in edit['names']}
        before = run.flow.text_now(), process.journal.last_seq()
        known = copy.deepcopy(model)
        for name, one in drawn.items():
            if name in waiting or name not in model.after:
                model.take(name, one)
        try:
            result = process.orchestrator.edit(
                'f', parse_edit(json.dumps([{choice: value}])), 'chance', 'why not', base_seq)
        except LifecycleError:
            assert before == (run.flow.text_now(), process.journal.last_seq())
            self.model = self.robot.model = known
            return
        left_out = {words.split()[1] for words in result.left_out}
        assert left_out.isdisjoint(waiting)
        assert left_out >= {name for name in drawn if name in known.after} - set(waiting)
        changed = gone | set(drawn) & set(known.after) | set(needs)
        assert edited_since.isdisjoint(changed - left_out)
        gone -= left_out
        assert gone <= set(waiting)
        model.after.update({name: needs[name] for name in set(needs) - left_out})
        model.after = {
            name: {needed: kind for needed, kind in waited.items() if needed not in gone}
            for name, waited in model.after.items() if name not in gone}
        assert sorted(run.flow.actions) == sorted(model.after)

    def check_running(self, process: Process, run: FlowRun) -> None:
        """Look at what must be so at any moment."""
        assert len(run.at_work) <= self.limit
        holders = process.orchestrator.resources.holders
        for name in run.at_work:
            for resource in self.model.resources[name]:
                assert holders[resource] == ('f', name)

    def run(self) -> None:
        """Run it to its end, with edits and crashes, and compare."""
        process = Process(self.path, self.clock, self.robot)
        run = process.submit(self.text())
        for _ in range(400):
            self.clock.run(self.rng.choice([0.0, 0.1, 0.5, 2.0]))
            self.check_running(process, run)
            if run.ended:
                break
            event = self.rng.random()
            if event < 0.15:
                self.edit(process, run)
            elif event < 0.22:
                before = self.ended(run)
                process.kill()
                process = Process(self.path, self.clock, self.robot)
                (run,) = process.orchestrator.restore()
                after = self.ended(run)
                assert {name: after.get(name) for name in before} == before
                assert sorted(run.flow.actions) == sorted(self.model.after)
        assert run.ended, 'the flow hangs'
        expected = self.model.outcomes()
        found = self.ended(run)
        assert found == expected
        started = {name for name, outcome in found.items() if outcome != 'skipped'}
        for name in started:
            assert self.robot.done.get(name, 0) == 1, f'{name} was done {self.robot.done}'
        assert not set(self.robot.done) - started
        assert self.robot.most <= self.limit
        good = all(outcome == 'succeeded' for outcome in expected.values())
        assert run.state == ('FINISH' if good else 'FAIL')
        if not good:
            assert run.error_code is (
                ErrorCode.FLOW_PARTIALLY_FAILED if 'succeeded' in expected.values()
                else ErrorCode.FLOW_FAILED)
        process.journal.close()

    @staticmethod
    def ended(run: FlowRun) -> dict[str, str]:
        return {action.action_id: action.outcome.value
                for action in (runner.action for runner in run.runners.made())
                if action.state is ActionState.TERMINATED and action.outcome is not None}


@settings(max_examples=ROUNDS,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_flows_end_as_the_reference_says(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    Case(seed, tmp_path_factory.mktemp('flow') / 'journal').run()


@settings(max_examples=ROUNDS)
@given(st.data())
def test_order_and_cycles_are_those_of_graphlib(data: st.DataObject) -> None:
    from action_lifecycle.flow.scheduling.dag import CycleError, Dag, topological_order
    dag: Dag[int] = Dag({})
    names = [f'a{index}' for index in range(8)]
    for _ in range(data.draw(st.integers(1, 25))):
        known = sorted(dag.after)
        changes: dict[str, Any] = {
            name: dict.fromkeys(data.draw(st.lists(st.sampled_from(known), max_size=3)), 0)
            if known else {} for name in data.draw(
                st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))}
        wanted = {**dag.after, **changes}
        before = dict(dag.after)
        try:
            topological_order(wanted)
        except CycleError:
            with pytest.raises(CycleError) as caught:
                dag.change(changes)
            cycle = caught.value.cycle
            assert cycle[0] == cycle[-1] and len(cycle) > 1
            assert all(needed in wanted[name] for name, needed in zip(cycle, cycle[1:]))
            assert dag.after == before
        else:
            dag.change(changes)
            assert dag.after == wanted
        place = {name: index for index, name in enumerate(dag.order())}
        assert all(place[needed] < place[name]
                   for name, needs in dag.after.items() for needed in needs)
