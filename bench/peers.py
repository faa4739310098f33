# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The time of one guarded step of a state machine or behaviour tree, in µs, for each library.

machine_us, transitions_us, python_statemachine_us: a transition with one guard, as in engine.py.
py_trees_us: a tick of a sequence of a condition that holds and a behaviour that succeeds; a tree
    has no transitions, and this is its smallest guarded step.
machine_all_hooks_us, transitions_all_hooks_us: with a hook at every hook point.

Blocks of all libraries alternate; each figure is the median of its blocks.
"""

from __future__ import annotations

from collections.abc import Callable
import statistics
import time

from _report import parser, report
from engine import Hooked, of_python_statemachine, of_transitions, ours, Power
import py_trees

BLOCKS = 25


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
    report({name: statistics.median(times) for name, times in blocks.items()}, arguments.json)


if __name__ == '__main__':
    main()
