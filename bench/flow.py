# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
How the cost of running a flow grows with its size.

schedule_exponent: the slope of log(CPU time) over log(actions) for scheduling all actions of flows
    with 100 to 10,000 actions: dependencies, claims, resources, order. Each action depends on two
    others and holds one of eight resources; 1 is linear.
graphlib_exponent: the same slope of graphlib.TopologicalSorter, which does less: the excess over 1
    comes from the machine's caches.
schedule_vs_graphlib: the CPU time of scheduling 10,000 actions divided by that of
    graphlib.TopologicalSorter for the same dependencies.
ready_vs_graphlib: the same without resources and order, which graphlib does not have.
edit_exponent: the slope of log(CPU time) over log(actions in the edit), 1 to 1,000, in a flow of
    10,000 actions: parsed, checked, journaled and applied.
edit_growth: the time of an edit that adds one action between two others in a flow of 10,000
    actions, divided by that in a flow of 100.
edit_ms: the time of that edit in the flow of 10,000 actions.
start_s: CPU time to journal a flow of 10,000 actions and to start the first one.
parse_s: CPU time to read and check its text of 1 MB.
restore_s: CPU time to restore it after a crash, including its text.
held_ms: the maximum CPU time of one callback while the flow is canceled after a crash, with the
    garbage collector configured as in the node.
for_each_vs_written: CPU time from the text of a flow until its first motion starts, with an action
    for_each of 10,000 elements, divided by that of the same actions written out.
for_each_ms: CPU time to make and start the flow of 10,000 elements that are read at run time.
bytes_per_waiting_action: memory of the run, without that of the parsed flow.

Times are the least of several; ratios are taken within a block, the median of the blocks counts.
"""

from __future__ import annotations

from collections.abc import Callable
import gc
import graphlib
import itertools
import math
from pathlib import Path
import random
import statistics
import tempfile
import time
import tracemalloc
from typing import Any

from _report import parser, report
from action_lifecycle.engine import load_graph
from action_lifecycle.flow import JournalRecorder, Orchestrator, parse_flow
from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.flow.scheduling.scheduler import Claim, Dependencies, Scheduler
from action_lifecycle.graphs.packaged import config_file
from action_lifecycle.journal import Journal
from action_lifecycle.lifecycle.states import ActionOutcome
from action_lifecycle.lifecycle.work import WorkRequest
from action_lifecycle.testing.stepped_clock import Later, SteppedClock

SIZES = (100, 215, 464, 1_000, 2_154, 4_642, 10_000)
LARGE = SIZES[-1]
ROUNDS = 15
MOTION = 'motion: {server: s, type: a/action/B}, confirm: z > 0'


def graph(count: int) -> dict[str, dict[str, str]]:
    """Return what each of `count` actions waits for: two of the forty before it."""
    rng = random.Random(count)
    return {f'a{i}': dict.fromkeys(
        (f'a{max(0, i - rng.randint(1, 40))}' for _ in range(2)), 'success') if i else {}
        for i in range(count)}


def schedule(after: dict[str, dict[str, str]]) -> None:
    """Schedule a flow from its first action to its last, with resources."""
    dependencies = Dependencies(after)
    scheduler = Scheduler()
    scheduler.limit('f', 8)
    arrival = itertools.count()
    resources = [frozenset({f'r{i}'}) for i in range(8)]

    def claim(names: list[str]) -> None:
        for name in names:
            number = next(arrival)
            scheduler.add(Claim((0.0, 0, number), ('f', name), resources[number % 8]))

    claim(dependencies.ready())
    at_work: list[str] = []
    ended = 0
    while ended < len(after):
        while (best := scheduler.next()) is not None:
            scheduler.start(best)
            at_work.append(best.key[1])
        for name in at_work:
            scheduler.end('f', name)
            claim(dependencies.ended(name, ActionOutcome.SUCCEEDED)[0])
        ended += len(at_work)
        at_work = []


def only_ready(after: dict[str, dict[str, str]]) -> None:
    """Find the ready actions only, as graphlib does."""
    dependencies = Dependencies(after)
    front = dependencies.ready()
    while front:
        front = [ready for name in front
                 for ready in dependencies.ended(name, ActionOutcome.SUCCEEDED)[0]]


def by_graphlib(after: dict[str, dict[str, str]]) -> None:
    """Find the ready actions with the standard library."""
    sorter = graphlib.TopologicalSorter(after)
    sorter.prepare()
    while sorter.is_active():
        sorter.done(*sorter.get_ready())


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU time (s) of `work`, with older objects frozen as in the node."""
    gc.collect()
    gc.freeze()
    began = time.process_time()
    work()
    took = time.process_time() - began
    gc.unfreeze()
    return took


def slope(points: list[tuple[float, float]]) -> float:
    """Return the exponent that fits these pairs (size, time)."""
    return statistics.linear_regression(
        [math.log(size) for size, _ in points], [math.log(took) for _, took in points]).slope


def schedule_figures() -> dict[str, float]:
    """Return the growth of scheduling, and its time relative to graphlib."""
    exponents = {}
    graphs = {size: graph(size) for size in SIZES}
    for name, job in (('schedule_exponent', schedule), ('graphlib_exponent', by_graphlib)):
        best = dict.fromkeys(SIZES, math.inf)
        for _ in range(ROUNDS):  # all sizes in turn, so that other load affects all of them
            for size, after in graphs.items():
                repeats = max(1, 3_000 // size)

                def work(job: Any = job, after: Any = after, repeats: int = repeats) -> None:
                    for _ in range(repeats):
                        job(after)

                best[size] = min(best[size], cpu(work) / repeats)
        points = [(float(size), took) for size, took in best.items()]
        exponents[name] = slope(points)
        if job is schedule:
            exponents['schedule_us'] = points[-1][1] / LARGE * 1e6
    after = graph(LARGE)
    whole, ready = [], []
    for _ in range(9):
        alone = cpu(lambda: by_graphlib(after))
        whole.append(cpu(lambda: schedule(after)) / alone)
        ready.append(cpu(lambda: only_ready(after)) / alone)
    return {**exponents, 'schedule_vs_graphlib': statistics.median(whole),
            'ready_vs_graphlib': statistics.median(ready)}


class TimedClock(SteppedClock):
    """Records the CPU time (s) of the longest callback."""

    def __init__(self) -> None:
        super().__init__()
        self.longest = 0.0

    def call_later(self, delay: float, callback: Callable[[], None]) -> Later:
        """Call back after `delay` (s), and measure the CPU time of the callback."""
        def timed() -> None:
            began = time.thread_time()
            callback()
            self.longest = max(self.longest, time.thread_time() - began)

        return super().call_later(delay, timed)


class NoRobot:
    """Accepts every motion and ends none."""

    def __init__(self) -> None:
        self.results: list[Any] = []

    def execute(self, request: Any, result: Any) -> Any:
        """Accept a motion."""
        self.results.append(result)
        return self

    def confirm(self, request: Any, result: Any) -> Any:
        """Accept a confirmation."""
        return self

    def cancel(self) -> None:
        """Do nothing."""


class Robotless:
    """An orchestrator on a real journal, without a robot."""

    def __init__(self, folder: Path) -> None:
        self.clock = TimedClock()
        self.robot = NoRobot()
        self.journal = Journal(folder / 'journal')
        recorder = JournalRecorder(
            self.journal, self.clock, self.clock.call_soon, lambda action, row: None)
        recorder.synced = self.clock.call_soon  # type: ignore[method-assign]
        self.orchestrator = Orchestrator(
            load_graph(config_file('graphs/action.yaml')), recorder, self.robot,  # type: ignore
            self.clock, None, None, lambda run: None)  # type: ignore[arg-type]


def text_of(count: int) -> str:
    """Return the YAML of a flow of `count` actions, the first of which never ends."""
    after = graph(count)
    return 'flow: big\nmax_motions: 8\nactions:\n' + ''.join(
        f'  {name}: {{{MOTION}, description: "part {{{{ action }}}}", '
        f'after: [{", ".join(needs)}]}}\n' for name, needs in after.items())


def edit_seconds(run: Robotless, count: int, number: int, size: int) -> float:
    """Return the CPU time (s) of an edit that adds a chain of `count` actions."""
    names = [f'e{number}x{i}' for i in range(count)]
    middle = size // 2
    lines = ''.join(
        f'    {name}: {{{MOTION}, after: {names[i - 1] if i else f"a{middle}"}}}\n'
        for i, name in enumerate(names))
    text = f'- add:\n{lines}- depend: {{a{size - 1}: {names[-1]}}}\n'
    began = time.process_time()
    run.orchestrator.edit('f', parse_edit(text), 'bench', '')
    return time.process_time() - began


def flow_figures() -> dict[str, float]:
    """Return the cost of edits, start and memory of large flows."""
    figures: dict[str, float] = {}
    of_one: dict[int, float] = {}
    numbers = itertools.count()
    for size in (SIZES[0], LARGE):
        with tempfile.TemporaryDirectory() as folder:
            robotless = Robotless(Path(folder))
            text = text_of(size)
            gc.collect()
            began = time.process_time()
            flow = parse_flow(text, 'big.yaml')
            figures['parse_s'] = time.process_time() - began
            gc.collect()
            tracemalloc.start()
            before, _ = tracemalloc.get_traced_memory()
            run = robotless.orchestrator.submit(flow, 'measured')
            after, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            figures['bytes_per_waiting_action'] = (after - before) / size
            robotless.orchestrator.cancel('measured', 'bench', '')
            robotless.clock.run(10.0)
            robotless.clock.longest = 0.0
            robotless.orchestrator.dispatcher.resources.holders.clear()
            began = time.process_time()
            run = robotless.orchestrator.submit(flow, 'f')
            figures['start_s'] = time.process_time() - began
            robotless.clock.run(11.0)
            of_one[size] = min(
                edit_seconds(robotless, 1, next(numbers), size) for _ in range(30))
            if size == LARGE:
                points = []
                for count in (1, 3, 10, 32, 100, 316, 1_000):
                    points.append((float(count), min(
                        edit_seconds(robotless, count, next(numbers), size) for _ in range(3))))
                figures['edit_exponent'] = slope(points[2:])
                assert len(run.flow.actions) > LARGE
                robotless.journal.close()
                began = time.process_time()
                again = Robotless(Path(folder))
                assert again.orchestrator.restore()
                figures['restore_s'] = time.process_time() - began
                gc.freeze()
                again.orchestrator.cancel('f', 'bench', '')
                again.clock.run(10.0)
                figures['held_ms'] = 1e3 * again.clock.longest
                gc.unfreeze()
                again.journal.close()
            else:
                robotless.journal.close()
    figures['edit_growth'] = of_one[LARGE] / of_one[SIZES[0]]
    figures['edit_ms'] = of_one[LARGE] * 1e3
    return figures


def loop_figures() -> dict[str, float]:
    """Return the cost of an action for each element of a list."""
    names = [f'p{number}' for number in range(LARGE)]
    body = 'motion: {server: "arm/{{ part }}", type: a/action/B}, confirm: z > 0'
    head = 'flow: big\nmax_motions: 8\n'
    written = head + 'actions:\n' + ''.join(
        f'  {name}: {{parameters: {{part: {name}}}, {body}}}\n' for name in names)
    loop = f'{head}actions:\n  all: {{for_each: {{part: [{", ".join(names)}]}}, {body}}}\n'
    late = (f'{head}actions:\n  look: {{{MOTION}}}\n  all: {{after: look, '
            f"for_each: {{part: '{{{{ results.look.result }}}}'}}, {body}}}\n")

    def begin(text: str) -> tuple[float, Robotless]:
        with tempfile.TemporaryDirectory() as folder:
            gc.collect()
            began = time.process_time()
            robotless = Robotless(Path(folder))
            robotless.orchestrator.submit(parse_flow(text, 'big.yaml'), 'f')
            robotless.clock.run(0.1)
            took = time.process_time() - began
            assert robotless.robot.results
            robotless.journal.close()
            return took, robotless

    ratios = [begin(loop)[0] / begin(written)[0] for _ in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        robotless = Robotless(Path(folder))
        run = robotless.orchestrator.submit(parse_flow(late, 'big.yaml'), 'f')
        robotless.clock.run(0.1)
        runner = run.runners['all']
        runner.action.seen = {'facts': {}, 'results': {'look': {'result': names}}}
        work = robotless.orchestrator.nested
        spec = run.flow.render('all', seen=runner.action.seen).steps[0]
        began = time.process_time()
        work.start(spec, WorkRequest('f', 'all', 1, 0, '0' * 32, {}), lambda result: None)
        took = time.process_time() - began
        assert len(robotless.orchestrator.runs['f/all'].flow.actions) == LARGE
        robotless.journal.close()
    return {'for_each_vs_written': statistics.median(ratios), 'for_each_ms': took * 1e3}


def main() -> None:
    """Measure and print."""
    arguments = parser(__doc__).parse_args()
    report({**schedule_figures(), **flow_figures(), **loop_figures()}, arguments.json)


if __name__ == '__main__':
    main()
