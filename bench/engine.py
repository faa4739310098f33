# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The cost of a transition compared with other libraries, and how the loading time grows.

transition_vs_transitions, transition_vs_python_statemachine: how many times faster a transition
    with one guard and no hooks is; the same two states and the same guard for all three.
hooks_vs_transitions: the same with a hook at each of our twelve hook points, against `transitions`
    with a callback at each of its callback points.
load_exponent: the slope of log(CPU time) over log(states) for loading and checking a graph of
    313 to 10,000 states with two outgoing transitions each; n log n has 1.14 in that range.
document_vs_compose: CPU time of reading a document of 10,000 states, with positions and limits,
    divided by that of PyYAML's compose() of the same text, which makes nodes but no values.
bytes_per_machine, bytes_per_walked_machine: memory of each of 1,000 machines on the action graph,
    when it is new, and after a whole action.

Transitions run in short blocks that alternate between the libraries. Each block is compared with
the next; the median of the ratios is printed, so that other load on the machine cancels out.
"""

from __future__ import annotations

from collections.abc import Callable
import gc
import math
import statistics
import time
import tracemalloc
from typing import Any

from _report import parser, report
from action_lifecycle.documents.yaml_document import parse_document
from action_lifecycle.engine import load_graph, Machine
from action_lifecycle.graphs.packaged import config_file
import statemachine
import transitions
import yaml

LAMP = load_graph("""\
initial: dark
states: {dark: {}, lit: {final: true}}
transitions:
  - {event: light, from: dark, to: lit, cond: powered}
  - {event: darken, from: lit, to: dark, cond: powered}
""")
BLOCKS = 60


class Power:
    """The guard, the same for every library."""

    def powered(self) -> bool:
        """Return True."""
        return True


class Hooked(Power):
    """An empty hook at each of the twelve places."""

    def validators(self) -> None:
        """Do nothing, like all hooks below."""

    def cond(self) -> bool:
        """Return True."""
        return True

    before_transition = before_light = before_darken = validators
    on_exit_state = on_exit_dark = on_exit_lit = validators
    on_transition = on_light = on_darken = validators
    on_enter_state = on_enter_dark = on_enter_lit = validators
    after_light = after_darken = after_transition = validators


class Physical:
    """The guards of the action graph, for an action that moves the robot."""

    physical = has_evidence = True


class Callbacks(Power):
    """The model of `transitions`, with a method for each of its callbacks."""

    def prepare_event(self) -> None:
        """Do nothing, like all hooks below."""

    prepare = before_state_change = before = on_exit = on_enter = prepare_event
    after = after_state_change = finalize_event = prepare_event


def ours(listener: object) -> Callable[[int], None]:
    """Return a function that makes a number of pairs of transitions on our machine."""
    machine = Machine(LAMP, listeners=[listener])

    def run(pairs: int) -> None:
        for _ in range(pairs):
            machine.fire('light')
            machine.fire('darken')
    return run


def of_transitions(hooks: bool) -> Callable[[int], None]:
    """Return the same for `transitions`; `hooks`: with a callback at each place."""
    model: Any = Callbacks() if hooks else Power()
    of_state = {'on_enter': 'on_enter', 'on_exit': 'on_exit'} if hooks else {}
    of_edge = {'prepare': 'prepare', 'before': 'before', 'after': 'after'} if hooks else {}
    of_machine = {name: name for name in (
        'prepare_event', 'before_state_change', 'after_state_change', 'finalize_event'
    )} if hooks else {}
    transitions.Machine(
        model, initial='dark', auto_transitions=False, **of_machine,
        states=[{'name': name, **of_state} for name in ('dark', 'lit')],
        transitions=[
            {'trigger': 'light', 'source': 'dark', 'dest': 'lit', 'conditions': 'powered',
             **of_edge},
            {'trigger': 'darken', 'source': 'lit', 'dest': 'dark', 'conditions': 'powered',
             **of_edge},
        ])

    def run(pairs: int) -> None:
        for _ in range(pairs):
            model.light()
            model.darken()
    return run


def of_python_statemachine() -> Callable[[int], None]:
    """Return the same for `python-statemachine`."""
    class Lamp(statemachine.StateMachine, Power):  # type: ignore[misc]
        dark = statemachine.State(initial=True)
        lit = statemachine.State()
        light = dark.to(lit, cond='powered')
        darken = lit.to(dark, cond='powered')

    machine = Lamp()

    def run(pairs: int) -> None:
        for _ in range(pairs):
            machine.light()
            machine.darken()
    return run


def faster(
    one: Callable[[int], None], other: Callable[[int], None], pairs: int, factor: int
) -> float:
    """Return the speed of `one` relative to `other`; `one` makes `factor` times the pairs."""
    ratios = []
    for block in range(BLOCKS + 3):
        began = time.perf_counter()
        one(pairs * factor)
        between = time.perf_counter()
        other(pairs)
        ended = time.perf_counter()
        if block >= 3:  # the first ones warm up
            ratios.append((ended - between) / (between - began) * factor)
    return statistics.median(ratios)


def chain(count: int) -> str:
    """Return the YAML of a graph of `count` states with two transitions from each."""
    lines = [f'  s{n}: {{transition: {{next: [s{n + 1}, s{n // 2 + 1}]}}}}\n'
             for n in range(1, count)]
    return f'initial: s1\nstates:\n{"".join(lines)}  s{count}: {{final: true}}\n'


def least_cpu_s(call: Callable[[str], Any], text: str) -> float:
    """Return the minimum CPU time (s) of three calls."""
    least = math.inf
    for _ in range(3):
        gc.collect()
        began = time.process_time()
        call(text)
        least = min(least, time.process_time() - began)
    return least


def load_exponent() -> float:
    """Return the slope of log(time) over log(states), with the minimum of three times."""
    points = []
    for count in (313, 625, 1_250, 2_500, 5_000, 10_000):
        points.append((math.log(count), math.log(least_cpu_s(load_graph, chain(count)))))
    return statistics.linear_regression(*zip(*points)).slope


def document_vs_compose() -> float:
    """Return the ratio of the CPU times, each the minimum of three."""
    loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
    text = chain(10_000)
    return least_cpu_s(lambda given: parse_document(given, 'bench'), text) / least_cpu_s(
        lambda given: yaml.compose(given, Loader=loader), text)


def bytes_per_machine(walked: bool) -> float:
    """Return the memory (bytes) of a machine on the action graph, without its listener."""
    graph = load_graph(config_file('graphs/action.yaml'))
    listener = Physical()
    tracemalloc.start()
    machines = []
    for _ in range(1_000):
        machine = Machine(graph, listeners=[listener])
        if walked:
            for event in ('start', 'execute', 'motion_done', 'confirmed', 'verified', 'terminate'):
                machine.fire(event)
        machines.append(machine)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used / len(machines)


def main() -> None:
    """Measure and print."""
    arguments = parser(__doc__).parse_args()
    figures = {
        'transition_vs_transitions':
            faster(ours(Power()), of_transitions(hooks=False), 500, 5),
        'transition_vs_python_statemachine':
            faster(ours(Power()), of_python_statemachine(), 40, 40),
        'hooks_vs_transitions': faster(ours(Hooked()), of_transitions(hooks=True), 300, 2),
        'load_exponent': load_exponent(),
        'document_vs_compose': document_vs_compose(),
        'bytes_per_machine': bytes_per_machine(walked=False),
        'bytes_per_walked_machine': bytes_per_machine(walked=True),
    }
    report(figures, arguments.json)


if __name__ == '__main__':
    main()
