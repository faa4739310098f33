# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The time of one guarded step, and of a flow of 100 steps, for each library.

machine_us, transitions_us, python_statemachine_us: a transition with one guard, as in engine.py.
py_trees_us: a tick of a sequence of a condition that holds and a behaviour that succeeds; a tree
    has no transitions, and this is its smallest guarded step.
machine_all_hooks_us, transitions_all_hooks_us: with a hook at every hook point.

ours_flow100_ms: a flow of 100 actions without work through the orchestrator, each confirmed at
    once, from its submission until its end survives a loss of power; 4 journal rows an action.
dbos_flow100_ms, langgraph_flow100_ms, burr_flow100_ms: a flow of 100 steps without work of DBOS,
    LangGraph (with its SQLite saver) and Burr (with its SQLite persister), with their defaults.
flow100_vs_fastest_durable: the least of these three divided by ours; the median of the rounds.
flow100_cpu_us: CPU of our process for one action, µs. …_cpu_us: the same of the others.
step_us: one journaled transition, until it survives a loss of power.
step_vs_fastest_durable: a step of the fastest of the three (its flow ÷ 100) divided by that.
py_trees_flow100_ms, behaviortree_cpp_flow100_ms: in memory only, a sequence of 100 behaviours that
    succeed.

Blocks of all libraries alternate; each figure is the median of its blocks. Each durable library
has its own process and database in one folder (TMPDIR: not a file system in memory). A library
that is not installed is said, and its figures are left out.
"""

from __future__ import annotations

from collections.abc import Callable
import json
import os
from pathlib import Path
import statistics
import sys
import tempfile
import time

from _peer_processes import LIBRARIES, STEPS
from _process import Process
from _report import parser, report
from engine import Hooked, of_python_statemachine, of_transitions, ours, Power
import py_trees

BLOCKS = 25
ROUNDS = 9
PEERS = Path(__file__).with_name('_peer_processes.py')


def of_py_trees() -> Callable[[int], None]:
    """Return a function that makes a number of pairs of ticks of a tree."""
    power = Power()

    class Powered(py_trees.behaviour.Behaviour):  # type: ignore[misc]

        def update(self) -> py_trees.common.Status:
            return (py_trees.common.Status.SUCCESS if power.powered()
                    else py_trees.common.Status.FAILURE)

    class Light(py_trees.behaviour.Behaviour):  # type: ignore[misc]

        def update(self) -> py_trees.common.Status:
            return py_trees.common.Status.SUCCESS

    root = py_trees.composites.Sequence('lamp', memory=False,
                                        children=[Powered('powered'), Light('light')])

    def run(pairs: int) -> None:
        for _ in range(2 * pairs):
            root.tick_once()
    return run


def tree_of_py_trees() -> Callable[[], None]:
    """Return a function that ticks a sequence of STEPS behaviours."""
    root = py_trees.composites.Sequence('row', memory=True, children=[
        py_trees.behaviours.Success(f'step_{number}') for number in range(STEPS)])
    return root.tick_once  # type: ignore[no-any-return]


def tree_of_behaviortree_cpp() -> Callable[[], None]:
    """Do the same with BehaviorTree.CPP."""
    from behaviortreepy import BehaviorTreeFactory
    factory = BehaviorTreeFactory()
    steps = '<AlwaysSuccess/>' * STEPS
    tree = factory.create_tree_from_text(
        f'<root BTCPP_format="4"><BehaviorTree ID="row"><Sequence>{steps}</Sequence>'
        '</BehaviorTree></root>')
    return tree.tick_once  # type: ignore[no-any-return]


def in_memory() -> dict[str, float]:
    """Return the times (ms) of trees of STEPS behaviours."""
    found = {}
    for name, make in (('py_trees', tree_of_py_trees),
                       ('behaviortree_cpp', tree_of_behaviortree_cpp)):
        try:
            tick = make()
        except ImportError as error:
            print(f'{name}: not installed: {error.name}', file=sys.stderr)
            continue
        times = []
        for _ in range(BLOCKS):
            began = time.perf_counter()
            tick()
            times.append(time.perf_counter() - began)
        found[f'{name}_flow100_ms'] = 1e3 * statistics.median(times)
    return found


def journaled_step_us(folder: Path, rows: int = 200) -> float:
    """Return the time (µs) of a journaled transition until it survives a loss of power."""
    from action_lifecycle.journal import Entry, Journal
    times = []
    with Journal(folder / 'steps') as journal:
        for number in range(rows):
            began = time.perf_counter()
            journal.append(Entry(kind='transition', flow_id='f', action_id='a', attempt=number,
                                 event='execute', from_state='in_progress',
                                 to_state='executing_motion'))
            journal.barrier().result()
            times.append(time.perf_counter() - began)
    return 1e6 * statistics.median(times)


def durable() -> dict[str, float]:
    """Return the figures of durable flows."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, (
        str(Path(__file__).resolve().parent.parent), os.environ.get('PYTHONPATH')))))
    times: dict[str, list[list[float]]] = {}
    steps: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        processes = {}
        for library in LIBRARIES:
            folder = Path(name) / library
            folder.mkdir()
            process = Process(PEERS, environment, library, folder)
            if (said := process.line().strip()) == 'ready':
                processes[library], times[library] = process, []
            else:
                print(f'{library}: {said}', file=sys.stderr)
                process.end()
        for round_ in range(ROUNDS + 2):
            for library, process in processes.items():
                process.tell()
                measured = json.loads(process.line())
                if round_ > 1:  # the first ones fill the caches
                    times[library].append(measured)
            folder = Path(name) / f'round_{round_}'
            folder.mkdir()
            steps.append(journaled_step_us(folder))
        for process in processes.values():
            process.end()
    found = {'step_us': statistics.median(steps)}
    for library, values in times.items():
        wall, cpu = (statistics.median(column) for column in zip(*values))
        found[f'{library}_flow100_ms'] = 1e3 * wall
        found['flow100_cpu_us' if library == 'ours' else f'{library}_cpu_us'] = 1e6 * cpu / STEPS
    others = [[wall for wall, _ in values] for library, values in times.items()
              if library != 'ours']
    if others:
        fastest = [min(walls) for walls in zip(*others)]
        found['flow100_vs_fastest_durable'] = statistics.median(
            theirs / mine for theirs, (mine, _) in zip(fastest, times['ours']))
        found['step_vs_fastest_durable'] = (
            1e6 * statistics.median(fastest) / STEPS / found['step_us'])
    return found


def main() -> None:
    """Measure and print."""
    arguments = parser(__doc__).parse_args()
    runs: dict[str, tuple[Callable[[int], None], int]] = {
        'machine_us': (ours(Power()), 2000),
        'transitions_us': (of_transitions(hooks=False), 400),
        'python_statemachine_us': (of_python_statemachine(), 40),
        'py_trees_us': (of_py_trees(), 400),
        'machine_all_hooks_us': (ours(Hooked()), 1000),
        'transitions_all_hooks_us': (of_transitions(hooks=True), 200),
    }
    blocks: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(BLOCKS):
        for name, (run, pairs) in runs.items():
            began = time.perf_counter()
            run(pairs)
            blocks[name].append((time.perf_counter() - began) / (2 * pairs) * 1e6)
    report({**{name: statistics.median(times) for name, times in blocks.items()}, **in_memory(),
            **durable()}, arguments.json)


if __name__ == '__main__':
    main()
