# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Random flows, failures, edits and crashes against a slow, obvious reference.

The reference knows the actions, what each waits for and which of them are to fail; it works out
how each must end by asking again and again who can still start. The real flow runs on a real
journal and a server that counts what it was told to do; the process is killed where chance says.
FLOW_ROUNDS (40): how many random flows are tried.
"""

from __future__ import annotations

import os
from pathlib import Path
import random
from typing import Any

from action_lifecycle.engine.errors import LifecycleError
from action_lifecycle.flow.edits import parse_edit
from action_lifecycle.flow.run import FlowRun
from action_lifecycle.lifecycle.ports import MotionRequest
from action_lifecycle.lifecycle.states import ActionState, ErrorCode
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from .robot import Clock, Process, Robot

ROUNDS = int(os.environ.get('FLOW_ROUNDS', '40'))
KINDS = ('success', 'completion', 'unconditional', 'when')
RESOURCES = ('arm', 'base', 'camera')


class Model:
    """What is wanted: by action, what it waits for and whether it is to fail."""

    def __init__(self) -> None:
        self.after: dict[str, dict[str, str]] = {}
        self.fails: set[str] = set()
        self.refuses: set[str] = set()  #: actions whose conditions are false

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
        self.resources: dict[str, frozenset[str]] = {}
        self.refuses: set[str] = set()
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
            assert self.resources[name].isdisjoint(self.resources[other]), (name, other)
        end = self.goals[request.goal_id][1]
        self.clock.call_later(max(0.0, end - now), motion.end)
        return motion

    def confirm(self, request: Any, result: Any) -> Any:
        verdicts = self.verdicts.setdefault((request.action_id, request.name), [])
        liars = {'after': self.refuses, 'confirm': self.fails}.get(request.name, set())
        if request.action_id in liars:
            verdicts[:] = ['refuted']
        return super().confirm(request, result)

    fails: set[str] = set()


def raw(needs: dict[str, str], resources: frozenset[str], priority: int) -> str:
    after = ', '.join(
        f'{name}: ' + ('{condition: z > 0, unknown: fail}' if kind == 'when' else kind)
        for name, kind in needs.items())
    return ('{motion: {server: s, type: a/action/B}, confirm: z > 0, idempotent: true, '
            f'priority: {priority}, resources: [{", ".join(sorted(resources))}], '
            f'after: {{{after}}}}}')


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
        self.robot.fails, self.robot.refuses = self.model.fails, self.model.refuses
        self.limit = self.rng.randint(1, 4)
        self.count = 0

    def draw(self, others: list[str]) -> tuple[str, str]:
        """Return a new action and how it is written; it waits for some of the others."""
        rng, name = self.rng, f'n{self.count}'
        self.count += 1
        needs = {needed: rng.choice(KINDS) for needed in rng.sample(
            others, min(len(others), rng.choice([0, 1, 1, 2, 3])))}
        self.model.after[name] = needs
        if rng.random() < 0.25:
            self.model.fails.add(name)
        if rng.random() < 0.3:
            self.model.refuses.add(name)
        resources = frozenset(rng.sample(RESOURCES, rng.choice([0, 1, 1, 2])))
        self.robot.resources[name] = resources
        return name, raw(needs, resources, rng.randint(-2, 2))

    def text(self) -> str:
        actions = ''.join(
            f'  {name}: {written}\n' for name, written in [
                self.draw(list(self.model.after)) for _ in range(self.rng.randint(1, 8))])
        return f'flow: f\nmax_motions: {self.limit}\nactions:\n{actions}'

    def edit(self, process: Process, run: FlowRun) -> None:
        """Make a random edit; what is refused must leave all as it was."""
        rng, model = self.rng, self.model
        waiting = [name for name in run.flow.actions if run.progress(name) == 'waiting']
        kept = {name: dict(needs) for name, needs in model.after.items()}
        choice = rng.choice(['add', 'add', 'remove', 'update', 'depend', 'independ', 'clear'])
        if choice == 'add':
            name, written = self.draw(list(model.after))
            text = f'- add: {{{name}: {written}}}'
        elif choice == 'clear':
            text = '- clear: true'
        elif not waiting:
            return
        else:
            name = rng.choice(waiting)
            if choice == 'remove':
                text = f'- remove: {name}'
            elif choice == 'update':
                needs = rng.sample(list(model.after), rng.randint(0, min(2, len(model.after))))
                text = f'- update: {{{name}: {{priority: 3, after: [{", ".join(needs)}]}}}}'
                kept[name] = dict.fromkeys(needs, 'success')
            elif choice == 'depend':
                needed, kind = rng.choice(list(model.after)), rng.choice(KINDS[:3])
                text = f'- depend: {{{name}: {{{needed}: {kind}}}}}'
                kept[name][needed] = kind
            elif model.after[name]:
                needed = rng.choice(list(model.after[name]))
                text = f'- independ: {{{name}: {needed}}}'
                del kept[name][needed]
            else:
                return
        before = run.flow.text_now(), process.journal.last_seq()
        try:
            process.orchestrator.edit('f', parse_edit(text), 'chance', 'why not')
        except LifecycleError:
            assert before == (run.flow.text_now(), process.journal.last_seq())
            if choice == 'add':
                del model.after[name]
            return
        if choice in ('remove', 'clear'):
            gone = set(model.after) - set(run.flow.actions)
            model.after = {
                name: {needed: kind for needed, kind in needs.items() if needed not in gone}
                for name, needs in model.after.items() if name not in gone}
        elif choice != 'add':
            model.after = kept

    def check_running(self, process: Process, run: FlowRun) -> None:
        """Look at what must be so at any moment."""
        assert len(run.at_work) <= self.limit
        holders = process.orchestrator.resources.holders
        for name in run.at_work:
            for resource in self.robot.resources[name]:
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


@settings(max_examples=ROUNDS, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_flows_end_as_the_reference_says(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    Case(seed, tmp_path_factory.mktemp('flow') / 'journal').run()


@settings(max_examples=ROUNDS, deadline=None)
@given(st.data())
def test_order_and_cycles_are_those_of_graphlib(data: st.DataObject) -> None:
    from action_lifecycle.flow.dag import CycleError, Dag, topological_order
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
