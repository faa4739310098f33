# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A motion ends, and its joint moves on: nothing is sent that needs it, whoever is killed meanwhile.

STANDSTILL_RUNS runs, each of another kind; STANDSTILL_SEED (printed) draws kinds and moments, and
with it `-k run_NUMBER-` repeats one run alone. What the robot itself has logged is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from math import inf
import os
from pathlib import Path
import random
import time
from typing import Any

from action_lifecycle_msgs.msg import SafetyState
from action_lifecycle_msgs.srv import ClearStop, Respond
from action_msgs.srv import CancelGoal
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
import pytest
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .judge import Case, judge, read_journal, Violation
from .orders_rig import FACTS, OrdersRig, VICTIMS
from .robot_process import PARTS
from .system import System

RUNS = int(os.environ.get('STANDSTILL_RUNS', '6'))
SEED = os.environ.get('STANDSTILL_SEED', '1')

SECONDS = 1.2  #: s for which a motion moves that nothing ends
HALF = SECONDS / 2  #: s after the start, when it ends
OBSERVED = 8.0  #: s after its end; then a person cancels what waits
DIES, CANCEL, TIMEOUT, OTHER_CANCELS, OTHER_GOAL = 'die', 'cancel', 'timeout', 'others', 'preempt'
ENDS: dict[str, dict[str, Any] | str] = {  # the fault of the motion, or what happens to it
    'aborted': {'end': 'aborted'},
    'succeeded short of the goal': {'end': 'succeeded'},
    'refuted': {'end': 'succeeded', 'share': 1.0},
    'canceled by another client': OTHER_CANCELS,
    'preempted by another client': OTHER_GOAL,
    'canceled': CANCEL,
    'out of time': TIMEOUT,
    'server died': DIES,
}
AFTER = ('stands', 'stops late', 'moves on')
GIVEN = ('in the flow', 'in the facts file', 'nowhere')
NEXT = ('a retry', 'a fallback', 'another action', 'another flow')
BASE, MAST = 'left', 'right'
STANDS = f'{FACTS}stopped:\n' + ''.join(
    f'  {PARTS[part][0]}: {{condition: {part}_speed < 0.001, hold: 0.1}}\n'
    for part in (BASE, MAST))
BY_WORD = {'sent in motion', 'two at once', 'given away', 'outlives its end'}
"""What a server's word permits where nothing shows a standstill."""


@dataclass(frozen=True)
class Plan:
    """What happens in a run."""

    number: int
    end: str
    after: str
    given: str
    seconds: float  #: for which it moves after its end
    follows: str
    idempotent: bool
    foreign_goals: str
    answer: str  #: of a person who is asked, the first three times
    victim: str = ''
    killed_at: float = 0.0  #: s after the end
    back: float = 0.0  #: s until a server that died is back

    def __str__(self) -> str:
        kill = f'{self.victim} killed at {self.killed_at:+.2f} s' if self.victim else 'no kill'
        return f'{self.end}, {self.after}, `stopped` {self.given}, {kill}, then {self.follows}'


def plans() -> Iterator[Any]:
    kinds = list(product(ENDS, AFTER, GIVEN, (False, True)))
    random.Random(SEED).shuffle(kinds)
    for number in range(RUNS):
        end, after, given, killed = kinds[number % len(kinds)]
        rng = random.Random(f'{SEED}/{number}')
        yield pytest.param(Plan(
            number, end, after, given,
            {'stands': 0.0, 'stops late': round(rng.uniform(1.0, 2.0), 2), 'moves on': inf}[after],
            rng.choice(NEXT), rng.random() < 0.5, rng.choice(('ask', 'wait', 'fail')),
            rng.choice(('retry', 'give_up')), rng.choice(list(VICTIMS)) if killed else '',
            rng.uniform(-0.4, 1.5), rng.uniform(0.0, 1.0)), id=f'run_{number}-')


class Rig(OrdersRig):
    """The nodes as robots have them, and another client of the arms."""

    def __init__(self, folder: Path, facts: str) -> None:
        super().__init__(folder, facts)
        self.other = ActionClient(self.node, FollowJointTrajectory, PARTS[BASE][0])
        self.other_cancel = self.node.create_client(
            CancelGoal, f'{PARTS[BASE][0]}/_action/cancel_goal')

    def program(self, name: str) -> list[str]:
        return System.program(self, name)

    def flows_of(self, plan: Plan) -> dict[str, dict[str, Any]]:
        """Return the flows of a run, by id; the first one begins the motion."""
        both = {'resources': [BASE, MAST]}
        go = self.move(BASE, SECONDS, idempotent=plan.idempotent, **both)
        go['motion']['foreign_goals'] = plan.foreign_goals
        go['confirm'].update(within=1.0, hold=0.0)
        mast = self.move(MAST, **both)
        if plan.given != 'in the flow':
            del go['stopped'], mast['stopped']
        if plan.end == 'refuted':
            go['confirm']['condition'] += ' and gripper > 5'
        if plan.end == 'out of time':
            go['motion']['timeout'] = HALF
        if plan.follows == 'a retry':
            go['retry'] = {'times': 1, 'delay': 0.0}
        if plan.follows == 'a fallback':
            go['fallback'] = [{'strategy': 'action', 'motion': mast['motion']}]
        first: dict[str, Any] = {'go': go}
        if plan.follows == 'another action':
            first['mast'] = {**mast, 'after': {'go': 'completion'}}
        flows = {f'run_{plan.number}': first}
        if plan.follows == 'another flow':
            flows[f'run_{plan.number}_other'] = {'mast': mast}
        return flows

    def warned(self, actions: dict[str, Any]) -> bool:
        """Whether `validate` says that a standstill can't be known."""
        path = self.folder / 'flow.yaml'
        path.write_text(self.text({'flow': 'orders', 'actions': actions}))
        told = self.shell('validate', str(path), '--facts', str(self.folder / 'facts.yaml'))
        assert told.returncode == 0, told
        return 'stopped' in told.stdout + told.stderr

    def end_motion(self, plan: Plan, flow: str) -> None:
        """Bring its end about, if the robot does not."""
        how = ENDS[plan.end]
        if how == DIES:
            self.robot.tell('die', part=BASE, seconds=plan.seconds, back=plan.back)
        elif how == CANCEL:
            self.cancel(flow)
        elif how == OTHER_CANCELS:
            self.other_cancel.call_async(CancelGoal.Request())
        elif how == OTHER_GOAL:
            self.robot.tell('fault', part=BASE, fault='drive_on', preempts=True,
                            end='succeeded', seconds=plan.seconds)
            point = JointTrajectoryPoint(
                positions=[-0.1], time_from_start=Duration(nanosec=400_000_000))
            self.other.send_goal_async(FollowJointTrajectory.Goal(
                trajectory=JointTrajectory(points=[point])))

    def execute(self, plan: Plan) -> list[Violation]:
        """Do a run to its end, with everything still and unlocked; returns what must not be."""
        lines, rows = len(self.robot.log()), len(self.rows())
        how = ENDS[plan.end]
        if isinstance(how, dict):
            self.robot.tell('fault', part=BASE, fault='drive_on', times=0,
                            seconds=plan.seconds, **how)
        elif how not in (DIES, OTHER_GOAL):
            self.robot.tell('fault', part=BASE, fault='creep', times=0, seconds=plan.seconds)
        flows = self.flows_of(plan)
        first, *others = flows
        assert self.warned(flows[first]) is (plan.given == 'nowhere')
        self.begin(first, flows[first])
        self.until_moving(BASE)
        began = time.monotonic()
        for flow in others:
            self.begin(flow, flows[flow])
        events = [(HALF, lambda: self.end_motion(plan, first))]
        if plan.victim:
            events.append((HALF + plan.killed_at, lambda: self.kill_and_restart(plan.victim)))
        for at, happen in sorted(events, key=lambda event: event[0]):
            self.until(lambda at=at: time.monotonic() >= began + at, 20.0, 'the moment')
            happen()
        self.until(self.ready, 40.0, 'the nodes are ready')
        limit = time.monotonic() + OBSERVED
        answers: dict[str, str] = {}
        self.until(lambda: self.over(plan, flows, answers) or time.monotonic() > limit,
                   OBSERVED + 10.0, 'the end')
        for flow in flows:
            self.cancel(flow)
        self.until(lambda: self.over(plan, flows, answers), 40.0, 'the flows end')
        moves, locked = self.robot.running(), self.locked()
        self.robot.tell('release')
        self.until_still()
        self.unlock()
        return self.judged(plan, lines, rows, bool(moves) and not locked)

    def kill_and_restart(self, victim: str) -> None:
        for name in VICTIMS[victim]:
            self.processes[name].kill()
        self.restart(victim)

    def cancel(self, flow: str) -> None:
        """Cancel a flow, unless it has ended."""
        def done() -> bool:
            return self.has_ended(flow) or any(
                row.event == 'cancel_flow' for row in self.rows(flow_id=flow))
        if not done():
            self.repeat(lambda: self.cancel_flow(flow), done, f'the cancel of {flow}')

    def has_ended(self, flow: str) -> bool:
        return any(row.final for row in self.rows(flow_id=flow, kind='flow'))

    def over(self, plan: Plan, flows: dict[str, Any], answers: dict[str, str]) -> bool:
        """Answer what is asked; returns whether all flows have ended."""
        for request in self.requests:
            if request.flow_id in flows and request.id not in answers:
                answers[request.id] = plan.answer if len(answers) < 3 else 'give_up'
                self.call(Respond, 'respond', id=request.id, answer=answers[request.id])
        return all(map(self.has_ended, flows))

    def unlock(self) -> None:
        """See what was locked, and unlock it."""
        def clear() -> bool:
            return not self.locked() and self.safety is not None \
                and self.safety.state == SafetyState.READY
        if not clear():
            self.repeat(lambda: self.call(ClearStop, 'clear_stop', reason='looked'), clear,
                        'the unlock')

    def judged(self, plan: Plan, lines: int, rows: int, free: bool) -> list[Violation]:
        """Return what must not be; `free`: it moved at the end, and was not locked."""
        of_run = read_journal(self.journal_path)[rows:]
        case = Case(of_run, self.robot.log()[lines:])
        ours = [one for one in judge(case) if one.kind not in ('sequence', 'unknown motion')]
        # Another client that comes when ours has ended does not concern us.
        if free and (plan.end != 'preempted by another client' or any(
                line['event'] == 'aborted' for line in case.lines)):
            ours.append(Violation('outlives its end', 'it moves and is not locked'))
        by_word = [] if plan.given != 'nowhere' or plan.end == 'server died' \
            else [one for one in ours if one.kind in BY_WORD]
        sent = sum(line['event'] == 'asked' for line in case.lines)
        ends = sorted(f"{row.action_id}: {row.data.get('outcome')}" for row in of_run
                      if row.kind == 'transition' and row.final)
        print(f'run {plan.number}: {plan}: {sent} sent, {", ".join(ends)}'
              f'{"; locked" if any(row.event == "lock" for row in of_run) else ""}'
              f'{"; by the word of a server: " if by_word else ""}'
              f'{", ".join(sorted({one.kind for one in by_word}))}', flush=True)
        return [one for one in ours if one not in by_word]


@pytest.fixture(scope='module')
def rigs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Rig]]:
    """Give a function that returns the rig on such facts; a new one after a failure."""
    started: dict[str, list[Rig]] = {FACTS: [], STANDS: []}

    def rig(facts: str) -> Rig:
        if not started[facts] or not started[facts][-1].sound:
            started[facts].append(Rig(tmp_path_factory.mktemp('rig'), facts))
        return started[facts][-1]

    yield rig
    for one in (*started[FACTS], *started[STANDS]):
        one.close()


@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.parametrize('plan', plans())
def test_nothing_is_sent_while_it_moves(
    rigs: Callable[[str], Rig], plan: Plan
) -> None:
    print(f'STANDSTILL_SEED={SEED} {plan!r}')
    rig = rigs(STANDS if plan.given == 'in the facts file' else FACTS)
    rig.sound = False
    violations = rig.execute(plan)
    assert not violations, '\n'.join(map(str, violations))
    rig.sound = True
