# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
Random flows with nested flows, loops and repetition, killed, paused and canceled at random rows.

The reference works out from the flow and the failures which motions there are. Without a cancel,
each is executed once, whatever the process goes through, and the flow ends as the reference says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
import contextlib
from functools import partial
import itertools
import json
from pathlib import Path
import tempfile
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from hypothesis import given, settings
from hypothesis import strategies as st

from .robot import Clock, Killed, Process, Robot

LEAF = {'motion': {'server': 'arm', 'type': 'a/action/B'}, 'confirm': 'z > 0'}


@st.composite
def actions(draw: Any, depth: int) -> dict[str, Any]:
    """Draw the actions of a flow: leaves, loops and flows, some after others, some repeated."""
    found: dict[str, Any] = {}
    for name in [f'n{number}' for number in range(draw(st.integers(1, 3)))]:
        kind = draw(st.sampled_from(['leaf', 'leaf', 'loop', 'flow'] if depth else ['leaf']))
        action: dict[str, Any] = dict(LEAF)
        if kind == 'flow':
            action = {'flow': {'flow': {
                'flow': 'inner', 'max_motions': draw(st.integers(1, 3)),
                'actions': draw(actions(depth - 1))}}}
        elif kind == 'loop':
            body = draw(actions(0)) if draw(st.booleans()) and depth else None
            work = {'flow': {'flow': {'flow': 'inner', 'actions': body}}} if body else dict(LEAF)
            action = {**work, 'for_each': {'part': draw(st.lists(
                st.sampled_from('abc'), max_size=3, unique=True))},
                'in_order': draw(st.booleans())}
        if draw(st.booleans()) and kind != 'flow':
            action['resources'] = ['arm']
        if draw(st.integers(0, 4)) == 0:
            action['repeat'] = draw(st.integers(2, 3))
        if found and draw(st.booleans()):
            action['after'] = draw(st.sampled_from(sorted(found)))
        found[name] = action
    return found


def expected(
    flow: dict[str, Any], path: str, failing: set[str], runs: Counter[str]
) -> bool:
    """Add how often each motion of a flow is executed; returns whether the flow succeeds."""
    good: dict[str, bool] = {}
    for name, action in flow.items():
        if good.get(action.get('after', ''), True):
            good[name] = _repeated(action, f'{path}/{name}', failing, runs)
        else:
            good[name] = False
    return all(good.values())


def _repeated(action: dict[str, Any], path: str, failing: set[str], runs: Counter[str]) -> bool:
    for number in range(1, action.get('repeat', 1) + 1):
        if not _done(action, path if number == 1 else f'{path}.{number}', path, failing, runs):
            return False
    return True


def _done(
    action: dict[str, Any], path: str, leaf: str, failing: set[str], runs: Counter[str]
) -> bool:
    if 'for_each' in action:
        body = {key: value for key, value in action.items()
                if key not in ('for_each', 'in_order', 'repeat', 'after')}
        good = True
        for element in action['for_each']['part']:
            if good or not action['in_order']:
                inner = f'{path}/{element}'
                good = _done(body, inner, inner, failing, runs) and good
        return good
    if 'flow' in action:
        return expected(action['flow']['flow']['actions'], path, failing, runs)
    runs[leaf] += 1
    return leaf.rpartition('/')[2] not in failing


class Life:
    """A flow through several processes on one journal; motions are executed by a stepped robot."""

    def __init__(self, folder: Path, failing: set[str]) -> None:
        self.clock = Clock()
        self.robot = Robot(self.clock)
        self.failing = failing
        self.path = folder / 'journal'
        self.process: Process | None = None
        self.robot.confirm = self._confirm  # type: ignore[method-assign]
        self._inner = Robot.confirm

    def _confirm(self, request: Any, result: Any) -> Any:
        if request.action_id in self.failing and request.name == 'confirm':
            self.robot.verdicts[request.action_id, 'confirm'] = ['refuted']
        return self._inner(self.robot, request, result)

    def begin(self, rows: int) -> Process:
        """Start a process that dies after so many rows (0: never)."""
        if self.process is not None:
            self.process.kill()
        self.process = Process(self.path, self.clock, self.robot)
        if rows:
            self.process.die_after(rows)
        return self.process

    def live(self, work: Any) -> bool:
        """Do something, then let time pass; returns whether the process survives."""
        try:
            work()
            self.clock.run(2000.0)
        except Killed:
            return False
        return True


def orders(process: Process, ordered: str) -> None:
    """Pause and resume, or cancel, 1.5 s after the start."""
    with contextlib.suppress(LifecycleError):  # it has ended
        if ordered == 'cancel':
            process.orchestrator.cancel('f', 'anna', 'enough')
        elif ordered:
            process.orchestrator.control.pause('f', 'anna', hold=ordered == 'hold')
            process.clock.call_later(3.0, lambda: resume(process))


def begin(process: Process, text: str, ordered: str) -> None:
    process.submit(text)
    process.clock.call_later(1.5, lambda: orders(process, ordered))


def resume(process: Process) -> None:
    with contextlib.suppress(LifecycleError, KeyError):  # it has ended
        process.orchestrator.control.resume('f', 'anna')


def restore(process: Process) -> None:
    process.orchestrator.restore()
    resume(process)


def executed(robot: Robot) -> Counter[str]:
    """Return how often each motion was executed, by the path of its action."""
    goals = {(motion.request.goal_id, f'{motion.request.flow_id}/{motion.request.action_id}')
             for motion in robot.motions}
    return Counter(path for _, path in goals)


@settings(deadline=None, max_examples=60)
@given(actions(2), st.sets(st.sampled_from(['n0', 'n1', 'b']), max_size=1),
       st.lists(st.integers(1, 60), max_size=3), st.sampled_from(['', '', 'pause', 'cancel']),
       st.integers(1, 4))
def test_each_motion_is_executed_as_often_as_the_flow_says(
    flow: dict[str, Any], failing: set[str], kills: list[int], ordered: str, limit: int
) -> None:
    text = json.dumps({'flow': 'f', 'max_motions': limit, 'actions': flow})
    with tempfile.TemporaryDirectory() as folder:
        life = Life(Path(folder), failing)
        deaths: Iterator[int] = itertools.chain(kills, itertools.repeat(0))
        process = life.begin(next(deaths))
        lives = life.live(partial(begin, process, text, ordered))
        while not lives:
            process = life.begin(next(deaths))
            lives = life.live(partial(restore, process))
        accepted = [row.to_state for row in process.journal.rows(flow_id='f', kind='flow')]
        found = executed(life.robot)
        runs: Counter[str] = Counter()
        good = expected(flow, 'f', failing, runs)
        if not accepted:
            assert not found
        elif ordered == 'cancel':
            assert all(found[path] <= runs[path] for path in found), (found, runs)
        else:
            assert found == runs
            assert accepted[-1] == ('FINISH' if good else 'FAIL')
        if accepted:
            assert accepted[-1] in ('FINISH', 'FAIL')
        assert not [row for row, _ in process.journal.checked_open_rows('flow')]
        assert not [row for row, _ in process.journal.checked_open_rows('transition')]
        assert not process.orchestrator.resources.holders
        assert not process.orchestrator.dispatcher.scheduler.claims
        nested = [name for name in process.orchestrator.runs if '/' in name]
        assert not nested
        process.kill()
