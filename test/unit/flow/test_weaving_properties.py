# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Random failures, answers of the planner, orders of people and crashes of a steered flow.

Whatever the planner answers (a replacement, an end, nonsense, nothing, silence, an exception), the
flow ends; nothing of it starts or is skipped while the planner is asked; what a restart reads back
is what was there before; and only what was replaced may have failed in a flow that ends well.
FLOW_ROUNDS (40): how many random flows are tried.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
import random
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.flow.planning.asker import PlanReply
from action_lifecycle.flow.run.flow_run import FlowRun
from action_lifecycle.lifecycle.states import ActionState
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from .robot import Clock, Process, Robot

ROUNDS = int(os.environ.get('FLOW_ROUNDS', '40'))
ANSWERS = ('replace', 'replace', 'replace', 'nothing', 'nothing', 'finish', 'fail', 'nonsense',
           'wrong', 'silence', 'unreachable', 'raise', 'refuse')
KINDS = ('success', 'success', 'completion', 'unconditional')
GOAL = {'motion': {'server': 's', 'type': 'a/action/B'}, 'confirm': 'z > 0', 'idempotent': True}


class RandomRobot(Robot):
    """Ends each goal once, also after a restart; the sensors refute some actions for ever."""

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        super().__init__(clock)
        self.rng = rng
        self.by_hand.add('motion')
        self.goals: dict[str, float] = {}
        self.fails: dict[str, bool] = {}

    def execute(self, request: Any, result: Any) -> Any:
        motion = super().execute(request, result)
        if request.goal_id not in self.goals and request.resume:
            self.clock.call_later(0.1, lambda: motion.end('not_running'))
            return motion
        end = self.goals.setdefault(
            request.goal_id, self.clock.time + self.rng.choice([0.5, 1.0, 3.0]))
        self.clock.call_later(max(0.0, end - self.clock.time), motion.end)
        return motion

    def confirm(self, request: Any, result: Any) -> Any:
        name = request.action_id
        if request.name == 'confirm' and self.fails.setdefault(name, self.rng.random() < 0.35):
            self.verdicts[name, 'confirm'] = ['refuted']
        return super().confirm(request, result)


class RandomPlanner:
    """Answers what chance says, after a while."""

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self.clock = clock
        self.rng = rng
        self.count = 0

    def ask_edit(self, run: FlowRun, completed: Any, errors: Any, reply: Any) -> Any:
        kind = self.rng.choice(ANSWERS)
        if kind == 'raise':
            raise RuntimeError('chance')
        answer = {
            'nothing': PlanReply(True), 'finish': PlanReply(True, '- finish: chance'),
            'fail': PlanReply(True, '- fail: chance'), 'nonsense': PlanReply(True, '- ['),
            'wrong': PlanReply(True, '- add: {n: {replaces: nobody}}'),
            'unreachable': PlanReply(unreachable='chance'), 'refuse': PlanReply(message='no'),
            'replace': PlanReply(True, self.replacement(run))}.get(kind)
        return self.clock.call_later(
            self.rng.choice([0.0, 0.5, 2.0]),
            lambda: reply(answer) if answer is not None else None)

    def replacement(self, run: FlowRun) -> str:
        """Return an edit that replaces an action that has failed; '' if there is none."""
        failed = [name for name, outcome in run.dependencies.outcomes.items()
                  if outcome.value != 'succeeded' and name not in run.replaced]
        if not failed:
            return ''
        self.count += 1
        after = self.rng.sample(list(run.flow.actions), 1) if self.rng.random() < 0.3 else []
        return json.dumps([{'add': {f'r{self.count}': {
            **GOAL, 'replaces': self.rng.choice(failed), 'after': after}}}])


class Case:
    """One random flow with its planner, through all its lives."""

    def __init__(self, seed: int, path: Path, *, with_people: bool = False) -> None:
        self.with_people = with_people
        self.rng = random.Random(seed)
        self.path = path
        self.clock = Clock()
        self.robot = RandomRobot(self.clock, self.rng)
        self.planner = RandomPlanner(self.clock, self.rng)

    def process(self) -> Process:
        process = Process(self.path, self.clock, self.robot)
        process.orchestrator.steering.planner = self.planner
        process.orchestrator.steering.limit = 20.0
        return process

    def order(self, process: Process, run: FlowRun) -> None:
        """Give a random order, as people do; what is refused changes nothing."""
        before = run.flow.text_now(), process.journal.last_seq()
        control, name = process.orchestrator.control, self.rng.choice(list(run.flow.actions))
        verb = self.rng.choice(['pause', 'resume', 'resume', 'skip', 'retry', 'edit', 'cancel'])
        try:
            if verb in ('skip', 'retry'):
                getattr(control, verb)('f', name, 'ann')
            elif verb == 'edit':
                self.planner.count += 1
                process.orchestrator.edit('f', parse_edit(self.rng.choice([
                    f'- update: {{{name}: {{priority: 3}}}}', f'- remove: [{name}]',
                    json.dumps([{'add': {f'p{self.planner.count}': {**GOAL, 'after': name}}}]),
                    self.planner.replacement(run) or '- clear: true'])), 'ann', '')
            elif verb == 'cancel':
                process.orchestrator.fire('f', name, 'cancel', actor='ann', cause='why not')
            else:
                getattr(control, verb)('f', 'ann')
        except LifecycleError:
            assert before == (run.flow.text_now(), process.journal.last_seq())

    def text(self) -> str:
        actions: dict[str, Any] = {}
        for index in range(self.rng.randint(1, 6)):
            needs = self.rng.sample(list(actions), min(len(actions), self.rng.choice([0, 1, 2])))
            actions[f'a{index}'] = {
                **GOAL, 'after': {name: self.rng.choice(KINDS) for name in needs}}
        return json.dumps({'flow': 'f', 'steering': True, 'actions': actions})

    def run(self) -> None:
        """Run it to its end, with crashes, and check what must be so."""
        process = self.process()
        run = process.submit(self.text())
        for _ in range(600):
            self.clock.run(self.rng.choice([0.0, 0.1, 0.5, 2.0]))
            if run.ended:
                break
            event = self.rng.random()
            if self.with_people and event > 0.8:
                self.order(process, run)
            if event < 0.12:
                before = _read(run)
                process.kill()
                process = self.process()
                (run,) = process.orchestrator.restore()
                assert _read(run) == before
        if run.control.paused and not run.ended:
            process.orchestrator.control.resume('f', 'ann')
            self.clock.run(200.0)
        assert run.ended, 'the flow hangs'
        self.check_end(run)
        self.check_rows(process)
        process.journal.close()

    @staticmethod
    def check_end(run: FlowRun) -> None:
        outcomes = {action.action_id: action.outcome.value if action.outcome else ''
                    for action in run.actions}
        assert '' not in outcomes.values()
        standing = {name: how for name, how in outcomes.items() if name not in run.replaced}
        assert all(outcomes[name] != 'succeeded' for name in run.replaced)
        assert all(run.flow.actions[new].replaces == old for old, new in run.replaced.items())
        good = {'succeeded'} | ({'skipped'} if run.ending else set())
        for name in run.waived:
            standing.pop(name, None)
        fine = set(standing.values()) <= good and not (run.ending and run.ending.verb == 'fail')
        assert run.state == ('FINISH' if fine else 'FAIL')
        assert run.summary['replaced'] == len(run.replaced)
        for name, action in run.flow.actions.items():
            if outcomes[name] == 'succeeded':
                assert all('succeeded' in (outcomes[needed], outcomes[run.stand_in(needed)])
                           or {needed, run.stand_in(needed)} & set(run.waived)
                           for needed, kind in action.after.items() if kind == 'success')

    @staticmethod
    def check_rows(process: Process) -> None:
        """Nothing starts or is skipped between question and answer."""
        asked = ended = False
        for row in process.journal.rows(flow_id='f'):
            if row.event in ('steering_asked', 'steering_answered'):
                asked = row.event == 'steering_asked'
            ended = ended or row.event == 'edited' and ('"' not in row.data['edit'])
            if asked and not ended:
                assert row.event != 'start', row
                assert row.data.get('outcome') != 'skipped' or row.actor == 'ann', row


def _read(run: FlowRun) -> dict[str, Any]:
    """Return what a restart must read back."""
    return {
        'flow': run.flow.text_now(), 'replaced': run.replaced, 'ending': run.ending,
        'edits': run.edits,
        'after': {name: dict(run.flow.actions[name].after) for name in run.flow.actions},
        'ended': {runner.action.action_id: runner.action.outcome for runner in run.runners.made()
                  if runner.action.state is ActionState.TERMINATED}}


@settings(max_examples=ROUNDS,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_a_steered_flow_always_ends_as_its_rows_say(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    Case(seed, tmp_path_factory.mktemp('flow') / 'journal').run()


@settings(max_examples=ROUNDS,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_orders_of_people_in_between_change_nothing_of_that(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    Case(seed, tmp_path_factory.mktemp('flow') / 'journal', with_people=True).run()
