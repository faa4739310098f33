# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Random orders of people beside edits, failures, ends and kills of the process.

At each change of an action: nothing of a paused flow begins, nothing of a held one moves, nothing
starts at a breakpoint. After each step the journal, read back, gives what is in memory, and tells
what each action waits for. Once the flow is resumed it ends. CONTROL_ROUNDS (60): how many random
flows are tried.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
import random
from typing import Any

from action_lifecycle.dialogue import OperatorDesk
from action_lifecycle.documents.errors import LifecycleError, TransitionNotAllowed
from action_lifecycle.flow import FlowRun, JournalRecorder, Orchestrator, parse_edit
from action_lifecycle.flow.control.orders import OrderRefused
from action_lifecycle.flow.restart.restore import Restored
from action_lifecycle.journal import Projection, verify_journal
from action_lifecycle.lifecycle.ports import MotionRequest
from action_lifecycle.lifecycle.states import ActionOutcome, ActionState
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from .robot import Clock, GRAPH, Killed, Motion, Process, Question, Robot

ROUNDS = int(os.environ.get('CONTROL_ROUNDS', '60'))
BEGINS = ('start', 'retry', 'apply_fallback', 'repeat_motion', 'resume')
STOPPED = 4.0
"""Time (s) after which a motion has stopped, or was given up."""
KINDS = ('success', 'success', 'completion', 'unconditional')


class SlowRobot(Robot):
    """A robot of which each goal ends once; what is canceled stops, seldom unseen."""

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        super().__init__(clock)
        self.rng = rng
        self.by_hand.add('motion')
        self.results: dict[str, tuple[str, bool]] = {}  #: by goal id: outcome, stopped
        self.moving: dict[str, Motion] = {}
        self.fails = 0.25

    def execute(self, request: MotionRequest, result: Any) -> Any:
        motion = super().execute(request, result)
        goal = request.goal_id
        motion.cancel = lambda: self._stop(goal)  # type: ignore[method-assign]
        if goal in self.results:
            outcome, stopped = self.results[goal]
            self.clock.call_later(0.1, lambda: motion.end(outcome, stopped=stopped))
        elif goal in self.moving:
            self.moving[goal] = motion
        elif request.resume:  # it never arrived
            self.results[goal] = 'not_running', True
            self.clock.call_later(0.1, lambda: motion.end('not_running'))
        else:
            self.moving[goal] = motion
        if goal in self.moving:
            outcome = 'failed' if self.rng.random() < 0.1 else 'executed'
            self.clock.call_later(
                self.rng.choice([0.3, 1.0, 4.0, 30.0]), lambda: self._end(goal, outcome, True))
        return motion

    def _stop(self, goal: str) -> None:
        stopped = self.rng.random() < 0.9
        self.clock.call_later(
            self.rng.choice([0.0, 0.2, 1.0]), lambda: self._end(goal, 'canceled', stopped))

    def _end(self, goal: str, outcome: str, stopped: bool) -> None:
        motion = self.moving.pop(goal, None)
        if motion is not None:
            self.results[goal] = outcome, stopped
            motion.end(outcome, stopped=stopped)

    def confirm(self, request: Any, result: Any) -> Any:
        verdicts = self.verdicts.setdefault((request.action_id, request.name), [])
        if not verdicts and self.rng.random() < self.fails:
            verdicts.append('refuted')
        if request.name != 'until' or self.rng.random() < 0.5:
            return super().confirm(request, result)
        question = Question(request, result, self.clock)
        verdict = verdicts.pop(0) if verdicts else 'confirmed'
        self.clock.call_later(
            5.0, lambda: None if question.canceled else question.answer(verdict))
        return question


class Watched(Process):
    """A process that looks at each change of an action, and notes what must not be."""

    def __init__(self, *given: Any) -> None:
        self.wrong: list[str] = []  # an exception would make the action fail, not the test
        super().__init__(*given)

    def _changed(self, action: Any, row: Any) -> None:
        super()._changed(action, row)
        run = self.orchestrator.runs.get(action.flow_id)
        if run is None:  # the node halts
            return
        control = run.control
        if row.event == 'start' and not set(run.flow.actions) & set(action.spec.after) <= set(
                run.dependencies.outcomes):
            self.wrong.append(f'{action.action_id} does not wait for {action.spec.after}')
        if control.paused and row.event in BEGINS or control.hold and row.event == 'execute' \
                or row.event == 'start' and action.action_id in control.breakpoints:
            self.wrong.append(f'{row.event} of {action.action_id}: {control}')
        if row.event == 'fail' and row.data['error_code'] == 'INTERNAL':
            self.wrong.append(f'{action.action_id}: {row.cause}')


class Case:
    """One random flow."""

    def __init__(self, seed: int, path: Path) -> None:
        self.rng = random.Random(seed)
        self.path = path
        self.clock = Clock()
        self.robot = SlowRobot(self.clock, self.rng)
        self.process = Watched(path, self.clock, self.robot)
        self.count = 0
        self.held_at = 0.0  #: when the flow was held, or restarted while it was
        self.given: list[str] = []

    def raw(self, others: list[str]) -> dict[str, Any]:
        rng = self.rng
        raw: dict[str, Any] = {
            'motion': {'server': 's', 'type': 'a/action/B'}, 'confirm': 'z > 0',
            'stop_timeout': 2.0, 'resources': rng.sample(['arm', 'base'], rng.choice([0, 1, 1])),
            'on_resume': rng.choice(['ask', 'retry', 'confirm']),
            'retry': {'times': rng.choice([0, 1]), 'delay': rng.choice([0.1, 5.0])},
            'after': {name: rng.choice(KINDS) for name in rng.sample(
                others, min(len(others), rng.choice([0, 1, 1, 2])))}}
        if rng.random() < 0.3:
            raw['require'] = 'z < 9'
        if rng.random() < 0.3:
            raw['fallback'] = rng.choice([['ask'], [{'strategy': 'retry'}]])
        if rng.random() < 0.1:
            raw['timeout'] = 6.0
        if rng.random() < 0.2:
            raw['repeat'] = {'times': 2, 'delay': rng.choice([0.1, 3.0]),
                             **rng.choice([{}, {'until': 'z > 5'}])}
        return raw

    def text(self) -> str:
        actions: dict[str, Any] = {}
        for number in range(self.rng.randint(1, 6)):
            actions[f'a{number}'] = self.raw(list(actions))
        return json.dumps({'flow': 'f', 'max_motions': 3, 'actions': actions})

    def order(self, run: FlowRun) -> None:
        """Give a random order; one that is refused changes nothing."""
        rng, control = self.rng, self.process.orchestrator.control
        name = rng.choice(list(run.flow.actions))
        who = rng.choice(['ann', 'ben'])
        choice = rng.choice(['pause', 'hold', 'resume', 'resume', 'skip', 'retry', 'retry', 'set',
                             'set', 'clear', 'pass', 'edit', 'cancel'])
        before = self.process.journal.last_seq()
        try:
            if choice in ('pause', 'hold'):
                control.pause('f', who, hold=choice == 'hold')
            elif choice == 'resume':
                control.resume('f', who)
            elif choice == 'skip':
                control.skip('f', name, who)
            elif choice == 'retry':
                control.retry('f', name, who)
            elif choice == 'set':
                control.set_breakpoint('f', name, who)
            elif choice == 'clear':
                control.clear_breakpoint('f', name, who)
            elif choice == 'pass':
                control.resume('f', who, action_id=name)
            elif choice == 'edit':
                self.count += 1
                step: dict[str, Any] = {'remove': [name]} if rng.random() < 0.5 else {
                    'add': {f'n{self.count}': self.raw(list(run.flow.actions))}}
                self.process.orchestrator.edit('f', parse_edit(json.dumps([step])), who, 'why not')
            elif rng.random() < 0.3:
                self.process.orchestrator.fire('f', name, 'cancel', actor=who, cause='no')
        except OrderRefused:
            assert self.process.journal.last_seq() == before
        except TransitionNotAllowed:  # it has ended
            assert choice == 'cancel' and self.process.journal.last_seq() == before
            assert run.runners[name].action.state is ActionState.TERMINATED
        except LifecycleError:
            assert choice == 'edit' and self.process.journal.last_seq() == before
        else:
            self.given.append(choice)

    def people(self) -> None:
        """Answer questions and unlock what is locked."""
        for request in list(self.process.desk.open.values()):
            self.process.desk.respond(
                request.id, self.rng.choice(request.question.options), 'ann')
        locked = list(self.process.orchestrator.resources.locked)
        if locked:
            self.process.orchestrator.clear_locks(locked, 'ann', 'looked')

    def compare(self, run: FlowRun) -> None:
        """Read the journal back and compare it with the memory."""
        process = self.process
        assert process.wrong == []
        if not run.control.hold:
            self.held_at = 0.0
        elif not self.held_at:
            self.held_at = self.clock.time
        elif self.clock.time > self.held_at + STOPPED:
            moving = {motion.request.action_id for motion in self.robot.moving.values()}
            assert not moving & {name for name in run.at_work
                                 if run.runners[name].action.state is ActionState.EXECUTING_MOTION}
        recorder = JournalRecorder(
            process.journal, self.clock, self.clock.call_soon, lambda action, row: None)
        again = Restored(Orchestrator(
            GRAPH, recorder, self.robot, self.clock, OperatorDesk(self.clock, lambda: None),
            self.robot, lambda run: None, self.robot), 'f').run
        assert list(again.flow.actions) == list(run.flow.actions)
        live, read = run.control, again.control
        assert (live.paused, live.paused_by, live.hold, live.paused_seq) == (
            read.paused, read.paused_by, read.hold, read.paused_seq)
        assert live.skipped == read.skipped
        for name in run.flow.actions:
            one, other = run.runners[name].action, again.runners[name].action
            assert (one.state, one.outcome, one.attempt, one.tries, one.skip_requested) == (
                other.state, other.outcome, other.attempt, other.tries, other.skip_requested), name
            if one.state is not ActionState.TERMINATED:  # else the end may not be processed yet
                assert live.breakpoints.get(name) == read.breakpoints.get(name), name
                assert (name in live.again) == (name in read.again), name

    def compare_waits(self, run: FlowRun) -> None:
        """Compare what actions wait for with what a reader of the journal sees."""
        read = Projection(self.process.journal, GRAPH)
        read.update()
        for action in run.actions:
            if action.state is not ActionState.TERMINATED:
                found = read.get('f', action.action_id)
                assert (found.blocked_reason if found is not None else '') == \
                    self.process.orchestrator.blocked_for(action), action.action_id

    def restart(self) -> FlowRun | None:
        """Kill the process and start the next; returns None if the flow has ended."""
        self.process.kill()
        # What the robot does goes on, and nobody is told.
        for goal in list(self.robot.moving):
            if self.rng.random() < 0.5:
                del self.robot.moving[goal]
                self.robot.results[goal] = 'executed', True
        self.process = Watched(self.path, self.clock, self.robot)
        self.held_at = 0.0
        restored = self.process.orchestrator.restore()
        if not restored:
            assert list(self.process.journal.rows(kind='flow'))[-1].final
        return restored[0] if restored else None

    def activate_again(self) -> FlowRun | None:
        """Deactivate the node, then activate it; returns None if the flow has ended."""
        process, halted = self.process, []
        process.orchestrator.halt(lambda: halted.append(True))
        while not halted:
            self.clock.run(0.1)
        process.orchestrator = Orchestrator(
            GRAPH, process.orchestrator.recorder, self.robot, self.clock, process.desk, self.robot,
            lambda run: None, self.robot)
        self.held_at = 0.0
        restored = process.orchestrator.restore()
        return restored[0] if restored else None

    def run(self) -> None:
        run: FlowRun | None = self.process.submit(self.text())
        for _ in range(self.rng.randint(5, 40)):
            assert run is not None
            try:
                self.clock.run(self.rng.choice([0.0, 0.1, 0.5, 2.0, 8.0]))
                if run.ended:
                    break
                self.compare_waits(run)
                run = self.step(run)
            except Killed:
                run = self.restart()
            if run is None or run.ended:
                break
            self.compare(run)
        else:
            run = self.restart()  # it is not killed any more
        if run is not None:
            self.finish(run)

    def step(self, run: FlowRun) -> FlowRun | None:
        """Do one of the things that happen; raises `Killed` now or later."""
        chance = self.rng.random()
        if chance < 0.25:
            self.process.die_after(self.rng.randint(1, 3))
        if chance < 0.65:
            self.order(run)
        elif chance < 0.75:
            return self.restart() if self.rng.random() < 0.5 else self.activate_again()
        elif chance < 0.9:
            self.people()
        return run

    def finish(self, run: FlowRun) -> None:
        """Resume all that people hold; then the flow must end."""
        control = self.process.orchestrator.control
        for _ in range(200):
            if run.ended:
                break
            control.resume('f', 'ann')
            for name in list(run.control.breakpoints):
                control.clear_breakpoint('f', name, 'ann')
            self.people()
            self.clock.run(10.0)
        assert self.process.wrong == []
        assert run.ended, ('the flow hangs', self.given, [
            (action.action_id, action.state, run.blocked_by(action.action_id))
            for action in run.actions])
        waived = set(run.waived)
        good = all(action.outcome is ActionOutcome.SUCCEEDED or action.action_id in waived
                   for action in run.actions)
        assert run.state == ('FINISH' if good else 'FAIL')
        assert run.summary['skipped_by_people'] == len(waived)
        counts = {outcome.value: 0 for outcome in ActionOutcome}
        for action in run.actions:
            assert action.outcome is not None
            counts[action.outcome.value] += 1
        assert {name: run.summary[name] for name in counts} == counts
        self.check_orders()
        self.process.journal.close()
        assert verify_journal(self.path) == []

    def check_orders(self) -> None:
        """Look in the journal for orders that were not carried out, or only in part."""
        skipped: set[str] = set()
        retried: set[str] = set()
        canceled: set[str] = set()
        for row in self.process.journal.rows(flow_id='f'):
            name = row.action_id or str(row.data.get('action', ''))
            if row.event == 'skipped':
                skipped.add(name)
            elif row.event == 'retried':
                again = row.data.get('actions', [name])
                skipped -= set(again)
                retried |= set(again)
            elif row.event == 'cancel_action':
                canceled.add(name)
            elif row.event == 'edited':
                left = row.data['names']
                skipped -= set(left)
                retried -= set(left)
            elif row.kind == 'transition':
                if row.event in ('reassign', 'retry'):
                    canceled.discard(name)
                elif name in retried:
                    assert row.final and name in canceled | skipped or row.event == 'fail', row
                retried.discard(name)
                assert name not in skipped or row.event in ('fail', 'terminate'), row
                if row.final and name in skipped:
                    assert row.data['outcome'] == 'skipped' or name in canceled, row
        assert not retried, retried


@settings(max_examples=ROUNDS, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_orders_beside_everything_else(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    Case(seed, tmp_path_factory.mktemp('control') / 'journal').run()
